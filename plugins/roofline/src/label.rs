//! Labels of rows: their names, and the point or group that they belong to.

use trueno_analysis::roofline::model::Reason;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    Kernel,
    Brick,
}

impl Source {
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Brick => "brick",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        let mut all = [Self::Kernel, Self::Brick].into_iter();
        all.find(|source| source.name() == name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Provenance {
    /// The program declared them.
    Declared,
    /// A profiler counted them in a separate run.
    Counted,
    /// The CPU counted the FLOPs; the program declared the bytes.
    CountedFlops,
}

impl Provenance {
    pub fn name(self) -> &'static str {
        match self {
            Self::Declared => "declared",
            Self::Counted => "counted",
            Self::CountedFlops => "flops counted",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        let mut all = [Self::Declared, Self::Counted, Self::CountedFlops].into_iter();
        all.find(|provenance| provenance.name() == name)
    }

    pub fn is_counted(self) -> bool {
        self != Self::Declared
    }
}

/// What rows of the same point have in common. Texts are numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label {
    pub source: Source,
    pub name: u32,
    pub backend: Option<u32>,
    /// Device number; `None`: the host.
    pub device: Option<i64>,
    pub provenance: Provenance,
    /// Counted precision; `None`: unknown.
    pub precision: Option<u32>,
}

/// What rows of the same rate have in common: they have FLOPs or bytes, but no intensity. Texts are numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OneFigure {
    pub source: Source,
    pub name: u32,
    pub backend: Option<u32>,
    /// Device number; `None`: the host.
    pub device: Option<i64>,
    pub provenance: Provenance,
    pub reason: Reason,
}

/// Brick and category to which work is attributed. Texts are numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group {
    /// The enclosing brick, or the row itself if it is one; `None`: not recorded.
    pub brick: Option<u32>,
    pub category: u32,
}

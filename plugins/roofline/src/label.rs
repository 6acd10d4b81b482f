//! Labels of rows: their names, and the point or group that they belong to.

use trueno_analysis::roofline::model::Reason;

/// The table a row is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// `kernels`.
    Kernel,
    /// `bricks`.
    Brick,
}

impl Source {
    /// `kernel` or `brick`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Brick => "brick",
        }
    }

    /// The one with that [`name`](Self::name).
    pub fn named(name: &str) -> Option<Self> {
        let mut all = [Self::Kernel, Self::Brick].into_iter();
        all.find(|source| source.name() == name)
    }
}

/// Provenance of FLOPs and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Provenance {
    /// The program stated them.
    Declared,
    /// A profiler counted them, on a run of its own.
    Counted,
    /// The CPU counted the FLOPs; the program stated the bytes.
    CountedFlops,
}

impl Provenance {
    /// `declared`, `counted` or `flops counted`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Declared => "declared",
            Self::Counted => "counted",
            Self::CountedFlops => "flops counted",
        }
    }

    /// The one with that [`name`](Self::name).
    pub fn named(name: &str) -> Option<Self> {
        let mut all = [Self::Declared, Self::Counted, Self::CountedFlops].into_iter();
        all.find(|provenance| provenance.name() == name)
    }

    /// True if FLOPs were counted.
    pub fn is_counted(self) -> bool {
        self != Self::Declared
    }
}

/// Rows that become one point; texts by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label {
    pub source: Source,
    pub name: u32,
    pub backend: Option<u32>,
    /// Device number; `None`: the host.
    pub device: Option<i64>,
    /// Provenance of FLOPs and bytes.
    pub provenance: Provenance,
    /// Precision as counted; `None`: not known.
    pub precision: Option<u32>,
}

/// Rows with FLOPs or bytes, but no intensity; texts by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OneFigure {
    pub source: Source,
    pub name: u32,
    pub backend: Option<u32>,
    /// Device number; `None`: the host.
    pub device: Option<i64>,
    /// Provenance of the figure.
    pub provenance: Provenance,
    /// The reason for a missing intensity.
    pub reason: Reason,
}

/// Brick and category that work is booked under; texts by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group {
    /// The brick it belongs to, itself for a brick; `None`: not recorded.
    pub brick: Option<u32>,
    /// Category of that brick.
    pub category: u32,
}

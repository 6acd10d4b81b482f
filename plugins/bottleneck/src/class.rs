//! Classes of bottlenecks. A rule declares its own; this says how they relate.

/// The kind of thing that holds a program back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    name: &'static str,
    precedence: u32,
    explained: &'static [&'static str],
}

impl Class {
    /// A class of its own name; of two findings with equal gains that of the lower precedence comes first.
    pub const fn new(name: &'static str, precedence: u32) -> Self {
        Self {
            name,
            precedence,
            explained: &[],
        }
    }

    /// The same, a reason for classes of these names where both are found at one place.
    pub const fn explaining(mut self, names: &'static [&'static str]) -> Self {
        self.explained = names;
        self
    }

    pub fn name(self) -> &'static str {
        self.name
    }

    /// Names of the classes that it explains.
    pub fn explained(self) -> &'static [&'static str] {
        self.explained
    }

    /// Returns whether it is a reason for that one, where both are found at one place.
    pub fn explains(self, other: Self) -> bool {
        self.explained.contains(&other.name)
    }
}

impl Ord for Class {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.precedence, self.name).cmp(&(other.precedence, other.name))
    }
}

impl PartialOrd for Class {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

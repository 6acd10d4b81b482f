//! Classes of bottlenecks. A rule declares its own; this says how they relate.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    name: &'static str,
    precedence: u32,
    explained: &'static [&'static str],
}

impl Class {
    /// Of findings with equal gains, the class with the lower precedence comes first.
    pub const fn new(name: &'static str, precedence: u32) -> Self {
        Self {
            name,
            precedence,
            explained: &[],
        }
    }

    /// Makes this class an explanation of the named classes when both are found at the same place.
    pub const fn explaining(mut self, names: &'static [&'static str]) -> Self {
        self.explained = names;
        self
    }

    pub fn name(self) -> &'static str {
        self.name
    }

    pub fn explained(self) -> &'static [&'static str] {
        self.explained
    }

    /// Returns whether this class is a reason for `other` when both are found at the same place.
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

//! Evidence of findings: rows, and the place on the timeline where they are.

use std::collections::BTreeMap;

use trueno_plugin::Table;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Nanoseconds since the start of the run.
    pub from_ns: i64,
    /// At least `from_ns`.
    pub until_ns: i64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    pub rows: Table,
    pub of: usize,
    /// Where they are on the timeline, if they have times.
    pub place: Option<Place>,
}

/// Evidence of a report, by index of the section and index of the finding.
#[derive(Debug, Default)]
pub struct Evidence {
    pub shown: BTreeMap<(usize, usize), Shown>,
}

impl Evidence {
    pub fn get(&self, section: usize, finding: usize) -> Option<&Shown> {
        self.shown.get(&(section, finding))
    }
}

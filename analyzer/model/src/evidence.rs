//! Evidence of findings: rows, and the place on the timeline where they are.

use std::collections::BTreeMap;

use trueno_plugin::Table;

/// A part of the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Nanoseconds since the start of the run.
    pub from_ns: i64,
    /// Not earlier than that.
    pub until_ns: i64,
}

/// Evidence of one finding.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The first rows.
    pub rows: Table,
    /// Number of rows there are.
    pub of: usize,
    /// Their place, when they say so.
    pub place: Option<Place>,
}

/// Evidence of a report, by section and number of the finding in it.
#[derive(Debug, Default)]
pub struct Evidence {
    /// Evidence by section and number of the finding.
    pub shown: BTreeMap<(usize, usize), Shown>,
}

impl Evidence {
    pub fn get(&self, section: usize, finding: usize) -> Option<&Shown> {
        self.shown.get(&(section, finding))
    }
}

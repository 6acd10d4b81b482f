//! Rows excluded from all figures: counted by reason, so that none vanishes.

use std::collections::BTreeMap;

use trueno_analysis::interner::Interner;
use trueno_analysis::roofline::model::Reason;

use crate::label::Source;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub calls: u64,
    /// Sum of durations; counts the time of nested rows twice.
    pub dur_ns: i64,
}

pub type Key = (Source, Reason, u32);

#[derive(Default)]
pub struct Excluded {
    keys: Interner<Key>,
    sums: Vec<Sum>,
}

impl Excluded {
    /// Counts a row. Rows with bounds or invalid times add no time.
    pub fn add(&mut self, source: Source, reason: Reason, name: u32, dur_ns: i64) {
        let dur_ns = match reason {
            Reason::BoundRow | Reason::InvalidRow => 0,
            _ => dur_ns.max(0),
        };
        let number = self.keys.number((source, reason, name)) as usize;
        if number == self.sums.len() {
            self.sums.push(Sum::default());
        }
        let sum = &mut self.sums[number];
        sum.calls += 1;
        sum.dur_ns = sum.dur_ns.saturating_add(dur_ns);
    }

    pub fn sums(&self) -> BTreeMap<Key, Sum> {
        let keys = self.keys.all().iter().copied();
        keys.zip(self.sums.iter().copied()).collect()
    }
}

//! Rows excluded from all figures: counted by reason, so that none vanishes.

use std::collections::BTreeMap;

use trueno_analysis::roofline::model::Reason;

use crate::label::Source;

/// Calls and time of one reason and name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Rows.
    pub calls: u64,
    /// Sum of durations; of rows nested in each other more than the time that passed.
    pub dur_ns: i64,
}

/// Work left out, by table, reason and name.
#[derive(Default)]
pub struct Excluded {
    sums: BTreeMap<(Source, Reason, u32), Sum>,
    last: Option<((Source, Reason, u32), Sum)>,
}

impl Excluded {
    /// Counts one row. Bound rows and impossible durations add no time.
    pub fn add(&mut self, source: Source, reason: Reason, name: u32, dur_ns: i64) {
        let dur_ns = match reason {
            Reason::BoundRow | Reason::InvalidRow => 0,
            _ => dur_ns.max(0),
        };
        let key = (source, reason, name);
        if self.last.is_none_or(|(last, _)| last != key) {
            self.flush();
            self.last = Some((key, Sum::default()));
        }
        if let Some((_, sum)) = &mut self.last {
            sum.calls += 1;
            sum.dur_ns = sum.dur_ns.saturating_add(dur_ns);
        }
    }

    fn flush(&mut self) {
        if let Some((key, found)) = self.last.take() {
            let sum = self.sums.entry(key).or_default();
            sum.calls += found.calls;
            sum.dur_ns = sum.dur_ns.saturating_add(found.dur_ns);
        }
    }

    /// Sums by table, reason and name.
    pub fn sums(&mut self) -> &BTreeMap<(Source, Reason, u32), Sum> {
        self.flush();
        &self.sums
    }
}

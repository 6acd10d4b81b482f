//! The part of a run that a report is about (`--window`, `--from`, `--to`).
//!
//! A part of a run is the table `report_window`, which plugins read like any other: the interface of
//! plugins needs no field for it. The loader of lanes counts times from its start; tables add it again.

use trueno_plugin::{Input, Result};

use crate::source::Source;

/// From when (included) to when (not), on the run's timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Start.
    pub from_ns: i64,
    /// End.
    pub until_ns: i64,
}

impl Window {
    /// The input that [`read`](Self::read) reads, to be listed by the plugin.
    pub const INPUT: Input = Input::sql(
        "report_window",
        "SELECT from_ns, until_ns FROM report_window",
    )
    .optional();

    /// The part that was asked for; `None`: the whole run.
    ///
    /// # Errors
    /// The input lacks a column or has it in another type.
    pub fn read(run: &mut impl Source) -> Result<Option<Self>> {
        let table = run.table(Self::INPUT.name())?;
        let (from_ns, until_ns) = (table.i64("from_ns")?, table.i64("until_ns")?);
        let mut ends = from_ns.iter().flatten().zip(until_ns.iter().flatten());
        Ok(ends
            .next()
            .map(|(from_ns, until_ns)| Self { from_ns, until_ns }))
    }

    /// Its length; never negative.
    pub fn length_ns(&self) -> i64 {
        self.until_ns.saturating_sub(self.from_ns).max(0)
    }

    /// True if an instant lies in it.
    pub fn has(&self, time_ns: i64) -> bool {
        self.from_ns <= time_ns && time_ns < self.until_ns
    }

    /// True if it has all of an interval.
    pub fn contains(&self, start_ns: i64, end_ns: i64) -> bool {
        self.from_ns <= start_ns && end_ns <= self.until_ns
    }

    /// True if it has any time in common with an interval.
    pub fn overlaps(&self, start_ns: i64, end_ns: i64) -> bool {
        self.from_ns < end_ns && start_ns < self.until_ns
    }

    /// The part of an interval that lies inside; of one without duration all, at either end of the
    /// window too. `None`: nothing.
    pub fn clip(&self, start_ns: i64, end_ns: i64) -> Option<(i64, i64)> {
        let inside = (start_ns.max(self.from_ns), end_ns.min(self.until_ns));
        let is_instant = inside.0 == inside.1 && start_ns == end_ns;
        (inside.0 < inside.1 || is_instant).then_some(inside)
    }
}

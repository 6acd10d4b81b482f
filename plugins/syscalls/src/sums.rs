//! Sums of calls, of one rank or of several: figures that can be merged exactly.

use std::collections::BTreeMap;

use trueno_analysis::value_counts::ValueCounts;

/// Time that several calls took. A sum that stops at the largest number is the same in each grouping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeSum(pub u64);

impl TimeSum {
    /// Adds a duration, which is not negative.
    pub fn add(&mut self, dur_ns: i64) {
        self.merge(Self(u64::try_from(dur_ns).unwrap_or(0)));
    }

    pub fn merge(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }

    /// The sum; `None`: more than can be counted.
    pub fn ns(self) -> Option<i64> {
        i64::try_from(self.0).ok()
    }
}

/// Calls of one name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallSum {
    /// Durations of those that have one.
    pub durations: ValueCounts,
    /// Calls without a duration.
    pub untimed: u64,
    pub errors: u64,
    /// Calls that did nothing but wait, and their time.
    pub waits: u64,
    pub wait_time: TimeSum,
    /// Bytes of those that tell some; `None`: none does.
    pub bytes: Option<u64>,
}

impl CallSum {
    pub fn calls(&self) -> u64 {
        self.durations.len().saturating_add(self.untimed)
    }

    /// Time of all that have a duration; `None`: none has, or it is more than can be counted.
    pub fn time_ns(&self) -> Option<i64> {
        let durations = self.durations.iter();
        let sum = durations.fold(0_i128, |sum, (ns, count)| {
            sum.saturating_add(i128::from(ns).saturating_mul(i128::from(count)))
        });
        i64::try_from(sum)
            .ok()
            .filter(|_| !self.durations.is_empty())
    }

    /// Time of those that did nothing but wait; `None`: none is known to.
    pub fn wait_ns(&self) -> Option<i64> {
        self.wait_time.ns().filter(|_| self.waits > 0)
    }
}

/// Calls about one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileSum {
    /// Calls that have a duration.
    pub timed: u64,
    pub time: TimeSum,
    /// Calls without a duration.
    pub untimed: u64,
    /// Calls that did nothing but wait.
    pub waits: u64,
    pub wait_time: TimeSum,
    pub errors: u64,
    /// Bytes of those that tell some; `None`: none does.
    pub bytes: Option<u64>,
}

impl FileSum {
    pub fn calls(&self) -> u64 {
        self.timed.saturating_add(self.untimed)
    }

    /// Time of all that have a duration; `None`: none has, or it is more than can be counted.
    pub fn time_ns(&self) -> Option<i64> {
        self.time.ns().filter(|_| self.timed > 0)
    }

    /// Time of those that did nothing but wait; `None`: none is known to.
    pub fn wait_ns(&self) -> Option<i64> {
        self.wait_time.ns().filter(|_| self.waits > 0)
    }
}

/// Name and error of calls that failed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ErrorKey {
    pub name: String,
    /// Name of the error; `None`: not told.
    pub errno: Option<String>,
}

/// Reads, or writes, of a thread by calls of one name: those that did not wait, with a duration and the bytes moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransferSum {
    /// Bytes that each moved.
    pub sizes: ValueCounts,
    pub time: TimeSum,
}

/// Everything that the output is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    pub calls: BTreeMap<String, CallSum>,
    /// Calls that failed, by what they were about, as far as that is told.
    pub errors: BTreeMap<ErrorKey, BTreeMap<Option<String>, u64>>,
    /// By what they were about.
    pub files: BTreeMap<String, FileSum>,
    /// By thread and name.
    pub transfers: BTreeMap<(i64, String), TransferSum>,
    /// Length of the run, or of the part that is looked at; `None`: not known.
    pub wall_ns: Option<i64>,
}

/// Adds a count to one that may not be there.
pub fn add_known(sum: &mut Option<u64>, more: Option<u64>) {
    if let Some(more) = more {
        *sum = Some(sum.unwrap_or(0).saturating_add(more));
    }
}

//! Sums of calls, of one rank or of several: figures that can be merged exactly.

use std::collections::BTreeMap;

use trueno_analysis::value_counts::ValueCounts;

/// Time of several calls, in nanoseconds. Saturating, so the result does not depend on the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeSum(pub u64);

impl TimeSum {
    /// Adds a duration, which must not be negative.
    pub fn add(&mut self, dur_ns: i64) {
        self.merge(Self(u64::try_from(dur_ns).unwrap_or(0)));
    }

    pub fn merge(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }

    /// The sum; `None` on overflow.
    pub fn ns(self) -> Option<i64> {
        i64::try_from(self.0).ok()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallSum {
    pub durations: ValueCounts,
    /// Calls without a duration.
    pub untimed: u64,
    pub errors: u64,
    /// Calls that only waited, and their time.
    pub waits: u64,
    pub wait_time: TimeSum,
    /// Bytes of the calls that report some; `None` if none does.
    pub bytes: Option<u64>,
}

impl CallSum {
    pub fn calls(&self) -> u64 {
        self.durations.len().saturating_add(self.untimed)
    }

    /// Time of all calls with a duration; `None` if there are none, or on overflow.
    pub fn time_ns(&self) -> Option<i64> {
        let durations = self.durations.iter();
        let sum = durations.fold(0_i128, |sum, (ns, count)| {
            sum.saturating_add(i128::from(ns).saturating_mul(i128::from(count)))
        });
        i64::try_from(sum)
            .ok()
            .filter(|_| !self.durations.is_empty())
    }

    /// Time of the calls that only waited; `None` if none is known to.
    pub fn wait_ns(&self) -> Option<i64> {
        self.wait_time.ns().filter(|_| self.waits > 0)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileSum {
    pub timed: u64,
    pub time: TimeSum,
    pub untimed: u64,
    /// Calls that only waited.
    pub waits: u64,
    pub wait_time: TimeSum,
    pub errors: u64,
    /// Bytes of the calls that report some; `None` if none does.
    pub bytes: Option<u64>,
}

impl FileSum {
    pub fn calls(&self) -> u64 {
        self.timed.saturating_add(self.untimed)
    }

    /// Time of all calls with a duration; `None` if there are none, or on overflow.
    pub fn time_ns(&self) -> Option<i64> {
        self.time.ns().filter(|_| self.timed > 0)
    }

    /// Time of the calls that only waited; `None` if none is known to.
    pub fn wait_ns(&self) -> Option<i64> {
        self.wait_time.ns().filter(|_| self.waits > 0)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ErrorKey {
    pub name: String,
    /// `None` if only the result shows the error.
    pub errno: Option<String>,
}

/// Reads or writes of one thread by calls of one name. Only calls that did not wait, with a duration and a size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransferSum {
    pub sizes: ValueCounts,
    pub time: TimeSum,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    pub calls: BTreeMap<String, CallSum>,
    /// Number of failed calls, by what they were about, if known.
    pub errors: BTreeMap<ErrorKey, BTreeMap<Option<String>, u64>>,
    /// By file or other target.
    pub files: BTreeMap<String, FileSum>,
    pub transfers: BTreeMap<(i64, String), TransferSum>,
    /// Length of the run, or of the report's window; `None` if unknown.
    pub wall_ns: Option<i64>,
}

pub fn add_known(sum: &mut Option<u64>, more: Option<u64>) {
    if let Some(more) = more {
        *sum = Some(sum.unwrap_or(0).saturating_add(more));
    }
}

//! Tasks of Ascend's collectives. A collective lasts until the last rank has come, and its tasks say when it waited.

use std::collections::BTreeMap;

use trueno_analysis::intervals::{IntervalSet, IntervalSetBuilder};

/// Attribute of a collective's kernel: time in which its tasks wait for other ranks, and none moves data.
pub(crate) const WAIT_NS: &str = "collective_wait_ns";

/// Times of tasks, by device.
#[derive(Debug, Default)]
pub(crate) struct CollectiveTasks(BTreeMap<u32, Times>);

#[derive(Debug, Default)]
struct Times {
    waits: IntervalSetBuilder<i64>,
    others: IntervalSetBuilder<i64>,
}

impl CollectiveTasks {
    pub fn add(&mut self, device: u32, name: &str, (start_ns, end_ns): (i64, i64)) {
        let of = self.0.entry(device).or_default();
        if name.to_ascii_lowercase().contains("wait") {
            of.waits.add(start_ns, end_ns);
        } else {
            of.others.add(start_ns, end_ns);
        }
    }

    /// When tasks of a device only wait.
    pub fn waits(self) -> BTreeMap<u32, IntervalSet<i64>> {
        let waits = |of: Times| of.waits.finish().difference(&of.others.finish());
        let devices = self.0.into_iter();
        devices.map(|(device, of)| (device, waits(of))).collect()
    }
}

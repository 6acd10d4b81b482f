//! Tasks of Ascend's collectives. A collective lasts until the last rank has come, and its tasks say when it waited.

use std::collections::BTreeMap;

use trueno_analysis::intervals::{IntervalSet, IntervalSetBuilder};

/// Attribute of a collective's kernel: time in which its tasks wait for other ranks, and none moves data.
pub(crate) const WAIT_NS: &str = "collective_wait_ns";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TaskKind {
    Wait,
    Move,
    Unknown,
}

impl TaskKind {
    fn of(name: &str) -> Self {
        if is_of_unknown_kind(name) {
            Self::Unknown
        } else if name.to_ascii_lowercase().contains("wait") {
            Self::Wait
        } else {
            Self::Move
        }
    }
}

/// CANN names tasks so if the profiler's level leaves out what they do.
pub(crate) fn is_of_unknown_kind(name: &str) -> bool {
    matches!(name.trim(), "Other" | "OTHER" | "other")
}

/// True if work of this length, of which so much lies within whole collectives, belongs to them. A task may begin to
/// wait just before its collective.
pub(crate) fn lies_within_collectives(total_ns: i64, within_ns: i64) -> bool {
    const LEAST_SHARE: f64 = 0.95;
    total_ns > 0 && within_ns as f64 >= LEAST_SHARE * total_ns as f64
}

/// Times of tasks, by device.
#[derive(Debug, Default)]
pub(crate) struct CollectiveTasks(BTreeMap<u32, Times>);

#[derive(Debug, Default)]
struct Times {
    waits: IntervalSetBuilder<i64>,
    moves: IntervalSetBuilder<i64>,
    unknown: IntervalSetBuilder<i64>,
}

/// When tasks of a device only wait.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    waits: IntervalSet<i64>,
    unknown: IntervalSet<i64>,
}

impl CollectiveTasks {
    pub fn add(&mut self, device: u32, name: &str, (start_ns, end_ns): (i64, i64)) {
        let of = self.0.entry(device).or_default();
        let times = match TaskKind::of(name) {
            TaskKind::Wait => &mut of.waits,
            TaskKind::Move => &mut of.moves,
            TaskKind::Unknown => &mut of.unknown,
        };
        times.add(start_ns, end_ns);
    }

    pub fn waits(self) -> BTreeMap<u32, Waits> {
        let waits = |of: Times| {
            let unknown = of.unknown.finish();
            let waits = of.waits.finish().difference(&of.moves.finish());
            Waits {
                waits: waits.difference(&unknown),
                unknown,
            }
        };
        let devices = self.0.into_iter();
        devices.map(|(device, of)| (device, waits(of))).collect()
    }
}

impl Waits {
    /// The waiting within a collective. `None`: it did not wait, or tasks that may wait as well last longer.
    pub fn within_ns(&self, (start_ns, end_ns): (i64, i64)) -> Option<i64> {
        let wait_ns = self.waits.within_ns(start_ns, end_ns);
        let unknown_ns = self.unknown.within_ns(start_ns, end_ns);
        (wait_ns > 0 && wait_ns >= unknown_ns).then_some(wait_ns)
    }
}

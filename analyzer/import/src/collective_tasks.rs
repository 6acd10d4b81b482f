//! Tasks of Ascend's collectives. A collective lasts until the last rank has come, and its tasks say when it waited.

use std::collections::BTreeMap;

use trueno_analysis::intervals::{IntervalSet, IntervalSetBuilder};
use trueno_analysis::vendors::{is_mark_row, is_wait_row};

/// Attribute of a collective's kernel: time in which its tasks wait, and none moves data.
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
    collectives: Vec<(i64, i64)>,
}

/// When tasks of a device only wait.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    waits: IntervalSet<i64>,
    unknown: IntervalSet<i64>,
    /// When several collectives run.
    several: IntervalSet<i64>,
}

impl CollectiveTasks {
    pub fn add(&mut self, device: u32, name: &str, (start_ns, end_ns): (i64, i64)) {
        // Those are of the stream, not of the collective.
        if is_wait_row(name) || is_mark_row(name) {
            return;
        }
        let of = self.0.entry(device).or_default();
        let times = match TaskKind::of(name) {
            TaskKind::Wait => &mut of.waits,
            TaskKind::Move => &mut of.moves,
            TaskKind::Unknown => &mut of.unknown,
        };
        times.add(start_ns, end_ns);
    }

    /// A collective as a whole.
    pub fn add_collective(&mut self, device: u32, times_ns: (i64, i64)) {
        let of = self.0.entry(device).or_default();
        of.collectives.push(times_ns);
    }

    pub fn waits(self) -> BTreeMap<u32, Waits> {
        let waits = |of: Times| {
            let unknown = of.unknown.finish();
            let waits = of.waits.finish().difference(&of.moves.finish());
            Waits {
                waits: waits.difference(&unknown),
                unknown,
                several: several(of.collectives),
            }
        };
        let devices = self.0.into_iter();
        devices.map(|(device, of)| (device, waits(of))).collect()
    }
}

fn several(mut times: Vec<(i64, i64)>) -> IntervalSet<i64> {
    times.sort_unstable();
    let (mut out, mut until_ns) = (IntervalSetBuilder::default(), i64::MIN);
    for (start_ns, end_ns) in times {
        out.add(start_ns, end_ns.min(until_ns));
        until_ns = until_ns.max(end_ns);
    }
    out.finish()
}

impl Waits {
    /// The waiting within a collective. `None`: it did not wait, tasks that may wait as well last longer, or another
    /// collective ran meanwhile, whose waits these may be.
    pub fn within_ns(&self, (start_ns, end_ns): (i64, i64)) -> Option<i64> {
        if self.several.overlapping(start_ns, end_ns).next().is_some() {
            return None;
        }
        let wait_ns = self.waits.within_ns(start_ns, end_ns);
        let unknown_ns = self.unknown.within_ns(start_ns, end_ns);
        (wait_ns > 0 && wait_ns >= unknown_ns).then_some(wait_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks(collectives: &[(i64, i64)]) -> Waits {
        let mut tasks = CollectiveTasks::default();
        tasks.add(0, "Notify_Wait", (0, 80));
        tasks.add(0, "Memcpy", (70, 100));
        tasks.add(0, "EVENT_WAIT", (100, 200));
        for times_ns in collectives {
            tasks.add_collective(0, *times_ns);
        }
        tasks.waits().remove(&0).unwrap()
    }

    #[test]
    fn a_collective_waits_while_no_task_moves_data() {
        let waits = tasks(&[(0, 100), (100, 200)]);
        assert_eq!(waits.within_ns((0, 100)), Some(70));
        assert_eq!(waits.within_ns((100, 200)), None, "a wait of the stream");
    }

    #[test]
    fn whose_waits_they_are_is_not_known_of_several_at_once() {
        let waits = tasks(&[(0, 100), (20, 40), (150, 160)]);
        assert_eq!(waits.within_ns((0, 100)), None);
        assert_eq!(waits.within_ns((20, 40)), None);
    }
}

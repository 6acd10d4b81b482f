//! The skew between the clock of a device and that of the host, as far as the recording proves it.
//!
//! Profilers map the clock of a device to that of the host, within microseconds. Two facts bound the error: no work
//! began before the call that launched it did, and no wait returned before the work it waited for had ended, be it stated or
//! a [pattern](super::held_hosts) of the times. Where
//! the times as recorded break one of these, all times of the device are moved by the least that makes most of
//! them hold, the same for all, and never by more than [`MAX_SKEW_NS`]. What contradicts them then still does.

use trueno_analysis::lanes::{Class, Lanes};
use trueno_plugin::rank::of_key;
use trueno_plugin::rank::of_place;

use crate::infer::held_hosts;
use crate::load::dependencies::{SpanAt, span};
use crate::load::edges::Blocking;
use crate::load::row_index::RowIndex;
use crate::load::streams::{Stream, Streams};
use crate::load::waits::{Wait, WaitKind};

/// A larger difference is no clock skew: the rows do not belong together.
pub const MAX_SKEW_NS: i64 = 1_000_000;
/// The limit if no wait bounds the skew from the other side.
const MAX_UNBOUNDED_NS: i64 = 100_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skew {
    pub device: i64,
    pub shift_ns: i64,
    /// Facts that contradict the recorded times.
    pub contradicted: u64,
    /// Facts that contradict even the shifted times.
    pub left: u64,
    pub facts: u64,
    /// Number of facts that were inferred from patterns and not recorded.
    pub inferred: u64,
}

#[derive(Default)]
struct Bounds {
    at_least: Vec<i64>,
    at_most: Vec<i64>,
    inferred: u64,
}

pub fn correct(
    run: &mut Lanes,
    rows: &RowIndex,
    streams: &mut Streams,
    waits: &[Wait],
    blocking: &[Blocking],
) -> Vec<Skew> {
    let mut devices: Vec<i64> = streams.all.iter().map(|stream| stream.device).collect();
    devices.sort_unstable();
    devices.dedup();
    let mut all: Vec<Bounds> = devices.iter().map(|_| Bounds::default()).collect();
    let of = |device: i64| devices.binary_search(&device).unwrap_or(0);
    for (work, call) in &streams.launches {
        if let Some(stream) = streams.of_lane(work.lane) {
            let bound = span(run, *call).start_ns - span(run, *work).start_ns;
            all[of(stream.device)].at_least.push(bound);
        }
    }
    for wait in waits {
        for (stream, work_ns, wait_ns) in stated(run, rows, streams, wait) {
            all[of(stream.device)].at_most.push(wait_ns - work_ns);
        }
    }
    for pair in blocking.iter().filter(|pair| pair.is_stated) {
        let (Some(copy), Some(call)) = (rows.get(pair.copy), rows.get(pair.call)) else {
            continue;
        };
        if let Some(stream) = streams.of_lane(copy.lane) {
            let bound = span(run, call).end_ns - span(run, copy).end_ns;
            // A small copy from pageable memory is staged, and its call returns before.
            if bound >= 0 {
                all[of(stream.device)].at_most.push(bound);
            }
        }
    }
    for (device, after_ns) in held_hosts::went_on_after(run, rows, streams, waits, blocking) {
        let bounds = &mut all[of(device)];
        bounds.at_most.push(after_ns);
        bounds.inferred += 1;
    }
    let mut out = Vec::new();
    for (device, bounds) in devices.into_iter().zip(all) {
        let Some(skew) = estimate(device, bounds) else {
            continue;
        };
        for stream in streams.all.iter_mut().filter(|s| s.device == device) {
            for work in &mut run.lanes[stream.lane].spans {
                work.start_ns = (work.start_ns + skew.shift_ns).clamp(0, run.wall_ns);
                work.end_ns = (work.end_ns + skew.shift_ns).clamp(0, run.wall_ns);
            }
            stream.measure_ends(run);
        }
        out.push(skew);
    }
    out
}

/// The work that a wait is recorded to have waited for: its stream, its end, the wait's end.
fn stated<'s>(
    run: &Lanes,
    rows: &RowIndex,
    streams: &'s Streams,
    wait: &Wait,
) -> Vec<(&'s Stream, i64, i64)> {
    let is_stated = match wait.kind {
        WaitKind::Device => wait.device.is_some() || has_one_device(streams),
        WaitKind::Stream => wait.device.is_some() && wait.stream.is_some(),
        WaitKind::Event | WaitKind::StreamWait => false,
    };
    let at: Option<SpanAt> = rows.get(wait.id).filter(|_| is_stated);
    let Some(row) = at.map(|at| span(run, at)) else {
        return Vec::new();
    };
    let rank = of_key(wait.id) as i64;
    let waited_for = |stream: &&Stream| {
        of_place(stream.device).0 == rank
            && wait.device.is_none_or(|device| device == stream.device)
            && (wait.kind == WaitKind::Device || stream.stream == wait.stream)
    };
    let ends = streams.all.iter().filter(waited_for).filter_map(|stream| {
        let last = stream.last_before(wait.called_ns)?;
        let work = &run.lanes[stream.lane].spans[last];
        let is_work = run.labels.get(work.label).class != Class::Wait;
        is_work.then_some((stream, work.end_ns, row.end_ns))
    });
    ends.collect()
}

/// Returns whether there is only one device that a wait can be for.
fn has_one_device(streams: &Streams) -> bool {
    let mut devices = streams.all.iter().map(|stream| stream.device);
    let first = devices.next();
    devices.all(|device| Some(device) == first)
}

/// The shift that satisfies most facts, smallest first; `None`: no shift is better than the recorded times.
fn estimate(device: i64, mut bounds: Bounds) -> Option<Skew> {
    let max_ns = if bounds.at_most.is_empty() {
        MAX_UNBOUNDED_NS
    } else {
        MAX_SKEW_NS
    };
    let Bounds {
        at_least,
        at_most,
        inferred,
    } = &mut bounds;
    at_least.sort_unstable();
    at_most.sort_unstable();
    let contradicted = |shift_ns: i64| {
        let too_early = at_least.len() - at_least.partition_point(|bound| *bound <= shift_ns);
        let too_late = at_most.partition_point(|bound| *bound < shift_ns);
        (too_early + too_late) as u64
    };
    let recorded = contradicted(0);
    let later = at_least
        .iter()
        .filter(|bound| (1..=max_ns).contains(*bound));
    let earlier = at_most.iter().filter(|bound| (-max_ns..0).contains(*bound));
    let best = later
        .chain(earlier)
        .map(|shift_ns| (contradicted(*shift_ns), shift_ns.abs(), *shift_ns))
        .min()?;
    (best.0 < recorded).then_some(Skew {
        device,
        shift_ns: best.2,
        contradicted: recorded,
        left: best.0,
        facts: (at_least.len() + at_most.len()) as u64,
        inferred: *inferred,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_least_shift_that_most_facts_allow() {
        let skew = |at_least: &[i64], at_most: &[i64]| {
            let bounds = Bounds {
                at_least: at_least.to_vec(),
                at_most: at_most.to_vec(),
                inferred: 0,
            };
            estimate(0, bounds).map(|skew| (skew.shift_ns, skew.left))
        };
        assert_eq!(skew(&[-5_000, -2_000], &[3_000]), None);
        assert_eq!(skew(&[7_000, 6_000, -2_000], &[9_000]), Some((7_000, 0)));
        assert_eq!(skew(&[-5_000], &[-3_000, 4_000]), Some((-3_000, 0)));
        // One row that is not of this call.
        assert_eq!(skew(&[6_000, 900_000], &[9_000, 9_000]), Some((6_000, 1)));
        assert_eq!(skew(&[5_000_000], &[9_000_000]), None);
        assert_eq!(skew(&[500_000], &[]), None);
    }

    proptest! {
        #[test]
        fn no_other_shift_is_better(
            at_least in prop::collection::vec(-50..50_i64, 0..20),
            at_most in prop::collection::vec(-50..50_i64, 1..20),
        ) {
            let wrong = |shift: i64| {
                at_least.iter().filter(|bound| shift < **bound).count() + at_most.iter().filter(|bound| **bound < shift).count()
            };
            let best = (-60..=60).map(|shift: i64| (wrong(shift), shift.abs())).min().unwrap();
            let found = estimate(0, Bounds { at_least: at_least.clone(), at_most: at_most.clone(), inferred: 0 });
            let shift = found.map_or(0, |skew| skew.shift_ns);
            prop_assert_eq!((wrong(shift), shift.abs()), best);
        }
    }
}

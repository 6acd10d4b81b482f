//! Threads that launch when the device has drained, and record nothing of how they waited for it.
//!
//! A recording without waits (only launches were traced, or the wait is in a library) shows a thread that does nothing,
//! until a fixed little after each kernel has ended it launches the next. A thread that is seen doing nothing else
//! waits for the device. One stretch like that may be chance; a pattern is inferred: most of at least `MIN_COUNT`
//! stretches of the thread in which a device that it had launched to was busy end so, and soon after the device.

use trueno_analysis::lanes::Lanes;

use crate::infer::host_waits::HostWait;
use crate::infer::idle_intervals::{Stretch, stretches};
use crate::load::dependencies::span;
use crate::load::inferred::Rule;
use crate::load::scale::Scale;
use crate::load::streams::Streams;

const MIN_COUNT: usize = 8;
const MIN_PERCENT: usize = 80;
/// A stretch may last at most 1 / `AFTER_PART` of its length after the device has drained.
const AFTER_PART: i64 = 5;
/// Times after draining may differ by this many usual calls, or by half of their median.
const JITTER_CALLS: i64 = 1;
/// Shorter stretches, in usual calls, lie between consecutive launches.
const MIN_CALLS: i64 = 1;

/// Work that a lane launched: the start of its call, the latest end of this or earlier work, and the id of the work
/// with that end.
struct Launched {
    called_ns: i64,
    ended_ns: i64,
    id: u64,
}

pub fn drained_device(run: &Lanes, streams: &Streams) -> Vec<HostWait> {
    let mut lanes: Vec<u32> = streams.launches.values().map(|call| call.lane).collect();
    lanes.sort_unstable();
    lanes.dedup();
    let of_lane = lanes.into_iter().flat_map(|lane| {
        let launched = launched(run, streams, lane);
        let stretches = stretches(
            run,
            &run.lanes[lane as usize],
            streams.scale.calls(MIN_CALLS),
        );
        of_lane(lane, streams.scale, &launched, &stretches)
    });
    of_lane.collect()
}

fn launched(run: &Lanes, streams: &Streams, lane: u32) -> Vec<Launched> {
    let own = streams
        .launches
        .iter()
        .filter(|(_, call)| call.lane == lane);
    let mut out: Vec<Launched> = own
        .map(|(work, call)| Launched {
            called_ns: span(run, *call).start_ns,
            ended_ns: span(run, *work).end_ns,
            id: span(run, *work).id,
        })
        .collect();
    out.sort_unstable_by_key(|launched| (launched.called_ns, launched.ended_ns, launched.id));
    for at in 1..out.len() {
        if out[at].ended_ns < out[at - 1].ended_ns {
            (out[at].ended_ns, out[at].id) = (out[at - 1].ended_ns, out[at - 1].id);
        }
    }
    out
}

fn of_lane(lane: u32, scale: Scale, launched: &[Launched], stretches: &[Stretch]) -> Vec<HostWait> {
    // Stretches that began while the device had work of this lane, with the last of that.
    let busy: Vec<(&Stretch, &Launched)> = stretches
        .iter()
        .filter_map(|stretch| {
            let count = launched.partition_point(|of| of.called_ns < stretch.end_ns);
            let last = &launched[count.checked_sub(1)?];
            (stretch.start_ns < last.ended_ns).then_some((stretch, last))
        })
        .collect();
    let after_ns = |(stretch, last): &(&Stretch, &Launched)| stretch.end_ns - last.ended_ns;
    let is_soon = |of: &&(&Stretch, &Launched)| {
        let length_ns = of.0.end_ns - of.0.start_ns;
        (0..=length_ns / AFTER_PART).contains(&after_ns(of))
    };
    let mut times: Vec<i64> = busy.iter().filter(is_soon).map(after_ns).collect();
    times.sort_unstable();
    let Some(&median_ns) = times.get(times.len() / 2) else {
        return Vec::new();
    };
    let is_like_others = |of: &&(&Stretch, &Launched)| {
        (after_ns(of) - median_ns).abs() <= scale.calls(JITTER_CALLS).max(median_ns / 2)
    };
    let fitting = busy.iter().filter(is_soon).filter(is_like_others);
    let count = fitting.clone().count();
    if count < MIN_COUNT || 100 * count < MIN_PERCENT * busy.len() {
        return Vec::new();
    }
    fitting
        .map(|(stretch, last)| HostWait {
            lane,
            start_ns: stretch.start_ns,
            end_ns: last.ended_ns,
            waited_for: vec![last.id],
            began: Vec::new(),
            rule: Rule::DrainedDevice,
        })
        .collect()
}

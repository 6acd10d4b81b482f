//! Waits that had begun before the recording did.
//!
//! A profiler records a call when it returns, and leaves out one that had begun before it was turned on. A thread that
//! waited for its device just then shows nothing until it goes on, and what it waited for has no recorded launch either.
//! Where its first row comes right after the last of that had ended, and its streams were idle then, it waited for
//! that: inferred, for the call is not there.

use trueno_analysis::lanes::{LaneKind, Lanes};

use crate::infer::host_waits::HostWait;
use crate::load::dependencies::SpanAt;
use crate::load::inferred::Rule;
use crate::load::streams::Streams;
use crate::load::wait_functions::only_waits;

/// A thread whose first row comes earlier, in usual calls, may just have been started.
const MIN_CALLS: i64 = 20;
/// The thread goes on within this many usual calls after its streams have drained: waking it takes time.
const WAKE_UP_CALLS: i64 = 10;
/// It must also go on within 1 / `AFTER_PART` of the time before, or it may be chance.
const AFTER_PART: i64 = 50;

pub fn cut_off_waits(run: &Lanes, streams: &Streams) -> Vec<HostWait> {
    let lanes = 0..run.lanes.len() as u32;
    lanes
        .filter_map(|lane| of_lane(run, streams, lane))
        .collect()
}

fn of_lane(run: &Lanes, streams: &Streams, lane: u32) -> Option<HostWait> {
    let of_lane = &run.lanes[lane as usize];
    let first = of_lane.spans.first()?;
    let says_it = only_waits(run.labels.get(first.label), &run.texts);
    if of_lane.kind != LaneKind::Host || first.start_ns < streams.scale.calls(MIN_CALLS) || says_it
    {
        return None;
    }
    let mut last: Option<(i64, SpanAt)> = None;
    let own = streams.all.iter();
    for stream in own.filter(|stream| stream.launchers.contains(&lane)) {
        let work = &run.lanes[stream.lane].spans;
        let begun = work.partition_point(|work| work.start_ns < first.start_ns);
        let Some(ended_ns) = stream.ended_before(begun) else {
            continue;
        };
        let at = SpanAt {
            lane: stream.lane as u32,
            index: begun as u32 - 1,
        };
        last = last.max(Some((ended_ns, at)));
    }
    let (end_ns, at) = last?;
    let after_ns = first.start_ns - end_ns;
    let wake_up_ns = streams.scale.calls(WAKE_UP_CALLS);
    let is_soon = (0..=wake_up_ns.min(first.start_ns / AFTER_PART)).contains(&after_ns);
    // A thread that another one had launched for may have waited for that thread.
    let is_unlaunched = !streams.launches.contains_key(&at);
    (is_soon && is_unlaunched).then(|| HostWait {
        lane,
        start_ns: 0,
        end_ns,
        waited_for: vec![run.lanes[at.lane as usize].spans[at.index as usize].id],
        began: Vec::new(),
        rule: Rule::CutOffWait,
    })
}

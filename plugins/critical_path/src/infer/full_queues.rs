//! Launches that had to wait because the queue of their stream was full.
//!
//! A stream holds a limited number of launches. The next call returns when the device has done with one of them, and no
//! record says so: the call is only long. A single long call proves nothing, for in a deep queue some kernel always
//! ends just before. It is inferred where calls time and again return right after work of their stream had ended, and
//! leave the same number of launches behind each time.

use trueno_analysis::lanes::Lanes;

use crate::load::dependencies::{SpanAt, span};
use crate::load::device::Found;
use crate::load::device_waits::Held;
use crate::load::edges::DependencyKind;
use crate::load::inferred::Rule;
use crate::load::streams::{Stream, Streams};

/// Calls of at most this many usual calls did not block.
const MIN_BLOCKED_CALLS: i64 = 4;
/// No launch queue is shorter.
const MIN_DEPTH: usize = 64;
const MIN_COUNT: usize = 8;
const MIN_PERCENT: usize = 80;
/// Depths may differ from the median by 1 / `DEPTH_PART`.
const DEPTH_PART: usize = 32;

/// A call that blocked, the work that had ended before it returned, and the number of launches queued then.
struct Blocked {
    call: u64,
    ended: u64,
    depth: usize,
}

/// Adds dependencies for launches that waited for room in the queue.
pub fn full_queues(run: &Lanes, streams: &Streams, found: &mut Found) {
    for stream in &streams.all {
        let blocked = blocked(run, streams, stream);
        let mut depths: Vec<usize> = blocked.iter().map(|of| of.depth).collect();
        depths.sort_unstable();
        let Some(&median) = depths.get(depths.len() / 2) else {
            continue;
        };
        let is_full = |of: &&Blocked| of.depth.abs_diff(median) <= median / DEPTH_PART;
        let count = blocked.iter().filter(is_full).count();
        if count < MIN_COUNT || 100 * count < MIN_PERCENT * blocked.len() {
            continue;
        }
        for of in blocked.iter().filter(is_full) {
            let kind = DependencyKind::Awaits;
            found.infer(of.ended, of.call, kind, Rule::BlockingCall);
        }
    }
}

/// Long launch calls that returned while their own work was still queued behind many others.
fn blocked(run: &Lanes, streams: &Streams, stream: &Stream) -> Vec<Blocked> {
    let work = run.lanes[stream.lane].spans.iter().enumerate();
    let min_ns = streams.scale.calls(MIN_BLOCKED_CALLS);
    let calls = work.filter_map(|(index, work)| {
        if index < MIN_DEPTH || work.start_ns - stream.launched[index] < min_ns {
            return None;
        }
        let at = SpanAt {
            lane: stream.lane as u32,
            index: index as u32,
        };
        let call_at = streams.launches.get(&at)?;
        let call = span(run, *call_at);
        if call.dur_ns() < min_ns || work.start_ns < call.end_ns {
            return None;
        }
        let held = Held {
            lane: call_at.lane,
            called_ns: call.start_ns,
            start_ns: call.start_ns,
            end_ns: call.end_ns,
            scale: streams.scale,
        };
        let (last, ended_ns) = stream.last_ended(call.end_ns)?;
        let depth = index.checked_sub(last)?;
        (held.is_explained_by(ended_ns) && depth >= MIN_DEPTH).then(|| Blocked {
            call: call.id,
            ended: run.lanes[stream.lane].spans[last].id,
            depth,
        })
    });
    calls.collect()
}

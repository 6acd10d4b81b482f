//! Streams that went on when work of another stream had ended, where nothing records why.
//!
//! A stream waits for another by an event, and many recordings hold neither its record nor the wait. Work that was
//! launched long before, found its own stream idle, and began right after work of another stream of its device had
//! ended, waited for that, or for the multiprocessors that it held. It is inferred. So it is where it began within a
//! tenth of the time that it had to wait by then: nothing else recorded can have held it.

use trueno_analysis::hash::FastSet;
use trueno_analysis::lanes::Lanes;

use crate::load::dependencies::SpanAt;
use crate::load::device::Found;
use crate::load::edges::DependencyKind;
use crate::load::inferred::Rule;
use crate::load::streams::Streams;

/// Shorter times between launch and start, or on an idle stream, need no explanation (in usual calls).
const MIN_IDLE_CALLS: i64 = 4;
/// Work begins within this many usual calls after what it waited for.
const NEXT_CALLS: i64 = 2;
/// If the work is known to be launched before, it may also begin within 1 / `AFTER_PART` of the time that it
/// waited.
const AFTER_PART: i64 = 10;

/// Adds dependencies between streams, except where a record already orders the work.
pub fn stream_follows(run: &Lanes, streams: &Streams, found: &mut Found) {
    let stated = found.edges.iter();
    let stated: FastSet<u64> = stated
        .filter(|edge| edge.kind == DependencyKind::Follows)
        .map(|edge| edge.to)
        .collect();
    let min_idle_ns = streams.scale.calls(MIN_IDLE_CALLS);
    let next_ns = streams.scale.calls(NEXT_CALLS);
    for stream in &streams.all {
        for (index, work) in run.lanes[stream.lane].spans.iter().enumerate() {
            let ready_ns = stream.ended_before(index).unwrap_or(i64::MIN);
            let at = SpanAt {
                lane: stream.lane as u32,
                index: index as u32,
            };
            let launched_ns = stream.launched[index];
            // Of other work nothing says that it came late.
            let was_launched =
                streams.launches.contains_key(&at) || launched_ns < work.start_ns - min_idle_ns;
            let ready_ns = if was_launched {
                ready_ns.max(launched_ns)
            } else {
                ready_ns
            };
            if work.start_ns.saturating_sub(ready_ns) < min_idle_ns || stated.contains(&work.id) {
                continue;
            }
            let after_ns = if was_launched {
                next_ns.max((work.start_ns - ready_ns) / AFTER_PART)
            } else {
                next_ns
            };
            let others = streams.all.iter();
            let others = others.filter(|s| s.device == stream.device && s.lane != stream.lane);
            let ends = others.filter_map(|other| {
                let (last, ended_ns) = other.last_ended(work.start_ns)?;
                let was_launched = other.launched[last] < work.start_ns;
                let is_next = ready_ns < ended_ns && work.start_ns - ended_ns <= after_ns;
                let id = run.lanes[other.lane].spans[last].id;
                (was_launched && is_next).then_some((ended_ns, id))
            });
            if let Some((_, from)) = ends.max() {
                found.infer(from, work.id, DependencyKind::Follows, Rule::Streams);
            }
        }
    }
}

//! Calls of the host that did not return before work of a device had ended.
//!
//! A copy that blocks is queued behind what its stream still has to do, runs, and only then its call returns. A call
//! that found its stream busy did nothing but wait from its start on; one that found it idle worked until its copy
//! began. Which copies block is stated: those that are synchronous, or of pageable memory (CUDA Runtime API, "API
//! synchronization behavior"). Where a recording does not say it, a call that returned right after its copy blocked:
//! that is inferred. So it is for calls that may wait for the device, such as `cudaFree`.
//!
//! Some runtimes only return from a launch when its work has ended (MTIA's, OpenCL's and SYCL's in synchronous modes, CUDA with
//! `CUDA_LAUNCH_BLOCKING`). That is inferred for a device of which nearly all launched time ran within the launching calls, and
//! whose calls lasted for that.

use std::collections::BTreeMap;

use trueno_analysis::evidence::MIN_FEW;
use trueno_analysis::hash::FastMap;
use trueno_analysis::lanes::{Class, LaneKey, LaneKind, Lanes, Span};
use trueno_analysis::vendors::{self, Call};
use trueno_plugin::rank::{of_key, of_place};

use crate::load::dependencies::{SpanAt, span};
use crate::load::device::{Found, implied};
use crate::load::device_waits::{Held, MIN_HELD_CALLS};
use crate::load::edges::{Blocking, DependencyKind};
use crate::load::inferred::Rule;
use crate::load::row_index::RowIndex;
use crate::load::streams::Streams;

/// Work that only waited for the previous work on its stream begins within this many usual calls after it.
const NEXT_CALLS: i64 = 2;

/// PyTorch's operators that bring a value or a shape to the host, and so wait for the device.
const WAITING_OPERATORS: [&str; 6] = [
    "aten::_local_scalar_dense",
    "aten::equal",
    "aten::is_nonzero",
    "aten::item",
    "aten::masked_select",
    "aten::nonzero",
];

fn may_wait(class: Class, name: &str) -> bool {
    match class {
        Class::Call => vendors::call(name) == Some(Call::MayWait),
        Class::Brick => WAITING_OPERATORS.contains(&name),
        _ => false,
    }
}

/// A copy from pageable memory is staged, so its call returns before the copy ends: by up to this many usual calls,
/// or a tenth of the copy.
const STAGED_CALLS: i64 = 10;

pub fn blocking_calls(
    run: &Lanes,
    rows: &RowIndex,
    streams: &Streams,
    copies: &[Blocking],
    found: &mut Found,
) {
    for pair in copies {
        let (Some(work), Some(call)) = (rows.get(pair.copy), rows.get(pair.call)) else {
            continue;
        };
        let (copy, row) = (span(run, work), span(run, call));
        let staged_ns = if pair.is_stated {
            streams.scale.calls(STAGED_CALLS).max(copy.dur_ns() / 10)
        } else {
            0
        };
        let is_inside = row.start_ns <= copy.start_ns
            && copy.start_ns < row.end_ns
            && copy.end_ns - row.end_ns <= staged_ns;
        if !is_inside {
            continue; // a call that returned before did not block, whatever it might have done
        }
        let queued = queued_behind(run, streams, work, row);
        let kind = match queued {
            Queued::Nothing => DependencyKind::Blocks,
            Queued::OwnStream | Queued::Other(_) => DependencyKind::Awaits,
        };
        if pair.is_stated {
            found.edges.push(implied(pair.copy, pair.call, kind));
        } else {
            let held = Held {
                lane: call.lane,
                called_ns: row.start_ns,
                start_ns: row.start_ns,
                end_ns: row.end_ns,
                scale: streams.scale,
            };
            let waited_ns = copy.end_ns - row.start_ns;
            if !held.is_explained_by(copy.end_ns) || waited_ns < row.end_ns - copy.end_ns {
                continue;
            }
            found.infer(pair.copy, pair.call, kind, Rule::BlockingCall);
        }
        if let Queued::Other(before) = queued {
            found.infer(before, pair.copy, DependencyKind::Follows, Rule::Streams);
        }
    }
    calls_that_may_wait(run, streams, found);
    synchronous_launches(run, streams, found);
}

/// Kernels that ended within the calls that launched them, on devices where that is the rule.
fn synchronous_launches(run: &Lanes, streams: &Streams, found: &mut Found) {
    /// Of the time of kernels with a launch, this much ran within it.
    const MIN_WITHIN: f64 = 0.9;
    /// Of the time of these calls, kernels take this much.
    const MIN_OF_CALLS: f64 = 0.5;
    #[derive(Default)]
    struct Sums {
        launched_ns: i64,
        within_ns: i64,
        calls_ns: i64,
        pairs: Vec<(u64, u64)>,
    }
    let mut devices: BTreeMap<i64, Sums> = BTreeMap::new();
    for (work, call) in &streams.launches {
        let (LaneKey::Stream(device, _), kernel, call) = (
            run.lanes[work.lane as usize].key,
            span(run, *work),
            span(run, *call),
        ) else {
            continue;
        };
        if run.labels.get(kernel.label).class != Class::Kernel {
            continue;
        }
        let sums = devices.entry(device).or_default();
        sums.launched_ns = sums.launched_ns.saturating_add(kernel.dur_ns());
        if call.start_ns <= kernel.start_ns && kernel.end_ns <= call.end_ns {
            sums.within_ns = sums.within_ns.saturating_add(kernel.dur_ns());
            sums.calls_ns = sums.calls_ns.saturating_add(call.dur_ns());
            sums.pairs.push((kernel.id, call.id));
        }
    }
    for mut sums in devices.into_values() {
        let within_ns = sums.within_ns as f64;
        if sums.pairs.len() as u64 >= MIN_FEW
            && within_ns >= MIN_WITHIN * sums.launched_ns as f64
            && within_ns >= MIN_OF_CALLS * sums.calls_ns as f64
        {
            sums.pairs.sort_unstable();
            for (kernel, call) in sums.pairs {
                found.infer(kernel, call, DependencyKind::Blocks, Rule::BlockingCall);
            }
        }
    }
}

enum Queued {
    /// Its stream was idle.
    Nothing,
    OwnStream,
    /// Work of another stream, by id. This is inferred.
    Other(u64),
}

fn queued_behind(run: &Lanes, streams: &Streams, work: SpanAt, call: &Span) -> Queued {
    let copy = span(run, work);
    let Some(stream) = streams.of_lane(work.lane) else {
        return Queued::Nothing;
    };
    let waited_for = |until_ns: i64, at_most_ns: i64| {
        let queued_ns = until_ns - call.start_ns;
        queued_ns > 0 && copy.start_ns - until_ns <= at_most_ns.max(streams.scale.calls(NEXT_CALLS))
    };
    let own = stream.ended_before(work.index as usize);
    if own.is_some_and(|until_ns| waited_for(until_ns, until_ns - call.start_ns)) {
        return Queued::OwnStream;
    }
    if copy.start_ns - call.start_ns <= streams.scale.calls(STAGED_CALLS) {
        return Queued::Nothing;
    }
    let held = Held {
        lane: work.lane,
        called_ns: call.start_ns,
        start_ns: call.start_ns,
        end_ns: copy.start_ns,
        scale: streams.scale,
    };
    let rank = of_place(stream.device).0;
    let others = streams.all.iter();
    let others =
        others.filter(|other| other.lane != stream.lane && of_place(other.device).0 == rank);
    match held.last_work(run, others) {
        Some((before, until_ns)) if waited_for(until_ns, 0) => Queued::Other(before),
        _ => Queued::Nothing,
    }
}

fn calls_that_may_wait(run: &Lanes, streams: &Streams, found: &mut Found) {
    let mut known: FastMap<u32, bool> = FastMap::default();
    for (lane, of_lane) in run.lanes.iter().enumerate() {
        if of_lane.kind != LaneKind::Host {
            continue;
        }
        for (index, call) in of_lane.spans.iter().enumerate() {
            let label = call.label;
            let may_wait = *known.entry(label).or_insert_with(|| {
                let label = run.labels.get(label);
                may_wait(label.class, run.texts.text(label.name))
            });
            // What waits inside it is on record, and it is an operator that only calls.
            let next = of_lane.spans.get(index + 1);
            let has_inner = next.is_some_and(|inner| inner.start_ns < call.end_ns);
            if !may_wait || has_inner || call.dur_ns() <= streams.scale.calls(MIN_HELD_CALLS) {
                continue;
            }
            let held = Held {
                lane: lane as u32,
                called_ns: call.start_ns,
                start_ns: call.start_ns,
                end_ns: call.end_ns,
                scale: streams.scale,
            };
            let rank = of_key(call.id) as i64;
            let own = streams.all.iter();
            let own = own.filter(|stream| of_place(stream.device).0 == rank);
            for work in held.last_works(run, own) {
                found.infer(work, call.id, DependencyKind::Awaits, Rule::BlockingCall);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_may_wait_are_known_in_all_spellings() {
        for name in ["cudaFree", "cuMemFree_v2", "hipFree", "cudaFreeHost_v3020"] {
            assert!(may_wait(Class::Call, name), "{name}");
        }
        for name in ["free", "cudaFreeAsync", "cudaLaunchKernel", "Free"] {
            assert!(!may_wait(Class::Call, name), "{name}");
        }
        assert!(may_wait(Class::Brick, "aten::_local_scalar_dense"));
        assert!(!may_wait(Class::Brick, "aten::mm"));
    }
}

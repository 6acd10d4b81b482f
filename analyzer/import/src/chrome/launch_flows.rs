//! Flows from a launch on a thread of the host to the device work that it began, where no correlation says it.

use super::collector::Collector;
use super::record::{Link, NO_ID, NONE, Operator, Part, rising, time};
use crate::Error;
use crate::sorter::Sorter;

pub(super) const LAUNCH_FLOW_WORDS: usize = 10;

/// The start lies in a call, or else in another interval; the end at work.
const IN_CALL: u64 = 0;
const IN_BRICK: u64 = 1;
const AT_WORK: u64 = 2;

/// Kineto states correlations beside its flows.
pub(super) fn is_of_kineto(category: &str) -> bool {
    matches!(category, "ac2g" | "async_gpu" | "async_cpu_to_gpu")
}

/// The end of a flow, at device work with that correlation.
pub(super) fn end(flow: u64, time_ns: i64, work: u64) -> [u64; LAUNCH_FLOW_WORDS] {
    [flow, rising(time_ns), AT_WORK, work, 0, 0, 0, 0, 0, 0]
}

/// The call that a flow begins in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub id: u64,
    pub brick: u64,
    pub thread_and_process: u64,
    pub name: u32,
    pub start_ns: i64,
    pub end_ns: i64,
}

/// The start of a flow in a call.
pub(super) fn start_in_call(flow: u64, time_ns: i64, of: Call) -> [u64; LAUNCH_FLOW_WORDS] {
    [
        flow,
        rising(time_ns),
        IN_CALL,
        of.id,
        of.brick,
        of.thread_and_process,
        of.name.into(),
        rising(of.start_ns),
        (of.end_ns - of.start_ns).cast_unsigned(),
        0,
    ]
}

/// The start of a flow in a row of bricks.
pub(super) fn start_in_brick(
    flow: u64,
    time_ns: i64,
    (brick, thread): (u64, u32),
) -> [u64; LAUNCH_FLOW_WORDS] {
    let time = rising(time_ns);
    [flow, time, IN_BRICK, brick, thread.into(), 0, 0, 0, 0, 0]
}

impl Collector<'_> {
    pub(super) fn put_launch_flow(&mut self, words: [u64; LAUNCH_FLOW_WORDS]) -> Result<(), Error> {
        let done = self.launch_flows.push(words);
        done.map_err(|e| Error::io(self.launch_flows.path(), "write it", e))
    }
}

/// Tells the linker which call, or which brick, led to which work.
pub(super) fn link(collector: &mut Collector<'_>) -> Result<(), Error> {
    let path = collector.launch_flows.path().to_owned();
    let problem = |e| Error::io(&path, "sort it", e);
    let flows = std::mem::replace(&mut collector.launch_flows, Sorter::small(path.clone()));
    let mut flows = flows.sorted().map_err(problem)?;
    let mut from: Option<[u64; LAUNCH_FLOW_WORDS]> = None;
    while let Some(words) = flows.next().map_err(problem)? {
        let [flow, at, kind, work, ..] = words;
        if kind != AT_WORK {
            from = Some(words);
            continue;
        }
        let Some(from) = from.filter(|from| from[0] == flow) else {
            collector.notes.skip("flow end without its start");
            continue;
        };
        let [_, _, kind, id, second, place, name, start, dur, _] = from;
        if kind == IN_BRICK {
            collector.operator(Operator {
                external: work,
                start_ns: time(at).min(time(from[1])),
                id,
                thread: second as u32,
            })?;
            continue;
        }
        collector.link(Link {
            correlation: work,
            part: Part::Call,
            start_ns: time(start),
            dur_ns: dur.cast_signed(),
            order: id,
            name: name as u32,
            device: NONE,
            stream: NONE,
            more: [id, second, place, NO_ID, 0, 0, 0],
            external: NO_ID,
        })?;
    }
    Ok(())
}

//! Flows from a launch on a thread of the host to the device work that it began, where no correlation says it.

use super::collector::Collector;
use super::launch_points::{AT_WORK, IN_BRICK, LAUNCH_FLOW_WORDS};
use super::record::{Link, LinkEvent, NO_ID, NONE, Operator, stated, time};
use crate::Error;

type Words = [u64; LAUNCH_FLOW_WORDS];

/// Records which call or brick launched which work, for the linker.
pub(super) fn link(collector: &mut Collector<'_>) -> Result<(), Error> {
    let mut flows = collector.launch_flows.take()?;
    let mut from: Option<Words> = None;
    // An end before any start of its flow. It belongs to the start if there is no other end: clocks of host and
    // device differ, and some write an arrow at the end of its call.
    let mut early: Option<Words> = None;
    loop {
        let next = flows.next()?;
        let flow = next.map(|words| words[0]);
        if from.or(early).is_some_and(|of| Some(of[0]) != flow) {
            match (from.take(), early.take()) {
                (Some(from), Some(end)) => launched(collector, from, end)?,
                (None, Some(_)) => collector.notes.skip(NO_START),
                (_, None) => {}
            }
        }
        let Some(words) = next else {
            return Ok(());
        };
        let is_end = words[2] == AT_WORK;
        let is_second = from.is_some() || is_end && early.is_some();
        if is_second && early.take().is_some() {
            collector.notes.skip(NO_START);
        }
        match from {
            _ if !is_end => from = Some(words),
            Some(from) => launched(collector, from, words)?,
            None => early = Some(words),
        }
    }
}

const NO_START: &str = "flow end without its start";

fn launched(collector: &mut Collector<'_>, from: Words, end: Words) -> Result<(), Error> {
    let [_, at, _, work, ..] = end;
    let [
        _,
        started,
        kind,
        id,
        second,
        thread,
        name,
        start,
        dur,
        bytes,
    ] = from;
    if kind == IN_BRICK {
        return collector.operator(Operator {
            external: work,
            start_ns: time(at).min(time(started)),
            id,
            thread: second as u32,
        });
    }
    collector.link(Link {
        correlation: work,
        event: LinkEvent::Call {
            id,
            brick: stated(second),
            thread: thread as u32,
            wait: None,
            bytes: stated(bytes),
        },
        start_ns: time(start),
        dur_ns: dur.cast_signed(),
        order: id,
        name: name as u32,
        device: NONE,
        stream: NONE,
        external: NO_ID,
    })
}

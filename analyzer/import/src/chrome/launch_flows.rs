//! Flows from a launch on a thread of the host to the device work that it began, where no correlation says it.

use super::collector::Collector;
use super::launch_points::{AT_WORK, IN_BRICK, LAUNCH_FLOW_WORDS};
use super::record::{Link, LinkEvent, NO_ID, NONE, Operator, stated, time};
use crate::Error;
use crate::sorter::Sorter;

/// Records which call or brick launched which work, for the linker.
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
        let [_, _, kind, id, second, thread, name, start, dur, _] = from;
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
            event: LinkEvent::Call {
                id,
                brick: stated(second),
                thread: thread as u32,
                wait: None,
            },
            start_ns: time(start),
            dur_ns: dur.cast_signed(),
            order: id,
            name: name as u32,
            device: NONE,
            stream: NONE,
            external: NO_ID,
        })?;
    }
    Ok(())
}

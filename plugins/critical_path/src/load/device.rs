//! Dependencies of device work that follow from waits, events, copies and stream kinds.
//!
//! No record says "this work waited for that"; each rule below is what the CUDA runtime
//! promises, applied to recorded calls (CUDA C++ Programming Guide, "Asynchronous Concurrent
//! Execution"; CUPTI, `CUpti_ActivitySynchronization`):
//!
//! | recorded | dependency |
//! | --- | --- |
//! | the host waits for a stream or a device | the last work launched there before the wait → the wait |
//! | an event is recorded on a stream, the host waits for it | the last work launched on that stream before the record → the wait |
//! | an event is recorded on a stream, another stream waits for it | that work → the first work launched on the other stream after the wait |
//! | a copy that is synchronous, or of pageable memory, ended within its call | the copy → the call |
//! | work on the legacy default stream | the last work launched before on every blocking stream → it → the first launched after |
//!
//! A wait that names no stream, or one whose work does not explain its end, is told by the work that ended last before
//! it did: [`held`](crate::load::device_waits). That is inferred, and stands in [`Found::inferred`].

use trueno_analysis::hash::FastMap;
use trueno_analysis::lanes::{Lanes, Span};
use trueno_plugin::rank::{of_key, of_place};

use crate::load::dependencies::{SpanAt, span};
use crate::load::device_waits::{Held, MIN_HELD_CALLS};
use crate::load::edges::{DependencyKind, Edge};
use crate::load::inferred::{Inferred, Rule};
use crate::load::row_index::RowIndex;
use crate::load::streams::{Stream, Streams};
use crate::load::waits::{Recorded, Wait, WaitKind};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub edges: Vec<Edge>,
    /// Which of the edges were inferred, and by which rule. The others follow from a record or from a guarantee
    /// of the runtime.
    pub inferred: Inferred,
    /// Waits that name no stream or event, or whose event was not recorded.
    pub unclear_waits: u64,
    /// Number of stream rows without a recorded launch, and of all stream rows.
    pub unlaunched: (u64, u64),
}

pub struct Events<'a> {
    pub recorded: &'a [Recorded],
    /// By wait: the record that an edge joins it to.
    pub joined: &'a FastMap<u64, Recorded>,
}

impl Found {
    pub fn infer(&mut self, from: u64, to: u64, kind: DependencyKind, rule: Rule) {
        self.edges.push(implied(from, to, kind));
        self.inferred.add(from, to, rule);
    }
}

fn id(run: &Lanes, stream: &Stream, index: usize) -> u64 {
    run.lanes[stream.lane].spans[index].id
}

/// An edge that is not in table `edges` but concluded.
pub fn implied(from: u64, to: u64, kind: DependencyKind) -> Edge {
    Edge {
        from,
        to,
        kind,
        implied: true,
    }
}

pub fn device(
    run: &Lanes,
    rows: &RowIndex,
    streams: &Streams,
    waits: &[Wait],
    events: &Events<'_>,
    legacy: &Legacy,
) -> Found {
    let mut found = Found {
        unlaunched: streams.unlaunched,
        ..Found::default()
    };
    for wait in waits {
        let at = rows.get(wait.id);
        waited(run, streams, wait, at, events, &mut found);
    }
    legacy.edges(run, &streams.all, &mut found);
    found
}

/// Adds the dependencies of a wait; `at` is its row if it blocks a thread.
fn waited(
    run: &Lanes,
    streams: &Streams,
    wait: &Wait,
    at: Option<SpanAt>,
    events: &Events<'_>,
    found: &mut Found,
) {
    // Ranks never wait for each other's devices.
    let rank = of_key(wait.id) as i64;
    let own = || {
        let all = streams.all.iter();
        all.filter(move |s| of_place(s.device).0 == rank)
    };
    let on = |device: Option<i64>, number: Option<i64>| {
        own().find(move |stream| {
            device.is_none_or(|device| device == stream.device)
                && number.is_some()
                && number == stream.stream
        })
    };
    let of_event = || {
        let joined = events.joined.get(&wait.id);
        let record = joined.or_else(|| Recorded::last_before(events.recorded, wait))?;
        // Nothing may have been launched there that could be waited for.
        let last = on(record.device, record.stream)
            .and_then(|stream| Some((stream, stream.last_before(record.called_ns)?)));
        Some(last)
    };
    let is_device = |stream: &&Stream| wait.device.is_none_or(|device| device == stream.device);
    let several_devices = || own().any(|s| Some(s.device) != own().next().map(|s| s.device));
    let stated: Option<Vec<(&Stream, usize)>> = match wait.kind {
        WaitKind::Device if wait.device.is_none() && several_devices() => None,
        WaitKind::Stream if wait.stream.is_none() => None,
        WaitKind::Device | WaitKind::Stream => {
            let waited_for = |stream: &&Stream| {
                is_device(stream) && (wait.kind == WaitKind::Device || stream.stream == wait.stream)
            };
            let last = |stream| Some((stream, Stream::last_before(stream, wait.called_ns)?));
            Some(own().filter(waited_for).filter_map(last).collect())
        }
        WaitKind::Event => of_event().map(|last| last.into_iter().collect()),
        WaitKind::StreamWait => {
            let Some(last) = of_event() else {
                found.unclear_waits += 1;
                return;
            };
            if let Some((stream, last)) = last
                && let Some(to) = on(wait.device, wait.stream)
                && let Some(first) = to.first_after(wait.called_ns)
            {
                let (from, to) = (id(run, stream, last), id(run, to, first));
                found.edges.push(implied(from, to, DependencyKind::Follows));
            }
            return;
        }
    };
    let is_stated = stated.is_some();
    let mut ends_ns = Vec::new();
    for (stream, last) in stated.into_iter().flatten() {
        let work = &run.lanes[stream.lane].spans[last];
        ends_ns.push(work.end_ns);
        found
            .edges
            .push(implied(work.id, wait.id, DependencyKind::Joins));
    }
    let Some(at) = at else {
        found.unclear_waits += u64::from(!is_stated);
        return;
    };
    let Span {
        start_ns, end_ns, ..
    } = *span(run, at);
    let held = Held {
        lane: at.lane,
        called_ns: wait.called_ns,
        start_ns,
        end_ns,
        scale: streams.scale,
    };
    // A look at an event is recorded as a wait for it, and waits for nothing.
    let may_be_none = is_stated || wait.kind == WaitKind::Event;
    let is_short = may_be_none && end_ns - start_ns <= streams.scale.calls(MIN_HELD_CALLS);
    if is_short {
        found.unclear_waits += u64::from(!is_stated);
        return;
    }
    if ends_ns.iter().any(|ns| held.is_explained_by(*ns)) {
        return;
    }
    let works = held.last_works(run, own());
    found.unclear_waits += u64::from(!is_stated && works.is_empty());
    for work in works {
        found.infer(work, wait.id, DependencyKind::Joins, Rule::Wait);
    }
}

/// Streams that are ordered with the legacy default stream of their device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Legacy {
    /// Device and stream of every legacy default stream.
    pub default: Vec<(Option<i64>, i64)>,
    /// Device and stream of the blocking streams.
    pub blocking: Vec<(Option<i64>, i64)>,
}

impl Legacy {
    fn edges(&self, run: &Lanes, streams: &[Stream], found: &mut Found) {
        let among = |list: &[(Option<i64>, i64)], stream: &Stream| {
            list.iter().any(|(device, number)| {
                device.is_none_or(|device| device == stream.device)
                    && Some(*number) == stream.stream
            })
        };
        for default in streams.iter().filter(|stream| among(&self.default, stream)) {
            let ordered: Vec<&Stream> = streams
                .iter()
                .filter(|s| {
                    s.device == default.device && s.lane != default.lane && among(&self.blocking, s)
                })
                .collect();
            for index in 0..run.lanes[default.lane].spans.len() {
                let launched_ns = default.launched[index];
                let own = id(run, default, index);
                for other in &ordered {
                    if let Some(last) = other.last_before(launched_ns) {
                        let from = id(run, other, last);
                        found
                            .edges
                            .push(implied(from, own, DependencyKind::Follows));
                    }
                    if let Some(first) = other.first_after(launched_ns) {
                        let to = id(run, other, first);
                        found.edges.push(implied(own, to, DependencyKind::Follows));
                    }
                }
            }
        }
    }
}

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
//! Work whose launch was not recorded counts as launched when it began, or before the first wait or record with a
//! higher correlation: by then it was. A wait that names no stream stays unexplained: which one it was would be a guess.

use trueno_analysis::hash::FastMap;
use trueno_analysis::lanes::{LaneKey, Lanes};
use trueno_plugin::rank::{of_key, of_place};

use crate::dependencies::SpanAt;
use crate::edges::{DependencyKind, Edge};
use crate::row_index::row_index;
use crate::waits::{Launched, Recorded, Wait, WaitKind};

/// Conclusions of all rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Dependencies by ids.
    pub edges: Vec<Edge>,
    /// Waits that do not say for which stream or event, or whose event was not recorded.
    pub unclear_waits: u64,
    /// Rows on streams whose launch is not recorded, and rows on streams.
    pub unlaunched: (u64, u64),
}

/// Records of events.
pub struct Events<'a> {
    /// All records, in order.
    pub recorded: &'a [Recorded],
    /// The record that a wait is joined to, by wait.
    pub joined: &'a FastMap<u64, Recorded>,
}

/// Work of one stream in the order of its starts.
struct Stream {
    lane: usize,
    device: i64,
    stream: Option<i64>,
    /// Launch time of each.
    launched: Vec<i64>,
    /// Of the work from here on, the earliest launch.
    earliest_from: Vec<i64>,
    /// Of the work up to here, the latest launch.
    latest_to: Vec<i64>,
}

impl Stream {
    /// The last work of the stream that was launched before.
    fn last_before(&self, time_ns: i64) -> Option<usize> {
        let count = self
            .earliest_from
            .partition_point(|launched| *launched < time_ns);
        count.checked_sub(1)
    }

    /// The first work of the stream that was launched after.
    fn first_after(&self, time_ns: i64) -> Option<usize> {
        let at = self
            .latest_to
            .partition_point(|launched| *launched <= time_ns);
        (at < self.latest_to.len()).then_some(at)
    }
}

/// Everything the rules conclude; `launches` are the dependencies of that kind.
pub fn device(
    run: &Lanes,
    launches: &[Edge],
    launched: &Launched,
    waits: &[Wait],
    events: &Events<'_>,
    legacy: &Legacy,
) -> Found {
    let mut found = Found::default();
    let streams = streams(run, launches, launched, &mut found);
    if streams.is_empty() {
        return found;
    }
    for wait in waits {
        waited(run, &streams, wait, events, &mut found);
    }
    legacy.edges(run, &streams, &mut found);
    found
}

fn streams(run: &Lanes, launches: &[Edge], before: &Launched, found: &mut Found) -> Vec<Stream> {
    let is_stream = |key: LaneKey| matches!(key, LaneKey::Stream(..));
    if !run.lanes.iter().any(|lane| is_stream(lane.key)) {
        return Vec::new();
    }
    let rows = row_index(run);
    let mut launched: FastMap<SpanAt, i64> = FastMap::default();
    for edge in launches {
        if let (Some(from), Some(to)) = (rows.get(edge.from), rows.get(edge.to)) {
            let start_ns = crate::dependencies::span(run, from).start_ns;
            let first = launched.entry(to).or_insert(start_ns);
            *first = start_ns.min(*first);
        }
    }
    let mut out = Vec::new();
    for (number, lane) in run.lanes.iter().enumerate() {
        let LaneKey::Stream(device, stream) = lane.key else {
            continue;
        };
        let at = |index: usize| SpanAt {
            lane: number as u32,
            index: index as u32,
        };
        let spans = lane.spans.iter().enumerate();
        let mut times: Vec<i64> = Vec::with_capacity(lane.spans.len());
        for (index, span) in spans {
            found.unlaunched.1 += 1;
            times.push(launched.get(&at(index)).copied().unwrap_or_else(|| {
                found.unlaunched.0 += 1;
                let before_ns = before.before_ns(span.id);
                before_ns.map_or(span.start_ns, |ns| span.start_ns.min(ns - 1))
            }));
        }
        let (launched, mut latest_to) = (times.clone(), times.clone());
        for i in 1..latest_to.len() {
            latest_to[i] = latest_to[i].max(latest_to[i - 1]);
        }
        for i in (1..times.len()).rev() {
            times[i - 1] = times[i - 1].min(times[i]);
        }
        out.push(Stream {
            lane: number,
            device,
            stream,
            launched,
            earliest_from: times,
            latest_to,
        });
    }
    out
}

fn id(run: &Lanes, stream: &Stream, index: usize) -> u64 {
    run.lanes[stream.lane].spans[index].id
}

fn implied(from: u64, to: u64, kind: DependencyKind) -> Edge {
    Edge {
        from,
        to,
        kind,
        implied: true,
    }
}

/// Adds the dependencies of a wait.
fn waited(run: &Lanes, streams: &[Stream], wait: &Wait, events: &Events<'_>, found: &mut Found) {
    // Ranks never wait for each other's devices.
    let rank = of_key(wait.id) as i64;
    let own = || streams.iter().filter(move |s| of_place(s.device).0 == rank);
    let is_device = |stream: &&Stream| wait.device.is_none_or(|device| device == stream.device);
    let several_devices = || own().any(|s| Some(s.device) != own().next().map(|s| s.device));
    match wait.kind {
        WaitKind::Device if wait.device.is_none() && several_devices() => found.unclear_waits += 1,
        WaitKind::Stream if wait.stream.is_none() => found.unclear_waits += 1,
        WaitKind::Device | WaitKind::Stream => {
            let waited_for = |stream: &&Stream| {
                is_device(stream) && (wait.kind == WaitKind::Device || stream.stream == wait.stream)
            };
            for stream in own().filter(waited_for) {
                if let Some(last) = stream.last_before(wait.called_ns) {
                    let edge = implied(id(run, stream, last), wait.id, DependencyKind::Joins);
                    found.edges.push(edge);
                }
            }
        }
        WaitKind::Event | WaitKind::StreamWait => {
            let joined = events.joined.get(&wait.id);
            let Some(record) = joined.or_else(|| Recorded::last_before(events.recorded, wait))
            else {
                found.unclear_waits += 1;
                return;
            };
            let on = |device: Option<i64>, number: Option<i64>| {
                own().find(move |stream| {
                    device.is_none_or(|device| device == stream.device)
                        && number.is_some()
                        && number == stream.stream
                })
            };
            let Some((stream, last)) = on(record.device, record.stream)
                .and_then(|stream| Some((stream, stream.last_before(record.called_ns)?)))
            else {
                return; // nothing was launched there that could be waited for
            };
            let from = id(run, stream, last);
            if wait.kind == WaitKind::Event {
                found
                    .edges
                    .push(implied(from, wait.id, DependencyKind::Joins));
            } else if let Some((to, first)) = on(wait.device, wait.stream)
                .and_then(|to| Some((to, to.first_after(wait.called_ns)?)))
            {
                let to = id(run, to, first);
                found.edges.push(implied(from, to, DependencyKind::Follows));
            }
        }
    }
}

/// Streams that are ordered with the legacy default stream of their device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Legacy {
    /// Device and stream of every legacy default stream.
    pub default: Vec<(Option<i64>, i64)>,
    /// Device and stream of those that are not non-blocking.
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

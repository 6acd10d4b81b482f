//! Work of devices by stream, and when the host launched it.

use std::collections::BTreeSet;

use trueno_analysis::hash::FastMap;
use trueno_analysis::lanes::{Class, LaneKey, Lanes, Span};

use crate::load::dependencies::{SpanAt, span};
use crate::load::edges::Edge;
use crate::load::row_index::RowIndex;
use crate::load::scale::Scale;
use crate::load::waits::Launched;

pub struct Stream {
    pub lane: usize,
    pub device: i64,
    pub stream: Option<i64>,
    pub launched: Vec<i64>,
    pub launchers: BTreeSet<u32>,
    /// Earliest launch of the work from each index on.
    earliest_from: Vec<i64>,
    /// Latest launch of the work up to each index.
    latest_to: Vec<i64>,
    /// Latest end of the work up to each index.
    ended_to: Vec<i64>,
}

impl Stream {
    /// The last work that was launched before `time_ns`.
    pub fn last_before(&self, time_ns: i64) -> Option<usize> {
        let count = self
            .earliest_from
            .partition_point(|launched| *launched < time_ns);
        count.checked_sub(1)
    }

    /// The first work that was launched after `time_ns`.
    pub fn first_after(&self, time_ns: i64) -> Option<usize> {
        let at = self
            .latest_to
            .partition_point(|launched| *launched <= time_ns);
        (at < self.latest_to.len()).then_some(at)
    }

    /// The last work that, with all before it, had ended by `time_ns`, and when that was.
    pub fn last_ended(&self, time_ns: i64) -> Option<(usize, i64)> {
        let count = self
            .ended_to
            .partition_point(|ended_ns| *ended_ns <= time_ns);
        let last = count.checked_sub(1)?;
        Some((last, self.ended_to[last]))
    }

    /// Latest end of the work before `index`; `None`: there is none.
    pub fn ended_before(&self, index: usize) -> Option<i64> {
        Some(self.ended_to[index.checked_sub(1)?])
    }

    pub fn measure_ends(&mut self, run: &Lanes) {
        self.ended_to.clear();
        let mut latest_ns = i64::MIN;
        for span in &run.lanes[self.lane].spans {
            latest_ns = latest_ns.max(span.end_ns);
            self.ended_to.push(latest_ns);
        }
    }
}

#[derive(Default)]
pub struct Streams {
    pub all: Vec<Stream>,
    /// Number of stream rows without a recorded launch, and of all stream rows.
    pub unlaunched: (u64, u64),
    /// By work: the call that launched it, the earliest if there are several.
    pub launches: FastMap<SpanAt, SpanAt>,
    pub scale: Scale,
}

impl Streams {
    /// Work without a recorded launch counts as launched when it began, before the first wait or event
    /// record with a higher correlation id, or at the end of the row that `spawns` it. A stream of copies none of which
    /// was launched, beside streams whose work was, is left out.
    pub fn new(
        run: &Lanes,
        rows: &RowIndex,
        launches: &[Edge],
        spawns: &[Edge],
        before: &Launched,
    ) -> Self {
        let mut out = Self::default();
        for edge in launches {
            if let (Some(from), Some(to)) = (rows.get(edge.from), rows.get(edge.to)) {
                let first = out.launches.entry(to).or_insert(from);
                if span(run, from).start_ns < span(run, *first).start_ns {
                    *first = from;
                }
            }
        }
        let spawned = spawns.iter().filter_map(|edge| {
            let (from, to) = (rows.get(edge.from)?, rows.get(edge.to)?);
            Some((to, from))
        });
        let spawned: FastMap<SpanAt, SpanAt> = spawned.collect();
        out.scale = Scale::new(run, &out.launches);
        let launching: BTreeSet<i64> = out
            .launches
            .keys()
            .filter_map(|work| match run.lanes[work.lane as usize].key {
                LaneKey::Stream(device, _) => Some(device),
                _ => None,
            })
            .collect();
        let with_launches: BTreeSet<u32> = out.launches.keys().map(|work| work.lane).collect();
        let is_copy = |work: &Span| run.labels.get(work.label).class == Class::Transfer;
        // Pages of unified memory that the driver moves: no call launches them, and nothing waits for their turn.
        let by_driver = |lane: usize, device: i64| {
            launching.contains(&device)
                && !with_launches.contains(&(lane as u32))
                && run.lanes[lane].spans.iter().all(is_copy)
        };
        for (number, lane) in run.lanes.iter().enumerate() {
            let LaneKey::Stream(device, stream) = lane.key else {
                continue;
            };
            if by_driver(number, device) {
                let rows = lane.spans.len() as u64;
                out.unlaunched = (out.unlaunched.0 + rows, out.unlaunched.1 + rows);
                continue;
            }
            let at = |index: usize| SpanAt {
                lane: number as u32,
                index: index as u32,
            };
            let mut launchers = BTreeSet::new();
            let mut times: Vec<i64> = Vec::with_capacity(lane.spans.len());
            for (index, work) in lane.spans.iter().enumerate() {
                out.unlaunched.1 += 1;
                let call = out.launches.get(&at(index));
                let spawner = spawned.get(&at(index)).filter(|_| call.is_none());
                launchers.extend(call.or(spawner).map(|from| from.lane));
                times.push(match call {
                    Some(call) => span(run, *call).start_ns,
                    None => {
                        out.unlaunched.0 += 1;
                        let before_ns = before.before_ns(work.id).map(|ns| ns - 1);
                        let spawned_ns = spawner.map(|from| span(run, *from).end_ns);
                        let latest = before_ns.into_iter().chain(spawned_ns);
                        latest.fold(work.start_ns, i64::min)
                    }
                });
            }
            let (launched, mut latest_to) = (times.clone(), times.clone());
            for i in 1..latest_to.len() {
                latest_to[i] = latest_to[i].max(latest_to[i - 1]);
            }
            for i in (1..times.len()).rev() {
                times[i - 1] = times[i - 1].min(times[i]);
            }
            let mut stream = Stream {
                lane: number,
                device,
                stream,
                launched,
                launchers,
                earliest_from: times,
                latest_to,
                ended_to: Vec::with_capacity(lane.spans.len()),
            };
            stream.measure_ends(run);
            out.all.push(stream);
        }
        out
    }

    pub fn of_lane(&self, lane: u32) -> Option<&Stream> {
        let at = self
            .all
            .binary_search_by_key(&(lane as usize), |stream| stream.lane);
        Some(&self.all[at.ok()?])
    }
}

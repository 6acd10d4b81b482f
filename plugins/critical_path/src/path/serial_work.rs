//! Work on the path while every other lane was idle: what there is to run side by side, and over how many threads.
//!
//! A thread can take a share from its first row on; before that it did not exist. It counts if it works for
//! [`MIN_BUSY`] of the window, if tasks ran on it, or if its [pool](Pools) works for as long together.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use trueno_analysis::lanes::{Class, LaneKind};
use trueno_analysis::pools::Pools;

use crate::graph::dependency_graph::Graph;
use crate::graph::walk::{Piece, PieceKind};

/// Threads that work for a smaller share of the window share no work.
const MIN_BUSY: f64 = 0.05;

/// Times of a name on the path while every other lane was idle or waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Alone {
    pub ns: i64,
    /// What is left of it if all threads that had begun by then share it.
    pub shared_ns: i64,
    /// The longest part of it in one row without a break.
    pub longest_ns: i64,
}

/// Time on the path, by label, while every other lane was idle or waited.
pub struct SerialWork<'g> {
    graph: &'g Graph<'g>,
    stretches: Vec<Stretch>,
    hands: Hands,
    at: usize,
    /// The row of the last piece, its end, and its time alone so far.
    row: Option<(usize, u32, i64, i64)>,
    by_label: BTreeMap<u32, Alone>,
}

impl<'g> SerialWork<'g> {
    pub fn new(graph: &'g Graph<'g>) -> Self {
        let (stretches, busy_ns) = stretches(graph);
        Self {
            graph,
            stretches,
            hands: Hands::new(graph, &busy_ns),
            at: 0,
            row: None,
            by_label: BTreeMap::new(),
        }
    }

    /// Pieces must come sorted by time.
    pub fn add(&mut self, piece: &Piece) {
        if !matches!(piece.kind, PieceKind::Work | PieceKind::Transfer) {
            return;
        }
        let end_ns = piece.start_ns + piece.dur_ns;
        let rest = &self.stretches[self.at..];
        self.at += rest
            .iter()
            .take_while(|s| s.end_ns <= piece.start_ns)
            .count();
        let lane = piece.lane as usize;
        let meanwhile = self.stretches[self.at..].iter();
        let alone = meanwhile
            .take_while(|s| s.start_ns < end_ns)
            .filter(|s| s.lane == lane);
        let rank = self.graph.run.lanes[lane].key.rank();
        let (mut ns, mut shared_ns) = (0_i64, 0_i64);
        for stretch in alone {
            let times = (
                stretch.start_ns.max(piece.start_ns),
                stretch.end_ns.min(end_ns),
            );
            ns += times.1 - times.0;
            shared_ns += self.hands.shared_ns(rank, times);
        }
        if ns > 0 {
            let span = self.graph.segments.span[piece.segment as usize];
            let before_ns = match self.row {
                Some((of, row, until_ns, ns))
                    if (of, row, until_ns) == (lane, span, piece.start_ns) =>
                {
                    ns
                }
                _ => 0,
            };
            let row_ns = before_ns + ns;
            self.row = Some((lane, span, end_ns, row_ns));
            let label = self.graph.span(piece.segment, lane).label;
            let sum = self.by_label.entry(label).or_default();
            sum.ns += ns;
            sum.shared_ns += shared_ns;
            sum.longest_ns = sum.longest_ns.max(row_ns);
        }
    }

    pub fn finish(self) -> BTreeMap<u32, Alone> {
        self.by_label
    }
}

/// How many threads of a rank can share work, and since when.
struct Hands {
    by_rank: BTreeMap<u32, Vec<(i64, i64)>>,
}

impl Hands {
    /// `busy_ns` is the time by lane in which it neither idled nor waited.
    fn new(graph: &Graph<'_>, busy_ns: &[i64]) -> Self {
        let run = graph.run;
        let pools = Pools::of_run(run);
        let least_ns = ((run.wall_ns as f64 * MIN_BUSY) as i64).max(1);
        let first_ns = |lane: usize| {
            let begins = || {
                graph
                    .segments
                    .start_ns(graph.segments.lane_first[lane] as usize)
            };
            run.lanes[lane].life.map_or_else(begins, |life| life.0)
        };
        let has_rows = |lane: usize| {
            let first = &graph.segments.lane_first;
            first[lane] < first[lane + 1]
        };
        let is_task = |lane: usize| {
            let mut spans = run.lanes[lane].spans.iter();
            spans.any(|span| run.labels.get(span.label).class == Class::Task)
        };
        let mut by_rank: BTreeMap<u32, Vec<(i64, i64)>> = BTreeMap::new();
        let mut add = |rank: u32, since_ns: i64, count: usize| {
            let of_rank = by_rank.entry(rank).or_default();
            of_rank.push((since_ns, i64::try_from(count).unwrap_or(i64::MAX)));
        };
        for (lane, of) in run.lanes.iter().enumerate() {
            let is_alone =
                of.kind == LaneKind::Host && has_rows(lane) && pools.place(lane).is_none();
            if is_alone && (busy_ns[lane] >= least_ns || is_task(lane)) {
                add(of.key.rank(), first_ns(lane), 1);
            }
        }
        for pool in &pools.pools {
            let threads = || pool.threads.iter().copied().filter(|lane| has_rows(*lane));
            let all_ns = threads()
                .map(|lane| busy_ns[lane])
                .fold(0, i64::saturating_add);
            if let Some(since_ns) = threads().map(first_ns).min()
                && all_ns >= least_ns
            {
                add(run.lanes[pool.threads[0]].key.rank(), since_ns, pool.slots);
            }
        }
        for of_rank in by_rank.values_mut() {
            of_rank.sort_unstable();
            let mut all = 0_i64;
            for (_, count) in of_rank {
                all = all.saturating_add(*count);
                *count = all;
            }
        }
        Self { by_rank }
    }

    /// What is left of work at `times` if all threads that are there share it.
    fn shared_ns(&self, rank: u32, (from_ns, until_ns): (i64, i64)) -> i64 {
        let of_rank = self.by_rank.get(&rank).map_or(&[][..], Vec::as_slice);
        let mut at = of_rank.partition_point(|hand| hand.0 <= from_ns);
        let (mut now_ns, mut left_ns) = (from_ns, 0);
        while now_ns < until_ns {
            let next_ns = of_rank
                .get(at)
                .map_or(until_ns, |hand| hand.0.min(until_ns));
            let count = at.checked_sub(1).map_or(1, |last| of_rank[last].1.max(1));
            left_ns += (next_ns - now_ns) / count;
            (now_ns, at) = (next_ns, at + 1);
        }
        left_ns
    }
}

struct Stretch {
    start_ns: i64,
    end_ns: i64,
    lane: usize,
}

/// Iterates over the busy times of a lane. Touching ones are merged; waits count as idle.
struct Busy<'g> {
    graph: &'g Graph<'g>,
    lane: usize,
    next: usize,
}

impl Iterator for Busy<'_> {
    type Item = (i64, i64);

    fn next(&mut self) -> Option<(i64, i64)> {
        let segments = &self.graph.segments;
        let end = segments.lane_first[self.lane + 1] as usize;
        let mut found: Option<(i64, i64)> = None;
        while self.next < end {
            let (start_ns, end_ns) = (segments.start_ns(self.next), segments.end_ns(self.next));
            let span = self.graph.span(self.next as u32, self.lane);
            let waits = self.graph.run.labels.get(span.label).class == Class::Wait;
            let idle = waits || segments.elastic[self.next];
            match &mut found {
                None if idle => {}
                None => found = Some((start_ns, end_ns)),
                Some(busy) if !idle && busy.1 == start_ns => busy.1 = end_ns,
                Some(_) => break,
            }
            self.next += 1;
        }
        found
    }
}

/// Times in which one lane works alone, and for how long each lane works.
fn stretches(graph: &Graph<'_>) -> (Vec<Stretch>, Vec<i64>) {
    let lanes = graph.run.lanes.len();
    let mut busy_ns = vec![0_i64; lanes];
    let mut busy: Vec<Busy<'_>> = (0..lanes)
        .map(|lane| Busy {
            graph,
            lane,
            next: graph.segments.lane_first[lane] as usize,
        })
        .collect();
    // Ends before starts at one instant.
    let mut events: BinaryHeap<Reverse<(i64, bool, usize, i64)>> = BinaryHeap::new();
    for (lane, busy) in busy.iter_mut().enumerate() {
        if let Some((start_ns, end_ns)) = busy.next() {
            events.push(Reverse((start_ns, true, lane, end_ns)));
        }
    }
    let mut running: Vec<usize> = Vec::new();
    let mut out: Vec<Stretch> = Vec::new();
    let mut since_ns = 0;
    while let Some(Reverse((now_ns, begins, lane, end_ns))) = events.pop() {
        if let [only] = running[..]
            && since_ns < now_ns
        {
            out.push(Stretch {
                start_ns: since_ns,
                end_ns: now_ns,
                lane: only,
            });
        }
        since_ns = now_ns;
        if begins {
            busy_ns[lane] += end_ns - now_ns;
            running.push(lane);
            events.push(Reverse((end_ns, false, lane, end_ns)));
        } else {
            running.retain(|running| *running != lane);
            if let Some((start_ns, end_ns)) = busy[lane].next() {
                events.push(Reverse((start_ns, true, lane, end_ns)));
            }
        }
    }
    (out, busy_ns)
}

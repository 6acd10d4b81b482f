//! Work on the path while every other lane was idle: what there is to run side by side.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use trueno_analysis::lanes::Class;

use crate::graph::dependency_graph::Graph;
use crate::graph::walk::{Piece, PieceKind};

/// Time on the path, by label, while every other lane was idle or waited.
pub struct SerialWork<'g> {
    graph: &'g Graph<'g>,
    stretches: Vec<Stretch>,
    at: usize,
    by_label: BTreeMap<u32, i64>,
}

impl<'g> SerialWork<'g> {
    pub fn new(graph: &'g Graph<'g>) -> Self {
        Self {
            graph,
            stretches: stretches(graph),
            at: 0,
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
        let ns: i64 = alone
            .map(|s| s.end_ns.min(end_ns) - s.start_ns.max(piece.start_ns))
            .fold(0, i64::saturating_add);
        if ns > 0 {
            let label = self.graph.span(piece.segment, lane).label;
            *self.by_label.entry(label).or_default() += ns;
        }
    }

    pub fn finish(self) -> BTreeMap<u32, i64> {
        self.by_label
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

fn stretches(graph: &Graph<'_>) -> Vec<Stretch> {
    let lanes = graph.run.lanes.len();
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
            running.push(lane);
            events.push(Reverse((end_ns, false, lane, end_ns)));
        } else {
            running.retain(|running| *running != lane);
            if let Some((start_ns, end_ns)) = busy[lane].next() {
                events.push(Reverse((start_ns, true, lane, end_ns)));
            }
        }
    }
    out
}

//! What other threads did while the path waited on a thread, and nothing recorded says for what.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use trueno_analysis::intervals::{IntervalSet, IntervalSetBuilder};
use trueno_analysis::lanes::{Class, LaneKind, WAITING};
use trueno_plugin::rank::of_key;

use crate::graph::dependency_graph::Graph;
use crate::graph::walk::{Piece, PieceKind};
use crate::load::wait_functions::only_waits;

/// Rows of the table; the rest of the names ran for less.
const MAX_NAMES: usize = 20;

/// Waits of a thread on the path that are together shorter than 1 / `MIN_PART` of the run are skipped.
const MIN_PART: i64 = 20;

pub struct BesideWaits<'g> {
    graph: &'g Graph<'g>,
    /// By the lane that waits.
    waits: BTreeMap<u32, IntervalSetBuilder<i64>>,
}

impl<'g> BesideWaits<'g> {
    pub fn new(graph: &'g Graph<'g>) -> Self {
        Self {
            graph,
            waits: BTreeMap::new(),
        }
    }

    pub fn add(&mut self, piece: &Piece) {
        let lane = piece.lane as usize;
        let is_wait = match piece.kind {
            PieceKind::SyncWait => true,
            PieceKind::Work => self.is_wait(piece.segment, lane),
            _ => false,
        };
        if is_wait && self.graph.run.lanes[lane].kind == LaneKind::Host {
            let of = self.waits.entry(piece.lane).or_default();
            of.add(piece.start_ns, piece.start_ns + piece.dur_ns);
        }
    }

    fn is_wait(&self, segment: u32, lane: usize) -> bool {
        let run = self.graph.run;
        let label = run.labels.get(self.graph.span(segment, lane).label);
        only_waits(label, &run.texts) || label.category == WAITING
    }

    /// Names with the time in which any other thread of the rank ran them meanwhile, longest first.
    pub fn finish(self) -> Vec<(&'g str, i64)> {
        let graph = self.graph;
        let run = graph.run;
        let mut found: BTreeMap<&str, IntervalSetBuilder<i64>> = BTreeMap::new();
        let rank = |lane: usize| run.lanes[lane].spans.first().map(|span| of_key(span.id));
        let waits: Vec<(usize, IntervalSet<i64>)> = self
            .waits
            .iter()
            .map(|(lane, times)| (*lane as usize, times.clone().finish()))
            .filter(|(_, times)| times.total_ns().saturating_mul(MIN_PART) >= run.wall_ns)
            .collect();
        for (waiting, times) in &waits {
            let others = (0..run.lanes.len()).filter(|lane| {
                let is_host = run.lanes[*lane].kind == LaneKind::Host;
                is_host && lane != waiting && rank(*lane) == rank(*waiting)
            });
            for lane in others {
                let segments = &graph.segments;
                let of_lane = segments.lane_first[lane]..segments.lane_first[lane + 1];
                for segment in of_lane {
                    let at = segment as usize;
                    let label = run.labels.get(graph.span(segment, lane).label);
                    let works = !segments.elastic[at] && label.class != Class::Scope;
                    if !works || self.is_wait(segment, lane) {
                        continue;
                    }
                    let (start_ns, end_ns) = (segments.start_ns(at), segments.end_ns(at));
                    for (from_ns, to_ns) in times.overlapping(start_ns, end_ns) {
                        let name = run.texts.text(label.name);
                        let of = found.entry(name).or_default();
                        of.add(from_ns.max(start_ns), to_ns.min(end_ns));
                    }
                }
            }
        }
        let found = found.into_iter();
        let found = found.map(|(name, times)| (name, times.finish().total_ns()));
        let mut found: Vec<(&str, i64)> = found.filter(|row| row.1 > 0).collect();
        found.sort_by_key(|row| (Reverse(row.1), row.0));
        found.truncate(MAX_NAMES);
        found
    }
}

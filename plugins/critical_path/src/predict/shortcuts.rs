//! Long stretches of a lane in sums, for re-timing.
//!
//! Where no segment of a stretch has a dependency, or a dependent, the time from its begin to its end is the sum of what
//! its segments need and of their lags. A scenario that treats all intervals of a [chain](crate::graph::chains) alike needs the
//! sums by chain only, and these are made once for all scenarios.

use std::ops::Range;

use crate::graph::chains::Chains;
use crate::graph::dependency_graph::Graph;
use crate::graph::walk::PieceKind;
use crate::predict::what_if_rule::scaled;

/// Remaining shares of the time for which sums are computed.
pub const LEFT: [f64; 3] = [0.9, 0.5, 0.0];

/// A duration as measured, and with each of the shares [`LEFT`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Scaled {
    pub measured_ns: i64,
    pub left_ns: [i64; 3],
}

impl Scaled {
    fn add(&mut self, measured_ns: i64, left_ns: [i64; 3]) {
        self.measured_ns += measured_ns;
        for (sum, ns) in self.left_ns.iter_mut().zip(left_ns) {
            *sum += ns;
        }
    }
}

pub struct Shortcut {
    pub segments: Range<u32>,
    pub needed: Vec<(u32, Scaled)>,
    pub lags: [(PieceKind, Scaled); 2],
}

/// Summing shorter stretches is not faster.
const MIN_SEGMENTS: u32 = 1024;

/// Stretches of all lanes, sorted by segment.
#[derive(Default)]
pub struct Shortcuts {
    all: Vec<Shortcut>,
}

impl Shortcuts {
    pub fn new(graph: &Graph<'_>, chains: &Chains) -> Self {
        Self::with_min(graph, chains, MIN_SEGMENTS)
    }

    pub fn with_min(graph: &Graph<'_>, chains: &Chains, min_segments: u32) -> Self {
        let mut out = Self::default();
        let mut place = vec![u32::MAX; chains.all().len()];
        for stretch in graph.order() {
            let lane = graph.segments.lane(stretch.start);
            let first = match graph.lane_before(stretch.start, lane) {
                Some(_) => stretch.start,
                None => stretch.start + 1,
            };
            let mut begin = first;
            while begin < stretch.end {
                let next = |set: Option<u32>| set.unwrap_or(stretch.end);
                let target = next(graph.targets().next(begin, stretch.end));
                let end = target.min(next(graph.kept().next(begin, stretch.end)));
                if end - begin >= min_segments {
                    let sums = Shortcut::new(graph, chains, lane, begin..end, &mut place);
                    out.all.push(sums);
                }
                begin = end + 1;
            }
        }
        out.all.sort_by_key(|shortcut| shortcut.segments.start);
        out
    }

    /// The shortcuts that begin at or after `segment`.
    pub fn from(&self, segment: u32) -> &[Shortcut] {
        let before = self
            .all
            .partition_point(|shortcut| shortcut.segments.start < segment);
        &self.all[before..]
    }
}

impl Shortcut {
    /// `place` has no entry for any chain, before and after the call.
    fn new(
        graph: &Graph<'_>,
        chains: &Chains,
        lane: usize,
        segments: Range<u32>,
        place: &mut [u32],
    ) -> Self {
        let kinds = [PieceKind::SyncWait, PieceKind::Gap];
        let mut out = Self {
            segments: segments.clone(),
            needed: Vec::new(),
            lags: kinds.map(|kind| (kind, Scaled::default())),
        };
        let all = &graph.segments;
        let mut free_ns = all.free_ns(segments.start as usize - 1);
        let mut was_elastic = all.elastic[segments.start as usize - 1];
        // What is left of the time up to an instant: most segments begin where the one before ended.
        let left_to = |at_ns: i64| LEFT.map(|left| scaled(at_ns, left));
        let mut last = (free_ns, left_to(free_ns));
        for segment in segments {
            let at = segment as usize;
            let start_ns = all.start_ns(at);
            if start_ns != free_ns {
                let lag_ns = start_ns - free_ns;
                let lags = &mut out.lags[usize::from(!was_elastic)].1;
                lags.add(lag_ns, LEFT.map(|left| scaled(lag_ns, left)));
            }
            (was_elastic, free_ns) = (all.elastic[at], all.free_ns(at));
            if was_elastic {
                continue;
            }
            let chain = chains.get(lane, all.span[at]);
            if place[chain as usize] == u32::MAX {
                place[chain as usize] = out.needed.len() as u32;
                out.needed.push((chain, Scaled::default()));
            }
            let sum = &mut out.needed[place[chain as usize] as usize].1;
            let from = if last.0 == start_ns {
                last.1
            } else {
                left_to(start_ns)
            };
            last = (free_ns, left_to(free_ns));
            let left_ns = std::array::from_fn(|k| last.1[k] - from[k]);
            sum.add(free_ns - start_ns, left_ns);
        }
        for (chain, _) in &out.needed {
            place[*chain as usize] = u32::MAX;
        }
        out
    }
}

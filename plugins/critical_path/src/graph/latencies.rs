//! The least time in which work of a stream begins: after its call began, and after the work before it ended.
//!
//! Work begins when both its launch has arrived and the work before it on its stream is done, and after either some
//! time passes that no program can avoid. Which of the two it waited for is told by adding these: the one that would
//! have let it begin later. Both are measured, for each stream: the shortest time from a call to its work where the
//! stream was idle when the call began, and the shortest from work to work where the later had long been launched.
//! The same times hold where durations are assumed to be others.

use std::ops::Range;

use crate::graph::dependency_graph::{Edge, Graph};
use crate::load::dependencies::{Dependency, span};
use crate::load::edges::DependencyKind;

/// With fewer measurements the shortest may not be the least possible; then 0 is used.
const MIN_COUNT: usize = 5;
/// Work was surely queued if its call began this many times the least launch time earlier.
const LONG_BEFORE: i64 = 2;

/// Least lags of the predecessors of device work. All others have none.
#[derive(Default)]
pub struct Latencies {
    /// By dependency index; empty if there are none.
    of_edges: Vec<u32>,
    /// Lag after the previous segment on the lane, by rank of the target; empty if there are none.
    of_lanes: Vec<u32>,
}

struct Launched {
    rank: usize,
    edges: Range<usize>,
    called_ns: i64,
    start_ns: i64,
    before_ns: Option<i64>,
}

impl Latencies {
    /// Measures the lags. `edges` must be sorted by target.
    pub fn new(graph: &Graph<'_>, edges: &[Edge], dependencies: &[Dependency]) -> Self {
        let mut out = Self::default();
        if !(0..graph.run.lanes.len()).any(|lane| graph.is_device(lane)) {
            return out;
        }
        out.of_edges = vec![0; edges.len()];
        out.of_lanes = vec![0; graph.targets().len()];
        let of_targets = edges.chunk_by(|a, b| a.0 == b.0);
        let (mut first, mut lane) = (0, 0);
        let mut work: Vec<Launched> = Vec::new();
        for (rank, of_target) in of_targets.enumerate() {
            let target = of_target[0].0;
            let range = first..first + of_target.len();
            first = range.end;
            if target >= graph.segments.lane_first[lane + 1] {
                out.add(graph, edges, &work);
                work.clear();
                lane = graph.segments.lane(target);
            }
            if !graph.is_device(lane) {
                continue;
            }
            let launches = of_target
                .iter()
                .filter(|edge| edge.2 == DependencyKind::Launches);
            let called =
                launches.map(|edge| span(graph.run, dependencies[edge.3 as usize].from).start_ns);
            let before = graph.lane_before(target, lane);
            work.extend(called.min().map(|called_ns| Launched {
                rank,
                edges: range,
                called_ns,
                start_ns: graph.segments.start_ns(target as usize),
                before_ns: before.map(|before| graph.segments.free_ns(before as usize)),
            }));
        }
        out.add(graph, edges, &work);
        out
    }

    fn add(&mut self, graph: &Graph<'_>, edges: &[Edge], work: &[Launched]) {
        let idle = work.iter().filter(|of| {
            of.before_ns
                .is_none_or(|before_ns| before_ns <= of.called_ns)
        });
        let launch_ns = shortest(idle.map(|of| of.start_ns - of.called_ns));
        let next_ns = shortest(work.iter().filter_map(|of| {
            let arrived_ns = of.called_ns + LONG_BEFORE * launch_ns;
            let before_ns = of.before_ns.filter(|before_ns| *before_ns >= arrived_ns)?;
            Some(of.start_ns - before_ns)
        }));
        let least = |ns: i64, most_ns: i64| u32::try_from(ns.min(most_ns)).unwrap_or(0);
        for of in work {
            if let Some(before_ns) = of.before_ns {
                self.of_lanes[of.rank] = least(next_ns, of.start_ns - before_ns);
            }
            for at in of
                .edges
                .clone()
                .filter(|at| edges[*at].2 == DependencyKind::Launches)
            {
                let free_ns = graph.segments.free_ns(edges[at].1 as usize);
                let least_ns = of.called_ns + launch_ns - free_ns;
                self.of_edges[at] = least(least_ns, of.start_ns - free_ns);
            }
        }
    }

    #[inline]
    pub fn of_edge(&self, edge: usize) -> i64 {
        self.of_edges.get(edge).copied().unwrap_or(0).into()
    }

    /// Least lag after the previous segment on the lane, by rank of the target.
    #[inline]
    pub fn of_lane(&self, rank: usize) -> i64 {
        self.of_lanes.get(rank).copied().unwrap_or(0).into()
    }
}

/// The minimum, or 0 if there are fewer than `MIN_COUNT` times.
fn shortest(times_ns: impl Iterator<Item = i64>) -> i64 {
    let (mut count, mut shortest_ns) = (0, i64::MAX);
    for ns in times_ns {
        (count, shortest_ns) = (count + 1, shortest_ns.min(ns));
    }
    if count < MIN_COUNT {
        0
    } else {
        shortest_ns.max(0)
    }
}

//! The dependency graph over segments.
//!
//! Edges: each segment to the next of its lane, and the dependencies. The lane
//! order is implied by the numbering and takes no memory; dependencies are
//! stored by target (compressed sparse rows).
//!
//! **Release time** of a segment: the time from which its successors may run.
//!
//! **Lag.** Each edge has a least lag, which no program can avoid (`latencies`); most have 0. Of the
//! predecessors of a segment the *binding* one would have let it begin latest: release time and least lag. The
//! time from its release to the start is measured and belongs to the edge, and to those of predecessors that would have
//! let it begin as late, not to one of them that an id picks; all other edges have their least lag. So re-timing the
//! graph with the measured durations gives the measured times back, exactly, and changed durations give a prediction.
//!
//! **Ties** go to the lane that comes first, threads before streams. Ids and the order of rows decide no path, no slack
//! and no prediction, but for rows of one lane with the very same times, of which only ids tell which came first.

use std::cmp::Reverse;
use std::ops::Range;

use trueno_analysis::hash::FastMap;
use trueno_analysis::lanes::{Class, LaneKind, Lanes, Span};

use crate::graph::latencies::Latencies;
use crate::graph::path_end;
use crate::graph::rank_bitmap::RankBitmap;
use crate::graph::segments::{NONE, Segments};
use crate::load::dependencies::{Dependency, SpanAt, span};
use crate::load::edges::DependencyKind;
use crate::load::inferred::{Inferred, Rule};
use crate::load::wait_functions::only_waits;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    Lane,
    Dependency(DependencyKind),
}

/// The predecessor with the latest release time plus least lag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    pub source: u32,
    pub link: Link,
    /// Measured time from its release to the start of the segment.
    pub lag_ns: i64,
    /// The part of the lag that no program can avoid.
    pub least_ns: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Predecessor {
    pub source: u32,
    pub link: Link,
    /// Least possible time from its release to the start of the segment.
    pub least_ns: i64,
}

/// Target, source, kind and number of a dependency.
pub(crate) type Edge = (u32, u32, DependencyKind, u32);

pub struct Graph<'a> {
    pub run: &'a Lanes,
    pub segments: Segments,
    targets: RankBitmap,
    /// By rank in `targets`: where its dependencies begin in `sources` and `kinds`.
    first_in: Vec<u32>,
    sources: Vec<u32>,
    kinds: Vec<DependencyKind>,
    /// Ranges of segments, each within a lane, in an order that respects all edges.
    order: Vec<Range<u32>>,
    kept: RankBitmap,
    let_go: Vec<u32>,
    inferred: FastMap<(u32, u32), Rule>,
    /// By rank in `targets`: index of the binding dependency, or [`LANE`].
    binding: Vec<u32>,
    latencies: Latencies,
    last: Option<u32>,
    connected: Vec<usize>,
    follows_from: Vec<u32>,
    waits: Vec<bool>,
}

/// The binding predecessor is the previous segment on the same lane.
const LANE: u32 = u32::MAX;

impl<'a> Graph<'a> {
    /// Builds the graph. `dependencies` must be those for which the segments were cut.
    pub fn new(run: &'a Lanes, segments: Segments, dependencies: &[Dependency]) -> Self {
        let mut edges: Vec<Edge> = segments
            .ends
            .iter()
            .zip(dependencies)
            .zip(0..)
            .filter(|&((&(source, target), _), _)| {
                source != NONE && target != NONE && source != target
            })
            .map(|((&(source, target), dependency), number)| {
                (target, source, dependency.kind, number)
            })
            .collect();
        edges.sort_unstable();
        let mut graph = Self {
            run,
            segments,
            targets: RankBitmap::default(),
            first_in: Vec::new(),
            sources: Vec::new(),
            kinds: Vec::new(),
            order: Vec::new(),
            kept: RankBitmap::default(),
            let_go: Vec::new(),
            inferred: FastMap::default(),
            binding: Vec::new(),
            latencies: Latencies::default(),
            last: None,
            connected: Vec::new(),
            follows_from: Vec::new(),
            waits: run
                .labels
                .all()
                .iter()
                .map(|label| only_waits(*label, &run.texts))
                .collect(),
        };
        graph.set_edges(&edges);
        let (order, let_go) = crate::graph::order::order(&graph);
        graph.order = order;
        if !let_go.is_empty() {
            graph.let_go = let_go.iter().map(|&at| edges[at].3).collect();
            graph.let_go.sort_unstable();
            edges.retain(|edge| graph.let_go.binary_search(&edge.3).is_err());
            graph.set_edges(&edges);
        }
        let lasts = graph.order.iter().map(|stretch| stretch.end - 1);
        let kept = graph.sources.iter().copied().chain(lasts);
        graph.kept = RankBitmap::new(graph.segments.len(), kept);
        graph.latencies = Latencies::new(&graph, &edges, dependencies);
        graph.bind(&edges);
        graph.connected = path_end::connected(&graph, edges.iter().map(|edge| (edge.0, edge.1)));
        drop(edges);
        graph.last = path_end::last(&graph, &graph.connected);
        graph.follows_from = path_end::follows_from(&graph);
        graph
    }

    /// Finds the binding predecessor of every segment with dependencies. Ties go to work before waits, then to
    /// the lane's own order, then to dependencies in the order of [`DependencyKind`], then to the first lane.
    fn bind(&mut self, edges: &[Edge]) {
        let mut binding = Vec::with_capacity(self.targets.len());
        let mut first = 0;
        for of_target in edges.chunk_by(|a, b| a.0 == b.0) {
            let target = of_target[0].0;
            let lane = self.segments.lane(target);
            let before = self.lane_before(target, lane);
            let last = first + of_target.len();
            let rank = binding.len();
            binding.push(self.latest(rank, before.map(|source| (source, lane)), first..last));
            first = last;
        }
        self.binding = binding;
    }

    fn latest(&self, rank: usize, before: Option<(u32, usize)>, edges: Range<usize>) -> u32 {
        let free_ns = |source: u32| self.segments.free_ns(source as usize);
        let before_ns = |source: u32| free_ns(source) + self.latencies.of_lane(rank);
        let linked_ns = |edge: usize| free_ns(self.sources[edge]) + self.latencies.of_edge(edge);
        let lane_ns = before.map(|(source, _)| before_ns(source));
        let latest_ns = lane_ns
            .into_iter()
            .chain(edges.clone().map(linked_ns))
            .max();
        let before = before.filter(|(source, _)| Some(before_ns(*source)) == latest_ns);
        let mut tied = edges.filter(|edge| Some(linked_ns(*edge)) == latest_ns);
        let (first, second) = (tied.next(), tied.next());
        match (before, first, second) {
            (Some(_), None, _) => return LANE,
            (None, Some(edge), None) => return edge as u32,
            _ => {}
        }
        let preferred = |source: u32, lane: usize, rank: u8| {
            let span = self.span(source, lane);
            let waits = self.run.labels.get(span.label).class == Class::Wait;
            Reverse((waits, rank, source))
        };
        let lane = before.map(|(source, lane)| (preferred(source, lane, 0), LANE));
        let linked = first.into_iter().chain(second).chain(tied).map(|edge| {
            let (source, rank) = (self.sources[edge], 1 + self.kinds[edge] as u8);
            let lane = self.segments.lane(source);
            (preferred(source, lane, rank), edge as u32)
        });
        let best = lane.into_iter().chain(linked).max();
        best.map_or(LANE, |best| best.1)
    }

    fn set_edges(&mut self, edges: &[Edge]) {
        self.targets = RankBitmap::new(self.segments.len(), edges.iter().map(|edge| edge.0));
        let of_targets = edges.chunk_by(|a, b| a.0 == b.0);
        let mut first = 0;
        self.first_in = Vec::with_capacity(self.targets.len() + 1);
        self.first_in.push(0);
        for of_target in of_targets {
            first += of_target.len() as u32;
            self.first_in.push(first);
        }
        self.sources = edges.iter().map(|edge| edge.1).collect();
        self.kinds = edges.iter().map(|edge| edge.2).collect();
    }

    /// Records which dependencies were inferred. `dependencies` must be those the graph was built from.
    pub fn mark_inferred(&mut self, dependencies: &[Dependency], inferred: &Inferred) {
        if inferred.is_empty() {
            return;
        }
        for (&(source, target), dependency) in self.segments.ends.iter().zip(dependencies) {
            let id = |at: SpanAt| span(self.run, at).id;
            let rule = inferred.rule(id(dependency.from), id(dependency.to));
            if let Some(rule) = rule {
                self.inferred.insert((target, source), rule);
            }
        }
    }

    /// The rule that inferred this dependency; `None` if it was recorded or is the order of a lane.
    pub fn inferred(&self, segment: u32, source: u32) -> Option<Rule> {
        self.inferred.get(&(segment, source)).copied()
    }

    /// Numbers of dependencies that were dropped to break cycles of segments at one instant: the times cannot
    /// tell which one is wrong.
    pub fn let_go(&self) -> &[u32] {
        &self.let_go
    }

    pub fn last(&self) -> Option<u32> {
        self.last
    }

    pub fn are_connected(&self, lane: usize, other: usize) -> bool {
        self.connected[lane] == self.connected[other]
    }

    /// The last segments of a host lane, on which no other lane depends and where the path does not end: all of those
    /// of a watchdog that polls a device, and those of a driver's thread after its last answer.
    pub fn followers(&self, lane: usize) -> Range<u32> {
        self.follows_from[lane]..self.segments.lane_first[lane + 1]
    }

    /// The segments with dependencies. All others only follow the previous one on their lane.
    #[inline]
    pub fn targets(&self) -> &RankBitmap {
        &self.targets
    }

    #[inline]
    pub(crate) fn edges(&self, segment: u32) -> Range<usize> {
        self.targets
            .rank(segment)
            .map_or(0..0, |rank| self.edges_of(rank))
    }

    #[inline]
    fn edges_of(&self, rank: usize) -> Range<usize> {
        self.first_in[rank] as usize..self.first_in[rank + 1] as usize
    }

    pub fn order(&self) -> &[Range<u32>] {
        &self.order
    }

    /// The segments that are a predecessor of anything but the next one on their lane.
    #[inline]
    pub fn kept(&self) -> &RankBitmap {
        &self.kept
    }

    #[inline]
    pub fn sources(&self, segment: u32) -> &[u32] {
        &self.sources[self.edges(segment)]
    }

    #[inline]
    pub fn lane_before(&self, segment: u32, lane: usize) -> Option<u32> {
        (segment > self.segments.lane_first[lane]).then(|| segment - 1)
    }

    pub fn span(&self, segment: u32, lane: usize) -> &Span {
        &self.run.lanes[lane].spans[self.segments.span[segment as usize] as usize]
    }

    /// Duration that the segment itself needs; zero for an elastic one.
    #[inline]
    pub fn dur_ns(&self, segment: u32) -> i64 {
        let (start_ns, end_ns) = self.needs_ns(segment);
        end_ns - start_ns
    }

    /// Start and end of the time in which the segment needs its lane.
    #[inline]
    pub fn needs_ns(&self, segment: u32) -> (i64, i64) {
        let start_ns = self.segments.start_ns(segment as usize);
        (start_ns, self.segments.free_ns(segment as usize))
    }

    /// The measured lag if the predecessor would have released the segment as late as the binding one did, else
    /// the least lag.
    #[inline]
    pub fn lag_ns(&self, segment: u32, of: &Predecessor, binding: &Binding) -> i64 {
        let free_ns = self.segments.free_ns(of.source as usize);
        let lag_ns = self.segments.start_ns(segment as usize) - free_ns;
        if lag_ns - of.least_ns == binding.lag_ns - binding.least_ns {
            lag_ns
        } else {
            of.least_ns
        }
    }

    #[inline]
    pub fn binding(&self, segment: u32, lane: usize) -> Option<Binding> {
        let rank = self.targets.rank(segment);
        let (source, link, least_ns) = match rank.map_or(LANE, |rank| self.binding[rank]) {
            LANE => {
                let least_ns = rank.map_or(0, |rank| self.latencies.of_lane(rank));
                (self.lane_before(segment, lane)?, Link::Lane, least_ns)
            }
            edge => {
                let edge = edge as usize;
                let link = Link::Dependency(self.kinds[edge]);
                (self.sources[edge], link, self.latencies.of_edge(edge))
            }
        };
        Some(Binding {
            source,
            link,
            lag_ns: self.segments.start_ns(segment as usize)
                - self.segments.free_ns(source as usize),
            least_ns,
        })
    }

    #[inline]
    pub fn dependencies(&self, segment: u32) -> impl Iterator<Item = Predecessor> {
        let edges = self.edges(segment);
        edges.map(|edge| Predecessor {
            source: self.sources[edge],
            link: Link::Dependency(self.kinds[edge]),
            least_ns: self.latencies.of_edge(edge),
        })
    }

    #[inline]
    pub fn predecessors(&self, segment: u32, lane: usize) -> impl Iterator<Item = Predecessor> {
        let rank = self.targets.rank(segment);
        let before = self.lane_before(segment, lane).map(|source| Predecessor {
            source,
            link: Link::Lane,
            least_ns: rank.map_or(0, |rank| self.latencies.of_lane(rank)),
        });
        before.into_iter().chain(self.dependencies(segment))
    }

    pub fn only_waits(&self, segment: u32, lane: usize) -> bool {
        self.waits[self.span(segment, lane).label as usize]
    }

    #[inline]
    pub fn is_launched(&self, segment: u32) -> bool {
        let kinds = &self.kinds[self.edges(segment)];
        let begins = |kind: &DependencyKind| {
            matches!(kind, DependencyKind::Launches | DependencyKind::Spawns)
        };
        kinds.iter().any(begins)
    }

    pub fn is_device(&self, lane: usize) -> bool {
        self.run.lanes[lane].kind == LaneKind::Device
    }
}

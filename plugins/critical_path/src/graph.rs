//! The dependency graph over segments.
//!
//! Edges: each segment to the next of its lane, and the dependencies. The lane
//! order is implied by the numbering and takes no memory; dependencies are
//! stored by target (compressed sparse rows).
//!
//! **Lag.** Of the predecessors of a segment the *binding* one let go last. The
//! time from there to the start is measured and belongs to the edge; all other
//! edges have no lag. So re-timing the graph with the measured durations gives
//! the measured times back, exactly.

use std::cmp::Reverse;
use std::ops::Range;

use crate::dependencies::Dependency;
use crate::edges::DependencyKind;
use crate::lanes::{Class, LaneKind, Lanes, Span};
use crate::segments::{NONE, Segments};

/// Why a segment could not begin earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// The segment before it on its lane.
    Lane,
    /// A dependency.
    Dependency(DependencyKind),
}

/// The predecessor that let go last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The predecessor.
    pub source: u32,
    /// What connects them.
    pub link: Link,
    /// From its letting go to the start of the segment.
    pub lag_ns: i64,
}

/// Segments and what connects them.
pub struct Graph<'a> {
    /// The run.
    pub run: &'a Lanes,
    /// The nodes.
    pub segments: Segments,
    /// For each segment, where its dependencies begin in the two lists below.
    first_in: Vec<u32>,
    sources: Vec<u32>,
    kinds: Vec<DependencyKind>,
    /// Segments in an order that respects all edges, as stretches of lanes.
    order: Vec<Range<u32>>,
    let_go: Vec<u32>,
}

impl<'a> Graph<'a> {
    /// Builds the graph. `dependencies` are those the segments were cut for.
    pub fn new(run: &'a Lanes, segments: Segments, dependencies: &[Dependency]) -> Self {
        let mut edges: Vec<(u32, u32, DependencyKind, u32)> = segments
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
            first_in: Vec::new(),
            sources: Vec::new(),
            kinds: Vec::new(),
            order: Vec::new(),
            let_go: Vec::new(),
        };
        graph.set_edges(&edges);
        let (order, let_go) = crate::order::order(&graph);
        graph.order = order;
        if !let_go.is_empty() {
            graph.let_go = let_go.iter().map(|&at| edges[at].3).collect();
            graph.let_go.sort_unstable();
            edges.retain(|edge| graph.let_go.binary_search(&edge.3).is_err());
            graph.set_edges(&edges);
        }
        graph
    }

    /// Takes dependencies sorted by target.
    fn set_edges(&mut self, edges: &[(u32, u32, DependencyKind, u32)]) {
        self.first_in = vec![0; self.segments.len() + 1];
        for &(target, ..) in edges {
            self.first_in[target as usize + 1] += 1;
        }
        for i in 1..self.first_in.len() {
            self.first_in[i] += self.first_in[i - 1];
        }
        self.sources = edges.iter().map(|edge| edge.1).collect();
        self.kinds = edges.iter().map(|edge| edge.2).collect();
    }

    /// Dependencies that close a circle of segments at one instant, by their number: the times
    /// cannot tell which of a circle is wrong, so one is left out.
    pub fn let_go(&self) -> &[u32] {
        &self.let_go
    }

    /// Where the sources of a segment begin among those of all.
    pub(crate) fn first_source(&self, segment: u32) -> usize {
        self.first_in[segment as usize] as usize
    }

    /// Segments in an order that respects all edges, as stretches of lanes.
    pub fn order(&self) -> &[Range<u32>] {
        &self.order
    }

    /// Sources of the dependencies of a segment.
    #[inline]
    pub fn sources(&self, segment: u32) -> &[u32] {
        &self.sources
            [self.first_in[segment as usize] as usize..self.first_in[segment as usize + 1] as usize]
    }

    /// The segment before on the same lane.
    #[inline]
    pub fn lane_before(&self, segment: u32, lane: usize) -> Option<u32> {
        (segment > self.segments.lane_first[lane]).then(|| segment - 1)
    }

    /// The interval of a segment.
    pub fn span(&self, segment: u32, lane: usize) -> &Span {
        &self.run.lanes[lane].spans[self.segments.span[segment as usize] as usize]
    }

    /// Duration that the segment needs by itself: that of an elastic one is zero.
    #[inline]
    pub fn dur_ns(&self, segment: u32) -> i64 {
        self.segments.free_ns(segment as usize) - self.segments.start_ns[segment as usize]
    }

    /// The predecessor of a segment that let go last.
    ///
    /// Of several, work before waits; then the lane, then the dependencies in
    /// the order of [`DependencyKind`]; then the lowest id.
    #[inline]
    pub fn binding(&self, segment: u32, lane: usize) -> Option<Binding> {
        let before = self.lane_before(segment, lane);
        let dependencies = self.sources(segment);
        let binding = |source: u32, link| Binding {
            source,
            link,
            lag_ns: self.segments.start_ns[segment as usize]
                - self.segments.free_ns(source as usize),
        };
        if dependencies.is_empty() {
            return before.map(|source| binding(source, Link::Lane));
        }
        let first = self.first_in[segment as usize] as usize;
        let linked = dependencies.iter().enumerate().map(|(i, &source)| {
            let kind = self.kinds[first + i];
            (source, Link::Dependency(kind), 1 + kind as u8)
        });
        let lane = before.map(|source| (source, Link::Lane, 0));
        let preferred = |&(source, _, rank): &(u32, Link, u8)| {
            let span = self.span(source, self.segments.lane(source));
            let waits = self.run.labels.get(span.label).class == Class::Wait;
            (
                self.segments.free_ns(source as usize),
                Reverse(waits),
                Reverse(rank),
                Reverse(span.id),
                Reverse(source),
            )
        };
        lane.into_iter()
            .chain(linked)
            .max_by_key(preferred)
            .map(|(source, link, _)| binding(source, link))
    }

    /// Whether a lane is a stream of a device.
    pub fn is_device(&self, lane: usize) -> bool {
        self.run.lanes[lane].kind == LaneKind::Device
    }
}

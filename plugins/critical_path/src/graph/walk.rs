//! The critical path: from the end of the window back to its start.
//!
//! From the last segment, each step goes to the binding
//! predecessor. Segments and the lags between them touch, so they add up to
//! the window, to the nanosecond.
//!
//! The path goes through the binding predecessor, however near the next one was: where a host idles, launches, and the
//! stream was idle for a moment, the path is the host's gap. `opportunity` shows how little that gap would buy.

use trueno_analysis::lanes::Class;

use crate::graph::dependency_graph::{Graph, Link};
use crate::graph::lag_kind;
use crate::graph::segments::NONE;
use crate::load::inferred::Rule;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PieceKind {
    Work,
    Transfer,
    /// From the host call to the start on the device.
    LaunchDelay,
    /// Its dependencies had ended but it had not begun. Behind other work of its stream only if its launch is
    /// recorded.
    Queue,
    /// The host waited, and it is not recorded for what.
    SyncWait,
    /// Nothing recorded explains the time. Includes an idle stream before work without a recorded launch.
    Gap,
}

impl PieceKind {
    pub const ALL: [Self; 6] = [
        Self::Work,
        Self::Transfer,
        Self::LaunchDelay,
        Self::Queue,
        Self::SyncWait,
        Self::Gap,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Work => "work",
            Self::Transfer => "transfer",
            Self::LaunchDelay => "launch_delay",
            Self::Queue => "queue",
            Self::SyncWait => "sync_wait",
            Self::Gap => "gap",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    pub start_ns: i64,
    /// The next piece begins where this one ends; the last one ends with the window.
    pub dur_ns: i64,
    /// The segment that ran or was delayed; [`NONE`] in a run without segments.
    pub segment: u32,
    pub lane: u32,
    pub kind: PieceKind,
    /// The rule that inferred the dependency by which the piece is on the path; `None`: it was recorded.
    pub inferred: Option<Rule>,
}

/// Times to walk along, measured or predicted.
pub trait Timing {
    fn start_ns(&self, segment: u32) -> i64;

    fn free_ns(&self, segment: u32) -> i64;

    /// End, if known; else the release time.
    fn end_ns(&self, segment: u32) -> i64 {
        self.free_ns(segment)
    }

    /// The predecessor with the latest release time plus lag.
    fn binding(&self, segment: u32, lane: usize) -> Option<(u32, Link)>;
}

impl Timing for Graph<'_> {
    fn start_ns(&self, segment: u32) -> i64 {
        self.segments.start_ns(segment as usize)
    }

    fn free_ns(&self, segment: u32) -> i64 {
        self.segments.free_ns(segment as usize)
    }

    fn end_ns(&self, segment: u32) -> i64 {
        self.segments.end_ns(segment as usize)
    }

    fn binding(&self, segment: u32, lane: usize) -> Option<(u32, Link)> {
        Graph::binding(self, segment, lane).map(|binding| (binding.source, binding.link))
    }
}

pub fn walk<'g>(graph: &'g Graph<'g>, wall_ns: i64) -> Path<'g, Graph<'g>> {
    Path::new(graph, graph, wall_ns, graph.last())
}

/// A path through a window. A long run has as many pieces as segments, so the pieces are not stored. They follow
/// from the stretches of lanes that the path takes.
pub struct Path<'g, T> {
    graph: &'g Graph<'g>,
    timing: &'g T,
    wall_ns: i64,
    stretches: Vec<Stretch>,
}

struct Stretch {
    lane: u32,
    first: u32,
    last: u32,
    /// The predecessor that the first segment waited for; `None`: nothing.
    bound: Option<(u32, Link)>,
}

impl<'g, T: Timing> Path<'g, T> {
    /// Walks back through the window `0..wall_ns` from segment `from`, which runs at its end or before.
    pub fn new(graph: &'g Graph<'g>, timing: &'g T, wall_ns: i64, from: Option<u32>) -> Self {
        let mut stretches = Vec::new();
        let mut from = from;
        while let Some(last) = from {
            let lane = graph.segments.lane(last);
            let begin = graph.segments.lane_first[lane];
            let mut first = last;
            let bound = loop {
                // Between targets the path follows the lane.
                first = graph.targets().last(first, begin).unwrap_or(begin);
                match timing.binding(first, lane) {
                    Some((source, Link::Lane)) => first = source,
                    bound => break bound,
                }
            };
            let lane = lane as u32;
            stretches.push(Stretch {
                lane,
                first,
                last,
                bound,
            });
            from = bound.map(|(source, _)| source);
            if timing.start_ns(first) <= 0 {
                break;
            }
        }
        stretches.reverse();
        Self {
            graph,
            timing,
            wall_ns,
            stretches,
        }
    }

    /// Calls `tell` with all pieces in order. Leaves out pieces without duration and merges neighbours of the
    /// same interval and kind.
    pub fn each(&self, tell: impl FnMut(Piece)) {
        let (graph, timing) = (self.graph, self.timing);
        let mut out = Pieces {
            graph,
            wall_ns: self.wall_ns,
            now_ns: 0,
            piece: None,
            tell,
        };
        for (at, stretch) in self.stretches.iter().enumerate() {
            let lane = stretch.lane as usize;
            let rule = |stretch: &Stretch| {
                let (source, _) = stretch.bound?;
                graph.inferred(stretch.first, source)
            };
            let next = self.stretches.get(at + 1);
            let inferred_next = next.and_then(rule);
            let inferred = match stretch.bound {
                Some(_) => rule(stretch),
                None => inferred_next.filter(|_| stretch.first == stretch.last),
            };
            let lag = stretch.bound.map_or(PieceKind::Gap, |(source, link)| {
                lag_kind::lag_kind(graph, source, link, stretch.first, lane)
            });
            out.go_to(
                timing.start_ns(stretch.first),
                (stretch.first, stretch.lane),
                lag,
                inferred,
            );
            for segment in stretch.first..=stretch.last {
                let of = (segment, stretch.lane);
                let inferred = inferred_next.filter(|_| segment == stretch.last);
                let start_ns = timing.start_ns(segment);
                if start_ns > out.now_ns {
                    let lag = lag_kind::lag_kind(graph, segment - 1, Link::Lane, segment, lane);
                    out.go_to(start_ns, of, lag, None);
                }
                let free_ns = timing.free_ns(segment);
                if free_ns > out.now_ns {
                    let class = graph.run.labels.get(graph.span(segment, lane).label).class;
                    let kind = match class {
                        Class::Wait => PieceKind::SyncWait,
                        Class::Transfer => PieceKind::Transfer,
                        _ => PieceKind::Work,
                    };
                    out.go_to(free_ns, of, kind, inferred);
                }
            }
        }
        let mut of = (NONE, 0);
        if let Some(last) = self.stretches.last() {
            of = (last.last, last.lane);
            // Of what is left an elastic part is the wait itself.
            out.go_to(timing.end_ns(of.0), of, PieceKind::SyncWait, None);
        }
        out.go_to(self.wall_ns, of, PieceKind::Gap, None);
        out.flush();
    }

    pub fn pieces(&self) -> Vec<Piece> {
        let mut out = Vec::new();
        self.each(|piece| out.push(piece));
        out
    }
}

struct Pieces<'g, F> {
    graph: &'g Graph<'g>,
    wall_ns: i64,
    now_ns: i64,
    piece: Option<Piece>,
    tell: F,
}

impl<F: FnMut(Piece)> Pieces<'_, F> {
    #[inline]
    fn go_to(&mut self, end_ns: i64, of: (u32, u32), kind: PieceKind, inferred: Option<Rule>) {
        let end_ns = end_ns.min(self.wall_ns);
        if end_ns <= self.now_ns {
            return;
        }
        let (segment, lane) = of;
        let dur_ns = end_ns - self.now_ns;
        let start_ns = std::mem::replace(&mut self.now_ns, end_ns);
        let spans = &self.graph.segments.span;
        // Cuts within an interval disappear.
        match &mut self.piece {
            Some(piece)
                if piece.kind == kind
                    && piece.lane == lane
                    && piece.inferred == inferred
                    && (piece.segment == segment
                        || spans[piece.segment as usize] == spans[segment as usize]) =>
            {
                piece.dur_ns += dur_ns;
            }
            _ => {
                self.flush();
                self.piece = Some(Piece {
                    start_ns,
                    dur_ns,
                    segment,
                    lane,
                    kind,
                    inferred,
                });
            }
        }
    }

    #[inline]
    fn flush(&mut self) {
        if let Some(piece) = self.piece.take() {
            (self.tell)(piece);
        }
    }
}

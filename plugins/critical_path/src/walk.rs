//! The critical path: from the end of the window back to its start.
//!
//! From the [last](crate::ends) segment, each step goes to the binding
//! predecessor. Segments and the lags between them touch, so they add up to
//! the window, to the nanosecond.
//!
//! The path goes through the binding predecessor, however near the next one was: where a host idles, launches, and the
//! stream was idle for a moment, the path is the host's gap. `opportunity` shows how little that gap would buy.

use trueno_analysis::lanes::Class;

use crate::graph::{Graph, Link};
use crate::inferred::Rule;
use crate::lag_kind;
use crate::segments::NONE;

/// The kind of a piece of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PieceKind {
    /// An interval was running.
    Work,
    /// A copy or a fill was running.
    Transfer,
    /// From the host call to the start on the device.
    LaunchDelay,
    /// Its dependencies had ended, and it had not begun; behind work of its stream only if its launch is recorded.
    Queue,
    /// The host waited, and nothing recorded says for what.
    SyncWait,
    /// Nothing recorded explains the time; also an idle stream before work whose launch is not recorded.
    Gap,
}

impl PieceKind {
    /// All variants, in the order of reports.
    pub const ALL: [Self; 6] = [
        Self::Work,
        Self::Transfer,
        Self::LaunchDelay,
        Self::Queue,
        Self::SyncWait,
        Self::Gap,
    ];

    /// Text in tables.
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

/// One piece; it ends where the next begins, the last at the end of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Start.
    pub start_ns: i64,
    /// The segment that ran, or that was held up; [`NONE`] in a run without any.
    pub segment: u32,
    /// Its kind.
    pub kind: PieceKind,
    /// The rule that inferred the dependency by which it is on the path; `None`: that was recorded.
    pub inferred: Option<Rule>,
}

/// The pieces of a path and their durations: each ends where the next begins, the last at the end of the window.
pub fn durations(path: &[Piece], wall_ns: i64) -> impl Iterator<Item = (&Piece, i64)> {
    let ends = path.iter().skip(1).map(|next| next.start_ns);
    path.iter()
        .zip(ends.chain([wall_ns]))
        .map(|(piece, end_ns)| (piece, end_ns - piece.start_ns))
}

/// Time on the path by the rule that inferred why, in the order of [`Rule::ALL`].
pub fn inferred_ns(path: &[Piece], wall_ns: i64) -> [i64; Rule::ALL.len()] {
    let mut out = [0; Rule::ALL.len()];
    for (piece, dur_ns) in durations(path, wall_ns) {
        if let Some(rule) = piece.inferred {
            out[rule as usize] += dur_ns;
        }
    }
    out
}

/// Measured or predicted times to walk along.
pub trait Timing {
    /// Start of a segment.
    fn start_ns(&self, segment: u32) -> i64;

    /// Release time: the segment's successors may run from then on.
    fn free_ns(&self, segment: u32) -> i64;

    /// End, as far as it is known.
    fn end_ns(&self, segment: u32) -> i64 {
        self.free_ns(segment)
    }

    /// The predecessor with the latest release time.
    fn binding(&self, segment: u32, lane: usize) -> Option<(u32, Link)>;
}

impl Timing for Graph<'_> {
    fn start_ns(&self, segment: u32) -> i64 {
        self.segments.start_ns[segment as usize]
    }

    fn free_ns(&self, segment: u32) -> i64 {
        self.segments.free_ns(segment as usize)
    }

    fn end_ns(&self, segment: u32) -> i64 {
        self.segments.end_ns[segment as usize]
    }

    fn binding(&self, segment: u32, lane: usize) -> Option<(u32, Link)> {
        Graph::binding(self, segment, lane).map(|binding| (binding.source, binding.link))
    }
}

/// The path through the window `0..wall_ns` of the run, as measured.
pub fn walk(graph: &Graph<'_>, wall_ns: i64) -> Vec<Piece> {
    walk_back(graph, graph, wall_ns, graph.last())
}

/// The path through the window `0..wall_ns`, back from a segment that runs or ran at its end, in the order of
/// time. Pieces without duration are left out, neighbours of one interval and kind are one.
pub fn walk_back(
    graph: &Graph<'_>,
    timing: &impl Timing,
    wall_ns: i64,
    from: Option<u32>,
) -> Vec<Piece> {
    let segments = &graph.segments;
    let mut path = Path {
        until_ns: wall_ns,
        pieces: Vec::new(),
        inferred: None,
    };
    let Some(mut segment) = from else {
        path.back_to(0, NONE, PieceKind::Gap);
        return path.pieces;
    };
    let mut lane = segments.lane(segment);
    path.back_to(timing.end_ns(segment), segment, PieceKind::Gap);
    // Of what is left an elastic part is the wait itself.
    path.back_to(timing.free_ns(segment), segment, PieceKind::SyncWait);
    while path.until_ns > 0 {
        let class = graph.run.labels.get(graph.span(segment, lane).label).class;
        let kind = match class {
            Class::Wait => PieceKind::SyncWait,
            Class::Transfer => PieceKind::Transfer,
            _ => PieceKind::Work,
        };
        path.back_to(timing.start_ns(segment), segment, kind);
        let Some((source, link)) = timing.binding(segment, lane) else {
            path.back_to(0, segment, PieceKind::Gap);
            break;
        };
        let lag = lag_kind::lag_kind(graph, source, link, segment, lane);
        path.inferred = graph
            .inferred(segment, source)
            .filter(|_| link != Link::Lane);
        path.back_to(timing.free_ns(source), segment, lag);
        if link != Link::Lane {
            lane = segments.lane(source);
        }
        segment = source;
    }
    path.merge(graph);
    path.pieces
}

/// Pieces so far, last first, and where the earliest of them begins.
struct Path {
    until_ns: i64,
    pieces: Vec<Piece>,
    /// Rule of the pieces to come; see [`Piece::inferred`].
    inferred: Option<Rule>,
}

impl Path {
    fn back_to(&mut self, start_ns: i64, segment: u32, kind: PieceKind) {
        if start_ns < self.until_ns {
            self.pieces.push(Piece {
                start_ns,
                segment,
                kind,
                inferred: self.inferred,
            });
            self.until_ns = start_ns;
        }
    }

    /// Turns to the order of time; cuts within an interval disappear.
    fn merge(&mut self, graph: &Graph<'_>) {
        self.pieces.reverse();
        let segments = &graph.segments;
        self.pieces.dedup_by(|next, piece| {
            next.kind == piece.kind
                && next.inferred == piece.inferred
                && segments.span[next.segment as usize] == segments.span[piece.segment as usize]
                && segments.lane(next.segment) == segments.lane(piece.segment)
        });
    }
}

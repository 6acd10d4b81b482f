//! The critical path: from the end of the window back to its start.
//!
//! From the segment that let go last, each step goes to the binding
//! predecessor. Segments and the lags between them touch, so they add up to
//! the window, to the nanosecond.

use std::cmp::Reverse;

use crate::edges::DependencyKind;
use crate::graph::{Graph, Link};
use crate::lanes::Class;
use crate::segments::NONE;

/// What a piece of the path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PieceKind {
    /// An interval was running.
    Work,
    /// A copy or a fill was running.
    Transfer,
    /// From the host call to the start on the device.
    LaunchDelay,
    /// What it depended on had ended, and it had not begun.
    Queue,
    /// The host waited, and nothing recorded says for what.
    SyncWait,
    /// Nothing recorded explains the time.
    Gap,
}

impl PieceKind {
    /// All, in the order of reports.
    pub const ALL: [Self; 6] = [
        Self::Work,
        Self::Transfer,
        Self::LaunchDelay,
        Self::Queue,
        Self::SyncWait,
        Self::Gap,
    ];

    /// As tables call it.
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
    /// When it begins.
    pub start_ns: i64,
    /// The segment that ran, or that was held up; [`NONE`] in a run without any.
    pub segment: u32,
    /// What it is.
    pub kind: PieceKind,
}

/// The path through the window `0..wall_ns`, in the order of time. Pieces
/// without duration are left out, neighbours of one interval and kind are one.
pub fn walk(graph: &Graph<'_>, wall_ns: i64) -> Vec<Piece> {
    let segments = &graph.segments;
    let mut path = Path {
        until_ns: wall_ns,
        pieces: Vec::new(),
    };
    let id = |segment: u32| graph.span(segment, segments.lane(segment)).id;
    let later = |a: &u32, b: &u32| {
        let free_ns = segments
            .free_ns(*a as usize)
            .cmp(&segments.free_ns(*b as usize));
        free_ns.then_with(|| (Reverse(id(*a)), Reverse(a)).cmp(&(Reverse(id(*b)), Reverse(b))))
    };
    let Some(mut segment) = (0..segments.len() as u32).max_by(later) else {
        path.back_to(0, NONE, PieceKind::Gap);
        return path.pieces;
    };
    let mut lane = segments.lane(segment);
    path.back_to(segments.free_ns(segment as usize), segment, PieceKind::Gap);
    loop {
        let class = graph.run.labels.get(graph.span(segment, lane).label).class;
        let kind = match class {
            Class::Wait => PieceKind::SyncWait,
            Class::Transfer => PieceKind::Transfer,
            _ => PieceKind::Work,
        };
        path.back_to(segments.start_ns[segment as usize], segment, kind);
        let Some(binding) = graph.binding(segment, lane) else {
            path.back_to(0, segment, PieceKind::Gap);
            break;
        };
        let lag = match binding.link {
            Link::Lane if segments.elastic[binding.source as usize] => PieceKind::SyncWait,
            Link::Lane if graph.is_device(lane) => PieceKind::Queue,
            Link::Lane => PieceKind::Gap,
            Link::Dependency(DependencyKind::Launches) => PieceKind::LaunchDelay,
            Link::Dependency(DependencyKind::Joins) => PieceKind::SyncWait,
            Link::Dependency(DependencyKind::DependsOn | DependencyKind::Spawns) => {
                PieceKind::Queue
            }
        };
        path.back_to(segments.free_ns(binding.source as usize), segment, lag);
        if binding.link != Link::Lane {
            lane = segments.lane(binding.source);
        }
        segment = binding.source;
    }
    path.merge(graph);
    path.pieces
}

/// Pieces so far, last first, and where the earliest of them begins.
struct Path {
    until_ns: i64,
    pieces: Vec<Piece>,
}

impl Path {
    fn back_to(&mut self, start_ns: i64, segment: u32, kind: PieceKind) {
        if start_ns < self.until_ns {
            self.pieces.push(Piece {
                start_ns,
                segment,
                kind,
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
                && segments.span[next.segment as usize] == segments.span[piece.segment as usize]
                && segments.lane(next.segment) == segments.lane(piece.segment)
        });
    }
}

//! What the time between a predecessor's letting go and the start of a segment is called.

use crate::edges::DependencyKind;
use crate::graph::{Graph, Link};
use crate::walk::PieceKind;

/// The kind of a lag after `source`, on the way to a segment of `lane`.
#[inline]
pub fn kind(graph: &Graph<'_>, source: u32, link: Link, lane: usize) -> PieceKind {
    match link {
        Link::Lane if graph.segments.elastic[source as usize] => PieceKind::SyncWait,
        Link::Lane if graph.is_device(lane) => PieceKind::Queue,
        Link::Lane => PieceKind::Gap,
        Link::Dependency(DependencyKind::Launches) => PieceKind::LaunchDelay,
        Link::Dependency(DependencyKind::Joins | DependencyKind::Blocks) => PieceKind::SyncWait,
        Link::Dependency(
            DependencyKind::DependsOn | DependencyKind::Spawns | DependencyKind::Follows,
        ) => PieceKind::Queue,
    }
}

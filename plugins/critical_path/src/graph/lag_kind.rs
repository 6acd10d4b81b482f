//! The kind of a lag: the time between a predecessor's release and the start of a segment.

use crate::graph::dependency_graph::{Graph, Link};
use crate::graph::walk::PieceKind;
use crate::load::edges::DependencyKind;

/// The kind of a lag after `source` and before a segment of `lane`. Device work with a recorded launch was in the
/// queue of its stream. Without one it may have been launched only then, so the stream was idle for an unknown
/// reason.
#[inline]
pub fn lag_kind(
    graph: &Graph<'_>,
    source: u32,
    link: Link,
    segment: u32,
    lane: usize,
) -> PieceKind {
    match link {
        Link::Lane if graph.segments.elastic[source as usize] => PieceKind::SyncWait,
        Link::Lane if graph.is_device(lane) && graph.is_launched(segment) => PieceKind::Queue,
        Link::Lane => PieceKind::Gap,
        Link::Dependency(DependencyKind::Launches) => PieceKind::LaunchDelay,
        Link::Dependency(
            DependencyKind::Joins
            | DependencyKind::Blocks
            | DependencyKind::Awaits
            | DependencyKind::Wakes,
        ) => PieceKind::SyncWait,
        Link::Dependency(
            DependencyKind::DependsOn | DependencyKind::Spawns | DependencyKind::Follows,
        ) => PieceKind::Queue,
    }
}

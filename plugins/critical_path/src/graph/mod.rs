//! The graph of segments, its order, and the path through it.

pub mod chains;
pub(crate) mod cutter;
pub mod dependency_graph;
pub(crate) mod lag_kind;
pub(crate) mod latencies;
pub(crate) mod order;
pub mod ownership;
pub(crate) mod packed_times;
pub(crate) mod path_end;
pub(crate) mod rank_bitmap;
pub mod segments;
pub mod walk;

//! A front with the names of `trueno::brick::BrickProfiler` (crate `aprender-compute`, 0.32), for
//! programs that are instrumented with it: change the import, and the run is recorded.
//!
//! ```
//! use trueno_brick_profiler::{BrickCategory, BrickId, BrickProfiler};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("decode.run");
//! let mut profiler = BrickProfiler::create(path)?; // new() and enabled(): where TRUENO_RUN says
//! profiler.enable();
//! let timer = profiler.start_brick(BrickId::QkvProjection);
//! profiler.stop_brick(timer, 4096);
//! let of = profiler.category_stats()[BrickCategory::Attention as usize];
//! assert_eq!((of.count, of.total_elements), (1, 4096));
//! assert_eq!(profiler.finish()?.tables["bricks"].rows, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Every event goes to the recorder as it is; sums and the graph are kept only for the calls that
//! ask for them: a timed brick reads clocks four times and more, a guard of the recorder twice.
//!
//! | for | is computed from |
//! | --- | --- |
//! | `brick_stats`, `stats`, `category_stats`, `total_…`, [`summary`](BrickProfiler::summary), [`to_json`](BrickProfiler::to_json), [`report`](BrickProfiler::report) | sums over the bricks since the last [`reset`](BrickProfiler::reset) |
//! | `tile_stats`, [`tile_summary`](BrickProfiler::tile_summary), [`tile_stats_to_json`](BrickProfiler::tile_stats_to_json) | sums over the tiles since the last [`reset_tile_stats`](BrickProfiler::reset_tile_stats) |
//! | [`execution_graph`](BrickProfiler::execution_graph): [`critical_path`](ExecutionGraph::critical_path), [`compute_slack`](ExecutionGraph::compute_slack), [`roofline_distance`](ExecutionGraph::roofline_distance), trees, DOT | the nodes since the last [`graph_clear`](BrickProfiler::graph_clear), with the times that the program states, else those from push to pop; the roofline by the model of the plugin `roofline` |
//! | [`find_divergence`](BrickProfiler::find_divergence) | the bits of all elements since the last [`reset_checksums`](BrickProfiler::reset_checksums) |
//!
//! What differs, on purpose:
//!
//! - **Deferred work has no duration.** [`BrickProfiler::finalize`] counts it (`count`, `bound`,
//!   elements) and adds nothing to `total_ns`: between launch and the final wait other work ran
//!   too, and adding the intervals up would book more time than passed. The run gets the host
//!   interval of each launch, and a row of `kernels` with `timing` `bound`. True times need a
//!   [`Device`](trueno_recorder::Device) and [`BrickGuard::stream`](trueno_recorder::BrickGuard::stream).
//! - **A sync mode here is a note**, as it was there. What waits is the mode of a recorder that
//!   has a device: [`Builder::sync_mode`](trueno_recorder::Builder::sync_mode) and
//!   [`BrickProfiler::with_recorder`].
//! - **A brick is one row**, however often the program tells of it: one that was stopped and is then
//!   pushed as a scope, or recorded in the graph, is taken up. Kernels recorded next lie in it.
//! - **Names** match whatever their case and separators; see [`BrickId::from_str`].
//! - **Where there is no data** JSON has `null`, text a dash, and an accessor 0 or NaN as it says,
//!   never a ratio of 1 or 100 %, and never an estimate of what nobody counted.
//! - A disabled profiler reads no clock, and a timer that is dropped leaves nothing behind.
//! - Feature `aprender`: `bridge` records the sums of a profiler of aprender-compute that a program keeps.
//! - `trueno-analyze` tells more from the run: of several threads and streams, in the device's times.

#![warn(missing_docs)]

#[cfg(feature = "aprender")]
pub mod bridge;
mod checksums;
mod clock;
mod deferred;
mod graph;
mod graph_calls;
mod profiler;
mod ptx;
mod reports;
mod shared_run;
mod stats;
mod tiles;
mod timing;
mod wording;

pub use checksums::{ChecksumComparison, DivergenceInfo, KernelChecksum, fnv1a_f32_checksum};
pub use graph::{
    EdgeType, ExecutionEdge, ExecutionGraph, ExecutionNode, ExecutionNodeId, TransferDirection,
    UnplacedKernel,
};
pub use profiler::BrickProfiler;
pub use ptx::PtxRegistry;
pub use stats::{BrickBottleneck, BrickStats, CategoryStats};
pub use tiles::{TileStats, TileTimer};
pub use timing::{BrickIdTimer, BrickTimer};
pub use trueno_recorder::{BrickCategory, BrickId, SyncMode, TileLevel};

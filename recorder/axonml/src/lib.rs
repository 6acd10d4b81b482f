//! A front with the names of `axonml-profile` (0.6.2), for programs that are instrumented with it: change the import,
//! and the run is recorded.
//!
//! ```
//! use trueno_axonml_profile::{ProfileGuard, Profiler};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("train.run");
//! let profiler = Profiler::create(path)?; // new(), and global_profiler(): where TRUENO_RUN says
//! {
//!     let _step = ProfileGuard::new(&profiler, "step");
//!     profiler.record_alloc("activations", 4096);
//! }
//! assert_eq!(profiler.peak_memory(), 4096);
//! assert_eq!(profiler.finish()?.tables["bricks"].rows, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | the original's | in the run |
//! | --- | --- |
//! | an operation, from start to stop; a timeline's start and end | a row of `bricks`, with file and line of its start |
//! | FLOPs of it | its column `flops` |
//! | bytes of it, of which it is not said whether they were read or written | its attribute `bytes_processed` |
//! | memory taken, given back | a row of `allocations`, under the operation that was open |
//! | an instant; an event `Alloc`, `Free` or `Custom` | a row of `annotations`, likewise; arguments: its type, `metadata` |
//! | metadata of a start, of an end | attributes `metadata`, `end_metadata` |
//! | a stop without a start; bytes given back that were not taken | `compat.stops_without_start`, `compat.unmatched_free_bytes` of `values` in `run.json` |
//!
//! All profilers that are made by `new` record to one run, which ends with the process. What differs from the
//! original, on purpose:
//!
//! - **A stop ends the operation that its own thread began.** There any thread ended the one that began last, whosever
//!   it was, so that two threads with one name swapped their times.
//! - **Shares of time** in reports are of the time in which a thread had any operation open, not of the sum of all
//!   durations, which counts what lies in other operations twice.
//! - **Rates** ([`OperationStats::gflops_per_sec`], [`OperationStats::bandwidth_gbps`]) are there where every call has
//!   said its FLOPs or bytes. There calls that had not added their time all the same.
//! - **Memory given back** is taken from its own name, whether or not the sizes are those it was taken in, and never
//!   from others: what is taken less what is given back is always what is in use.
//! - **A timeline pairs** starts and ends as operations are, not by their order; what a full timeline has dropped
//!   spoils no duration.
//! - **A Chrome trace** has nanoseconds, small thread numbers and metadata; reports are escaped, and name operations in
//!   full; lists have one order.
//! - FLOPs that are no count (negative, infinite, no number) are left out, and `run.json` says so.
//! - What is open when a profiler is disabled is not recorded.

#![warn(missing_docs)]

pub mod bottleneck;
pub mod compute;
pub mod error;
pub mod memory;
mod profiler;
pub mod report;
mod session;
pub mod timeline;

pub use bottleneck::{Bottleneck, BottleneckAnalyzer, BottleneckType};
pub use compute::{ComputeProfiler, OperationStats, ProfiledOp};
pub use error::{ProfileError, ProfileResult};
pub use memory::{AllocationRecord, MemoryProfiler, MemoryStats};
pub use profiler::{
    ProfileGuard, Profiler, global_profiler, record_alloc, record_free, start, stop,
};
pub use report::{ProfileReport, ReportFormat};
pub use timeline::{Event, EventType, TimelineProfiler};

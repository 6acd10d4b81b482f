//! Records what a computation did, and when, into a run directory: bricks, kernels, tiles,
//! checksums, waits. One span costs its thread about as much as reading the clock twice.
//!
//! ```
//! use trueno_recorder::{BrickId, Recorder};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("decode.run");
//! let rec = Recorder::create(path)?;
//! for token in 0..2 {
//!     let _iteration = rec.iteration(token);
//!     let _layer = rec.layer(0);
//!     let output = vec![0.5f32; 64];
//!     {
//!         let mut brick = rec.brick(BrickId::QkvProjection); // ends when it is dropped
//!         brick.elements(64).flops(2 * 64 * 64).bytes(4 * 64 * 64, 4 * 64);
//!         let mut kernel = rec.kernel("gemv");               // lies in that brick
//!         kernel.backend("scalar").grid(1, 1, 1);
//!     }
//!     rec.checksum("qkv.out", Some(token), &output, &[64]);
//! }
//! let summary = rec.finish()?;
//! assert_eq!(summary.tables["bricks"].rows, 2 + 2 + 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Concepts
//!
//! - A [`Recorder`] is one run. Clone it into every thread; [`Recorder::finish`] ends it.
//!   [`Recorder::disabled`] has the same methods and does nothing.
//! - **Guards** are open intervals of the thread that made them: [`Recorder::iteration`],
//!   [`Recorder::layer`], [`Recorder::brick`], [`Recorder::function`], [`Recorder::kernel`],
//!   [`Recorder::tile`]. They are recorded when they are dropped. What is open on the thread
//!   is the parent of what opens next; a guard that is dropped before those inside it leaves
//!   them to the next one outside. Iterations and layers also label the rows inside them.
//! - **Between threads:** a [`SpanId`] names an open row. [`Recorder::task`] starts work on
//!   another thread under it, [`Recorder::wait`] waits for such work, [`Recorder::depends`]
//!   states an order, [`BrickGuard::detach`] lets an interval end elsewhere.
//! - **Moments:** [`Recorder::checksum`], [`Recorder::allocation`], [`Recorder::counter`], [`Recorder::instant`].
//! - **Pauses:** [`Recorder::pause`] and [`Recorder::resume`] leave out a part of the program, such as warming up.
//! - **Attributes** are keys and values of a row beside its columns: [`BrickGuard::set`], and so of every guard.
//! - **Collectives** of several ranks: [`Recorder::collective`].
//! - **Facts:** [`Recorder::ceiling`], [`Recorder::ptx`], [`Recorder::value`].
//! - **Ceilings of the machine** are measured by the crate `trueno_ceilings` ([`Builder::ceilings`]) and by the
//!   command `trueno-record peaks`.
//! - **Devices:** with [`Builder::device`] and a [`SyncMode`], [`BrickGuard::stream`] records
//!   what a device did for a brick, in the device's own times.
//! - **Names** are texts that are interned once; a [`Name`] saves looking it up.
//! - **Counters of the CPU** around bricks: [`perf`], with the feature `perf`.
//! - **Memory of the whole program** is recorded by a global allocator: `alloc`, with the feature
//!   `alloc`; memory of devices by [`Recorder::device_allocation`].
//! - **Functions** become rows by one line each: `instrument`, with the feature `macros`.
//! - **Spans of the crate `tracing`** become rows by one line: `tracing::RecorderLayer`, with
//!   the feature `tracing`.
//!
//! Times are measured; elements, FLOPs and bytes are what the program declares. What was
//! not given is null in the run, never zero.
//!
//! # What it costs
//!
//! An event is one 64-byte record in a ring that belongs to its thread: no lock, no
//! allocation, no system call. A thread begins with a short ring, in a file that several share,
//! and gets longer ones, up to 4 MiB by default, as it records; a text is looked up in a table
//! without locks. A background thread turns records into Arrow files. When it cannot keep up, [`Overflow`] decides; what is dropped is counted exactly,
//! by thread and by table, and [`Recorder::status`], `run.json` and the run's tables say so.
//! A full disk or a removed directory never stops the program: recording ends,
//! [`Recorder::finish`] and `run.json` say what was lost.
//!
//! Programs instrumented with `trueno::brick::BrickProfiler` or `axonml-profile` move over by an import: the crates
//! `trueno_brick_profiler` and `trueno_axonml_profile`, made of [`finished`] rows.
//!
//! # The run directory
//!
//! [`schema`] lists the tables, [`run_json`] is the file that describes the run, and the crate
//! `trueno-format` has the rest. The columns are plain Arrow IPC files, readable
//! with pandas and polars as they are; other tools read Parquet, which
//! `trueno-analyze export parquet` writes.

#![warn(missing_docs)]

#[cfg(feature = "alloc")]
pub mod alloc;
mod at_exit;
mod attributes;
mod brick;
#[cfg(feature = "perf")]
mod brick_counters;
mod builder;
mod ceiling;
mod checksum;
mod clock;
mod collective;
mod control;
mod create;
mod device;
mod error;
mod event_counts;
pub mod finished;
mod fork;
mod instant;
#[cfg(feature = "macros")]
mod instrument;
mod kernel;
mod lane;
mod live;
mod lock;
mod mailbox;
mod names;
mod open_rows;
mod open_stack;
mod overflow;
mod overhead;
mod own_time;
#[cfg(feature = "tracing")]
mod owned_span;
mod pauses;
pub mod perf;
mod ptx;
mod recorder;
mod reentrancy;
mod ring_pool;
mod row_details;
mod samples;
mod scope;
mod session_state;
mod shapes;
mod span;
mod span_id;
mod status;
mod sync_mode;
mod task;
mod thread_registry;
mod threads;
mod tile;
mod tile_sampling;
#[cfg(feature = "tracing")]
pub mod tracing;
mod wait;
mod writer;

pub use attributes::AttributeValue;
pub use brick::BrickGuard;
pub use builder::Builder;
pub use checksum::{
    Bf16, ChecksumPlace, Element, F16, Fingerprint, Partial, Statistics, Strided, fingerprint,
};
pub use collective::CollectiveGuard;
pub use device::{Device, LaunchGuard, TransferGuard};
pub use error::Error;
#[cfg(feature = "macros")]
pub use instrument::instrument;
pub use kernel::KernelGuard;
pub use names::Name;
#[doc(hidden)]
pub use names::StaticName;
pub use overflow::Overflow;
pub use perf::PerfEvent;
pub use recorder::Recorder;
pub use scope::ScopeGuard;
pub use shapes::{Operand, Signature};
pub use span_id::SpanId;
pub use status::{Status, Summary, TableStatus};
pub use sync_mode::SyncMode;
pub use task::Detached;
pub use tile::TileGuard;
pub use trueno_format::{
    BrickCategory, BrickId, Ceiling, CeilingKind, CeilingSource, PtxHash, RecordedCeilings, Source,
    TileLevel, run_json, schema, utc,
};
pub use wait::WaitGuard;

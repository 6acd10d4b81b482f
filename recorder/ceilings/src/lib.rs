//! Ceilings of this machine, measured: the roofs of a roofline.
//!
//! Two kinds, each with one thread and with all the program may run:
//!
//! - **bandwidth** of `L1`, `L2`, `L3` and `DRAM` by `read`, `copy` and `triad`, of `DRAM` also by
//!   `copy_nt`, whose stores pass the caches by. Bytes are those a loop asks for: a store that
//!   makes the processor read the line first counts once, as it does in a program's own count.
//!   Working sets follow from the caches as Linux lists them: half of `L1`; all levels below and
//!   half of the level itself; twelve times the last level, so that it is memory that is measured.
//!   `L1` to `L3` are shares where threads share them. Where Linux lists no caches, only `DRAM` is
//!   measured and a note says so.
//! - **compute** per instruction set (`scalar`, `sse2`, `avx2`, `avx512`, `neon`) in `f32` and
//!   `f64`, by `fma` where there is one, else by a multiplication and an addition (`mul_add`), and
//!   in `i8` by `dot` (VNNI, SDOT). A fused operation counts as two.
//!
//! A ceiling is what several moments reached; median and spread of all repetitions stand beside it,
//! and it is not settled where single moments were faster. Measuring takes four to eight seconds in
//! all, so ceilings are kept in a file per machine (see [`CeilingCache`]) and are measured anew when
//! anything of [`Machine`] has changed. A machine that does other work at the same time shows lower
//! ceilings: the spread tells.
//!
//! ```no_run
//! use trueno_ceilings::CeilingRequest;
//! use trueno_recorder::Recorder;
//! let rec = Recorder::builder("decode.run").ceilings(CeilingRequest::CachedOrMeasured).create()?;
//! # Ok::<(), trueno_recorder::Error>(())
//! ```

#![warn(missing_docs)]

#[cfg(feature = "attach")]
mod attach;
mod bandwidth;
mod cache;
mod clock;
mod cpu_caches;
mod cpu_ceilings;
mod flops;
#[cfg(feature = "gpu")]
pub mod gpu;
mod machine;
mod measure;
mod memory;
mod plan;
mod previous;
mod repeat;
mod request;
mod threads;

#[cfg(feature = "attach")]
pub use attach::{AttachError, Attached, Attachment};
pub use cache::{CacheError, CeilingCache};
pub use clock::{CoreClock, measure as measure_clock_hz};
pub use cpu_caches::CpuCache;
pub use cpu_ceilings::CpuCeilings;
pub use machine::Machine;
pub use measure::{Progress, measure};
pub use previous::{AGREEMENT, disagree};
pub use repeat::Effort;
pub use request::{CeilingRequest, Telling};

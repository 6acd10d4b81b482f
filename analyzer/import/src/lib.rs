//! Turns files of other profilers into runs, on which every analysis works.
//!
//! Each format has a module with one [`Importer`], which reads a file into a
//! [`RunWriter`](trueno_format::run_writer::RunWriter) and keeps [`Notes`] of what it
//! read, kept and left out. What of a file is held in memory, each module says.

pub mod ascend_db;
pub mod axonml;
pub mod brick_profiler;
pub mod cgp;
pub mod chrome;
mod collective_tasks;
pub mod cuda;
pub mod device_csv;
mod doubtful;
mod error;
pub mod firefox;
pub mod flight_recorder;
mod foreign;
mod function_names;
pub mod hipprof;
mod importer;
mod json;
mod json_attributes;
mod lanes;
mod mended;
pub mod ncu;
mod notes;
pub mod nsys;
pub mod nvprof;
mod options;
pub mod otlp;
pub mod perf_script;
pub mod perfetto;
mod pickle;
pub mod pipeline;
pub mod proton;
#[cfg(test)]
mod read_back;
mod registry;
pub mod renacer;
pub mod rocpd;
pub mod rocprof_json;
pub mod rpd;
mod signatures;
mod sorter;
mod source;
pub mod speedscope;
mod sqlite_rows;
pub mod strace;
pub mod tensorrt;
mod time;
pub mod torch_memory;
pub mod xplane;

pub use error::Error;
pub use importer::{Head, Import, Importer};
pub use notes::Notes;
pub use options::{Options, Part};
pub use registry::{IMPORTERS, detect, detect_trace, importer};

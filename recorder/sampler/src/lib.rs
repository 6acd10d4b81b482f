//! Samples of any Linux program: functions that ran, many times a second, with all their callers, without a change to it.
//!
//! The kernel takes a sample of each thread whenever it has run for a period of CPU time (event `cpu-clock` of
//! `perf_event_open`), also of threads and processes that the program begins. A sample has the registers and a copy of
//! the end of the stack: callers are found from what compilers say of frames (`.eh_frame`), so that neither frame
//! pointers nor debugging symbols are needed for them; names, source lines and inlined functions come from what the
//! files have of these. Rows of a [run](trueno_format) are written while the program runs.

mod address_space;
mod attach;
mod counters;
mod event;
mod modules;
mod opening;
mod packets;
mod place;
mod program;
mod raw_sample;
mod registers;
mod rows;
mod sample;
mod selected;
mod symbols;
mod tracepoint;
mod waits;
mod waking;

use std::ffi::OsString;
use std::io;

pub use rows::Counts;
pub use sample::{Part, Sampled, attach, sample};

/// Default number of samples per second of CPU time. It is prime, so that it does not stay in step with periodic
/// work of the program.
pub const DEFAULT_HZ: u32 = 997;
/// Default limit on the copied part of a stack. Each byte costs the program time.
pub const DEFAULT_STACK_BYTES: u32 = 16 << 10;
/// Upper limit on the copied part of a stack.
pub const MAX_STACK_BYTES: u32 = opening::MAX_STACK_BYTES;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// Samples per second of CPU time, for each thread.
    pub hz: u32,
    /// Limit on the copied part of a stack. Callers beyond it are unknown.
    pub stack_bytes: u32,
    /// Do not record the program that is started, only the processes that it starts.
    pub leaves_out_first: bool,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            hz: DEFAULT_HZ,
            stack_bytes: DEFAULT_STACK_BYTES,
            leaves_out_first: false,
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("{}: cannot be started: {error}", program.display())]
    NotStarted {
        /// Name as given by the user.
        program: OsString,
        error: io::Error,
    },
    #[error("process {process} cannot be sampled: {error}")]
    NotAttached { process: i32, error: io::Error },
    #[error("programs cannot be sampled here; nothing was started: {error} (hint: {hint})")]
    Forbidden {
        error: io::Error,
        hint: &'static str,
    },
    #[error("sampling failed: {0}")]
    Sample(io::Error),
    #[error(transparent)]
    Run(#[from] trueno_format::Error),
}

/// Checks whether programs can be sampled here. Returns why it would not be recorded who ends their waits.
///
/// # Errors
/// [`Error::Forbidden`]: they cannot.
pub fn check() -> Result<Option<String>, Error> {
    counters::check()
}

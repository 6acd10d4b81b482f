//! Calls of BLAS and LAPACK, and allocations, of any dynamically linked Linux program, without a change to it.
//!
//! A library (`trueno-interpose`) is loaded into the program before all others and has functions of the same names. It
//! stores events in [shared memory](channel), from which [`record`] makes rows of a [run](trueno_format) while the program
//! runs: of `kernels`, with FLOPs and bytes from the arguments ([`work`]), and of `allocations`, sampled as the recorder
//! samples them. Threads and processes that the program begins are recorded as well.

pub mod channel;
pub mod event;
mod loadable;
mod others;
mod record;
pub mod routines;
mod rows;
pub mod work;

use std::ffi::OsString;
use std::io;

pub use loadable::problem;
pub use record::{Options, Part, Recorded, check, record};
pub use rows::Counts;

/// Why a program was not recorded, or not to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("{}: cannot be started: {error}", program.display())]
    NotStarted {
        /// Name as given by the user.
        program: OsString,
        error: io::Error,
    },
    /// No library can be loaded into it.
    #[error(
        "{}: {problem}, so nothing can be recorded in it and nothing was started (hint: --calls and --sample record any program)",
        program.display()
    )]
    NotLoadable {
        program: OsString,
        /// The property that prevents it.
        problem: String,
    },
    /// The system provides no shared memory.
    #[error("no memory can be shared with a program, and nothing was started: {0}")]
    NoMemory(io::Error),
    /// The loader cannot load the library from its path.
    #[error(
        "{}: the loader cannot use this path, because it has a space or a colon, and nothing was started (hint: install it elsewhere)",
        .0.display()
    )]
    LibraryPath(std::path::PathBuf),
    #[error("waiting for the program failed: {0}")]
    Wait(io::Error),
    #[error(transparent)]
    Run(#[from] trueno_format::Error),
}

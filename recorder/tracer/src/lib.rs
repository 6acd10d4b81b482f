//! System calls of any Linux program, of all its threads and of all that it begins, without a change to it.
//!
//! The program is traced by `ptrace`. All its calls stop it twice, before and behind; where only some are asked for, a
//! filter in the kernel (`seccomp`) lets the others pass at their usual cost. Rows of a [run](trueno_format) say when a
//! call began and ended, its file, bytes and result. A duration is from when the program was let into the call until
//! its end was seen: it has half of a stop in it, and none of what this crate does meanwhile.

mod argument;
mod attach;
pub mod caller_signals;
mod classes;
mod descriptors;
mod filter;
mod memory;
mod order;
mod poll;
mod ptrace;
mod rows;
mod start;
mod ticks;
mod trace;

use std::ffi::OsString;
use std::io;

pub use classes::Calls;
pub use rows::{Counts, REFUSED_STRICT};
pub use start::check;
pub use trace::{Part, Traced, Watch, attach, trace};

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("no program given")]
    NoProgram,
    #[error("{}: cannot be started: {error}", program.display())]
    NotStarted {
        /// Name as given by the user.
        program: OsString,
        error: io::Error,
    },
    #[error(
        "the system refused the filter (seccomp) that lets all other calls pass, and nothing was started: {0} (hint: \
         `--calls` without a list needs no filter, and stops the program at every call; a container that forbids \
         seccomp allows it with `--security-opt seccomp=unconfined`)"
    )]
    NoFilter(io::Error),
    #[error(
        "programs cannot be traced here, and nothing was started: {0} (hint: is another tracer at work? A container \
         allows it with `--cap-add SYS_PTRACE`; see /proc/sys/kernel/yama/ptrace_scope)"
    )]
    Forbidden(io::Error),
    #[error("process {process} cannot be traced: {error}")]
    NotAttached {
        process: libc::pid_t,
        error: io::Error,
    },
    #[error("tracing failed: {0}")]
    Trace(io::Error),
    #[error(transparent)]
    Run(#[from] trueno_format::Error),
}

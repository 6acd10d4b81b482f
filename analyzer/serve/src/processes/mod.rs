//! Answers given by other processes of the same program.
//!
//! A run is read, a query answered and a page made by a process of its own. So a run that is damaged, or cut while it is
//! mapped into memory, ends that process and not the server; what a query asks too much is bounded by the limits of the
//! command `query`, and ends with its process when nobody waits for it; and memory that an analysis took is free again.

mod csv;
mod process;
mod runs;
mod stamp;
#[cfg(test)]
mod tests;
mod work;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

pub use runs::Runs;

#[derive(Clone, Debug)]
pub struct Program {
    pub file: PathBuf,
    pub flags: Vec<OsString>,
    pub plugin_flags: Vec<OsString>,
    pub lanes_command: &'static str,
    /// Called for each process. The thread that starts a process also waits for it.
    pub before_start: fn(&mut Command),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryLimits {
    pub rows: usize,
    pub time: Duration,
    /// Memory limit; `None` uses the command's default.
    pub memory_bytes: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub shown: String,
    pub folder: PathBuf,
}

//! Errors.

use std::io;
use std::path::{Path, PathBuf};

/// A reason why a recorder could not be made, or its run is not whole.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The run cannot be made or written.
    #[error(transparent)]
    Format(#[from] trueno_format::Error),
    /// This process was forked from the one that records.
    #[error("{}: is recorded by process {recording}, from which this one was forked: its events are refused here (hint: make a recorder of its own after the fork)", .path.display())]
    Forked {
        /// The run directory.
        path: PathBuf,
        /// The process that records.
        recording: u32,
    },
    /// An option that makes no sense.
    #[error("{option}: {problem}")]
    Option {
        /// The builder's method.
        option: &'static str,
        /// Found, expected, next step.
        problem: String,
    },
    /// A device could not be synchronised: what waited for it is not measurable.
    #[error("device {device}: cannot synchronise: {problem}")]
    Device {
        /// Its number.
        device: u32,
        /// Its message.
        problem: String,
    },
    /// The writer stopped early: the run holds what was written until then.
    #[error("{}: the recording is incomplete, {lost} rows lost: {problem}", .path.display())]
    Writer {
        /// The run directory.
        path: PathBuf,
        /// Rows that were recorded and could not be written.
        lost: u64,
        /// The error that stopped the writer.
        problem: String,
    },
}

impl Error {
    pub(crate) fn io(path: &Path, action: &'static str, source: io::Error) -> Self {
        trueno_format::Error::io(path, action, source).into()
    }
}

//! Errors.

use std::io;
use std::path::{Path, PathBuf};

/// A reason why a recorder could not be created, or why its run is incomplete.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The run cannot be created or written.
    #[error(transparent)]
    Format(#[from] trueno_format::Error),
    /// This process is a fork of the recording one.
    #[error("{}: belongs to the parent process {recording}: a forked child cannot record into it (hint: create a new recorder after the fork)", .path.display())]
    Forked {
        /// The run directory.
        path: PathBuf,
        /// The process that records.
        recording: u32,
    },
    /// An invalid option.
    #[error("{option}: {problem}")]
    Option {
        /// The builder's method.
        option: &'static str,
        /// What was found, what was expected, and what to do.
        problem: String,
    },
    /// A device could not be synchronised, so work that waited for it has no measured times.
    #[error("device {device}: cannot synchronise: {problem}")]
    Device {
        /// Its number.
        device: u32,
        /// Its message.
        problem: String,
    },
    /// The writer stopped early. The run contains what was written until then.
    #[error("{}: the recording is incomplete, {lost} rows lost: {problem}", .path.display())]
    Writer {
        /// The run directory.
        path: PathBuf,
        /// Number of recorded rows that could not be written.
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

//! What can go wrong.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why a recorder could not be made, or why its run is not whole.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is a run already.
    #[error("{}: a run directory is there already (hint: choose another path, or allow `overwrite`)", .path.display())]
    RunExists {
        /// The run directory.
        path: PathBuf,
    },
    /// Another recorder, of this process or another, is writing that run now.
    #[error("{}: is being recorded now (hint: choose another path, or wait for its end)", .path.display())]
    RunInUse {
        /// The run directory.
        path: PathBuf,
    },
    /// This process was forked from the one that records.
    #[error("{}: is recorded by process {recording}, from which this one was forked: its events are refused here (hint: make a recorder of its own after the fork)", .path.display())]
    Forked {
        /// The run directory.
        path: PathBuf,
        /// The process that records.
        recording: u32,
    },
    /// There is something that is not a run; it is never removed.
    #[error("{}: exists and is not a run directory (expected a new path, or a folder with run.json; hint: choose another path)", .path.display())]
    NotARun {
        /// What was found.
        path: PathBuf,
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
        /// What it said.
        problem: String,
    },
    /// A row that does not fit its table.
    #[error("a row of {table}: {problem}")]
    Row {
        /// The table.
        table: &'static str,
        /// Found and expected.
        problem: String,
    },
    /// The operating system refused something while the recorder was made.
    #[error("{}: cannot {action}: {source}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        source: Arc<io::Error>,
    },
    /// The writer stopped early: the run holds what was written until then.
    #[error("{}: recording is not whole, {lost} rows lost: {problem}", .path.display())]
    Writer {
        /// The run directory.
        path: PathBuf,
        /// Rows that were recorded and could not be written.
        lost: u64,
        /// What stopped the writer.
        problem: String,
    },
}

impl Error {
    pub(crate) fn io(path: &Path, action: &'static str, source: io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            action,
            source: Arc::new(source),
        }
    }
}

//! Errors of writing and reading a run.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A reason why a run could not be made, written or read.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A run already exists.
    #[error("{}: a run already exists there (hint: choose another path, or give --overwrite; in a program `Builder::overwrite(true)`, in Python `overwrite=True`)", .path.display())]
    RunExists {
        /// The run directory.
        path: PathBuf,
    },
    /// A recorder, of this or another process, is writing that run now.
    #[error("{}: a run is being recorded there now (hint: choose another path, or wait for its end)", .path.display())]
    RunInUse {
        /// The run directory.
        path: PathBuf,
    },
    /// The run to be replaced is behind a link.
    #[error("{}: is a link to a run, and links are not followed to replace one (hint: give the path of the run, {})", .path.display(), .target.display())]
    Link {
        /// The link.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
    /// The path has changed since it was checked.
    #[error("{}: has changed since it was checked, and is left unchanged (hint: try again, or choose another path)", .path.display())]
    Changed {
        /// The run directory.
        path: PathBuf,
    },
    /// The path exists but is not a run; it is never removed.
    #[error("{}: exists and is not a run directory (expected a new path, or a folder whose run.json is that of a run; hint: choose another path)", .path.display())]
    NotARun {
        /// The path of it.
        path: PathBuf,
    },
    /// The run contains files that are not ours; nothing is removed.
    #[error("{}: would be replaced, and contains files that do not belong to a run: {entries} (hint: move them, or choose another path)", .path.display())]
    Foreign {
        /// The run directory.
        path: PathBuf,
        /// Names of those entries.
        entries: String,
    },
    /// A row that does not fit its table.
    #[error("a row of {table}: {problem}")]
    Row {
        /// The table.
        table: &'static str,
        /// Expected and actual content.
        problem: String,
    },
    /// An input or output error.
    #[error("{}: cannot {action}: {source}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The action that failed.
        action: &'static str,
        /// The system's error.
        source: Arc<io::Error>,
    },
}

impl Error {
    /// Error of the operating system on a file.
    pub fn io(path: &Path, action: &'static str, source: io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            action,
            source: Arc::new(source),
        }
    }

    /// As [`Error::io`], with the next step.
    pub fn io_with_hint(path: &Path, action: &'static str, source: io::Error, hint: &str) -> Self {
        let source = io::Error::new(source.kind(), format!("{source} (hint: {hint})"));
        Self::io(path, action, source)
    }
}

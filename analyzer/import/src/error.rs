//! Errors of imports.

use std::path::{Path, PathBuf};

/// Names the file, what was expected, what was found, and the next step.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused something.
    #[error("{}: cannot {action}: {source}", .path.display())]
    Io {
        path: PathBuf,
        /// The action that failed.
        action: &'static str,
        source: std::io::Error,
    },
    /// Not of a format that is known, or not of the one that was asked for.
    #[error("{}: {problem}", .path.display())]
    Format {
        path: PathBuf,
        /// Expected, found, next step.
        problem: String,
    },
    /// Damaged, cut, or beyond a limit, at a known place.
    #[error("{}: {problem} (at {place})", .path.display())]
    Damaged {
        path: PathBuf,
        /// Byte, line, table or row.
        place: String,
        /// Expected, found, next step.
        problem: String,
    },
    /// The traces of several ranks that a tool merged into one file. Each rank is imported alone, as
    /// [`Part::Rank`](crate::Part::Rank).
    #[error("{}: holds the traces of {} ranks that a tool merged; give it alone, and it becomes a job of ranks", .path.display(), .ranks.len())]
    Merged {
        path: PathBuf,
        /// Ranks, and the labels that their processes have.
        ranks: Vec<(u32, String)>,
    },
    /// The run could not be written.
    #[error(transparent)]
    Run(#[from] trueno_format::Error),
}

impl Error {
    /// The same of another file, where the one at hand is a copy that nobody knows.
    pub(crate) fn of_file(mut self, file: &Path) -> Self {
        match &mut self {
            Self::Io { path, .. }
            | Self::Format { path, .. }
            | Self::Damaged { path, .. }
            | Self::Merged { path, .. } => {
                *path = file.to_owned();
            }
            Self::Run(_) => {}
        }
        self
    }

    /// An error of the operating system.
    pub fn io(path: &Path, action: &'static str, source: std::io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            action,
            source,
        }
    }
}

//! Errors of imports.

use std::path::{Path, PathBuf};

/// Each error states the file, what was expected, what was found, and the next step.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("{}: cannot {action}: {source}", .path.display())]
    Io {
        path: PathBuf,
        action: &'static str,
        source: std::io::Error,
    },
    /// The file is not of a known format, or not of the requested one.
    #[error("{}: {problem}", .path.display())]
    Format {
        path: PathBuf,
        /// Expected, found, next step.
        problem: String,
    },
    /// Damaged, truncated, or beyond a limit, at a known position.
    #[error("{}: {problem} (at {place})", .path.display())]
    Damaged {
        path: PathBuf,
        /// Byte, line, table or row.
        place: String,
        problem: String,
    },
    /// A tool merged the traces of several ranks into one file. Each rank is imported alone, as
    /// [`Part::Rank`](crate::Part::Rank).
    #[error("{}: holds the traces of {} ranks that a tool merged; give it alone, and it becomes a job of ranks", .path.display(), .ranks.len())]
    Merged {
        path: PathBuf,
        ranks: Vec<(u32, String)>,
    },
    #[error(transparent)]
    Run(#[from] trueno_format::Error),
}

impl Error {
    /// The same error, naming another file: used when the user does not know the copy that was read.
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

    pub(crate) fn format(path: &Path, problem: impl Into<String>) -> Self {
        Self::Format {
            path: path.to_owned(),
            problem: problem.into(),
        }
    }

    pub(crate) fn damaged(
        path: &Path,
        place: impl Into<String>,
        problem: impl Into<String>,
    ) -> Self {
        Self::Damaged {
            path: path.to_owned(),
            place: place.into(),
            problem: problem.into(),
        }
    }

    pub fn io(path: &Path, action: &'static str, source: std::io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            action,
            source,
        }
    }
}

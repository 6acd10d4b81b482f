//! What is wrong with a run, in words and codes.

use std::borrow::Cow;
use std::path::PathBuf;

use serde::Serialize;

/// How much a problem matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing is missing.
    Info,
    /// Something could not be verified, or was left out without loss of rows.
    Warning,
    /// Rows or facts are lost.
    Error,
}

impl Severity {
    /// The lower-case word used in tables and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// One thing that is wrong with a run, or with what can be read of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// How much it matters.
    pub severity: Severity,
    /// Stable name of the case, such as `segment_damaged`.
    pub code: Cow<'static, str>,
    /// For people: names the file, what was expected and what was found.
    pub text: String,
}

impl Problem {
    pub(crate) fn info(code: &'static str, text: impl Into<String>) -> Self {
        Problem {
            severity: Severity::Info,
            code: Cow::Borrowed(code),
            text: text.into(),
        }
    }

    pub(crate) fn warning(code: &'static str, text: impl Into<String>) -> Self {
        Problem {
            severity: Severity::Warning,
            code: Cow::Borrowed(code),
            text: text.into(),
        }
    }

    pub(crate) fn error(code: &'static str, text: impl Into<String>) -> Self {
        Problem {
            severity: Severity::Error,
            code: Cow::Borrowed(code),
            text: text.into(),
        }
    }
}

/// Why a run cannot be opened at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The path leads nowhere.
    #[error("{}: no such run (hint: give the directory a recorder wrote)", .path.display())]
    Missing {
        /// The path as given.
        path: PathBuf,
    },
    /// The path is there, and is not a run directory.
    #[error("{}: not a run directory: {reason} (hint: give the directory that holds run.json)", .path.display())]
    NotARun {
        /// The path as given.
        path: PathBuf,
        /// What was looked for and not found.
        reason: &'static str,
    },
    /// A newer recorder wrote it.
    #[error(
        "{}: format {found_major} of {}, this program reads up to {supported_major} (hint: use a newer trueno-analyze)",
        .path.display(), trueno_recorder::schema::FORMAT_NAME
    )]
    NewerFormat {
        /// The run's run.json.
        path: PathBuf,
        /// Major version found there.
        found_major: u64,
        /// Major version this program reads.
        supported_major: u32,
    },
    /// The file system refused.
    #[error("{}: cannot be read: {source}", .path.display())]
    Unreadable {
        /// File or directory that could not be read.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The query engine would not plan the scan of a verified table.
    #[error("table {table}: cannot be planned: {reason}")]
    Plan {
        /// Published name of the table.
        table: String,
        /// What the engine said.
        reason: String,
    },
}

//! Failures of exports.

use std::io;
use std::path::PathBuf;

use trueno_engine::query::QueryError;
use trueno_engine::run::RunError;

/// Reasons that there is no export.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// A table of the run cannot be published.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A table cannot be read.
    #[error("{table}: cannot be read: {source}")]
    Table {
        table: String,
        /// Error of the engine.
        source: QueryError,
    },
    /// Rows of a table cannot be read or put into another form.
    #[error("{table}: cannot be exported: {reason}")]
    Rows {
        table: String,
        /// Error of the engine.
        reason: String,
    },
    /// A file cannot be read or written.
    #[error("{}: {reason}", .path.display())]
    File {
        path: PathBuf,
        /// Error of the system.
        reason: io::Error,
    },
    /// The destination cannot be written.
    #[error(transparent)]
    Write(#[from] io::Error),
    /// The run lacks what the format cannot do without.
    #[error("{0}")]
    Lacking(String),
    /// A collector is not named as one can be, or does not take what it is sent.
    #[error("{0}")]
    Collector(String),
}

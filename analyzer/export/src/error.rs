//! Failures of exports.

use std::io;
use std::path::PathBuf;

use trueno_engine::query::QueryError;
use trueno_engine::run::RunError;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("{table}: cannot be read: {source}")]
    Table {
        table: String,
        /// Error of the engine.
        source: QueryError,
    },
    #[error("{table}: cannot be exported: {reason}")]
    Rows {
        table: String,
        /// Error of the engine.
        reason: String,
    },
    #[error("{}: {reason}", .path.display())]
    File {
        path: PathBuf,
        /// Error of the system.
        reason: io::Error,
    },
    #[error(transparent)]
    Write(#[from] io::Error),
    /// The run lacks data that the format requires.
    #[error("{0}")]
    Lacking(String),
    /// The collector's address is invalid, or it rejects the spans.
    #[error("{0}")]
    Collector(String),
}

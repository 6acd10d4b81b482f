//! Runs in the formats of other programs, and as Parquet.
//!
//! Every exporter reads tables through one reader, in order and in parts, so that
//! memory does not grow with the file that is written.

mod chrome;
mod flamegraph;
mod folded;
mod json;
mod otlp;
mod parquet;
mod perfetto;
mod rows;
mod stacks;

use std::io::{self, Write};
use std::path::PathBuf;

use trueno_engine::query::QueryError;
use trueno_engine::run::{Run, RunError};

pub use parquet::{Sizes as ParquetSizes, to_folder};
pub use stacks::DEEPEST;

/// Formats that are one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// Trace-event JSON.
    Chrome,
    /// Track events in protocol buffers.
    Perfetto,
    /// Self time by stack, one line each.
    Folded,
    /// The same as a picture, in SVG.
    Flamegraph,
    /// OpenTelemetry traces as JSON.
    Otlp,
}

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
        /// Which.
        table: String,
        /// Error of the engine.
        source: QueryError,
    },
    /// Rows of a table cannot be read or put into another form.
    #[error("{table}: cannot be exported: {reason}")]
    Rows {
        /// Which.
        table: String,
        /// Error of the engine.
        reason: String,
    },
    /// A file cannot be read or written.
    #[error("{}: {reason}", .path.display())]
    File {
        /// Which.
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
}

/// Rows that were not written as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Rows deeper than [`DEEPEST`], which have no frame of their own in a stack; their time is in one for all.
    pub deeper: u64,
}

/// Writes `run` to `to`.
///
/// # Errors
/// See [`ExportError`].
pub fn to_file(run: &Run, format: FileFormat, to: &mut dyn Write) -> Result<Written, ExportError> {
    let source = rows::Source::open(run)?;
    let mut written = Written::default();
    match format {
        FileFormat::Chrome => chrome::write(&source, to)?,
        FileFormat::Perfetto => perfetto::write(&source, to)?,
        FileFormat::Folded | FileFormat::Flamegraph => {
            let stacks = stacks::stacks(&source)?;
            written.deeper = stacks.deeper;
            if format == FileFormat::Folded {
                folded::write(&stacks, to)?;
            } else {
                flamegraph::write(&stacks, run.facts(), to)?;
            }
        }
        FileFormat::Otlp => otlp::write(&source, to)?,
    }
    Ok(written)
}

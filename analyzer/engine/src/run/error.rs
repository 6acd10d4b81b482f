//! The reason why a run cannot be opened.

use std::path::{Path, PathBuf};

/// Runs that may be meant by a path that leads nowhere.
fn instead_of(path: &Path) -> &'static str {
    match path.to_string_lossy().starts_with("s3:/") {
        true => "trueno-store report s3://BUCKET/JOB reads object stores, see docs/clusters.md",
        false => "give the directory a recorder wrote",
    }
}

/// The reason why a run cannot be opened at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The path leads nowhere.
    #[error("{}: no such run (hint: {})", .path.display(), instead_of(.path))]
    Missing {
        /// The path as given.
        path: PathBuf,
    },
    /// The path is there, and is not a run directory.
    #[error("{}: not a run directory: {reason} (hint: give the directory that holds run.json)", .path.display())]
    NotARun {
        /// The path as given.
        path: PathBuf,
        /// The thing looked for and not found.
        reason: &'static str,
    },
    /// Tables of a job, table by table, which are for databases.
    #[error(
        "{}: tables of a job for databases, as `export parquet --by-table` writes them (hint: open the job that they were \
         made of)", .path.display()
    )]
    TablesOfJob {
        /// The path as given.
        path: PathBuf,
    },
    /// A newer recorder wrote it.
    #[error(
        "{}: format {found_major} of {}, this program reads up to {supported_major} (hint: use a newer trueno-analyze)",
        .path.display(), trueno_format::schema::FORMAT_NAME
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
        /// Error of the system.
        source: std::io::Error,
    },
    /// The query engine would not plan the scan of a verified table.
    #[error("table {table}: cannot be planned: {reason}")]
    Plan {
        /// Published name of the table.
        table: String,
        /// Message of the engine.
        reason: String,
    },
}

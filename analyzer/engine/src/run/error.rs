//! The reason why a run cannot be opened.

use std::path::{Path, PathBuf};

/// A hint at runs that the user may have meant by a path that does not exist.
fn instead_of(path: &Path) -> &'static str {
    match path.to_string_lossy().starts_with("s3:/") {
        true => "trueno-store report s3://BUCKET/JOB reads object stores, see docs/clusters.md",
        false => "give a run directory, or a trace of another profiler",
    }
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    #[error("{}: no such run (hint: {})", .path.display(), instead_of(.path))]
    Missing {
        /// The path as given.
        path: PathBuf,
    },
    #[error("{}: not a run directory: {reason} (hint: give the directory that holds run.json)", .path.display())]
    NotARun {
        path: PathBuf,
        /// What was expected and not found.
        reason: &'static str,
    },
    /// Tables of a job in one folder per table, for use by databases.
    #[error(
        "{}: tables of a job for databases, as `export parquet --by-table` writes them (hint: open the job that they were \
         made of)", .path.display()
    )]
    TablesOfJob {
        /// The path as given.
        path: PathBuf,
    },
    #[error(
        "{}: format {found_major} of {}, this program reads up to {supported_major} (hint: use a newer trueno-analyze)",
        .path.display(), trueno_format::schema::FORMAT_NAME
    )]
    NewerFormat {
        path: PathBuf,
        found_major: u64,
        supported_major: u32,
    },
    #[error("{}: cannot be read: {source}", .path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    /// A job is not what its catalog says.
    #[error("{}: {reason}", .path.display())]
    Catalog { path: PathBuf, reason: String },
    #[error("rank {rank}: the job has none (hint: it has {known})")]
    NoSuchRank {
        rank: u32,
        /// The existing ranks, for the message.
        known: String,
    },
    /// The query engine failed to plan the scan of a verified table.
    #[error("table {table}: cannot be planned: {reason}")]
    Plan {
        /// Published name of the table.
        table: String,
        reason: String,
    },
}

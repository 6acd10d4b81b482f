//! Requests of tools to the program that knows runs.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// A question about runs. Paths are those that [`super::Roots`] allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Contents and completeness, as JSON.
    Info { run: PathBuf },
    /// Tables with columns, as JSON.
    Tables { run: PathBuf },
    /// Rows of a query, as JSON: an array of objects.
    Query {
        run: PathBuf,
        sql: String,
        /// Other runs by the names that the query has for them.
        others: Vec<(String, PathBuf)>,
    },
    /// A report as a digest.
    Report {
        run: PathBuf,
        /// Analyses to run; none: all.
        analyses: Vec<String>,
        /// A part of the run.
        window: Option<String>,
        /// A run to compare tensors with.
        baseline: Option<PathBuf>,
        /// Assumptions to predict the run with.
        what_if: Vec<String>,
        /// Rows of each table.
        rows: usize,
    },
    /// A comparison, as JSON.
    Compare {
        /// Repetitions of the one side.
        base: Vec<PathBuf>,
        /// Those of the other.
        runs: Vec<PathBuf>,
    },
}

/// An answer of the program.
#[derive(Clone, Debug, Default)]
pub struct Output {
    pub json: Vec<u8>,
    /// The JSON ends early, since there was more of it than is read.
    pub is_cut: bool,
    /// Nothing could be measured.
    pub is_not_measurable: bool,
    /// Doubts that the reader should know.
    pub warnings: Vec<String>,
}

/// A reason why a tool has no answer. Its text goes to the assistant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The words of the program.
    #[error("{0}")]
    Refused(String),
    /// Arguments of a tool that cannot be.
    #[error("{0}")]
    Arguments(String),
    /// A path that may not be read.
    #[error("{0}")]
    Path(String),
    /// It took too long.
    #[error(
        "stopped after {0:?}, the time limit (next: filter and aggregate in SQL, name analyses or a window of a report; \
         a large trace is imported once by `trueno-analyze import`; `trueno-analyze mcp --timeout` sets the limit)"
    )]
    TimeLimit(Duration),
    /// The client does not want the answer any more.
    #[error("cancelled")]
    Cancelled,
    /// A defect of this server.
    #[error("an error in this server: {0} (next: try something else; other tools still work)")]
    Defect(String),
}

/// Told each step on the way.
pub type Steps = Arc<dyn Fn(&str) + Send + Sync>;

/// The answer to come. Dropped early, the work for it stops.
pub type Answering = Pin<Box<dyn Future<Output = Result<Output, Failure>> + Send>>;

/// The program that knows runs.
pub trait Program: Send + Sync + 'static {
    /// Answers within a time limit.
    fn ask(&self, request: Request, limit: Duration, steps: Steps) -> Answering;
}

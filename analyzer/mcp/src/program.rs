//! Requests of tools to the program that knows runs.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// A request about runs. All paths were allowed by [`super::Roots`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Facts and completeness, as JSON.
    Info { run: PathBuf },
    /// Tables with columns, as JSON.
    Tables { run: PathBuf },
    Query {
        run: PathBuf,
        sql: String,
        others: Vec<(String, PathBuf)>,
    },
    Report {
        run: PathBuf,
        /// Empty for all analyses.
        analyses: Vec<String>,
        window: Option<String>,
        /// A run to compare tensors with.
        baseline: Option<PathBuf>,
        what_if: Vec<String>,
        rows: usize,
    },
    /// A PNG in [`Output::json`].
    Picture {
        run: PathBuf,
        /// An analysis and the number of its chart, from 1 on; `None`: the head of the report.
        chart: Option<(String, usize)>,
    },
    Compare {
        base: Vec<PathBuf>,
        runs: Vec<PathBuf>,
    },
}

#[derive(Clone, Debug, Default)]
pub struct Output {
    /// JSON, or the bytes of a picture.
    pub json: Vec<u8>,
    /// The JSON was cut because there was too much.
    pub is_cut: bool,
    pub is_not_measurable: bool,
    pub warnings: Vec<String>,
}

/// Why a tool has no answer. The assistant sees its text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Arguments(String),
    #[error("{0}")]
    Path(String),
    #[error(
        "stopped after {0:?}, the time limit (next: filter and aggregate in SQL, name analyses or a window of a report; \
         a large trace is imported once by `trueno-analyze import`; `trueno-analyze mcp --timeout` sets the limit)"
    )]
    TimeLimit(Duration),
    #[error("cancelled")]
    Cancelled,
    #[error("an error in this server: {0} (next: try something else; other tools still work)")]
    Defect(String),
}

pub type Steps = Arc<dyn Fn(&str) + Send + Sync>;

/// A pending answer. Dropping it stops the work.
pub type Answering = Pin<Box<dyn Future<Output = Result<Output, Failure>> + Send>>;

pub trait Program: Send + Sync + 'static {
    fn ask(&self, request: Request, limit: Duration, steps: Steps) -> Answering;
}

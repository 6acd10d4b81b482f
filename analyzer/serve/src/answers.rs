//! Questions of the page, and who answers them.

use serde::{Deserialize, Serialize};

use crate::cancel::Cancel;
use crate::refusal::Refusal;
use crate::timeline::{Head, LaneHead, WindowRequest, WindowView};

/// Answers about runs. Calls come from several threads at once, and may take their time.
pub trait Answers: Send + Sync + 'static {
    /// The state of all runs. With a number it waits for another state than that one, some seconds at most, while
    /// runs are read.
    fn state(&self, after: Option<u64>) -> State;

    /// Intervals of a part of a run's time.
    ///
    /// # Errors
    /// There is no such run, or it is not read.
    fn window(&self, run: usize, window: &WindowRequest) -> Result<WindowView, Refusal>;

    /// Rows of a query.
    ///
    /// # Errors
    /// The query is refused, fails, or takes more than it may.
    fn query(&self, asked: &QueryRequest, cancel: &Cancel) -> Result<QueryRows, Refusal>;

    /// A page that takes its time: begins to make it if nobody has.
    ///
    /// # Errors
    /// There is no such run.
    fn page(&self, page: Page) -> Result<PageState, Refusal>;

    /// Reads a run again, from disk.
    ///
    /// # Errors
    /// There is no such run.
    fn read_again(&self, run: usize) -> Result<(), Refusal>;
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct State {
    /// Changes with whatever changes here.
    pub number: u64,
    /// The runs, in the order they were named.
    pub runs: Vec<RunState>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct RunState {
    pub path: String,
    /// A word that stands before its tables in a query of another run.
    pub word: String,
    /// Progress of reading it.
    pub status: RunStatus,
    /// Facts of it, known before its rows are.
    pub head: Option<Head>,
    /// Lanes, once all are read.
    pub lanes: Vec<LaneHead>,
    /// First and last time on its timeline.
    pub extent_ns: Option<(i64, i64)>,
    /// Intervals on its lanes.
    pub spans: u64,
    /// Intervals that are not drawn, as too many lie around them.
    pub too_deep: u64,
    /// Files of it are others than those that were read, or are gone.
    pub changed: Option<String>,
}

/// Progress of reading a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum RunStatus {
    /// Another one is read first.
    #[default]
    Waiting,
    /// Rows of tables with intervals.
    Reading {
        rows: u64,
    },
    Ready,
    /// It could not be read.
    Failed {
        why: String,
    },
}

/// A page that is made once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Page {
    /// The report of a run.
    Report(usize),
    /// The comparison of a run with a base.
    Compare {
        /// The run before the change.
        base: usize,
        /// The run after it.
        run: usize,
    },
}

/// Progress of making a page.
#[derive(Clone, Debug)]
pub enum PageState {
    /// It is being made; the last words about it.
    Making(String),
    /// HTML of others' making: it runs scripts of its own, in a sandbox.
    Ready(std::sync::Arc<Vec<u8>>),
    /// It could not be made.
    Failed(String),
}

/// A query, as typed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueryRequest {
    /// Number of the run.
    pub run: usize,
    pub sql: String,
}

/// Rows of a query, the first of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QueryRows {
    /// Names of columns.
    pub columns: Vec<String>,
    /// Columns of numbers.
    pub numeric: Vec<bool>,
    /// Exact texts of values; `None`: null.
    pub rows: Vec<Vec<Option<String>>>,
    /// There are more rows, which were cut.
    pub is_cut: bool,
}

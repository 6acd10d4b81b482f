//! Questions of the page, and who answers them.

use serde::{Deserialize, Serialize};

use crate::cancel::Cancel;
use crate::refusal::Refusal;
use crate::timeline::{Curve, Head, LaneHead, WindowRequest, WindowView};

/// Answers about runs. Calls come from several threads and may take long.
pub trait Answers: Send + Sync + 'static {
    /// The state of all runs. Given a number, it waits for a different state while runs are read, for a few
    /// seconds at most.
    fn state(&self, after: Option<u64>) -> State;

    fn window(&self, run: usize, window: &WindowRequest) -> Result<WindowView, Refusal>;

    /// Values over time, of the whole run.
    ///
    /// # Errors
    /// There is no such run, or it is not read yet.
    fn curves(&self, run: usize) -> Result<Vec<Curve>, Refusal>;

    /// Runs a query and returns its rows.
    ///
    /// # Errors
    /// The query is refused, fails, or takes more than it may.
    fn query(&self, asked: &QueryRequest, cancel: &Cancel) -> Result<QueryRows, Refusal>;

    /// Returns a page, which takes time to make. Starts making it if nobody has.
    ///
    /// # Errors
    /// There is no such run.
    fn page(&self, page: Page) -> Result<PageState, Refusal>;

    /// Reads a run from disk again.
    ///
    /// # Errors
    /// There is no such run.
    fn read_again(&self, run: usize) -> Result<(), Refusal>;
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct State {
    pub number: u64,
    /// In the order given by the user.
    pub runs: Vec<RunState>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct RunState {
    pub path: String,
    /// Prefix of its tables in queries of other runs.
    pub word: String,
    pub status: RunStatus,
    pub head: Option<Head>,
    pub lanes: Vec<LaneHead>,
    pub extent_ns: Option<(i64, i64)>,
    pub spans: u64,
    /// Intervals that are not drawn because they are nested too deeply.
    pub too_deep: u64,
    /// Its files were changed or removed since they were read.
    pub changed: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum RunStatus {
    /// Another run is read first.
    #[default]
    Waiting,
    Reading {
        rows: u64,
    },
    Ready,
    Failed {
        why: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Page {
    Report(usize),
    Compare {
        base: usize,
        /// Index of the run after the change.
        run: usize,
    },
}

#[derive(Clone, Debug)]
pub enum PageState {
    /// In progress, with the last progress message.
    Making(String),
    /// HTML with scripts of its own, shown in a sandbox.
    Ready(std::sync::Arc<Vec<u8>>),
    Failed(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueryRequest {
    pub run: usize,
    pub sql: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QueryRows {
    pub columns: Vec<String>,
    pub numeric: Vec<bool>,
    /// Exact texts of values; `None` is null.
    pub rows: Vec<Vec<Option<String>>>,
    pub is_cut: bool,
}

//! Settings from the environment.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

/// Variable with the output folder. Without it nothing is recorded.
pub const FOLDER_VARIABLE: &str = "TRUENO_CAPTURE";
/// Variable of the level: `kernels`, `edges` or `full`.
pub const LEVEL_VARIABLE: &str = "TRUENO_CAPTURE_LEVEL";
pub const FLUSH_VARIABLE: &str = "TRUENO_CAPTURE_FLUSH_MS";

/// Variable that records each launch of a graph as one record instead of one per node, if it is `whole`.
pub const GRAPHS_VARIABLE: &str = "TRUENO_CAPTURE_GRAPHS";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Kernels, transfers and the runtime's calls.
    Kernels,
    /// Also what a critical path needs: the driver's calls, waits, events.
    Edges,
    /// Also memory and the stages of a launch.
    Full,
}

impl Level {
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernels => "kernels",
            Self::Edges => "edges",
            Self::Full => "full",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Settings {
    pub folder: PathBuf,
    pub level: Level,
    pub flush: Duration,
    pub whole_graphs: bool,
    pub rank: Option<u32>,
}

impl Settings {
    /// `None` if no recording is requested.
    pub fn here() -> Option<Self> {
        let folder = env::var_os(FOLDER_VARIABLE).filter(|folder| !folder.is_empty())?;
        let number = |name| env::var(name).ok()?.trim().parse::<u32>().ok();
        let level = match env::var(LEVEL_VARIABLE).as_deref() {
            Ok("kernels") => Level::Kernels,
            Ok("full") => Level::Full,
            _ => Level::Edges,
        };
        let flush = number(FLUSH_VARIABLE).unwrap_or(100).clamp(1, 60_000);
        Some(Self {
            folder: folder.into(),
            level,
            flush: Duration::from_millis(flush.into()),
            whole_graphs: env::var(GRAPHS_VARIABLE).as_deref() == Ok("whole"),
            rank: number("RANK"),
        })
    }
}

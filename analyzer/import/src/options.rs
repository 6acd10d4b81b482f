//! Options of an import.

use crate::nsys::processes::Process;

/// How to treat damaged files, and which part to import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Keep what precedes the first damage, with a warning, instead of refusing the file.
    pub partial: bool,
    /// Keep implausible events instead of leaving them out.
    pub keep_doubtful: bool,
    /// A compressed file may expand this many times, beyond [`Options::FREE_BYTES`].
    pub max_ratio: u64,
    /// Import only this part of a file with several processes or ranks.
    pub part: Option<Part>,
    /// Processes that are devices, by number or name, regardless of what the file says.
    pub devices: Vec<String>,
}

/// A part of a file that becomes its own run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Process(Process),
    /// A rank, by the label that a tool put before its processes when it merged several traces, such as `TP01`.
    Rank(String),
    ProcessId(u64),
}

impl Part {
    pub fn title(&self) -> String {
        match self {
            Self::Process(process) => format!("process {}", process.pid()),
            Self::Rank(label) => format!("rank {label}"),
            Self::ProcessId(id) => format!("process {id}"),
        }
    }
}

impl Options {
    /// A compressed file may expand to this length at any ratio.
    pub const FREE_BYTES: u64 = 64 << 20;
}

impl Default for Options {
    fn default() -> Self {
        Self {
            partial: false,
            keep_doubtful: false,
            max_ratio: 200,
            part: None,
            devices: Vec::new(),
        }
    }
}

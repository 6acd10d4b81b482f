//! Options of an import.

use crate::nsys::processes::Process;

/// Limits on how bad a file may be, and the part of it that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Keep what stands before the first damage, and say so, instead of refusing the file.
    pub partial: bool,
    /// Keep events that cannot be beside all others, instead of setting them aside.
    pub keep_doubtful: bool,
    /// A packed file may become this many times as long, beyond [`Options::FREE_BYTES`].
    pub max_ratio: u64,
    /// Only this part of a file that holds several processes or ranks.
    pub part: Option<Part>,
    /// Processes that are devices, by number or name, whatever the file says of them.
    pub devices: Vec<String>,
}

/// A part of a file that becomes a run of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A process of an export of Nsight Systems.
    Process(Process),
    /// A rank, by the label that a tool put before its processes when it merged the traces of several: `TP01`.
    Rank(String),
    /// A process of any other file, by its number.
    ProcessId(u64),
}

impl Part {
    /// What the part is, for people.
    pub fn title(&self) -> String {
        match self {
            Self::Process(process) => format!("process {}", process.pid()),
            Self::Rank(label) => format!("rank {label}"),
            Self::ProcessId(id) => format!("process {id}"),
        }
    }
}

impl Options {
    /// A packed file may become this long whatever its ratio.
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

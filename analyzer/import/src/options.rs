//! Options of an import.

use crate::nsys::processes::Process;

/// Limits on how bad a file may be, and the part of it that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Keep what stands before the first damage, and say so, instead of refusing the file.
    pub partial: bool,
    /// Keep events that cannot be beside all others, instead of setting them aside.
    pub keep_doubtful: bool,
    /// A packed file may become this many times as long, beyond [`Options::FREE_BYTES`].
    pub max_ratio: u64,
    /// Only this process of several in one export of Nsight Systems.
    pub process: Option<Process>,
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
            process: None,
        }
    }
}

//! Intervals of a run in memory, and windows of them.
//!
//! An interval takes 24 bytes: its start (8), its duration (4; the few longer than 4.29 s stand beside), its label (4)
//! and its id (8). To each 64 of them belong 12 more bytes: the sum of durations so far, and which is the longest; to
//! each 4,096 another 4, and so on (`row`). A window asks for the intervals that are as wide as a pixel or wider, which
//! are found by the longest of blocks, and sums up the others pixel by pixel, which the sums so far give without
//! looking at them. So a window costs what it shows, however many intervals lie in it.
//!
//! A process of its own reads the run and tells of it in [`frames`](FrameWriter): a run that is damaged, changes or is cut
//! while it is read costs that process, and not the page.

mod frames;
mod lanes;
mod row;
#[cfg(test)]
mod tests;
mod window;

use serde::{Deserialize, Serialize};

pub use frames::{Frame, FrameError, FrameWriter, Span, frames};
pub use lanes::{Reading, Timeline};
pub use window::{MAX_LANES, MAX_PIXELS, WindowRequest, WindowView};

/// Facts of a run that are known before its rows are read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Its label, or else its id.
    pub title: String,
    /// Length of the recording; `None` if not recorded.
    pub wall_ns: Option<i64>,
    /// `None` if not recorded.
    pub is_complete: Option<bool>,
    pub rows: u64,
    pub facts: Vec<(String, String)>,
    pub doubts: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneHead {
    /// A thread, a pool of threads, or a device stream.
    pub name: String,
    pub is_device: bool,
    /// Number of intervals by depth, outermost first.
    pub depths: Vec<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    pub table: String,
    /// As recorded, with control characters escaped.
    pub name: String,
    /// Shortened for people; the same if it is short.
    pub shown: String,
}

/// A value over time, drawn as a step function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    pub name: String,
    /// `None`: a count.
    pub unit: Option<String>,
    /// Number of lanes above it.
    pub after: usize,
    /// `None`: every change is there. Otherwise the value of a slice of this length is the highest in it.
    pub slice_ns: Option<i64>,
    /// Times in order.
    pub times_ns: Vec<i64>,
    /// The value from each time on.
    pub values: Vec<f64>,
}

//! What ran when, a row for each depth of each lane, in a size that a page can hold.
//!
//! Of a small run every interval is kept. Of a large one the longest are kept as they are, and of
//! the others how much of each slice of the time they filled, and which name had the most of it: so
//! no time disappears, and the page stays small however long the run.

mod levels;
mod read;
mod stacks;
#[cfg(test)]
mod tests;

pub use levels::{Row, Slice, Span};

use crate::chart::flame::Frame;
use crate::query::{Database, QueryError};

/// What ran when.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// Earliest time, nanoseconds since the start of the run; 0 unless something began earlier.
    pub from_ns: i64,
    /// Latest time.
    pub until_ns: i64,
    /// Names, those with the most time first.
    pub names: Vec<String>,
    /// Lanes in their order, each from the outermost intervals to the innermost.
    pub rows: Vec<Row>,
    /// Intervals of the run.
    pub spans: u64,
    /// Intervals longer than this are kept as they are; the others are part of slices.
    pub longer_than_ns: Option<i64>,
    /// Slices of the whole time in which the others are summed up.
    pub slices: usize,
    /// Lanes that are left out, as they have the least time.
    pub lanes_left_out: usize,
    /// Self time by stack of names; lanes stand side by side at depth 0.
    pub frames: Vec<Frame>,
}

/// How much is kept.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Intervals that are kept as they are.
    pub spans: usize,
    /// Slices over all rows.
    pub slices: usize,
    /// Lanes.
    pub lanes: usize,
    /// Rows of a lane; what is deeper is left to what is around it.
    pub depth: usize,
    /// Frames of the stacks.
    pub frames: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            spans: 30_000,
            slices: 200_000,
            lanes: 64,
            depth: 24,
            frames: 3_000,
        }
    }
}

/// Reads a run's intervals. Rows without times of their own (`bound`, not valid) are not among them.
///
/// # Errors
/// The engine could not read a table.
pub fn timeline(
    database: &Database,
    wall_ns: Option<i64>,
    of_ranks: bool,
    limits: Limits,
) -> Result<Timeline, QueryError> {
    let mut lanes = read::lanes(database, of_ranks)?;
    for lane in &mut lanes.lanes {
        lane.sort();
    }
    let mut made = levels::levels(&lanes, wall_ns, limits);
    made.frames = stacks::frames(&lanes, limits.frames);
    levels::keep_used_names(&mut made, lanes.names);
    Ok(made)
}

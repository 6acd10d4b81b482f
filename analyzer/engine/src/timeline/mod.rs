//! Timelines, a row for each depth of each lane, in a size that a page can hold.
//!
//! Of a small run every interval is kept, with what its row says and with what led to what. Of a large one the longest are kept as they are, and of
//! the others how much of each slice of the time they filled, and which name had the most of it: so
//! no time disappears, and the page stays small however long the run.
//!
//! Threads of a pool share lanes ([`trueno_analysis::pools`]); in the stacks a pool is one lane.
//!
//! An interval that outlasts what it began in takes a free row, so chains of overlaps stay flat.

mod curves;
mod details;
mod intervals;
mod levels;
mod pooled;
mod read;
mod stacks;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use curves::curves;
pub use intervals::{LaneIntervals, RunIntervals, intervals};
pub use read::Interval;
use trueno_model::timeline::Timeline;

use crate::query::{Database, QueryError};

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub spans: usize,
    pub slices: usize,
    pub lanes: usize,
    /// Rows of a lane. Deeper intervals are merged into what encloses them.
    pub depth: usize,
    pub frames: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            spans: 300_000,
            slices: 200_000,
            lanes: 64,
            depth: 120,
            frames: 3_000,
        }
    }
}

/// Reads a run's intervals, except rows without valid times of their own (`bound`).
///
/// # Errors
/// The engine could not read a table.
pub fn timeline(
    database: &Database,
    wall_ns: Option<i64>,
    of_ranks: bool,
    limits: Limits,
) -> Result<Timeline, QueryError> {
    let (lanes, shared) = in_order(database, of_ranks, &mut |_| {})?;
    let mut made = levels::levels(&lanes, wall_ns, limits);
    made.shared_lanes = shared;
    made.frames = stacks::frames(&lanes, limits.frames);
    levels::keep_used_names(&mut made, lanes.names);
    if made.longer_than_ns.is_none() {
        details::add(database, &mut made)?;
    }
    curves::add(database, of_ranks, &mut made)?;
    Ok(made)
}

/// Sorts lanes, and intervals by time, and merges lanes that threads of a pool share.
fn in_order(
    database: &Database,
    of_ranks: bool,
    tell: &mut dyn FnMut(u64),
) -> Result<(read::Lanes, BTreeMap<String, String>), QueryError> {
    let mut lanes = read::lanes(database, of_ranks, tell)?;
    for lane in &mut lanes.lanes {
        lane.sort();
    }
    let shared = pooled::share_lanes(&mut lanes);
    // Devices first: they are what a program with any is about, and threads can be many and deep.
    lanes.lanes.sort_by_key(|lane| !lane.is_device);
    Ok((lanes, shared))
}

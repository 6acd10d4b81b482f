//! All intervals of a run, lane by lane, for those who hold them to answer for any part of the time.

use super::read::Interval;
use super::{in_order, levels};
use crate::query::{Database, QueryError};

/// Intervals of a lane; enclosing ones precede what they contain.
pub struct LaneIntervals {
    /// A thread, a pool of threads that share it, or a stream.
    pub name: String,
    pub is_device: bool,
    /// Sorted by start.
    pub intervals: Vec<Interval>,
    /// Row of each interval, from the outermost. Intervals of one row do not overlap.
    pub depths: Vec<u8>,
}

pub struct RunIntervals {
    /// Devices first, then threads.
    pub lanes: Vec<LaneIntervals>,
    pub names: Vec<String>,
    pub tables: Vec<&'static str>,
}

/// Reads a run's intervals, the same as those of [`timeline`](super::timeline), and reports the number of rows read
/// so far. Deeper intervals get `max_depth`.
///
/// # Errors
/// The engine could not read a table.
pub fn intervals(
    database: &Database,
    of_ranks: bool,
    max_depth: u8,
    tell: &mut dyn FnMut(u64),
) -> Result<RunIntervals, QueryError> {
    let (lanes, _) = in_order(database, of_ranks, tell)?;
    let each = lanes.lanes.into_iter().map(|lane| LaneIntervals {
        depths: levels::depths(&lane.intervals, max_depth.into()),
        name: lane.name,
        is_device: lane.is_device,
        intervals: lane.intervals,
    });
    Ok(RunIntervals {
        lanes: each.collect(),
        names: lanes.names,
        tables: lanes.tables,
    })
}

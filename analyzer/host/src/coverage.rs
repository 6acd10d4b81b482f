//! Coverage: the share of the wall time that the recording explains.

use polars::prelude::DataFrame;
use trueno_analysis::intervals::IntervalSetBuilder;
use trueno_engine::query::{Database, QueryError, collect};

/// Everything that ran, in any order. Runs, iterations and layers only frame
/// work; rows with `timing = 'bound'` and kernels marked invalid do not say
/// when anything ran. (The engine is twice as fast on `<>` as on `IN`.)
pub const RUNNING: &str = "\
SELECT start_ns, dur_ns FROM bricks
WHERE kind <> 'run' AND kind <> 'iteration' AND kind <> 'layer' AND timing <> 'bound'
UNION ALL SELECT start_ns, dur_ns FROM kernels WHERE valid AND timing <> 'bound'
UNION ALL SELECT start_ns, dur_ns FROM tiles
UNION ALL SELECT start_ns, dur_ns FROM transfers WHERE timing <> 'bound'
UNION ALL SELECT start_ns, dur_ns FROM calls";

/// Share of the wall time in which at least one brick, function, task, kernel,
/// tile, transfer or call was running on any lane: the length of the union of
/// their intervals inside `[0, wall_ns)`, divided by `wall_ns`. `None` when
/// nothing of the kind was recorded or there is no wall time.
///
/// # Errors
/// The engine could not run the query.
pub fn coverage(database: &Database, wall_ns: Option<i64>) -> Result<Option<f64>, QueryError> {
    let Some(wall_ns) = wall_ns.filter(|wall| *wall > 0) else {
        return Ok(None);
    };
    let intervals = collect(database, RUNNING)?;
    if intervals.height() == 0 {
        return Ok(None);
    }
    let covered_ns = union_ns(read(&intervals)?, wall_ns);
    Ok(Some(covered_ns as f64 / wall_ns as f64))
}

fn read(frame: &DataFrame) -> Result<impl Iterator<Item = (i64, i64)> + '_, QueryError> {
    let failed = |error: polars::error::PolarsError| QueryError::Failed(error.to_string());
    let start = frame
        .column("start_ns")
        .and_then(|column| column.i64())
        .map_err(failed)?;
    let dur = frame
        .column("dur_ns")
        .and_then(|column| column.i64())
        .map_err(failed)?;
    Ok(start
        .iter()
        .zip(dur.iter())
        .filter_map(|(start, dur)| Some((start?, dur?))))
}

/// Length of the union of intervals `(start, duration)` inside `[0, wall_ns)`.
fn union_ns(intervals: impl Iterator<Item = (i64, i64)>, wall_ns: i64) -> i64 {
    let mut running = IntervalSetBuilder::default();
    for (start_ns, dur_ns) in intervals {
        running.add(
            start_ns.max(0),
            start_ns.saturating_add(dur_ns).min(wall_ns),
        );
    }
    running.finish().total_ns()
}

#[cfg(test)]
mod tests {
    use super::union_ns;
    use proptest::prelude::*;

    proptest! {
        /// Against counting covered nanoseconds one by one.
        #[test]
        fn the_union_counts_each_nanosecond_once(
            intervals in proptest::collection::vec((-5..60_i64, -3..20_i64), 0..20),
            wall_ns in 1..70_i64,
        ) {
            let inside = |t: i64| intervals.iter().any(|(start, dur)| *start <= t && t < start + dur);
            let slow = (0..wall_ns).filter(|t| inside(*t)).count() as i64;
            prop_assert_eq!(union_ns(intervals.iter().copied(), wall_ns), slow);
        }
    }
}

//! The clocks of a recorded process: times are those of `CLOCK_REALTIME`, which may be set while it runs.

use trueno_cupti::spool::ClockReading;

use super::build::Build;
use crate::Error;
use trueno_recorder::run_writer::Cell;

/// A clock that is set moves by more than this a second.
const STEADY_NS_PER_S: i64 = 1_000;

pub fn write(build: &mut Build) -> Result<(), Error> {
    let table = build.table("clock_pairs")?;
    let monotonic_origin = build.from.facts.start_monotonic_ns;
    for reading in build.from.clocks.clone() {
        let cells = [
            Cell::U64(reading.raw_ns),
            Cell::I64(reading.monotonic_ns.saturating_sub(monotonic_origin)),
            Cell::I64(reading.realtime_ns),
            Cell::Null, // device
            Cell::Null, // device_ns
        ];
        build.into.row(table, &cells)?;
    }
    for (before, after, by) in steps(&build.from.clocks) {
        let [from, to] = [before, after].map(|reading| build.own_time(reading.realtime_ns));
        build.problems.push(format!(
            "the system's clock was set by {by} ns between {from} and {to} ns: times before and after do not compare"
        ));
    }
    Ok(())
}

/// Readings between which the clock was set, and by how much.
fn steps(readings: &[ClockReading]) -> Vec<(ClockReading, ClockReading, i64)> {
    let stepped = readings.windows(2).filter_map(|two| {
        let (before, after) = (two[0], two[1]);
        let realtime = after.realtime_ns.saturating_sub(before.realtime_ns);
        let monotonic = after.monotonic_ns.saturating_sub(before.monotonic_ns);
        let by = realtime.saturating_sub(monotonic);
        let brackets = (before.bracket_ns + after.bracket_ns) as i64;
        let steady = monotonic / 1_000_000_000 * STEADY_NS_PER_S + STEADY_NS_PER_S + brackets;
        (by.abs() > steady).then_some((before, after, by))
    });
    stepped.collect()
}

/// How long the run lasted: to its end, or as far as anything is known.
pub fn wall(build: &Build) -> Option<i64> {
    match &build.from.end {
        Some(end) => Some(build.own_time(end.realtime_ns).max(build.last())),
        None => {
            let seen = build
                .from
                .clocks
                .last()
                .map(|reading| build.own_time(reading.realtime_ns));
            Some(build.last().max(seen.unwrap_or(0)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_is_seen_and_a_slow_reading_is_not() {
        let at = |realtime_ns, monotonic_ns, bracket_ns| ClockReading {
            realtime_ns,
            monotonic_ns,
            raw_ns: 0,
            bracket_ns,
        };
        let second = 1_000_000_000;
        let readings = [
            at(0, 0, 50),
            at(second + 900, second, 50),
            at(2 * second + 5_900, 2 * second, 9_000),
            at(2 * second, 3 * second, 50),
        ];
        let found: Vec<i64> = steps(&readings).into_iter().map(|(.., by)| by).collect();
        assert_eq!(found, [-second - 5_900]);
    }
}

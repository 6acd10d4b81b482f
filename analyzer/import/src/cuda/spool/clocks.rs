//! The clocks of a recorded process.
//!
//! Times are those of `CLOCK_REALTIME`, on which CUPTI's and NVTX's events both are. It may be set while the process
//! runs: so the clocks are read side by side every second, and a clock that was set is seen and said. No time is
//! ever moved: a kernel that seems to start before its call is kept as not valid.

use trueno_cupti::spool::ClockReading;
use trueno_format::schema::ClockPairRow;

use super::build::Build;
use crate::Error;

/// A faster drift than this means that the clock was set.
const STEADY_NS_PER_S: u64 = 1_000;

pub fn write(build: &mut Build) -> Result<(), Error> {
    let monotonic_origin = build.from.facts.start_monotonic_ns;
    for reading in build.from.clocks.clone() {
        build.add(&ClockPairRow {
            ticks: reading.raw_ns,
            host_ns: reading.monotonic_ns.saturating_sub(monotonic_origin),
            realtime_ns: reading.realtime_ns,
            ..ClockPairRow::default()
        })?;
    }
    for (before, after, by) in steps(&build.from.clocks) {
        let [from, to] = [before, after].map(|reading| build.own_time(reading.realtime_ns));
        build.problems.push(format!(
            "the system's clock was set by {by} ns between {from} and {to} ns: times before and after it are not comparable"
        ));
    }
    Ok(())
}

/// Pairs of readings between which the clock was set, and by how much.
fn steps(readings: &[ClockReading]) -> Vec<(ClockReading, ClockReading, i64)> {
    let stepped = readings.windows(2).filter_map(|two| {
        let (before, after) = (two[0], two[1]);
        let realtime = after.realtime_ns.saturating_sub(before.realtime_ns);
        let monotonic = after.monotonic_ns.saturating_sub(before.monotonic_ns);
        let by = realtime.saturating_sub(monotonic);
        let seconds = (monotonic / 1_000_000_000).unsigned_abs();
        let steady = (seconds.saturating_add(1).saturating_mul(STEADY_NS_PER_S))
            .saturating_add(before.bracket_ns)
            .saturating_add(after.bracket_ns);
        (by.unsigned_abs() > steady).then_some((before, after, by))
    });
    stepped.collect()
}

/// Length of the run: to its stated end, or else to the last known time.
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
        // Whatever a damaged spool says.
        let odd = [at(0, 0, u64::MAX), at(i64::MIN, i64::MAX, u64::MAX)];
        assert!(steps(&odd).is_empty());
        assert_eq!(steps(&[at(i64::MAX, 0, 1), at(i64::MIN, 1, 1)]).len(), 1);
    }
}

//! From ticks to nanoseconds of the run.
//!
//! One monotone, piecewise linear function for all threads: between two knots
//! a nanosecond count and a fixed-point rate. A later pair of readings adds a
//! knot where the function stands *then* and bends it so that it meets the
//! system's clock a second on; what was converted before stays true. So the
//! order of ticks, and with it the nesting of spans, survives to the nanosecond.
//!
//! If one of the clocks jumps, as when a virtual machine is suspended, nothing tells which of them is right. The rate then
//! stays as it was: durations are true on both sides of the jump.

use serde::{Deserialize, Serialize};

const SHIFT: u32 = 40;
/// An error is corrected over this time by bending the function.
const CATCH_UP_NS: f64 = 1e9;
/// A rate that differs by more from the last one is that of a jump.
const MAX_RATE_CHANGE: f64 = 0.05;
/// Readings closer together than this determine the rate too imprecisely.
const MIN_BASE_NS: u64 = 1_000_000;

/// One moment on three clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockReading {
    /// Raw counter.
    pub ticks: u64,
    /// `CLOCK_MONOTONIC`.
    pub monotonic_ns: u64,
    /// `CLOCK_REALTIME`.
    pub realtime_ns: i64,
}

/// A point at which the function bends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Knot {
    ticks: u64,
    ns: u64,
    /// Nanoseconds per tick, scaled by 2^SHIFT.
    rate: u64,
}

impl Knot {
    #[inline]
    fn at(&self, ticks: u64) -> u64 {
        let ns = (u128::from(ticks.saturating_sub(self.ticks)) * u128::from(self.rate)) >> SHIFT;
        self.ns
            .saturating_add(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

/// The function and the pairs it was made from.
pub struct Timeline {
    /// True if ticks are nanoseconds of the monotonic clock and nothing is bent.
    is_exact: bool,
    earlier: ClockReading,
    origin: ClockReading,
    last: ClockReading,
    /// Nanoseconds per tick between the last readings without a jump.
    rate: f64,
    /// The same between the last readings of all.
    measured: f64,
    /// How far all jumps together have taken the system's clock ahead of this one.
    jumps_ns: f64,
    knots: Vec<Knot>,
    /// The last knot: nearly all ticks are after it.
    newest: Knot,
    /// Largest tick converted so far: a new knot must not be before it.
    converted: u64,
}

impl Timeline {
    /// Time 0 is `origin`; `earlier` gives the first rate.
    ///
    /// `is_exact`: ticks are nanoseconds of the monotonic clock.
    pub fn new(is_exact: bool, earlier: ClockReading, origin: ClockReading) -> Self {
        let rate = if is_exact {
            1.0
        } else {
            rate(earlier, origin).unwrap_or(1.0)
        };
        let newest = Knot {
            ticks: origin.ticks,
            ns: 0,
            rate: fixed(rate),
        };
        Self {
            is_exact,
            earlier,
            origin,
            last: origin,
            rate,
            measured: rate,
            jumps_ns: 0.0,
            knots: vec![newest],
            newest,
            converted: origin.ticks,
        }
    }

    /// The function as a process that is gone had made it, from at least two pairs and a knot.
    pub fn restored(pairs: &[ClockReading], knots: Vec<Knot>) -> Option<Self> {
        let (earlier, origin, last) = (*pairs.first()?, *pairs.get(1)?, *pairs.last()?);
        let newest = *knots.last()?;
        Some(Self {
            // It takes no readings any more, so that it does not matter.
            is_exact: true,
            earlier,
            origin,
            last,
            rate: 1.0,
            measured: 1.0,
            jumps_ns: 0.0,
            knots,
            newest,
            converted: newest.ticks,
        })
    }

    /// Measured between the first and the last of these pairs.
    pub fn ticks_per_second_between(pairs: &[ClockReading]) -> Option<f64> {
        rate(*pairs.first()?, *pairs.last()?).map(|ns_per_tick| 1e9 / ns_per_tick)
    }

    /// The knot at the beginning.
    pub fn first_knot(&self) -> Knot {
        self.knots[0]
    }

    /// Takes a new pair into account; the knot it makes, if it makes one.
    pub fn add(&mut self, pair: ClockReading) -> Option<Knot> {
        if self.is_exact {
            return None;
        }
        let knot = self.newest;
        let measured = rate(self.last, pair)?;
        // Twice in a row it is no jump: the first rate was measured in a few milliseconds only.
        let is_new = |before: f64| (measured / before - 1.0).abs() > MAX_RATE_CHANGE;
        let is_jump = is_new(self.rate) && is_new(self.measured);
        self.measured = measured;
        if !is_jump {
            self.rate = measured;
        }
        let ticks = pair.ticks.max(self.converted);
        let ns = knot.at(ticks);
        let host_ns = self.host_ns(pair) as f64 + (ticks - pair.ticks) as f64 * self.rate;
        if is_jump {
            self.jumps_ns = host_ns - ns as f64;
        }
        let error_ns = host_ns - self.jumps_ns - ns as f64;
        let wanted = self.rate * (1.0 + error_ns / CATCH_UP_NS);
        // Whatever the clocks do, time must not turn around.
        let rate = wanted.clamp(self.rate * 0.5, self.rate * 2.0);
        let knot = Knot {
            ticks,
            ns,
            rate: fixed(rate),
        };
        self.newest = knot;
        self.knots.push(knot);
        self.last = pair;
        Some(knot)
    }

    /// Nanoseconds of the run at `ticks`; 0 for what lies before its beginning.
    #[inline(always)]
    pub fn ns(&mut self, ticks: u64) -> i64 {
        self.converted = self.converted.max(ticks);
        if ticks >= self.newest.ticks {
            self.newest.at(ticks) as i64
        } else {
            self.ns_before(ticks)
        }
    }

    #[cold]
    fn ns_before(&self, ticks: u64) -> i64 {
        let after = self.knots.partition_point(|knot| knot.ticks <= ticks);
        self.knots[after.saturating_sub(1)].at(ticks) as i64
    }

    /// Forgets how times before `ns` were converted: they are about its beginning from now on.
    pub fn forget_before(&mut self, ns: i64) {
        let after = self.knots.partition_point(|knot| (knot.ns as i64) < ns);
        self.knots.drain(..after.saturating_sub(1));
    }

    /// The latest tick converted so far.
    pub fn latest(&self) -> u64 {
        self.converted
    }

    /// The monotonic clock of a pair, on the run's timeline.
    pub fn host_ns(&self, pair: ClockReading) -> i64 {
        (pair.monotonic_ns as i64).saturating_sub(self.origin.monotonic_ns as i64)
    }

    /// Ticks a second, from the calibration until the last pair.
    pub fn ticks_per_second(&self) -> Option<f64> {
        if self.is_exact {
            return Some(1e9);
        }
        if self.jumps_ns != 0.0 {
            return Some(1e9 / self.rate);
        }
        rate(self.earlier, self.last).map(|ns_per_tick| 1e9 / ns_per_tick)
    }
}

fn rate(from: ClockReading, to: ClockReading) -> Option<f64> {
    let ticks = to.ticks.checked_sub(from.ticks)?;
    let ns = to.monotonic_ns.checked_sub(from.monotonic_ns)?;
    (ticks > 0 && ns >= MIN_BASE_NS).then(|| ns as f64 / ticks as f64)
}

fn fixed(rate: f64) -> u64 {
    ((rate * (1u64 << SHIFT) as f64) as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pair(ticks: u64, ns: u64) -> ClockReading {
        ClockReading {
            ticks,
            monotonic_ns: ns,
            realtime_ns: 0,
        }
    }

    #[test]
    fn a_steady_clock_is_met_within_nanoseconds() {
        // 2.5 GHz, first rate off by 100 ppm.
        let mut timeline = Timeline::new(false, pair(1, 1_000), pair(5_000_001, 2_001_200));
        let mut ticks = 5_000_001;
        let mut ns = 2_001_200;
        for _ in 0..5 {
            ticks += 2_500_000_000;
            ns += 1_000_000_000;
            timeline.add(pair(ticks, ns));
        }
        assert!(
            (timeline.ns(ticks) - (ns as i64 - 2_001_200)).abs() <= 100,
            "{}",
            timeline.ns(ticks)
        );
        let per_second = timeline.ticks_per_second().unwrap();
        // The calibration was off by 200 ns, of 5 s.
        assert!((per_second / 2.5e9 - 1.0).abs() < 1e-7, "{per_second}");
    }

    /// Either clock jumps by a minute, forwards or back, as when a virtual machine is suspended.
    #[test]
    fn durations_are_true_on_both_sides_of_a_jump() {
        const SECOND: u64 = 1_000_000_000;
        for (tick_jump, ns_jump) in [(60, 0), (0, 60), (60, 60), (0, 1)] {
            let mut timeline = Timeline::new(false, pair(1, 1), pair(2_500_001, 1_000_001));
            let (mut ticks, mut ns) = (2_500_001, 1_000_001);
            for second in 0..10 {
                if second == 5 {
                    ticks += tick_jump * 5 * SECOND / 2;
                    ns += ns_jump * SECOND;
                }
                let start_ns = timeline.ns(ticks);
                ticks += 5 * SECOND / 2;
                ns += SECOND;
                let lasted_ns = timeline.ns(ticks) - start_ns;
                assert!(
                    (lasted_ns - 1_000_000_000).abs() < 1_000,
                    "second {second}: {lasted_ns}"
                );
                timeline.add(pair(ticks, ns));
            }
            let per_second = timeline.ticks_per_second().unwrap();
            let is_one_rate = (tick_jump, ns_jump) == (60, 60);
            assert!(
                is_one_rate || (per_second / 2.5e9 - 1.0).abs() < 1e-6,
                "{per_second}"
            );
        }
    }

    #[test]
    fn a_first_rate_that_was_wrong_is_corrected() {
        let mut timeline = Timeline::new(false, pair(1, 1), pair(2_500_001, 1_300_001));
        let (mut ticks, mut ns) = (2_500_001, 1_300_001);
        let mut lasted_ns = 0;
        for _ in 0..5 {
            let start_ns = timeline.ns(ticks);
            ticks += 2_500_000_000;
            ns += 1_000_000_000;
            lasted_ns = timeline.ns(ticks) - start_ns;
            timeline.add(pair(ticks, ns));
        }
        assert!((lasted_ns - 1_000_000_000).abs() < 1_000_000, "{lasted_ns}");
    }

    #[test]
    fn a_monotonic_clock_is_taken_as_it_is() {
        let mut timeline = Timeline::new(true, pair(50, 50), pair(100, 100));
        timeline.add(pair(1_000_000_100, 1_000_000_100));
        assert_eq!(timeline.ns(100), 0);
        assert_eq!(timeline.ns(3_000_000_123), 3_000_000_023);
        assert_eq!(timeline.ns(7), 0);
    }

    proptest! {
        /// However the two clocks drift and jump, later ticks never get earlier times, and the same tick
        /// always gets the same time.
        #[test]
        fn order_is_kept(steps in prop::collection::vec((0u64..4_000_000_000, 0u64..3_000_000_000, 0u64..5_000_000_000), 1..40)) {
            let mut timeline = Timeline::new(false, pair(1_000, 1_000), pair(5_001_000, 2_001_000));
            let (mut ticks, mut ns) = (5_001_000u64, 2_001_000u64);
            let mut given: Vec<(u64, i64)> = vec![(ticks, timeline.ns(ticks))];
            for (tick_step, ns_step, ahead) in steps {
                for offset in [0, ahead / 2, ahead] {
                    given.push((ticks + offset, timeline.ns(ticks + offset)));
                }
                ticks += tick_step;
                ns += ns_step;
                timeline.add(pair(ticks, ns));
                given.push((ticks, timeline.ns(ticks)));
            }
            for (ticks, ns) in &given {
                prop_assert_eq!(timeline.ns(*ticks), *ns);
            }
            given.sort_unstable();
            for two in given.windows(2) {
                prop_assert!(two[0].1 <= two[1].1, "{:?}", two);
            }
        }
    }
}

//! From a device's clock to ticks of the recorder's.
//!
//! A monotone, piecewise linear function, made from readings of both clocks. The two run at
//! nearly the same rate; a rate measured between two readings is only as good as their distance,
//! so it is trusted within [`MAX_DRIFT`] of equal: a duration is never bent by more than that.
//!
//! Ticks and not nanoseconds: so rows of a device and of the host go through the one function from ticks to the run's
//! time. The readings are rows of `clock_pairs`.

/// Limit on the difference of two clocks' rates. Real ones differ by about 0.000_05.
const MAX_DRIFT: f64 = 0.001;
/// If the host clock is ahead by more than this, it has jumped (a suspended machine) instead of drifted.
const STEP_NS: f64 = 1e6;
/// Readings closer together than this determine the drift too imprecisely.
const MIN_BASE_NS: u64 = 100_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DevicePair {
    pub ticks: u64,
    pub device_ns: u64,
}

#[derive(Clone, Copy, Debug)]
struct Knot {
    device_ns: u64,
    ticks: u64,
    /// Ticks per nanosecond of the device, from here on.
    rate: f64,
}

impl Knot {
    fn at(&self, device_ns: u64) -> u64 {
        let apart = i128::from(device_ns) - i128::from(self.device_ns);
        let ticks = i128::from(self.ticks) + (apart as f64 * self.rate).round() as i128;
        u64::try_from(ticks).unwrap_or(0)
    }
}

pub(super) struct DeviceTimeline {
    knots: Vec<Knot>,
    last: DevicePair,
    /// Latest time converted so far: times that were returned stay valid.
    converted: u64,
}

impl DeviceTimeline {
    /// `nominal`: ticks a nanosecond of the host.
    pub fn new(first: DevicePair, nominal: f64) -> Self {
        Self {
            knots: vec![Knot {
                device_ns: first.device_ns,
                ticks: first.ticks,
                rate: nominal,
            }],
            last: first,
            converted: first.device_ns,
        }
    }

    /// Takes a later pair into account: from the latest time converted on, the function heads for it.
    pub fn add(&mut self, pair: DevicePair, nominal: f64) {
        let near = |rate: f64| rate.clamp(nominal * (1.0 - MAX_DRIFT), nominal * (1.0 + MAX_DRIFT));
        let from = self.converted.max(self.last_knot().device_ns);
        let Some(apart) = pair.device_ns.checked_sub(from).filter(|apart| *apart > 0) else {
            return;
        };
        let ticks = self.at(from);
        self.knots.push(Knot {
            device_ns: from,
            ticks,
            rate: near((pair.ticks as f64 - ticks as f64) / apart as f64),
        });
        let base = pair.device_ns - self.last.device_ns;
        let measured = pair.ticks.saturating_sub(self.last.ticks) as f64 / base as f64;
        let reached = self.at(pair.device_ns);
        let jumped = pair.ticks as f64 - reached as f64 > STEP_NS * nominal;
        self.knots.push(Knot {
            // What had ended when the clocks were read ended before the jump.
            device_ns: pair.device_ns.saturating_add(u64::from(jumped)),
            ticks: if jumped { pair.ticks } else { reached },
            rate: if base >= MIN_BASE_NS {
                near(measured)
            } else {
                nominal
            },
        });
        self.last = pair;
    }

    /// Ticks of the recorder's clock at `device_ns`.
    pub fn ticks(&mut self, device_ns: u64) -> u64 {
        self.converted = self.converted.max(device_ns);
        self.at(device_ns)
    }

    fn at(&self, device_ns: u64) -> u64 {
        let after = self.knots.partition_point(|k| k.device_ns <= device_ns);
        self.knots[after.saturating_sub(1)].at(device_ns)
    }

    fn last_knot(&self) -> Knot {
        self.knots[self.knots.len() - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pair(ticks: u64, device_ns: u64) -> DevicePair {
        DevicePair { ticks, device_ns }
    }

    #[test]
    fn a_drifting_clock_is_followed() {
        // 2 ticks a ns; the device's clock is 40 ppm slow and began elsewhere.
        let at = |s: f64| {
            pair(
                1_000_000 + (s * 2e9) as u64,
                77_000_000_000 + (s * 1e9 * (1.0 - 40e-6)) as u64,
            )
        };
        let mut timeline = DeviceTimeline::new(at(0.0), 2.0);
        for second in 1..5 {
            timeline.add(at(f64::from(second)), 2.0);
        }
        for tenth in [5, 15, 25, 39] {
            let true_pair = at(f64::from(tenth) / 10.0);
            let off = timeline.ticks(true_pair.device_ns) as i64 - true_pair.ticks as i64;
            assert!(off.abs() <= 20, "{off} ticks at {tenth}/10 s");
        }
    }

    #[test]
    fn a_jump_of_the_host_moves_later_work_and_stretches_none() {
        let mut timeline = DeviceTimeline::new(pair(0, 1_000), 1.0);
        timeline.add(pair(50_000_000, 90_000), 1.0);
        let lasted = timeline.ticks(90_000) - timeline.ticks(1_000);
        assert!(lasted.abs_diff(89_000) <= 90, "{lasted}");
        assert_eq!(timeline.ticks(90_001), 50_000_000);
    }

    proptest! {
        /// Whatever the clocks do, order is preserved, and the same time always converts to the same
        /// result.
        #[test]
        fn order_is_kept(steps in prop::collection::vec((0u64..200_000_000, 0u64..200_000_000, 0u64..300_000_000), 1..30)) {
            let (mut ticks, mut device_ns) = (1_000_000_000u64, 5_000u64);
            let mut timeline = DeviceTimeline::new(pair(ticks, device_ns), 2.5);
            let mut given = Vec::new();
            for (tick_step, step_ns, ahead) in steps {
                for offset in [0, ahead / 2, ahead] {
                    given.push((device_ns + offset, timeline.ticks(device_ns + offset)));
                }
                ticks += tick_step;
                device_ns += step_ns;
                timeline.add(pair(ticks, device_ns), 2.5);
            }
            for (device_ns, ticks) in &given {
                prop_assert_eq!(timeline.ticks(*device_ns), *ticks);
            }
            given.sort_unstable();
            for two in given.windows(2) {
                prop_assert!(two[0].1 <= two[1].1, "{:?}", two);
            }
        }
    }
}

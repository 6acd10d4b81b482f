//! Repetitions of a measurement, and the values made of them.
//!
//! All are measured in turn, a few repetitions of 0.2 ms each, for seconds: whatever disturbs one for a while is gone when
//! its turn comes again. The value is what three moments reached and not the best: for single moments a virtual machine's
//! memory was 1.7 times as fast.

use std::time::Duration;

/// Amount of time a measurement takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Number of times each ceiling is measured; at least once. A few at a time, and then the others: what
    /// disturbs one for a while is gone when its turn comes again.
    pub repetitions: u32,
    /// Time of one repetition, about.
    pub repetition: Duration,
    /// After that long, what is not yet settled is left as it is, and so is all that has not been
    /// measured as often as it should. Everything is measured at one moment at least.
    pub longest: Duration,
}

impl Default for Effort {
    /// 240 repetitions of 0.2 ms at 30 moments, at most 8 s. They are short because the best is kept: the
    /// longer one is, the more likely something else runs in between. 46 ceilings take four to eight seconds.
    fn default() -> Self {
        Self {
            repetitions: 240,
            repetition: Duration::from_micros(200),
            longest: Duration::from_secs(8),
        }
    }
}

impl Effort {
    pub(super) fn at_once(&self) -> u32 {
        self.repetitions.clamp(1, 8)
    }

    pub(super) fn moments(&self) -> usize {
        self.repetitions.max(1).div_ceil(self.at_once()) as usize
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    rates: Vec<f64>,
    bests: Vec<f64>,
}

/// Number of moments that must reach a rate: nobody can rely on a rate that was reached only once.
pub(super) const MOMENTS: usize = 3;
/// The ceiling is settled if no moment was faster by more than this share.
const NEAR: f64 = 0.03;

impl Found {
    /// The rates of one moment; there are some.
    pub fn add(&mut self, rates: &[f64]) {
        self.bests.extend(rates.iter().copied().reduce(f64::max));
        self.rates.extend(rates);
    }

    pub fn moments(&self) -> usize {
        self.bests.len()
    }

    /// The best rate, and the rate that [`MOMENTS`] moments reached; with fewer moments, the best.
    fn best_and_reached(&self) -> Option<(f64, f64)> {
        let mut sorted = self.bests.clone();
        sorted.sort_by(|a, b| b.total_cmp(a));
        let best = *sorted.first()?;
        Some((best, sorted.get(MOMENTS - 1).copied().unwrap_or(best)))
    }

    pub fn is_settled(&self) -> bool {
        let found = self.best_and_reached();
        found.is_some_and(|(best, reached)| {
            self.moments() >= MOMENTS && reached >= (1.0 - NEAR) * best
        })
    }

    /// `None`: there are no repetitions, or one of them is not a positive number.
    pub fn repeated(&self) -> Option<Repeated> {
        if !self
            .rates
            .iter()
            .all(|rate| rate.is_finite() && *rate > 0.0)
        {
            return None;
        }
        let (best, reached) = self.best_and_reached()?;
        let mut sorted = self.rates.clone();
        sorted.sort_by(f64::total_cmp);
        let median = quantile(&sorted, 0.5);
        Some(Repeated {
            reached,
            best,
            median,
            spread: (quantile(&sorted, 0.75) - quantile(&sorted, 0.25)) / median,
            repetitions: sorted.len() as u32,
            is_settled: self.is_settled(),
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Repeated {
    /// The rate that [`MOMENTS`] moments reached: the ceiling.
    pub reached: f64,
    /// The rate of the best moment.
    pub best: f64,
    pub median: f64,
    /// Interquartile range over the median: what an interrupted repetition does not change.
    pub spread: f64,
    pub repetitions: u32,
    /// True if the best was hardly more than what is reached.
    pub is_settled: bool,
}

impl Repeated {
    /// Of repetitions so long that each is a moment of its own; `None` as [`Found::repeated`].
    #[cfg(feature = "gpu")]
    pub fn from_rates(rates: &[f64]) -> Option<Self> {
        let mut found = Found::default();
        for rate in rates {
            found.add(&[*rate]);
        }
        found.repeated()
    }
}

/// Rounds a rate to whole units, so that its text is short and parses to the same number.
pub(super) fn whole(rate: f64) -> f64 {
    rate.round().max(1.0)
}

/// Rounds a share to millionths, for the same reason.
pub(super) fn millionths(share: f64) -> f64 {
    (share * 1e6).round() / 1e6
}

fn quantile(sorted: &[f64], at: f64) -> f64 {
    let place = at * (sorted.len() - 1) as f64;
    let (low, high) = (place.floor() as usize, place.ceil() as usize);
    sorted[low] + (sorted[high] - sorted[low]) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(moments: &[&[f64]]) -> Found {
        let mut found = Found::default();
        for rates in moments {
            found.add(rates);
        }
        assert_eq!(found.moments(), moments.len());
        found
    }

    #[test]
    fn median_and_spread_are_of_all_repetitions() {
        let all = found(&[&[4.0, 1.0], &[3.0], &[2.0, 5.0]])
            .repeated()
            .unwrap();
        assert_eq!((all.best, all.reached, all.median), (5.0, 3.0, 3.0));
        assert_eq!(all.spread, 2.0 / 3.0);
        assert_eq!(all.repetitions, 5);
        assert_eq!(found(&[&[1.0, 2.0]]).repeated().unwrap().median, 1.5);
        let one = found(&[&[7.0]]).repeated().unwrap();
        assert_eq!((one.reached, one.spread), (7.0, 0.0));
        assert!(!one.is_settled, "one moment settles nothing");
    }

    /// A rate that was approached only once or twice may have been chance.
    #[test]
    fn a_rate_counts_when_several_moments_reached_it() {
        for (moments, reached, is_settled) in [
            (&[&[100.0][..], &[99.0], &[98.0]][..], 98.0, true),
            (&[&[100.0], &[99.0], &[96.0]], 96.0, false),
            (&[&[100.0, 99.0, 98.0], &[50.0], &[60.0]], 50.0, false),
            (&[&[100.0], &[100.0], &[100.0], &[120.0]], 100.0, false),
            (&[&[1.0, 100.0], &[99.0, 2.0], &[3.0], &[98.0]], 98.0, true),
            (&[&[80.0], &[100.0]], 100.0, false),
        ] {
            let repeated = found(moments).repeated().unwrap();
            assert_eq!(
                (repeated.reached, repeated.is_settled),
                (reached, is_settled)
            );
            assert_eq!(found(moments).is_settled(), is_settled);
        }
        assert!(!Found::default().is_settled());
    }

    #[test]
    fn an_effort_is_made_of_moments() {
        for (repetitions, at_once, moments) in
            [(0, 1, 1), (1, 1, 1), (8, 8, 1), (9, 8, 2), (240, 8, 30)]
        {
            let effort = Effort {
                repetitions,
                ..Effort::default()
            };
            assert_eq!((effort.at_once(), effort.moments()), (at_once, moments));
        }
    }

    #[test]
    fn what_is_no_rate_is_not_measured() {
        assert_eq!(Found::default().repeated(), None);
        for rates in [&[1.0, f64::NAN][..], &[f64::INFINITY], &[0.0], &[-1.0]] {
            assert_eq!(found(&[rates]).repeated(), None, "{rates:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_rounded_is_read_back_from_its_text(rate in 0.1f64..1e15, share in 0f64..10.0) {
            for value in [whole(rate), millionths(share)] {
                let text = serde_json::to_string(&value).unwrap();
                prop_assert_eq!(serde_json::from_str::<f64>(&text).unwrap(), value);
            }
            prop_assert!((whole(rate) - rate).abs() <= 1.0);
            prop_assert!((millionths(share) - share).abs() <= 1e-6);
        }

        #[test]
        fn the_median_lies_in_the_middle_and_three_moments_reach_the_ceiling(
            moments in prop::collection::vec(prop::collection::vec(0.1f64..1e12, 1..4), 1..30),
        ) {
            let slices: Vec<&[f64]> = moments.iter().map(Vec::as_slice).collect();
            let found = found(&slices).repeated().unwrap();
            let rates = moments.concat();
            let below = rates.iter().filter(|rate| **rate <= found.median * (1.0 + 1e-12)).count();
            let above = rates.iter().filter(|rate| **rate >= found.median * (1.0 - 1e-12)).count();
            prop_assert!(2 * below >= rates.len() && 2 * above >= rates.len());
            prop_assert!(rates.iter().all(|rate| *rate <= found.best));
            prop_assert!(rates.contains(&found.best) && rates.contains(&found.reached));
            prop_assert!(found.spread >= 0.0);
            let reaching = |rate: f64| moments.iter().filter(|m| m.iter().any(|r| *r >= rate)).count();
            if moments.len() >= MOMENTS {
                prop_assert!(reaching(found.reached) >= MOMENTS);
                let more = rates.iter().copied().filter(|rate| *rate > found.reached);
                prop_assert!(more.into_iter().all(|rate| reaching(rate) < MOMENTS));
            }
        }
    }
}

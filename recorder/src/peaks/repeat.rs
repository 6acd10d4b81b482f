//! How often and how long something is measured, and what is made of it.

use std::time::Duration;

/// How much time a measurement takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// How often each ceiling is measured, half of it (of 8 and more) when all others have been; at least once.
    pub repetitions: u32,
    /// How long once takes, about; one pass over the memory may take longer.
    pub repetition: Duration,
}

impl Default for Effort {
    /// 31 repetitions of 1 ms. Short ones, since the best is kept: the longer one is, the more
    /// likely something else runs in between. 46 ceilings take three to five seconds.
    fn default() -> Self {
        Self {
            repetitions: 31,
            repetition: Duration::from_millis(1),
        }
    }
}

/// What is kept of repetitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Repeated {
    pub best: f64,
    pub median: f64,
    /// Interquartile range over the median: what an interrupted repetition does not change.
    pub spread: f64,
    pub repetitions: u32,
}

impl Repeated {
    /// `None`: there are no repetitions, or one of them is not a positive number.
    pub fn of(rates: &[f64]) -> Option<Self> {
        if rates.is_empty() || !rates.iter().all(|rate| rate.is_finite() && *rate > 0.0) {
            return None;
        }
        let mut sorted = rates.to_vec();
        sorted.sort_by(f64::total_cmp);
        let median = quantile(&sorted, 0.5);
        Some(Self {
            best: sorted[sorted.len() - 1],
            median,
            spread: (quantile(&sorted, 0.75) - quantile(&sorted, 0.25)) / median,
            repetitions: sorted.len() as u32,
        })
    }
}

/// A rate in whole units: a text of it is short and gives the same number when it is read.
pub(super) fn whole(rate: f64) -> f64 {
    rate.round().max(1.0)
}

/// A share to a millionth, for the same reason.
pub(super) fn millionths(share: f64) -> f64 {
    (share * 1e6).round() / 1e6
}

/// Between two values, linearly.
fn quantile(sorted: &[f64], at: f64) -> f64 {
    let place = at * (sorted.len() - 1) as f64;
    let (low, high) = (place.floor() as usize, place.ceil() as usize);
    sorted[low] + (sorted[high] - sorted[low]) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn best_median_and_spread() {
        let found = Repeated::of(&[4.0, 1.0, 3.0, 2.0, 5.0]).unwrap();
        assert_eq!((found.best, found.median), (5.0, 3.0));
        assert_eq!(found.spread, 2.0 / 3.0);
        assert_eq!(found.repetitions, 5);
        assert_eq!(Repeated::of(&[1.0, 2.0]).unwrap().median, 1.5);
        assert_eq!(Repeated::of(&[7.0]).unwrap().spread, 0.0);
    }

    #[test]
    fn what_is_no_rate_is_not_measured() {
        for rates in [&[][..], &[1.0, f64::NAN], &[f64::INFINITY], &[0.0], &[-1.0]] {
            assert_eq!(Repeated::of(rates), None, "{rates:?}");
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
        fn the_median_lies_in_the_middle(rates in prop::collection::vec(0.1f64..1e12, 1..30)) {
            let found = Repeated::of(&rates).unwrap();
            let below = rates.iter().filter(|rate| **rate <= found.median * (1.0 + 1e-12)).count();
            let above = rates.iter().filter(|rate| **rate >= found.median * (1.0 - 1e-12)).count();
            prop_assert!(2 * below >= rates.len() && 2 * above >= rates.len());
            prop_assert!(found.best >= found.median && found.spread >= 0.0);
            prop_assert!(rates.contains(&found.best));
        }
    }
}

//! Interval of a share that was counted in samples.
//!
//! Wilson's score interval (Wilson 1927): of `k` of `n` samples, with `p = k / n`,
//!
//! ```text
//! (p + z² / 2n ± z · √(p (1 − p) / n + z² / 4n²)) / (1 + z² / n),   z = 1.96 for 95 %
//! ```
//!
//! It lies within 0 to 1 and is right for few samples and for shares near 0, where the usual `p ± z · √(p (1 − p) / n)`
//! is not (Brown, Cai and DasGupta 2001). It takes samples for independent of each other: a program that repeats itself
//! in step with the profiler's clock breaks that, and no formula over the samples can tell.

/// Quantile 0.975 of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    pub share: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval.
    pub high: f64,
}

impl Share {
    pub fn new(count: u64, all: u64) -> Option<Self> {
        if all == 0 {
            return None;
        }
        let n = all as f64;
        let share = count.min(all) as f64 / n;
        let z2 = Z * Z;
        let middle = share + z2 / (2.0 * n);
        let half = Z * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
        let scale = 1.0 + z2 / n;
        // The ends are exact where all or no samples count, and rounding must not move them.
        let (low, high) = ((middle - half) / scale, (middle + half) / scale);
        Some(Self {
            share,
            low: if count == 0 {
                0.0
            } else {
                low.clamp(0.0, share)
            },
            high: if count >= all {
                1.0
            } else {
                high.clamp(share, 1.0)
            },
        })
    }

    /// The interval in whole percent, rounded outwards: `58 to 64 %`.
    pub fn interval_text(&self) -> String {
        let low = (self.low * 100.0).floor();
        let high = (self.high * 100.0).ceil();
        format!("{low:.0} to {high:.0} %")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same interval by bisection: its ends solve `(p − x)² = z² x (1 − x) / n`.
    fn by_bisection(count: u64, all: u64) -> (f64, f64) {
        let (n, p) = (all as f64, count as f64 / all as f64);
        let far = |x: f64| (p - x).abs() > Z * (x * (1.0 - x) / n).sqrt();
        let end = |mut outside: f64, mut inside: f64| {
            for _ in 0..200 {
                let middle = f64::midpoint(outside, inside);
                if far(middle) {
                    outside = middle
                } else {
                    inside = middle
                }
            }
            inside
        };
        (end(0.0, p), end(1.0, p))
    }

    #[test]
    fn known_intervals() {
        for (count, all, low, high) in [
            // R: prop.test(15, 50, correct = FALSE); Newcombe 1998, table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
            (15, 50, 0.1910, 0.4375),
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
            (29, 29, 0.8830, 1.0),
        ] {
            let found = Share::new(count, all).unwrap();
            assert!(
                (found.low - low).abs() < 5e-5,
                "{count} of {all}: {found:?}"
            );
            assert!(
                (found.high - high).abs() < 5e-5,
                "{count} of {all}: {found:?}"
            );
        }
        assert_eq!(Share::new(0, 0), None);
        assert_eq!(
            Share::new(753, 1_234).unwrap().interval_text(),
            "58 to 64 %"
        );
    }

    #[test]
    fn ends_solve_the_equation_of_the_score_test() {
        for all in [1, 2, 3, 10, 97, 1_000, 123_456] {
            for count in [1, all / 3, all / 2, all - 1] {
                let count = count.clamp(1, all);
                let found = Share::new(count, all).unwrap();
                let (low, high) = by_bisection(count, all);
                assert!(
                    (found.low - low).abs() < 1e-9,
                    "{count} of {all}: {found:?}"
                );
                assert!(
                    (found.high - high).abs() < 1e-9,
                    "{count} of {all}: {found:?}"
                );
                assert!(found.low <= found.share && found.share <= found.high);
            }
        }
        let most = Share::new(u64::MAX, u64::MAX).unwrap();
        assert!(most.low > 0.999 && most.high == 1.0);
        assert_eq!(Share::new(5, 3).unwrap().share, 1.0);
    }
}

//! Trend of a series: Mann–Kendall's test and Theil–Sen's slope.
//!
//! Mann (1945), Kendall (1975): S = Σ sign(x_j − x_i) over i < j, normal approximation with the
//! correction for ties and for continuity. Theil (1950), Sen (1968): the median of the slopes of
//! all pairs. Both look at order and middle, so a single peak moves neither. The test assumes
//! independent values; live bytes are autocorrelated, so its p-value is too small for a series like a
//! random walk. That is why a trend needs a slope too.

use trueno_analysis::quantiles::median;

/// With fewer values the normal approximation does not hold.
pub const MIN_VALUES: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    pub slope: f64,
    /// Two-sided p-value of "there is no trend".
    pub p: f64,
}

/// Trend of values in their order; `None` for fewer than [`MIN_VALUES`]. O(n² log n).
pub fn trend(values: &[f64]) -> Option<Trend> {
    let n = values.len();
    if n < MIN_VALUES {
        return None;
    }
    let mut slopes = Vec::with_capacity(n * (n - 1) / 2);
    let mut s = 0_i64;
    for (i, from) in values.iter().enumerate() {
        for (j, to) in values.iter().enumerate().skip(i + 1) {
            let rise = to - from;
            s += i64::from(rise > 0.0) - i64::from(rise < 0.0);
            slopes.push(rise / (j - i) as f64);
        }
    }
    Some(Trend {
        slope: median(&mut slopes)?,
        p: p_value(s, variance(values)),
    })
}

/// Variance of S under "there is no trend", corrected for ties.
fn variance(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let term = |n: usize| (n as f64) * (n as f64 - 1.0) * (2.0 * n as f64 + 5.0);
    let ties: f64 = sorted
        .chunk_by(|a, b| a == b)
        .map(|tied| term(tied.len()))
        .sum();
    (term(values.len()) - ties) / 18.0
}

fn p_value(s: i64, variance: f64) -> f64 {
    if s == 0 || variance <= 0.0 {
        return 1.0;
    }
    erfc((s.abs() - 1) as f64 / (2.0 * variance).sqrt())
}

/// Complementary error function for x ≥ 0: Abramowitz and Stegun 7.1.26, error at most 1.5e-7.
fn erfc(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let series = [
        1.061_405_429,
        -1.453_152_027,
        1.421_413_741,
        -0.284_496_736,
        0.254_829_592,
    ];
    let sum = series.iter().fold(0.0, |sum, c| (sum + c) * t);
    (sum * (-x * x).exp()).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn erfc_has_its_known_values() {
        for (x, expected) in [
            (0.0, 1.0),
            (0.5, 0.479_500_1),
            (1.0, 0.157_299_2),
            (2.0, 0.004_677_7),
        ] {
            assert!((erfc(x) - expected).abs() < 3e-7, "{x}: {}", erfc(x));
        }
    }

    #[test]
    fn a_rise_has_the_p_value_of_the_books() {
        // n = 10 all rising: S = 45, variance 125, z = 44 / sqrt(125) = 3.935, p = 8.3e-5.
        let rising: Vec<f64> = (0..10).map(|i| 100.0 + 3.0 * f64::from(i)).collect();
        let found = trend(&rising).unwrap();
        assert_eq!(found.slope, 3.0);
        assert!((found.p - 8.3e-5).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn one_peak_and_a_level_are_no_trend() {
        let mut level = [5.0; 20];
        assert_eq!(trend(&level), Some(Trend { slope: 0.0, p: 1.0 }));
        level[19] = 900.0;
        let found = trend(&level).unwrap();
        assert!(found.slope == 0.0 && found.p > 0.05, "{found:?}");
        assert_eq!(trend(&level[..7]), None);
    }

    proptest! {
        #[test]
        fn as_by_writing_it_out(values in prop::collection::vec(-20_i32..20, 8..40)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let found = trend(&values).unwrap();
            let n = values.len();
            let mut slopes = Vec::new();
            let mut s = 0.0;
            for j in 0..n {
                for i in 0..j {
                    slopes.push((values[j] - values[i]) / (j - i) as f64);
                    s += if values[j] == values[i] { 0.0 } else { (values[j] - values[i]).signum() };
                }
            }
            slopes.sort_by(f64::total_cmp);
            let m = slopes.len();
            let middle = (slopes[(m - 1) / 2] + slopes[m / 2]) / 2.0;
            prop_assert!((found.slope - middle).abs() < 1e-12);
            // Ties by counting, value by value: each of t equal values adds (t - 1)(2t + 5).
            let ties: f64 = values.iter().map(|v| {
                let t = values.iter().filter(|w| *w == v).count() as f64;
                (t - 1.0) * (2.0 * t + 5.0)
            }).sum();
            let n = n as f64;
            let variance = (n * (n - 1.0) * (2.0 * n + 5.0) - ties) / 18.0;
            // p through the density of the normal distribution, by the trapezium rule.
            let z = if s == 0.0 || variance <= 0.0 { 0.0 } else { (f64::abs(s) - 1.0) / variance.sqrt() };
            let steps = 20_000;
            let density = |x: f64| (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
            let width = z / f64::from(steps);
            let inside: f64 = (0..steps).map(|k| {
                width * (density(width * f64::from(k)) + density(width * f64::from(k + 1))) / 2.0
            }).sum();
            prop_assert!((found.p - (1.0 - 2.0 * inside)).abs() < 1e-6, "{} {}", found.p, 1.0 - 2.0 * inside);
        }

        #[test]
        fn backwards_it_falls(values in prop::collection::vec(-20_i32..20, 8..40)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let back: Vec<f64> = values.iter().rev().copied().collect();
            let (one, two) = (trend(&values).unwrap(), trend(&back).unwrap());
            prop_assert!((one.slope + two.slope).abs() < 1e-12 && one.p == two.p);
        }
    }
}

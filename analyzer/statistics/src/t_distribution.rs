//! Student's t distribution.

/// Two-sided p-value of `t` with `freedom` degrees of freedom.
///
/// Regularised incomplete beta function I_x(freedom/2, 1/2) at x = freedom / (freedom + t²), by its continued
/// fraction (Abramowitz and Stegun 26.5.8, 26.7.1).
pub fn two_sided(t: f64, freedom: f64) -> f64 {
    if t.is_nan() || freedom.is_nan() || freedom <= 0.0 {
        return 1.0;
    }
    if t.is_infinite() {
        return 0.0;
    }
    incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t)).clamp(0.0, 1.0)
}

fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front =
        (log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp();
    // The fraction converges fast on one side of the mean, and the function is symmetric.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, 1.0 - x) / b
    }
}

/// Continued fraction of the incomplete beta function, by Lentz's method.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let keep = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / keep(1.0 - (a + b) * x / (a + 1.0));
    let mut product = d;
    for m in 1..500 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / keep(1.0 + even * d);
        c = keep(1.0 + even / c);
        product *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / keep(1.0 + odd * d);
        c = keep(1.0 + odd / c);
        product *= d * c;
        if (d * c - 1.0).abs() < 1e-14 {
            break;
        }
    }
    product
}

/// Stirling's series after shifting to where it is exact to 1e-13.
fn log_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 10.0 {
        shift -= x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    let series =
        (1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse * (1.0 / 1260.0 - inverse / 1680.0))) / x;
    shift + (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series
}

/// Two-sided p-value of the t test with pooled variance; `None` with fewer than three values, or if one side has
/// none.
pub fn pooled_t(base: &[f64], run: &[f64]) -> Option<f64> {
    let difference = Difference::of(base, run)?;
    Some(if difference.value == 0.0 {
        1.0
    } else {
        two_sided(difference.value / difference.error, difference.freedom)
    })
}

/// The 95 % interval of the difference of means, run minus base, from the same test.
pub fn pooled_interval(base: &[f64], run: &[f64]) -> Option<(f64, f64)> {
    let difference = Difference::of(base, run)?;
    let half = half_interval(difference.freedom) * difference.error;
    Some((difference.value - half, difference.value + half))
}

/// Half of a 95 % interval, in standard errors.
pub fn half_interval(freedom: f64) -> f64 {
    // The probability falls with t; one degree of freedom needs 12.7 for 5 %.
    let (mut low, mut high) = (0.0, 20.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if two_sided(middle, freedom) > 0.05 {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// A difference of means, run minus base, with its standard error from the scatter within both sides.
struct Difference {
    value: f64,
    error: f64,
    freedom: f64,
}

impl Difference {
    fn of(base: &[f64], run: &[f64]) -> Option<Self> {
        let freedom = (base.len() + run.len()) as f64 - 2.0;
        if freedom < 1.0 || base.is_empty() || run.is_empty() {
            return None;
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let squares = |values: &[f64], mean: f64| -> f64 {
            values.iter().map(|value| (value - mean).powi(2)).sum()
        };
        let (a, b) = (mean(base), mean(run));
        let variance = (squares(base, a) + squares(run, b)) / freedom;
        let error = (variance * (1.0 / base.len() as f64 + 1.0 / run.len() as f64)).sqrt();
        let value = b - a;
        Some(Self {
            value,
            error,
            freedom,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{pooled_interval, pooled_t, two_sided};

    #[test]
    fn quantiles_of_the_tables() {
        // (t, degrees of freedom, two-sided probability), from published tables.
        for (t, freedom, p) in [
            (12.706_204_736, 1.0, 0.05),
            (4.302_652_73, 2.0, 0.05),
            (2.228_138_852, 10.0, 0.05),
            (3.169_272_667, 10.0, 0.01),
            (1.983_971_519, 100.0, 0.05),
            (0.0, 5.0, 1.0),
            (3.390_491_311, 100.0, 0.001),
        ] {
            let got = two_sided(t, freedom);
            assert!(
                (got - p).abs() < 1e-4 * p.max(0.01),
                "{t} {freedom}: {got} for {p}"
            );
        }
        assert!(
            (two_sided(1.959_964, 1e7) - 0.05).abs() < 1e-6,
            "the normal distribution in the limit"
        );
        assert_eq!(two_sided(f64::NAN, 3.0), 1.0);
        assert_eq!(two_sided(2.0, 0.0), 1.0);
    }

    #[test]
    fn the_interval_ends_where_the_test_is_undecided() {
        let (base, run) = ([1.0, 2.0, 4.0], [5.0, 4.5, 7.0, 6.0]);
        let (low, high) = pooled_interval(&base, &run).unwrap();
        for end in [low, high] {
            let moved = run.map(|value| value - end);
            let p = pooled_t(&base, &moved).unwrap();
            assert!((p - 0.05).abs() < 1e-6, "{end}: {p}");
        }
        assert!(low < high && low > 0.0);
        assert_eq!(pooled_interval(&[1.0], &[2.0]), None);
    }
}

//! Middle, spread and quantiles of wall times.

/// The middle value, or the mean of the two middle ones. `None` of none.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    let n = values.len();
    if n == 0 {
        return None;
    }
    let (below, &mut upper, _) = values.select_nth_unstable_by(n / 2, f64::total_cmp);
    if n % 2 == 1 {
        return Some(upper);
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(lower + (upper - lower) / 2.0)
}

/// Median of the absolute deviations from a centre, not scaled. `None` of none.
pub fn mad(values: &[f64], centre: f64) -> Option<f64> {
    let deviations: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    median(&deviations)
}

/// Mean. `None` of none.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Coefficient of variation: sample standard deviation (n − 1) / mean. `None` of fewer than two, or around 0.
pub fn variation(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|mean| *mean > 0.0)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt() / mean)
}

/// The 99th percentile by nearest rank: value number ceil(0.99 n); the largest while n < 100.
pub fn p99(values: &[i64]) -> Option<i64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let rank = (99 * sorted.len()).div_ceil(100);
    sorted.get(rank.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn of_none_there_is_nothing() {
        assert_eq!(
            (
                median(&[]),
                mad(&[], 0.0),
                mean(&[]),
                variation(&[1.0]),
                p99(&[])
            ),
            (None, None, None, None, None)
        );
        assert_eq!(variation(&[0.0, 0.0]), None);
    }

    proptest! {
        #[test]
        fn as_by_sorting(values in prop::collection::vec(0_i32..60, 2..250)) {
            let floats: Vec<f64> = values.iter().copied().map(f64::from).collect();
            let mut sorted = floats.clone();
            sorted.sort_by(f64::total_cmp);
            let n = sorted.len();
            let middle = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0;
            prop_assert_eq!(median(&floats), Some(middle));
            let mut far: Vec<f64> = floats.iter().map(|v| (v - middle).abs()).collect();
            far.sort_by(f64::total_cmp);
            prop_assert_eq!(mad(&floats, middle), Some((far[(n - 1) / 2] + far[n / 2]) / 2.0));
            let whole: Vec<i64> = values.iter().copied().map(i64::from).collect();
            // The smallest value that at least 99 of 100 do not exceed.
            let smallest = whole.iter().filter(|v| {
                100 * whole.iter().filter(|w| w <= v).count() >= 99 * n
            }).min();
            prop_assert_eq!(p99(&whole), smallest.copied());
            // Variance as half the mean squared distance of all pairs.
            let pairs: f64 = floats.iter().flat_map(|a| floats.iter().map(move |b| (a - b).powi(2))).sum();
            let sd = (pairs / 2.0 / (n * (n - 1)) as f64).sqrt();
            let total: f64 = floats.iter().sum();
            if total > 0.0 {
                prop_assert!((variation(&floats).unwrap() - sd / (total / n as f64)).abs() < 1e-9);
            }
        }
    }
}

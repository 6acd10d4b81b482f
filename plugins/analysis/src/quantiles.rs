//! Medians and percentiles, each by a named definition.
//!
//! Reports show values that were measured, so times take *nearest rank*: of `n` sorted values the one
//! with the number `ceil(p * n)`, counted from 1. Statistics that are computed further take the mean of
//! the two middle values. All but [`interpolated`] take linear time and reorder the values.

use std::cmp::Ordering;

/// Smallest, median, 99th percentile and largest, by nearest rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantiles {
    /// Rank 1.
    pub min: i64,
    /// Rank `ceil(n / 2)`: the lower of the two middle values when `n` is even.
    pub median: i64,
    /// Rank `ceil(99 n / 100)`: the largest value while `n < 100`.
    pub p99: i64,
    /// Rank `n`.
    pub max: i64,
}

/// Quantiles of values in any order. `None` of none.
pub fn quantiles(values: &mut [i64]) -> Option<Quantiles> {
    let n = values.len();
    let (min, max) = (*values.iter().min()?, *values.iter().max()?);
    let (median_at, p99_at) = (n.div_ceil(2) - 1, (99 * n).div_ceil(100) - 1);
    let (_, &mut median, upper) = values.select_nth_unstable(median_at);
    let p99 = match p99_at - median_at {
        0 => median,
        more => *upper.select_nth_unstable(more - 1).1,
    };
    Some(Quantiles {
        min,
        median,
        p99,
        max,
    })
}

/// The nearest-rank percentile; `percent` is 1 to 100. `None` of no values.
pub fn nearest_rank(values: &mut [i64], percent: usize) -> Option<i64> {
    let at = (percent * values.len()).div_ceil(100).checked_sub(1)?;
    Some(*values.select_nth_unstable(at).1)
}

/// The median by nearest rank: of an even number the lower of the two in the middle. `None` of none.
pub fn lower_median(values: &mut [i64]) -> Option<i64> {
    nearest_rank(values, 50)
}

/// The two values in the middle, which of an odd number are the same one. `None` of none.
pub fn middle_pair<T: Copy>(
    values: &mut [T],
    compare: impl Fn(&T, &T) -> Ordering,
) -> Option<(T, T)> {
    let n = values.len();
    if n == 0 {
        return None;
    }
    let (below, &mut upper, _) = values.select_nth_unstable_by(n / 2, &compare);
    if n % 2 == 1 {
        return Some((upper, upper));
    }
    let lower = below.iter().copied().max_by(compare)?;
    Some((lower, upper))
}

/// The middle value, of an even number the mean of the two middle ones. `None` of none.
pub fn median(values: &mut [f64]) -> Option<f64> {
    let is_odd = values.len() % 2 == 1;
    let (lower, upper) = middle_pair(values, f64::total_cmp)?;
    Some(if is_odd {
        upper
    } else {
        lower + (upper - lower) / 2.0
    })
}

/// Median of the absolute deviations from a centre, not scaled. `None` of none.
pub fn median_absolute_deviation(values: &[f64], centre: f64) -> Option<f64> {
    let mut deviations: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    median(&mut deviations)
}

/// The value at a share of sorted values, linearly between the two samples beside it (the seventh
/// definition of Hyndman and Fan, "Sample quantiles in statistical packages", 1996).
///
/// # Panics
/// Of no values.
pub fn interpolated(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nearest_rank_at_the_small_sizes() {
        let of = |values: &[i64]| {
            quantiles(&mut values.to_vec()).map(|q| (q.min, q.median, q.p99, q.max))
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[7]), Some((7, 7, 7, 7)));
        assert_eq!(of(&[9, 1]), Some((1, 1, 9, 9)));
        assert_eq!(of(&[3, 1, 2]), Some((1, 2, 3, 3)));
        let hundred: Vec<i64> = (1..=100).collect();
        assert_eq!(of(&hundred), Some((1, 50, 99, 100)));
        assert_eq!(
            (lower_median(&mut []), nearest_rank(&mut [], 99)),
            (None, None)
        );
        assert_eq!(
            (median(&mut []), median_absolute_deviation(&[], 0.0)),
            (None, None)
        );
    }

    proptest! {
        #[test]
        fn as_by_sorting(mut values in prop::collection::vec(-50_i64..50, 1..300)) {
            let found = quantiles(&mut values).unwrap();
            prop_assert_eq!(nearest_rank(&mut values, 99), Some(found.p99));
            prop_assert_eq!(lower_median(&mut values), Some(found.median));
            let mut floats: Vec<f64> = values.iter().map(|value| *value as f64).collect();
            let middle = median(&mut floats).unwrap();
            let pair = middle_pair(&mut values, i64::cmp).unwrap();
            let deviation = median_absolute_deviation(&floats, middle).unwrap();
            values.sort_unstable();
            // The smallest value that at least p of all values do not exceed.
            let rank = |percent: usize| *values.iter().find(|v| {
                100 * values.iter().filter(|w| w <= v).count() >= percent * values.len()
            }).unwrap();
            prop_assert_eq!(found.median, rank(50));
            prop_assert_eq!(found.p99, rank(99));
            prop_assert_eq!(found.min, values[0]);
            prop_assert_eq!(found.max, values[values.len() - 1]);
            let n = values.len();
            prop_assert_eq!(pair, (values[(n - 1) / 2], values[n / 2]));
            prop_assert_eq!(middle, (values[(n - 1) / 2] + values[n / 2]) as f64 / 2.0);
            let mut far: Vec<f64> = floats.iter().map(|value| (value - middle).abs()).collect();
            far.sort_by(f64::total_cmp);
            prop_assert_eq!(deviation, (far[(n - 1) / 2] + far[n / 2]) / 2.0);
            floats.sort_by(f64::total_cmp);
            prop_assert_eq!(interpolated(&floats, 0.5), middle);
            prop_assert_eq!(interpolated(&floats, 1.0), floats[n - 1]);
        }
    }
}

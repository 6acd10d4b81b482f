//! Median and p99 by nearest rank: of `n` sorted values the one with the
//! number `ceil(p * n)`, counted from 1. Always a value that was measured.

/// Smallest, median, 99th percentile and largest.
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

/// Quantiles of values in any order, in linear time; reorders them. `None` of none.
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
    }

    proptest! {
        #[test]
        fn as_by_sorting(mut values in prop::collection::vec(-50_i64..50, 1..300)) {
            let found = quantiles(&mut values).unwrap();
            values.sort_unstable();
            // The smallest value that at least p of all values do not exceed.
            let rank = |percent: usize| *values.iter().find(|v| {
                100 * values.iter().filter(|w| w <= v).count() >= percent * values.len()
            }).unwrap();
            prop_assert_eq!(found.median, rank(50));
            prop_assert_eq!(found.p99, rank(99));
            prop_assert_eq!(found.min, values[0]);
            prop_assert_eq!(found.max, values[values.len() - 1]);
        }
    }
}

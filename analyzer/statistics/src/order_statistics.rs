//! Medians and ranks.

use trueno_analysis::quantiles::middle_pair;

/// The median; `None` without values.
pub fn median(values: &mut [f64]) -> Option<f64> {
    let (lower, upper) = middle_pair(values, f64::total_cmp)?;
    Some(f64::midpoint(lower, upper))
}

/// Ranks from 1, with ties sharing their mean. Also returns the sum of t³ − t over groups of t equal values.
pub fn midranks(values: &[f64]) -> (Vec<f64>, f64) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let (mut at, mut ties) = (0, 0.0);
    while at < order.len() {
        let mut end = at + 1;
        while end < order.len() && values[order[end]] == values[order[at]] {
            end += 1;
        }
        let size = (end - at) as f64;
        ties += size.powi(3) - size;
        let rank = (at + 1 + end) as f64 / 2.0;
        for i in &order[at..end] {
            ranks[*i] = rank;
        }
        at = end;
    }
    (ranks, ties)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranks_count_what_is_below(values in proptest::collection::vec(0..9_i32, 0..40)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let (ranks, _) = midranks(&values);
            for (value, rank) in values.iter().zip(&ranks) {
                let below = values.iter().filter(|v| *v < value).count() as f64;
                let equal = values.iter().filter(|v| *v == value).count() as f64;
                prop_assert_eq!(*rank, below + (equal + 1.0) / 2.0);
            }
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let slow = (!sorted.is_empty()).then(|| {
                let n = sorted.len();
                f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2])
            });
            prop_assert_eq!(median(&mut values.clone()), slow);
        }
    }
}

//! Values and how often each occurs: quantiles that can be merged exactly.
//!
//! A plugin that makes parts of ranks ([`trueno_plugin::Parts`]) cannot merge medians, but it can merge these. Times in
//! nanoseconds repeat a great deal, so that a list is far shorter than the values.

use std::collections::BTreeMap;

use crate::quantiles::Quantiles;

/// Distinct values, ascending, each with its count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValueCounts {
    counts: BTreeMap<i64, u64>,
    all: u64,
}

impl ValueCounts {
    /// Adds a value so many times.
    pub fn add(&mut self, value: i64, count: u64) {
        if count > 0 {
            let of = self.counts.entry(value).or_default();
            *of = of.saturating_add(count);
            self.all = self.all.saturating_add(count);
        }
    }

    /// Adds those of another.
    pub fn merge(&mut self, other: &Self) {
        for (&value, &count) in &other.counts {
            self.add(value, count);
        }
    }

    /// The number of values, repeated ones included.
    pub fn len(&self) -> u64 {
        self.all
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all == 0
    }

    /// Distinct values, ascending, and their counts.
    pub fn iter(&self) -> impl Iterator<Item = (i64, u64)> {
        self.counts.iter().map(|(&value, &count)| (value, count))
    }

    /// The value with this number among the sorted ones, counted from 1. `None`: there are fewer.
    pub fn of_rank(&self, rank: u64) -> Option<i64> {
        let mut below = 0_u64;
        for (value, count) in self.iter() {
            below = below.saturating_add(count);
            if rank >= 1 && rank <= below {
                return Some(value);
            }
        }
        None
    }

    /// As [`quantiles`](crate::quantiles::quantiles) of the values.
    pub fn quantiles(&self) -> Option<Quantiles> {
        let all = u128::from(self.all);
        let p99 = u64::try_from((99 * all).div_ceil(100)).unwrap_or(u64::MAX);
        Some(Quantiles {
            min: *self.counts.first_key_value()?.0,
            median: self.of_rank(self.all.div_ceil(2))?,
            p99: self.of_rank(p99)?,
            max: *self.counts.last_key_value()?.0,
        })
    }
}

impl FromIterator<i64> for ValueCounts {
    fn from_iter<T: IntoIterator<Item = i64>>(values: T) -> Self {
        let mut values: Vec<i64> = values.into_iter().collect();
        values.sort_unstable();
        let mut counts = Self::default();
        for run in values.chunk_by(|a, b| a == b) {
            counts.add(run[0], run.len() as u64);
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::quantiles::quantiles;

    proptest! {
        /// Checks lists merged in any grouping against all values in one array.
        #[test]
        fn merged_lists_have_the_quantiles_of_all_values(
            values in proptest::collection::vec(-9..9_i64, 0..250),
            cut in 0..250_usize,
        ) {
            let (left, right) = values.split_at(cut.min(values.len()));
            let mut merged: ValueCounts = right.iter().copied().collect();
            merged.merge(&left.iter().copied().collect());
            let mut all = values.clone();
            prop_assert_eq!(merged.quantiles(), quantiles(&mut all));
            prop_assert_eq!(merged.len(), values.len() as u64);
        }
    }
}

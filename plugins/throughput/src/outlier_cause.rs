//! The name that made an iteration slow.
//!
//! Self times by name on the thread of the iteration add up to its wall time, so the excess of an iteration splits into
//! excesses of names: the self time of a name in it − the median of that over the steady iterations
//! (0 in those where it did not run). The name with the largest excess is the cause. What ran on other threads shows in the
//! name that waited for it.

use std::collections::{BTreeMap, BTreeSet};

use trueno_analysis::quantiles::median;

use crate::series::{Iteration, Series};

pub type Name = (String, String);

/// Self times by thread and iteration, then by kind and name.
#[derive(Clone, Debug, Default)]
pub struct Names(BTreeMap<(i64, u64), BTreeMap<Name, i64>>);

#[derive(Clone, Debug, PartialEq)]
pub struct OutlierCause {
    pub name: Name,
    pub excess_ns: f64,
}

impl Names {
    pub fn add(&mut self, thread: i64, number: u64, name: Name, self_ns: i64) {
        let sum = self
            .0
            .entry((thread, number))
            .or_default()
            .entry(name)
            .or_default();
        *sum = sum.saturating_add(self_ns);
    }

    /// The cause of each iteration in `slow`, compared with the `steady` iterations of the series. `None` if
    /// the iteration has no number, shares it with another of the thread, or if no name has an excess.
    pub fn outlier_causes(
        &self,
        series: &Series,
        steady: &[Iteration],
        slow: &[Iteration],
    ) -> Vec<Option<OutlierCause>> {
        let mut seen: BTreeMap<u64, u64> = BTreeMap::new();
        for number in series
            .iterations
            .iter()
            .filter_map(|iteration| iteration.number)
        {
            *seen.entry(number).or_default() += 1;
        }
        let of = |iteration: &Iteration| {
            let number = iteration.number.filter(|number| seen[number] == 1)?;
            self.0.get(&(series.thread, number))
        };
        let steady: Vec<&BTreeMap<Name, i64>> = steady.iter().filter_map(of).collect();
        let mut medians: BTreeMap<&Name, f64> = BTreeMap::new();
        let names: BTreeSet<&Name> = slow
            .iter()
            .filter_map(of)
            .flat_map(BTreeMap::keys)
            .collect();
        for name in names {
            let mut values: Vec<f64> = steady
                .iter()
                .map(|times| times.get(name).map_or(0.0, |self_ns| *self_ns as f64))
                .collect();
            medians.insert(name, median(&mut values).unwrap_or(0.0));
        }
        let named = |iteration: &Iteration| {
            let excess = of(iteration)?
                .iter()
                .map(|(name, self_ns)| (name, *self_ns as f64 - medians[name]));
            // Of equals the first by name.
            let (name, excess_ns) = excess.rev().max_by(|a, b| a.1.total_cmp(&b.1))?;
            (excess_ns > 0.0).then(|| OutlierCause {
                name: name.clone(),
                excess_ns,
            })
        };
        slow.iter().map(named).collect()
    }
}

//! Tokens and samples of an iteration, as the program states them.

use std::collections::BTreeMap;

use trueno_analysis::hash::FastSet;
use trueno_plugin::{Result, Run};

/// The two kinds of work, which are also the names of their counters.
pub const WORK: [&str; 2] = ["tokens", "samples"];

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Declared {
    /// By row of the iteration: the value, or `None` if the counter has several.
    values: [BTreeMap<u64, Option<f64>>; 2],
    pub counts: Counts,
}

/// Counts over all series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Values that are negative or NaN, left out.
    pub broken: u64,
    /// By kind of work: readings on rows of iterations.
    pub readings: [u64; 2],
    /// By kind of work: readings on any row.
    pub anywhere: [u64; 2],
    /// Iterations with several values for a kind of work, or an invalid one.
    pub unusable: u64,
}

impl Declared {
    /// Reads inputs `declared` and `declared_all`. `iterations` are the ids of iteration rows.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn load(run: &mut Run, iterations: &FastSet<u64>) -> Result<Self> {
        let table = run.table("declared")?;
        let (span, name, value) = (table.u64("span")?, table.text("name")?, table.f64("value")?);
        let mut out = Self::default();
        for row in 0..table.rows() {
            let work = WORK.iter().position(|work| name.get(row) == Some(work));
            let span = span.get(row).filter(|span| iterations.contains(span));
            let (Some(work), Some(span)) = (work, span) else {
                continue;
            };
            out.counts.readings[work] += 1;
            let value = value
                .get(row)
                .filter(|value| value.is_finite() && *value >= 0.0);
            out.counts.broken += u64::from(value.is_none());
            // Two values of one iteration: whether to add them or to take one is not known.
            let twice = out.values[work].contains_key(&span);
            out.values[work].insert(span, value.filter(|_| !twice));
        }
        let table = run.table("declared_all")?;
        let (name, readings) = (table.text("name")?, table.i64("readings")?);
        for row in 0..table.rows() {
            if let Some(work) = WORK.iter().position(|work| name.get(row) == Some(work)) {
                out.counts.anywhere[work] = u64::try_from(readings.value(row)).unwrap_or(0);
            }
        }
        let values = out.values.iter().flat_map(BTreeMap::values);
        out.counts.unusable = values.filter(|value| value.is_none()).count() as u64;
        Ok(out)
    }

    /// Work of an iteration, if it declares exactly one value.
    pub fn value(&self, work: usize, iteration: u64) -> Option<f64> {
        self.values[work].get(&iteration).copied().flatten()
    }
}

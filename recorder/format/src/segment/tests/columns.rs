//! Columns of the kinds that recordings have.

use proptest::prelude::*;

use crate::schema::Table;
use crate::segment::{BatchView, Cells};

#[derive(Clone, Debug)]
pub enum Pattern {
    Constant(u64),
    /// Start and step: ids.
    Steps(u64, u64),
    /// Start, and limit of the random steps: times.
    Monotone(u64, u64),
    /// Number of distinct values, in random order.
    Few(u64, u64),
    /// A random list, repeated: values that recur with every iteration.
    Periodic(u64, usize),
    /// Runs of one value.
    Runs(u64),
    Random(u64),
}

pub fn pattern() -> impl Strategy<Value = Pattern> {
    prop_oneof![
        prop_oneof![Just(0), Just(1), any::<u64>()].prop_map(Pattern::Constant),
        (any::<u64>(), 0u64..300).prop_map(|(from, by)| Pattern::Steps(from, by)),
        (any::<u64>(), 1u64..1 << 40).prop_map(|(seed, below)| Pattern::Monotone(seed, below)),
        (any::<u64>(), 1u64..40).prop_map(|(seed, count)| Pattern::Few(seed, count)),
        (any::<u64>(), 1usize..600).prop_map(|(seed, period)| Pattern::Periodic(seed, period)),
        any::<u64>().prop_map(Pattern::Runs),
        any::<u64>().prop_map(Pattern::Random),
    ]
}

/// xorshift64*: fast, and the same on every machine.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
}

impl Pattern {
    pub fn values(&self, rows: usize) -> Vec<u64> {
        let numbers = |seed: &u64| Numbers(seed | 1);
        match self {
            Self::Constant(value) => vec![*value; rows],
            Self::Steps(from, by) => (0..rows as u64)
                .map(|row| from.wrapping_add(row.wrapping_mul(*by)))
                .collect(),
            Self::Monotone(seed, below) => {
                let mut numbers = numbers(seed);
                let mut now = seed >> 20;
                let mut step = || {
                    now += (numbers.next() >> 20) % below;
                    now
                };
                (0..rows).map(|_| step()).collect()
            }
            Self::Few(seed, count) => {
                let mut numbers = numbers(seed);
                let values: Vec<u64> = (0..*count).map(|_| numbers.next() >> (seed % 64)).collect();
                let mut any = || values[(numbers.next() >> 32) as usize % values.len()];
                (0..rows).map(|_| any()).collect()
            }
            Self::Periodic(seed, period) => {
                let mut numbers = numbers(seed);
                let values: Vec<u64> = (0..*period)
                    .map(|_| numbers.next() >> (seed % 64))
                    .collect();
                values.iter().copied().cycle().take(rows).collect()
            }
            Self::Runs(seed) => {
                let mut numbers = numbers(seed);
                let mut values = Vec::with_capacity(rows);
                while values.len() < rows {
                    let (value, length) = (numbers.next(), numbers.next() >> 57);
                    values.extend((0..length).map(|_| value));
                }
                values.truncate(rows);
                values
            }
            Self::Random(seed) => {
                let mut numbers = numbers(seed);
                (0..rows).map(|_| numbers.next()).collect()
            }
        }
    }
}

/// A batch to encode.
#[derive(Clone, Debug)]
pub struct BatchColumns {
    pub table: &'static Table,
    pub rows: usize,
    present: Vec<u64>,
    columns: Vec<Vec<u64>>,
    /// True if constant columns are passed as one value.
    condensed: bool,
}

impl BatchColumns {
    /// For each column, a pattern for its values and one for their presence (odd values are present).
    pub fn new(table: &'static Table, rows: usize, columns: &[(Pattern, Pattern)]) -> Self {
        let mut present = vec![0; rows];
        for (number, (_, there)) in columns.iter().enumerate() {
            for (mask, there) in present.iter_mut().zip(there.values(rows)) {
                let there = there & 1 | u64::from(!table.columns[number].nullable);
                *mask |= there << number;
            }
        }
        let values = columns.iter().map(|(cells, _)| cells.values(rows));
        Self {
            table,
            rows,
            present,
            columns: values.collect(),
            condensed: true,
        }
    }

    pub fn cell(&self, column: usize, row: usize) -> Option<u64> {
        (self.present[row] >> column & 1 == 1).then(|| self.columns[column][row])
    }

    /// The same rows with other contents in missing cells.
    pub fn with_junk(&self, junk: u64) -> Self {
        let mut other = self.clone();
        other.condensed = false;
        for (number, column) in other.columns.iter_mut().enumerate() {
            for (row, value) in column.iter_mut().enumerate() {
                if self.present[row] >> number & 1 == 0 {
                    *value = junk.wrapping_mul(row as u64 + 1);
                }
            }
        }
        other
    }

    pub fn view<T>(&self, take: impl FnOnce(&BatchView<'_>) -> T) -> T {
        let cells = |values| condensed(values).filter(|_| self.condensed);
        let cells = |values| cells(values).unwrap_or(Cells::Each(values));
        let columns: Vec<Cells<'_>> = self.columns.iter().map(|values| cells(values)).collect();
        take(&BatchView {
            table: self.table,
            rows: self.rows,
            present: cells(&self.present),
            columns: &columns,
        })
    }
}

fn condensed(values: &[u64]) -> Option<Cells<'_>> {
    let (first, rest) = values.split_first()?;
    rest.iter()
        .all(|value| value == first)
        .then_some(Cells::Same(*first))
}

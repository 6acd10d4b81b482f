//! Two tables joined by a column of each, as a table whose columns are read when they are asked for.
//!
//! The rows of the second table are found by their keys, each of which may stand there once; so a row of the first
//! table has one partner or none, and rows stay in the order of the first table.

use std::sync::Arc;

use crate::columns::{Kind, Packed, ReadColumns, StoredTable, is_set};

#[derive(Clone)]
pub(super) struct Side {
    pub(super) table: Arc<StoredTable>,
    pub(super) called: String,
    pub(super) key: usize,
}

/// The rows of two tables with equal keys. Columns are named by table alias and column. `None` if the types of the
/// keys cannot be compared.
pub(super) fn joined(first: Side, second: Side) -> Option<StoredTable> {
    let kind = |side: &Side| side.table.columns()[side.key].1;
    let is_exact = !matches!(kind(&first), Kind::F64 | Kind::Bool);
    (is_exact && kind(&first) == kind(&second)).then_some(())?;
    let columns = [&first, &second].into_iter().flat_map(|side| {
        let columns = side.table.columns().iter();
        columns.map(|(name, kind)| (format!("{}.{name}", side.called), *kind))
    });
    let (columns, rows) = (columns.collect(), first.table.rows());
    let is_numbered = first.table.is_numbered() && second.table.is_numbered();
    let table = StoredTable::new(columns, rows, Box::new(Join { first, second }));
    Some(if is_numbered {
        table
    } else {
        table.without_numbers()
    })
}

struct Join {
    first: Side,
    second: Side,
}

impl ReadColumns for Join {
    fn read(&self, wanted: &[usize]) -> Result<Vec<Vec<Packed>>, String> {
        let of_first = self.first.table.columns().len();
        let (first, second): (Vec<usize>, Vec<usize>) =
            wanted.iter().partition(|column| **column < of_first);
        let second: Vec<usize> = second.iter().map(|column| column - of_first).collect();
        let with_key = |columns: &[usize], key: usize| [columns, &[key]].concat();
        let first = self
            .first
            .table
            .batches(&with_key(&first, self.first.key))?;
        let second = self
            .second
            .table
            .batches(&with_key(&second, self.second.key))?;
        let (Some((first_key, first)), Some((second_key, second))) =
            (first.split_last(), second.split_last())
        else {
            return Err("a join without keys".to_owned());
        };
        let rows = RowsByKey::new(second_key)?;
        let mut read: Vec<Vec<Packed>> = wanted.iter().map(|_| Vec::new()).collect();
        let (mut keys, mut values): (Vec<u64>, Vec<u64>) = Default::default();
        for (at, key) in first_key.iter().enumerate() {
            keys.clear();
            key.unpack(&mut keys);
            let valid = key.validity();
            let pairs: Vec<(u32, Place)> = (0..)
                .zip(&keys)
                .filter(|(row, _)| {
                    let valid = valid.as_ref();
                    valid.is_none_or(|bits| is_set(bits, *row as usize))
                })
                .filter_map(|(row, key)| Some((row, rows.find(*key)?)))
                .collect();
            let (of_first, of_second) = read.split_at_mut(first.len());
            for (to, column) in of_first.iter_mut().zip(first) {
                let column = &column[at];
                to.push(if pairs.len() == column.rows() {
                    column.clone()
                } else {
                    let of_pairs = pairs.iter().map(|(row, _)| column.get(*row as usize));
                    Packed::of_rows(of_pairs, &mut values)
                });
            }
            for (to, column) in of_second.iter_mut().zip(second) {
                let of_pairs = pairs.iter();
                let of_pairs = of_pairs.map(|(_, at)| column[at.batch()].get(at.row()));
                to.push(Packed::of_rows(of_pairs, &mut values));
            }
        }
        Ok(read)
    }
}

/// A row, packed as its batch and its index there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place(u32);

impl Place {
    const NONE: Self = Self(u32::MAX);

    fn new(batch: usize, row: usize) -> Option<Self> {
        let (batch, row) = (u16::try_from(batch).ok()?, u16::try_from(row).ok()?);
        let place = Self(u32::from(batch) << 16 | u32::from(row));
        (place != Self::NONE).then_some(place)
    }

    fn batch(self) -> usize {
        (self.0 >> 16) as usize
    }

    fn row(self) -> usize {
        (self.0 & 0xffff) as usize
    }
}

enum RowsByKey {
    /// Indexed by the difference to the smallest key.
    Dense(u64, Vec<Place>),
    Sorted(Vec<(u64, Place)>),
}

impl RowsByKey {
    /// # Errors
    /// Keys are not unique, or there are too many rows.
    fn new(batches: &[Packed]) -> Result<Self, String> {
        let rows: usize = batches.iter().map(Packed::rows).sum();
        let mut all: Vec<(u64, Place)> = Vec::with_capacity(rows);
        let mut keys: Vec<u64> = Vec::new();
        for (batch, packed) in batches.iter().enumerate() {
            keys.clear();
            packed.unpack(&mut keys);
            let valid = packed.validity();
            for (row, key) in keys.iter().enumerate() {
                if valid.as_ref().is_none_or(|bits| is_set(bits, row)) {
                    let place = Place::new(batch, row).ok_or("a table of too many batches")?;
                    all.push((*key, place));
                }
            }
        }
        let least = all.iter().map(|(key, _)| *key).min().unwrap_or(0);
        let most = all.iter().map(|(key, _)| *key).max().unwrap_or(0);
        let twice = || "two rows have one key".to_owned();
        if (most - least) / 4 <= rows as u64 {
            let mut places = vec![Place::NONE; (most - least) as usize + 1];
            for (key, place) in all {
                let at = &mut places[(key - least) as usize];
                if *at != Place::NONE {
                    return Err(twice());
                }
                *at = place;
            }
            return Ok(Self::Dense(least, places));
        }
        all.sort_unstable();
        if all.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            Err(twice())
        } else {
            Ok(Self::Sorted(all))
        }
    }

    fn find(&self, key: u64) -> Option<Place> {
        match self {
            Self::Dense(least, places) => {
                let at = usize::try_from(key.checked_sub(*least)?).ok()?;
                places
                    .get(at)
                    .copied()
                    .filter(|place| *place != Place::NONE)
            }
            Self::Sorted(all) => {
                let at = all.binary_search_by_key(&key, |(key, _)| *key).ok()?;
                Some(all[at].1)
            }
        }
    }
}

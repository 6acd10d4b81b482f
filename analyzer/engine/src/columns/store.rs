//! The columns of one table, read when they are first used, and held until they are let go.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use polars::prelude::DataType;
use serde::{Deserialize, Serialize};

use super::Packed;
use crate::catalog::ID_SUFFIX;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    I64,
    U64,
    U32,
    F64,
    Bool,
    Text,
}

impl Kind {
    pub(crate) fn data_type(self) -> DataType {
        match self {
            Kind::I64 => DataType::Int64,
            Kind::U64 => DataType::UInt64,
            Kind::U32 => DataType::UInt32,
            Kind::F64 => DataType::Float64,
            Kind::Bool => DataType::Boolean,
            Kind::Text => DataType::String,
        }
    }
}

pub(crate) trait ReadColumns: Send + Sync {
    /// Reads the columns, batch by batch in row order. All columns have the same batches. Columns that are computed
    /// are computed together, so a reader of several names them together.
    ///
    /// # Errors
    /// The files have changed, or contain what only the query engine can read.
    fn read(&self, columns: &[usize]) -> Result<Vec<Vec<Packed>>, String>;

    /// Opens the columns for reading single batches in any order. `None` if they can only be read all at once.
    ///
    /// # Errors
    /// As [`ReadColumns::read`].
    fn open(&self, _columns: &[usize]) -> Result<Option<Box<dyn ReadBatches>>, String> {
        Ok(None)
    }

    /// Columns are computed instead of read, all at once. The query engine cannot read them.
    fn is_computed(&self) -> bool {
        false
    }
}

pub(crate) trait ReadBatches: Send {
    fn count(&self) -> usize;

    /// The columns of one batch.
    ///
    /// # Errors
    /// As [`ReadColumns::read`].
    fn batch(&self, number: usize) -> Result<Vec<Packed>, String>;
}

struct HeldBatches {
    columns: Vec<Arc<[Packed]>>,
    _claim: Claim,
}

impl ReadBatches for HeldBatches {
    fn count(&self) -> usize {
        self.columns.first().map_or(0, |batches| batches.len())
    }

    fn batch(&self, number: usize) -> Result<Vec<Packed>, String> {
        let columns = self.columns.iter();
        Ok(columns.map(|batches| batches[number].clone()).collect())
    }
}

pub(crate) struct StoredTable {
    columns: Vec<(String, Kind)>,
    rows: u64,
    reader: Box<dyn ReadColumns>,
    is_numbered: bool,
    cache: Mutex<ColumnCache>,
}

#[derive(Default)]
struct ColumnCache {
    columns: BTreeMap<usize, Arc<[Packed]>>,
    claims: BTreeMap<usize, usize>,
}

/// A planned or current use of some columns. When the last claim on a column is dropped, the column is freed.
pub(crate) struct Claim {
    table: Arc<StoredTable>,
    columns: Vec<usize>,
}

impl StoredTable {
    pub(crate) fn new(
        columns: Vec<(String, Kind)>,
        rows: u64,
        reader: Box<dyn ReadColumns>,
    ) -> Self {
        Self {
            columns,
            rows,
            reader,
            is_numbered: true,
            cache: Mutex::default(),
        }
    }

    pub(crate) fn without_numbers(self) -> Self {
        Self {
            is_numbered: false,
            ..self
        }
    }

    pub(crate) fn is_numbered(&self) -> bool {
        self.is_numbered
    }

    pub(crate) fn columns(&self) -> &[(String, Kind)] {
        &self.columns
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// The query engine cannot read the rows.
    pub(crate) fn is_computed(&self) -> bool {
        self.reader.is_computed()
    }

    pub(crate) fn column(&self, name: &str) -> Option<(usize, Kind)> {
        let at = self.columns.iter().position(|(other, _)| other == name)?;
        Some((at, self.columns[at].1))
    }

    pub(crate) fn text_of_companion(&self, name: &str) -> Option<usize> {
        if !self.is_numbered || self.column(name).is_some() {
            return None;
        }
        match self.column(name.strip_suffix(ID_SUFFIX)?)? {
            (column, Kind::Text) => Some(column),
            _ => None,
        }
    }

    /// The batches of some columns. Those not in memory are read at once.
    ///
    /// # Errors
    /// Those of [`ReadColumns::read`].
    pub(crate) fn batches(&self, columns: &[usize]) -> Result<Vec<Arc<[Packed]>>, String> {
        let cache = &mut *self.cache();
        let (columns_held, claims) = (&mut cache.columns, &cache.claims);
        let mut absent: Vec<usize> = columns.to_vec();
        absent.retain(|column| !columns_held.contains_key(column));
        absent.sort_unstable();
        absent.dedup();
        if !absent.is_empty() && self.is_computed() {
            // What others claimed is computed with them. Without claims nothing is known of later queries.
            absent = match claims.len() {
                0 => (0..self.columns.len()).collect(),
                _ => absent.iter().chain(claims.keys()).copied().collect(),
            };
            absent.sort_unstable();
            absent.dedup();
            absent.retain(|column| !columns_held.contains_key(column));
        }
        if !absent.is_empty() {
            let read = self.reader.read(&absent)?;
            let read = read.into_iter().map(Arc::from);
            columns_held.extend(absent.into_iter().zip(read));
        }
        let known = columns
            .iter()
            .map(|column| columns_held.get(column).cloned());
        known
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| "a column was not read".to_owned())
    }

    /// The batches of some columns, read one by one if the table's reader supports it.
    ///
    /// # Errors
    /// Those of [`ReadColumns::read`].
    pub(crate) fn open(
        table: &Arc<StoredTable>,
        columns: &[usize],
    ) -> Result<Box<dyn ReadBatches>, String> {
        if let Some(batches) = table.reader.open(columns)? {
            return Ok(batches);
        }
        let claim = Claim::new(table, columns);
        Ok(Box::new(HeldBatches {
            columns: table.batches(columns)?,
            _claim: claim,
        }))
    }

    /// Some columns, of which those that no other query claims are read one by one, where the table's reader supports
    /// it. The others are held.
    ///
    /// # Errors
    /// Those of [`ReadColumns::read`].
    pub(crate) fn stream(&self, columns: &[usize]) -> Result<ColumnStream, String> {
        let is_own = |column: &usize| {
            let cache = self.cache();
            cache.claims.get(column) == Some(&1) && !cache.columns.contains_key(column)
        };
        let own: Vec<bool> = columns.iter().map(is_own).collect();
        let of = |is_own: bool| {
            let columns = columns.iter().zip(&own);
            let columns = columns.filter(move |(_, own)| **own == is_own);
            columns.map(|(column, _)| *column).collect::<Vec<usize>>()
        };
        let opened = match of(true).as_slice() {
            [] => None,
            own => self.reader.open(own)?,
        };
        let Some(opened) = opened else {
            return Ok(ColumnStream {
                own: vec![false; columns.len()],
                held: self.batches(columns)?,
                opened: None,
            });
        };
        Ok(ColumnStream {
            held: self.batches(&of(false))?,
            own,
            opened: Some(opened),
        })
    }

    fn cache(&self) -> MutexGuard<'_, ColumnCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Batches of columns, each read on demand, or held by the table.
pub(crate) struct ColumnStream {
    /// By column: it is read batch by batch.
    own: Vec<bool>,
    held: Vec<Arc<[Packed]>>,
    opened: Option<Box<dyn ReadBatches>>,
}

impl ColumnStream {
    pub(crate) fn count(&self) -> usize {
        let held = || self.held.first().map_or(0, |batches| batches.len());
        self.opened.as_ref().map_or_else(held, |of| of.count())
    }

    /// Calls `with` with the columns of a batch.
    ///
    /// # Errors
    /// As [`ReadColumns::read`].
    pub(crate) fn batch<T>(
        &self,
        number: usize,
        with: impl FnOnce(Vec<&Packed>) -> T,
    ) -> Result<T, String> {
        let read = match &self.opened {
            Some(opened) => opened.batch(number)?,
            None => Vec::new(),
        };
        let (mut read, mut held) = (read.iter(), self.held.iter());
        let column = |own: &bool| {
            if *own {
                read.next()
            } else {
                held.next()?.get(number)
            }
        };
        let columns: Option<Vec<&Packed>> = self.own.iter().map(column).collect();
        let columns = columns.filter(|columns| {
            columns
                .iter()
                .all(|column| column.rows() == columns[0].rows())
        });
        Ok(with(columns.ok_or("the batches of columns differ")?))
    }
}

impl Claim {
    pub(crate) fn new(table: &Arc<StoredTable>, columns: &[usize]) -> Self {
        let columns = columns.to_vec();
        let claims = &mut table.cache().claims;
        for column in &columns {
            *claims.entry(*column).or_default() += 1;
        }
        let table = Arc::clone(table);
        Self { table, columns }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let cache = &mut *self.table.cache();
        for column in &self.columns {
            let Some(claims) = cache.claims.get_mut(column) else {
                continue;
            };
            *claims -= 1;
            if *claims == 0 {
                cache.claims.remove(column);
                cache.columns.remove(column);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Noted(Arc<Mutex<Vec<usize>>>);

    impl ReadColumns for Noted {
        fn read(&self, columns: &[usize]) -> Result<Vec<Vec<Packed>>, String> {
            self.0.lock().unwrap().extend(columns);
            let row = || Packed::of_rows([Some(0)].into_iter(), &mut Vec::new());
            Ok(columns.iter().map(|_| vec![row()]).collect())
        }
    }

    /// A column of three batches, whose number is the value of all its rows.
    struct OneByOne(Vec<usize>);

    impl ReadBatches for OneByOne {
        fn count(&self) -> usize {
            3
        }

        fn batch(&self, number: usize) -> Result<Vec<Packed>, String> {
            let rows = |column: &usize| Packed::same(number + 1, *column as u64, None);
            Ok(self.0.iter().map(rows).collect())
        }
    }

    struct Computed {
        is_computed: bool,
        read: Arc<Mutex<Vec<usize>>>,
    }

    impl ReadColumns for Computed {
        fn read(&self, columns: &[usize]) -> Result<Vec<Vec<Packed>>, String> {
            self.read.lock().unwrap().extend(columns);
            let batches = |column: &usize| {
                let batches = (0..3).map(|number| OneByOne(vec![*column]).batch(number));
                batches.map(|batch| batch.unwrap().remove(0)).collect()
            };
            Ok(columns.iter().map(batches).collect())
        }

        fn open(&self, columns: &[usize]) -> Result<Option<Box<dyn ReadBatches>>, String> {
            Ok(Some(Box::new(OneByOne(columns.to_vec()))))
        }

        fn is_computed(&self) -> bool {
            self.is_computed
        }
    }

    fn table_of(is_computed: bool) -> (Arc<StoredTable>, impl Fn() -> Vec<usize>) {
        let read = Arc::new(Mutex::new(Vec::new()));
        let columns = ["a", "b", "c"].map(|name| (name.to_owned(), Kind::U64));
        let reader = Computed {
            is_computed,
            read: Arc::clone(&read),
        };
        let table = StoredTable::new(columns.to_vec(), 6, Box::new(reader));
        let taken = move || std::mem::take(&mut *read.lock().unwrap());
        (Arc::new(table), taken)
    }

    #[test]
    fn what_one_query_alone_claims_is_not_held() {
        let (table, read) = table_of(false);
        let (both, other) = (Claim::new(&table, &[0, 1]), Claim::new(&table, &[1]));
        for claimed in [&[1][..], &[]] {
            let stream = table.stream(&[0, 1]).unwrap();
            assert_eq!(read(), claimed);
            for number in 0..stream.count() {
                let found = stream.batch(number, |columns| {
                    let value = |packed: &&Packed| (packed.rows(), packed.one_value());
                    columns.iter().map(value).collect::<Vec<_>>()
                });
                let expected = [0, 1].map(|column| (number + 1, Some(column)));
                assert_eq!(found.unwrap(), expected);
            }
        }
        drop((both, other));
        assert!(table.cache().columns.is_empty());
    }

    #[test]
    fn what_is_computed_is_what_is_claimed_and_without_claims_everything() {
        let (table, read) = table_of(true);
        let claim = Claim::new(&table, &[2]);
        table.batches(&[1]).unwrap();
        assert_eq!(read(), [1, 2]);
        drop(claim);
        table.batches(&[1, 2]).unwrap();
        assert_eq!(read(), [0, 2]);
    }

    #[test]
    fn a_column_is_let_go_of_with_its_last_claim() {
        let read = Arc::new(Mutex::new(Vec::new()));
        let columns = ["a", "b", "c"].map(|name| (name.to_owned(), Kind::U64));
        let reader = Noted(Arc::clone(&read));
        let table = StoredTable::new(columns.to_vec(), 1, Box::new(reader));
        let table = Arc::new(table);
        let (both, one) = (Claim::new(&table, &[0, 1]), Claim::new(&table, &[1]));
        let again = || {
            table.batches(&[0, 1, 2]).unwrap();
            std::mem::take(&mut *read.lock().unwrap())
        };
        assert_eq!(again(), [0, 1, 2]);
        assert_eq!(again(), [0; 0]);
        drop(both);
        assert_eq!(again(), [0]);
        drop(one);
        // The last was never claimed, nor is the first any more.
        assert_eq!(again(), [1]);
    }
}

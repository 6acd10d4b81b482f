//! The columns of one table, read when they are asked for, and kept until they are let go.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::Packed;
use crate::catalog::ID_SUFFIX;

/// Type of a published column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    I64,
    U64,
    U32,
    F64,
    Bool,
    /// The number of the text in the engine's dictionary.
    Text,
}

/// Reader of columns, by their numbers in the table.
pub(crate) trait ReadColumns: Send + Sync {
    /// Each of the columns, batch by batch in the order of the rows; the batches of all columns have the same rows.
    ///
    /// # Errors
    /// The files are not as they were, or hold what only the query engine reads.
    fn read(&self, columns: &[usize]) -> Result<Vec<Vec<Packed>>, String>;

    /// True if columns are not read but computed, all of them at once; the query engine cannot read them then.
    fn is_computed(&self) -> bool {
        false
    }
}

/// A recorded table whose columns can be had without the query engine.
pub(crate) struct StoredTable {
    columns: Vec<(String, Kind)>,
    rows: u64,
    reader: Box<dyn ReadColumns>,
    is_numbered: bool,
    /// Those in memory, by number.
    kept: Mutex<BTreeMap<usize, Arc<[Packed]>>>,
}

impl StoredTable {
    /// A table of these columns and so many rows, none of them read.
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
            kept: Mutex::default(),
        }
    }

    /// The same without companions of text columns.
    pub(crate) fn without_numbers(self) -> Self {
        Self {
            is_numbered: false,
            ..self
        }
    }

    /// True if text columns have companions with the numbers of their texts.
    pub(crate) fn is_numbered(&self) -> bool {
        self.is_numbered
    }

    /// Names and types of its columns.
    pub(crate) fn columns(&self) -> &[(String, Kind)] {
        &self.columns
    }

    /// Number of its rows.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// True if its rows are had from here only.
    pub(crate) fn is_computed(&self) -> bool {
        self.reader.is_computed()
    }

    /// Number and type of a column.
    pub(crate) fn column(&self, name: &str) -> Option<(usize, Kind)> {
        let at = self.columns.iter().position(|(other, _)| other == name)?;
        Some((at, self.columns[at].1))
    }

    /// Number of the text column that a column of this name is the companion of: it has the number of each text.
    pub(crate) fn text_of_companion(&self, name: &str) -> Option<usize> {
        if !self.is_numbered || self.column(name).is_some() {
            return None;
        }
        match self.column(name.strip_suffix(ID_SUFFIX)?)? {
            (column, Kind::Text) => Some(column),
            _ => None,
        }
    }

    /// The batches of some columns; those that are not in memory are read at once.
    ///
    /// # Errors
    /// Those of [`ReadColumns::read`].
    pub(crate) fn batches(&self, columns: &[usize]) -> Result<Vec<Arc<[Packed]>>, String> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut absent: Vec<usize> = columns.to_vec();
        absent.retain(|column| !kept.contains_key(column));
        absent.sort_unstable();
        absent.dedup();
        if !absent.is_empty() && self.is_computed() {
            absent = (0..self.columns.len()).collect();
            absent.retain(|column| !kept.contains_key(column));
        }
        if !absent.is_empty() {
            let read = self.reader.read(&absent)?;
            let read = read.into_iter().map(Arc::from);
            kept.extend(absent.into_iter().zip(read));
        }
        let known = columns.iter().map(|column| kept.get(column).cloned());
        known
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| "a column was not read".to_owned())
    }

    /// Lets go of the columns that nobody is going to ask for.
    pub(crate) fn keep(&self, is_wanted: impl Fn(usize) -> bool) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|column, _| is_wanted(*column));
    }
}

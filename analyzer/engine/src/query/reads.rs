//! Tables and columns that queries read, and what of them stays in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, MutexGuard, PoisonError};

use super::column_source::Named;
use super::database::{Known, Reads};
use super::direct::MIN_ROWS;
use super::{Database, dictionary_lookup, tokens};
use crate::catalog::ID_SUFFIX;
use crate::columns::{Claim, StoredTable};

/// Claims of one query on columns in memory. Dropping it releases them.
#[derive(Default)]
pub struct Claims {
    _of_tables: Vec<Claim>,
}

impl Database {
    /// Unpacked size in bytes of the columns that a query reads. `None` if it is unknown in advance. Missing
    /// tables count as 0, and so do queries over small tables only.
    pub fn bytes_of(&self, sql: &str) -> Option<u64> {
        const VALUE_BYTES: u64 = 8;
        if self.is_small() {
            return Some(0);
        }
        let tokens = tokens::tokens(&self.quoted(sql));
        let names: BTreeSet<&str> = tokens.iter().filter_map(|t| t.name.as_deref()).collect();
        let of_table = |name: &String| match self.stored.get(name) {
            Some(table) => {
                let named = Named::of(&tokens, table).map(|named| named.columns().count());
                let columns = named.unwrap_or_else(|| table.columns().len());
                Some(table.rows() * columns as u64 * VALUE_BYTES)
            }
            None => None,
        };
        let tables = self
            .tables
            .keys()
            .filter(|name| names.contains(name.as_str()));
        tables.map(of_table).sum()
    }

    /// Columns that any of these queries may read, by stored table, numbers of texts by the names of their columns
    /// (`name_id`). A table is left out if a query may read columns of it without naming them.
    pub fn columns_read(&self, queries: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
        let tokens: Vec<_> = queries
            .iter()
            .map(|sql| tokens::tokens(&self.quoted(sql)))
            .collect();
        let of_table = |(name, table): (&String, &Arc<StoredTable>)| {
            let mut columns = BTreeSet::new();
            for tokens in &tokens {
                if tokens
                    .iter()
                    .any(|token| token.name.as_deref() == Some(name))
                {
                    let named = Named::of(tokens, table)?;
                    columns.extend(named.names(table));
                }
            }
            Some((name.clone(), columns))
        };
        self.stored.iter().filter_map(of_table).collect()
    }

    /// Claims the columns that a query reads. A claimed column is freed with its last claim.
    pub fn claims(&self, sql: &str) -> Claims {
        if self.is_small() {
            return Claims::default();
        }
        let claim = |(table, columns): &(String, Vec<usize>)| {
            let table = self.stored.get(table)?;
            Some(Claim::new(table, columns))
        };
        Claims {
            _of_tables: self.reads(sql).iter().filter_map(claim).collect(),
        }
    }

    /// The tables are so small that analyzing queries saves no memory.
    fn is_small(&self) -> bool {
        let rows: u64 = self.stored.values().map(|table| table.rows()).sum();
        self.stored.len() == self.tables.len() && rows < MIN_ROWS
    }

    fn reads(&self, sql: &str) -> Reads {
        let known = |known: &Known| known.reads.clone();
        if let Some(reads) = self.known().get(sql).and_then(known) {
            return reads;
        }
        let reads = self.columns_of_direct(sql).unwrap_or_else(|| {
            let named = self.named_columns(sql, MIN_ROWS).into_iter();
            let named = named.map(|(name, _, named)| (name.to_owned(), named.columns().collect()));
            named.collect()
        });
        let reads: Reads = reads.into();
        self.known().entry(sql.into()).or_default().reads = Some(Arc::clone(&reads));
        reads
    }

    pub(super) fn known(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn columns_of_direct(&self, sql: &str) -> Option<Vec<(String, Vec<usize>)>> {
        if let Some(asked) = dictionary_lookup::parse(sql, ID_SUFFIX) {
            let column = self.stored.get(&asked.table)?.column(&asked.column)?.0;
            return Some(vec![(asked.table, vec![column])]);
        }
        let direct = self.form(sql)?;
        let of = |table: &Arc<StoredTable>| direct.is_of(table);
        let (name, _) = self.stored.iter().find(|(_, table)| of(table))?;
        let mut all = vec![(name.clone(), direct.columns())];
        for sql in direct.asked() {
            all.extend(self.reads(sql).iter().cloned());
        }
        Some(all)
    }

    /// The tables that a query names have few rows in total, and can be read without the engine.
    pub(super) fn has_few_rows(&self, sql: &str) -> bool {
        let tokens = tokens::tokens(&self.quoted(sql));
        let names: BTreeSet<&str> = tokens.iter().filter_map(|t| t.name.as_deref()).collect();
        let named = self
            .tables
            .keys()
            .filter(|name| names.contains(name.as_str()));
        let rows = named.map(|name| Some(self.stored.get(name)?.rows()));
        rows.sum::<Option<u64>>()
            .is_some_and(|rows| rows < MIN_ROWS)
    }
}

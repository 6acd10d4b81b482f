//! Queries that choose columns and rows of one recorded table, answered without the query engine.
//!
//! Nearly all inputs of plugins are such queries, over all rows of a run. Here a column is decoded once for all of
//! them, conditions on texts look at numbers, and rows go to the plugin batch by batch. A query that is not known to
//! be of this kind, and to mean the same here as there, is left to the engine.

mod parse;
mod rows;

use std::collections::BTreeSet;
use std::sync::Arc;

use polars::prelude::CategoricalMapping;

use crate::columns::{Kind, StoredTable};

pub(super) use parse::query;
pub(super) use rows::distinct;

/// A query over one table.
#[derive(Clone)]
pub(crate) struct Direct {
    table: Arc<StoredTable>,
    numbers: Arc<CategoricalMapping>,
    items: Vec<(String, Item)>,
    filter: Option<Condition>,
}

/// A column of a result. Columns of the table go by their numbers.
#[derive(Clone, Debug, PartialEq)]
enum Item {
    /// As it is stored.
    Column(usize, Kind),
    /// The number of a text.
    Id(usize),
    /// The sum of two columns of 64 bits.
    Sum(usize, usize, Kind),
    /// Truth of a condition.
    Truth(Condition),
}

/// A condition of rows, with three truths.
#[derive(Clone, Debug, PartialEq)]
enum Condition {
    /// A column of truth values.
    Column(usize),
    /// A text is the one with that number; `None`: no row has that text.
    Text(usize, Option<u64>),
    /// An integer compared with a number that is not negative.
    Integer(usize, Kind, Comparison, u64),
    /// A value is there.
    Present(usize),
    Not(Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Direct {
    /// Columns of the table that it reads.
    pub(super) fn columns(&self) -> Vec<usize> {
        let mut columns = BTreeSet::new();
        for (_, item) in &self.items {
            match item {
                Item::Column(column, _) | Item::Id(column) => {
                    columns.insert(*column);
                }
                Item::Sum(a, b, _) => columns.extend([*a, *b]),
                Item::Truth(condition) => condition.add_columns(&mut columns),
            }
        }
        if let Some(filter) = &self.filter {
            filter.add_columns(&mut columns);
        }
        columns.into_iter().collect()
    }

    /// True if it reads that table.
    pub(super) fn is_of(&self, table: &Arc<StoredTable>) -> bool {
        Arc::ptr_eq(&self.table, table)
    }
}

impl Condition {
    fn add_columns(&self, to: &mut BTreeSet<usize>) {
        match self {
            Self::Column(column)
            | Self::Text(column, _)
            | Self::Integer(column, ..)
            | Self::Present(column) => {
                to.insert(*column);
            }
            Self::Not(inner) => inner.add_columns(to),
            Self::And(a, b) | Self::Or(a, b) => {
                a.add_columns(to);
                b.add_columns(to);
            }
        }
    }
}

//! Queries over one recorded table, answered without the query engine.
//!
//! Nearly all inputs of plugins choose columns and rows of one table, or sum some up by others, over all rows of a
//! run. Here a column is decoded once for all of them, conditions on texts look at numbers, and rows go to the plugin
//! batch by batch. A query that is not known to be of this kind, and to mean the same here as there, is left to the
//! engine.

mod condition;
mod groups;
mod join;
mod parse;
mod resolve;
mod result;
mod rows;
mod scope;

use std::collections::BTreeSet;
use std::sync::Arc;

use polars::prelude::CategoricalMapping;

use crate::columns::{Kind, StoredTable};
use groups::Grouping;

pub(super) use parse::query;
pub(super) use rows::distinct;

/// Smaller tables, and those with columns that cannot be read without the engine, are left to the engine when
/// streaming.
pub(super) const MIN_ROWS: u64 = 1 << 16;

/// A query over one table that needs no engine.
#[derive(Clone)]
pub(crate) struct Direct {
    table: Arc<StoredTable>,
    numbers: Arc<CategoricalMapping>,
    filter: Option<Condition>,
    output: Output,
    order: Vec<Order>,
}

#[derive(Clone, Debug, PartialEq)]
enum Output {
    /// One result row each. Only the first `shown` columns are returned; the others are sort keys.
    Rows {
        items: Vec<(String, Item)>,
        shown: usize,
    },
    Groups(Grouping),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Order {
    column: usize,
    is_descending: bool,
    nulls_first: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Item {
    Column(usize, Kind),
    Id(usize),
    Sum(Box<Item>, Box<Item>),
    /// An integer, or this default if it is missing.
    OrElse(Box<Item>, u64),
    Truth(Condition),
}

#[derive(Clone, Debug, PartialEq)]
enum Condition {
    Constant(bool),
    Column(usize),
    Text(usize, u64),
    Texts(usize, TextTest),
    Numbers(usize, Arc<[bool]>),
    Integer(usize, Kind, Comparison, u64),
    /// An integer, as its 64 bits, is in this sorted list.
    Integers(usize, Arc<[u64]>),
    Among(usize, ValueType, String),
    Same(usize, usize),
    Present(usize),
    Not(Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueType {
    Text,
    I64,
    U64,
}

#[derive(Clone, Debug, PartialEq)]
enum TextTest {
    Among(BTreeSet<String>),
    /// `LIKE`, optionally after `LOWER`.
    Like {
        is_lower: bool,
        pattern: Vec<char>,
    },
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
    pub(super) fn columns(&self) -> Vec<usize> {
        let mut columns = BTreeSet::new();
        match &self.output {
            Output::Rows { items, .. } => {
                items
                    .iter()
                    .for_each(|(_, item)| item.add_columns(&mut columns));
            }
            Output::Groups(grouping) => grouping
                .items()
                .for_each(|item| item.add_columns(&mut columns)),
        }
        if let Some(filter) = &self.filter {
            filter.add_columns(&mut columns);
        }
        // Rows are counted by a column, whichever.
        if columns.is_empty() {
            columns.insert(0);
        }
        columns.into_iter().collect()
    }

    pub(super) fn table(&self) -> &StoredTable {
        &self.table
    }

    pub(super) fn is_of(&self, table: &Arc<StoredTable>) -> bool {
        Arc::ptr_eq(&self.table, table)
    }

    /// The query returns few rows for many.
    pub(super) fn is_grouped(&self) -> bool {
        matches!(self.output, Output::Groups(_))
    }
}

impl Item {
    fn add_columns(&self, to: &mut BTreeSet<usize>) {
        match self {
            Self::Column(column, _) | Self::Id(column) => {
                to.insert(*column);
            }
            Self::Sum(a, b) => {
                a.add_columns(to);
                b.add_columns(to);
            }
            Self::OrElse(item, _) => item.add_columns(to),
            Self::Truth(condition) => condition.add_columns(to),
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Column(_, kind) => *kind,
            Self::Id(_) => Kind::I64,
            Self::Sum(a, _) => a.kind(),
            Self::OrElse(item, _) => item.kind(),
            Self::Truth(_) => Kind::Bool,
        }
    }
}

impl Condition {
    fn add_columns(&self, to: &mut BTreeSet<usize>) {
        match self {
            Self::Constant(_) => {}
            Self::Column(column)
            | Self::Text(column, _)
            | Self::Texts(column, _)
            | Self::Numbers(column, _)
            | Self::Integer(column, ..)
            | Self::Integers(column, _)
            | Self::Among(column, ..)
            | Self::Present(column) => {
                to.insert(*column);
            }
            Self::Same(a, b) => to.extend([*a, *b]),
            Self::Not(inner) => inner.add_columns(to),
            Self::And(a, b) | Self::Or(a, b) => {
                a.add_columns(to);
                b.add_columns(to);
            }
        }
    }
}

//! Queries over tables that another engine reads.
//!
//! The other engine is asked for what gives the same rows whichever engine does it, in any order: columns of a table, the
//! rows that pass conditions on whole numbers and texts, and groups with their counts, sums of whole numbers and
//! extremes. All else of a query is answered here, over what is left: fractions, windows, joins, order, names and types
//! of columns. So the answer is the one that this engine gives alone, to the byte, and no function of the other one has
//! to mean the same.

mod condition;
mod gathered;
mod grouping;

use std::collections::{BTreeMap, BTreeSet};

use polars::prelude::{DataFrame, DataType, SchemaRef};
use sqlparser::ast::Expr;

use super::error::first_line;
use super::{Database, QueryError, collect_in_order, rewrite, tables_of};
use crate::columns::{Kind, StoredTable};
use grouping::Grouping;

/// Column with the rank of each row, which exists in all tables of the other engine.
const RANK: &str = "rank";

pub type RowsOfRanks = BTreeMap<String, BTreeMap<u32, u64>>;

pub struct Divided {
    sql: String,
    schema: SchemaRef,
    pieces: Vec<Piece>,
    grouping: Option<Grouping>,
}

/// A question to the other engine: SQL over one table that both engines interpret in the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub table: String,
    /// The question. Rows may come in any order, but those of a rank must be in table order.
    pub sql: String,
    columns: Vec<(String, DataType)>,
    /// Column with the number of rows per group; `None` if the answer consists of table rows.
    counted: Option<String>,
    /// Row counts by rank that the answer must account for; `None` if there is a condition.
    whole: Option<BTreeMap<u32, u64>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Division {
    /// The other engine groups if the result is exact; otherwise it returns rows.
    Groups,
    Rows,
}

impl Database {
    /// Divides a query over tables of which the other engine has these rows.
    ///
    /// # Errors
    /// Those of [`collect_in_order`] that are detected before the query runs.
    pub fn divided(
        &self,
        sql: &str,
        rows: &RowsOfRanks,
        division: Division,
    ) -> Result<Divided, QueryError> {
        let schema = self.planned_columns(sql)?.collect_schema();
        let schema = schema.map_err(|error| QueryError::Failed(first_line(&error)))?;
        let mut divided = Divided {
            pieces: Vec::new(),
            grouping: None,
            sql: sql.to_owned(),
            schema,
        };
        if !is_of_rows(&divided.sql) {
            return Ok(divided);
        }
        if division == Division::Groups
            && let Some((grouping, piece)) = self.grouping(&divided, rows)
        {
            divided.pieces.push(piece);
            divided.grouping = Some(grouping);
            return Ok(divided);
        }
        for table in tables_of(&divided.sql).unwrap_or_default() {
            if let (Some(rows), Some(stored)) = (rows.get(&table), self.stored.get(&table)) {
                divided
                    .pieces
                    .push(self.rows_of(&divided, &table, stored, rows));
            }
        }
        Ok(divided)
    }
}

fn is_of_rows(sql: &str) -> bool {
    let tokens = super::tokens::tokens(sql);
    let first = tokens
        .iter()
        .find(|token| token.kind != super::tokens::Kind::Mark('('));
    first.is_some_and(|token| !token.is("explain") && !token.is("show"))
}

impl Divided {
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The result of the query, from the answers to its pieces. `None` if its groups are not exact, so that it
    /// must be divided by rows.
    ///
    /// # Errors
    /// An answer does not match its question; those of [`collect_in_order`].
    pub fn answer(
        &self,
        database: &Database,
        answers: Vec<DataFrame>,
    ) -> Result<Option<DataFrame>, QueryError> {
        let mut pieces = self.pieces.iter().zip(answers);
        let Some(grouping) = &self.grouping else {
            let mut own = database.clone();
            for (piece, rows) in pieces {
                own.publish_gathered(&piece.table, piece.rows(rows)?)?;
            }
            return collect_in_order(&own, &self.sql).map(Some);
        };
        let Some((piece, groups)) = pieces.next() else {
            return Ok(None);
        };
        let Some(groups) = grouping.groups(piece.rows(groups)?)? else {
            return Ok(None);
        };
        let mut own = database.clone();
        own.publish_gathered(&piece.table, groups)?;
        let found = super::collect(&own, &grouping.sql)?;
        gathered::as_planned(found, &self.schema).map(Some)
    }
}

impl Piece {
    /// The answer in the types of the table, sorted by rank, if it accounts for all rows.
    fn rows(&self, answer: DataFrame) -> Result<DataFrame, QueryError> {
        let rows = gathered::typed(answer, &self.columns).map_err(|why| self.refused(&why))?;
        let Some(whole) = &self.whole else {
            return Ok(rows);
        };
        let (found, expected) = match &self.counted {
            Some(counted) => {
                let all = gathered::sum(&rows, counted);
                (
                    BTreeMap::from([(0, all)]),
                    BTreeMap::from([(0, whole.values().sum())]),
                )
            }
            None => (gathered::rows_of_ranks(&rows), whole.clone()),
        };
        if found == expected {
            return Ok(rows);
        }
        let differs = |rank: &&u32| found.get(rank) != expected.get(rank);
        let ranks: BTreeSet<&u32> = found.keys().chain(expected.keys()).collect();
        let rank = ranks.into_iter().find(differs).copied().unwrap_or(0);
        let (found, expected) = (found.get(&rank), expected.get(&rank));
        let whose = match self.counted {
            Some(_) => String::new(),
            None => format!(" of rank {rank}"),
        };
        Err(self.refused(&format!(
            "it stands for {} rows{whose}, and there are {}",
            found.unwrap_or(&0),
            expected.unwrap_or(&0)
        )))
    }

    fn refused(&self, why: &str) -> QueryError {
        QueryError::Failed(format!(
            "the answer of the cluster for {} is refused: {why}",
            self.table
        ))
    }
}

struct Scope<'a> {
    stored: &'a StoredTable,
    called: String,
}

impl Scope<'_> {
    /// The name and kind of a column, if the expression is nothing else.
    fn column<'e>(&self, expr: &'e Expr) -> Option<(&'e str, Kind)> {
        let name = self.name(expr)?;
        Some((name, self.stored.column(name)?.1))
    }

    fn text_of_companion(&self, name: &str) -> Option<&str> {
        let column = self.stored.text_of_companion(name)?;
        Some(&self.stored.columns()[column].0)
    }

    fn name<'e>(&self, expr: &'e Expr) -> Option<&'e str> {
        match expr {
            Expr::Identifier(name) => Some(&name.value),
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [table, name] if table.value == self.called => Some(&name.value),
                _ => None,
            },
            Expr::Nested(inner) => self.name(inner),
            _ => None,
        }
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(quoted).collect::<Vec<_>>().join(", ")
}

fn in_order(sql: &str, columns: usize) -> String {
    rewrite::order_totally(sql, columns).unwrap_or_else(|| sql.to_owned())
}

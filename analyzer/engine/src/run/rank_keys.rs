//! Numbers that are unique in a rank become unique in the whole.
//!
//! The rank goes into the upper bits ([`trueno_plugin::rank`]). What reaches into them already
//! cannot be kept apart: such values are read as null, and rows that must have them are left
//! out. Both are counted.
//!
//! They are renumbered, not only marked: with a column `rank` alone, each plugin that groups by thread or joins by
//! correlation would mix ranks up unnoticed.

use std::collections::BTreeMap;

use polars::prelude::{DataType, Engine, Expr, LazyFrame, NULL, col, lit, when};
use trueno_format::schema::{self, Column, Scope, Table};
use trueno_model::Problem;
use trueno_plugin::rank::{KEY_BITS, PLACE_BITS};

use crate::literal::typed_lit;
use crate::panic_guard::guarded;
use crate::run::Run;

/// Values that do not fit into their bits once the rank is added, by table and column.
#[derive(Debug, Default)]
pub(super) struct Beyond {
    values: BTreeMap<(&'static str, &'static str), u64>,
    pub(super) rows: BTreeMap<&'static str, u64>,
    failed: Vec<Problem>,
}

/// Number of bits available for a value; `None` for any value.
fn room(column: &Column) -> Option<u32> {
    match column.scope() {
        Scope::Key => Some(KEY_BITS),
        Scope::Place => Some(PLACE_BITS),
        Scope::PlaceName | Scope::Time | Scope::Value => None,
    }
}

/// The smallest value that does not fit; `None` if all fit.
fn limit(column: &Column) -> Option<Expr> {
    let bits = room(column)?;
    Some(match column.scope() {
        Scope::Place => typed_lit(1_u32 << bits),
        _ => typed_lit(1_u64 << bits),
    })
}

fn is_beyond(column: &Column) -> Option<Expr> {
    Some(col(column.name).gt_eq(limit(column)?))
}

impl Beyond {
    pub(super) fn find(run: &Run) -> Self {
        let mut found = Self::default();
        for table in schema::TABLES {
            if run.rows_of(table.name) > 0
                && !all_have_room(run, table)
                && let Some(frame) = run.frame_with_rows(table.name)
            {
                found.table(table, frame);
            }
        }
        found
    }

    fn table(&mut self, table: &'static Table, frame: LazyFrame) {
        let keys: Vec<&'static Column> = table
            .columns
            .iter()
            .filter(|column| limit(column).is_some())
            .collect();
        let count = |expr: Expr, name: &str| expr.sum().cast(DataType::UInt64).alias(name);
        let mut counts: Vec<Expr> = keys
            .iter()
            .filter_map(|column| Some(count(is_beyond(column)?, column.name)))
            .collect();
        if let Some(any) = left_out(table) {
            counts.push(count(any, ROWS));
        }
        if counts.is_empty() {
            return;
        }
        let counted = guarded(|| frame.select(counts).collect_with_engine(Engine::Streaming));
        let counted = match counted {
            Ok(result) => result.unwrap_single(),
            Err(why) => {
                let text = format!("{}: its keys could not be checked: {why}", table.name);
                self.failed.push(Problem::warning("keys_not_checked", text));
                return;
            }
        };
        let at = |name: &str| -> u64 {
            let column = counted.column(name).ok();
            column
                .and_then(|column| column.get(0).ok()?.extract())
                .unwrap_or(0)
        };
        for column in keys.iter().filter(|column| at(column.name) > 0) {
            self.values
                .insert((table.name, column.name), at(column.name));
        }
        if at(ROWS) > 0 {
            self.rows.insert(table.name, at(ROWS));
        }
    }

    /// Whether rows of the table are left out, or values read as null.
    pub(super) fn is_in(&self, table: &str) -> bool {
        self.rows.contains_key(table) || self.values.keys().any(|(of, _)| *of == table)
    }

    pub(super) fn has(&self, table: &str, column: &str) -> bool {
        self.values.contains_key(&(table, column))
    }

    pub(super) fn problems(&self) -> Vec<Problem> {
        let mut problems = self.failed.clone();
        for ((table, column), count) in &self.values {
            let rows = self.rows.contains_key(table)
                && schema::table(table)
                    .and_then(|table| table.column(column))
                    .is_some_and(|column| !column.nullable);
            let became = if rows {
                "their rows are left out"
            } else {
                "they are read as null"
            };
            let text = format!(
                "{table}.{column}: {count} values leave no room for the rank, {became} (hint: the rank's own folder has them)"
            );
            problems.push(Problem::error("keys_beyond", text));
        }
        problems
    }
}

/// True if the packed columns show that all values fit. If false, the engine has to count, which takes a hundred
/// times as long for a small table.
fn all_have_room(run: &Run, table: &Table) -> bool {
    let Some(stored) = run.stored(table.name) else {
        return false;
    };
    let keys = table.columns.iter();
    let keys = keys.filter_map(|column| Some((stored.column(column.name)?.0, room(column)?)));
    let (columns, bits): (Vec<usize>, Vec<u32>) = keys.unzip();
    let Ok(batches) = stored.batches(&columns) else {
        return false;
    };
    let mut all = batches.iter().zip(bits);
    all.all(|(batches, bits)| batches.iter().all(|batch| batch.bound() >> bits == 0))
}

const ROWS: &str = "rows left out";

/// Condition for rows with a required key that does not fit.
pub(super) fn left_out(table: &Table) -> Option<Expr> {
    let needed = table.columns.iter().filter(|column| !column.nullable);
    needed.filter_map(is_beyond).reduce(Expr::or)
}

pub(super) fn moved(column: &Column, rank: u32, offset_ns: i64, has_beyond: bool) -> Expr {
    let name = column.name;
    let value = match column.scope() {
        Scope::Key if rank > 0 => col(name) + typed_lit(u64::from(rank) << KEY_BITS),
        Scope::Place if rank > 0 => col(name) + typed_lit(rank << PLACE_BITS),
        Scope::Time if offset_ns != 0 => col(name) + typed_lit(offset_ns),
        _ => col(name),
    };
    match limit(column).filter(|_| has_beyond && column.nullable) {
        Some(limit) => when(col(name).lt(limit)).then(value).otherwise(lit(NULL)),
        None => value,
    }
    .alias(name)
}

//! All rows with times, of all tables, by one number.

use std::collections::BTreeMap;

use trueno_plugin::{Column, I64Column, Result, Run, Table, U64Column};

/// Tables with intervals; a row's number counts through them in this order.
pub const TABLES: [&str; 6] = ["bricks", "kernels", "tiles", "syncs", "calls", "transfers"];

/// The rows of one table.
#[derive(Default)]
pub struct Rows {
    /// Number of the first row.
    pub first: u32,
    /// Unique in the run.
    pub id: Vec<u64>,
    /// The enclosing row, where the table has such a column.
    parent: Option<U64Column>,
    /// Host thread.
    pub thread: I64Column,
    /// A device ran it.
    pub on_device: Vec<bool>,
    /// Start.
    pub start_ns: Vec<i64>,
    /// Durations.
    pub dur_ns: Vec<i64>,
    /// True if the interval is only known to contain the work.
    pub is_bound: Vec<bool>,
    /// Run, iteration or layer.
    pub is_scope: Vec<bool>,
    /// Its times can be trusted.
    pub valid: Vec<bool>,
}

/// The rows of all [`TABLES`], in that order.
///
/// # Errors
/// An input lacks a column or has it in another type.
pub fn load(run: &mut Run) -> Result<Vec<Rows>> {
    let mut first = 0;
    TABLES
        .iter()
        .map(|name| {
            let rows = Rows::from_table(run.table(name)?, first)?;
            first += rows.id.len() as u32;
            Ok(rows)
        })
        .collect()
}

impl Rows {
    fn from_table(table: Table, first: u32) -> Result<Self> {
        let rows = table.rows();
        let flags = |name: &str, absent: bool| -> Result<Vec<bool>> {
            Ok(if table.has(name) {
                let flags = table.bool(name)?;
                flags.iter().map(|flag| flag.unwrap_or(absent)).collect()
            } else {
                vec![absent; rows]
            })
        };
        let (is_bound, is_scope) = (flags("is_bound", false)?, flags("is_scope", false)?);
        let valid = flags("valid", true)?;
        let on_device = if table.has("device") {
            let devices = table.i64("device")?;
            devices.iter().map(|device| device.is_some()).collect()
        } else {
            vec![false; rows]
        };
        // Looked at before they are taken: a column that is not there, or another, is an error.
        table.u64("id")?;
        if table.has("parent") {
            table.u64("parent")?;
        }
        for name in ["thread", "start_ns", "dur_ns"] {
            table.i64(name)?;
        }
        let mut columns: BTreeMap<String, Column> = table.into_columns().into_iter().collect();
        let mut ids = |name: &str| match columns.remove(name) {
            Some(Column::U64(column)) => Some(column),
            _ => None,
        };
        let (id, parent) = (ids("id").unwrap_or_default(), ids("parent"));
        let mut numbers = |name: &str| match columns.remove(name) {
            Some(Column::I64(column)) => column,
            _ => I64Column::default(),
        };
        Ok(Self {
            first,
            id: id.into_values(),
            parent,
            thread: numbers("thread"),
            on_device,
            start_ns: numbers("start_ns").into_values(),
            dur_ns: numbers("dur_ns").into_values(),
            is_bound,
            is_scope,
            valid,
        })
    }

    /// Ids with the numbers of their rows, the last first.
    pub fn numbered(&self) -> impl Iterator<Item = (u64, u32)> {
        let ids = self.id.iter().enumerate().rev();
        ids.map(|(at, id)| (*id, self.first + at as u32))
    }

    /// The enclosing row of a row, where it has one.
    pub fn parent(&self, row: usize) -> Option<u64> {
        self.parent.as_ref()?.get(row)
    }

    /// End of a row; an impossible end is as late as can be.
    pub fn end_ns(&self, row: usize) -> i64 {
        self.start_ns[row].saturating_add(self.dur_ns[row])
    }
}

/// The table and place in it of a row's number.
pub fn place(tables: &[Rows], number: u32) -> (usize, usize) {
    let table = tables.partition_point(|rows| rows.first <= number) - 1;
    (table, (number - tables[table].first) as usize)
}

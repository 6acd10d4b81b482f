//! All rows with times, of all tables, by one number.

use trueno_plugin::{Result, Run, Table};

/// Tables with intervals; a row's number counts through them in this order.
pub const TABLES: [&str; 6] = ["bricks", "kernels", "tiles", "syncs", "calls", "transfers"];

/// The rows of one table.
#[derive(Default)]
pub struct Rows {
    /// Number of the first row.
    pub first: u32,
    /// Unique in the run.
    pub id: Vec<u64>,
    /// The enclosing row, where it has one.
    pub parent: Vec<Option<u64>>,
    /// Host thread.
    pub thread: Vec<Option<i64>>,
    /// A device ran it.
    pub on_device: Vec<bool>,
    /// When it began.
    pub start_ns: Vec<i64>,
    /// How long it lasted.
    pub dur_ns: Vec<i64>,
    /// Only known to contain the work.
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
            let rows = Rows::of(&run.table(name)?, first)?;
            first += rows.id.len() as u32;
            Ok(rows)
        })
        .collect()
}

impl Rows {
    fn of(table: &Table, first: u32) -> Result<Self> {
        let rows = table.rows();
        let flags = |name: &str, absent: bool| -> Result<Vec<bool>> {
            Ok(if table.has(name) {
                table
                    .bool(name)?
                    .iter()
                    .map(|flag| flag.unwrap_or(absent))
                    .collect()
            } else {
                vec![absent; rows]
            })
        };
        Ok(Self {
            first,
            id: table.u64("id")?.values().to_vec(),
            parent: if table.has("parent") {
                table.u64("parent")?.iter().collect()
            } else {
                vec![None; rows]
            },
            thread: table.i64("thread")?.iter().collect(),
            on_device: if table.has("device") {
                table
                    .i64("device")?
                    .iter()
                    .map(|device| device.is_some())
                    .collect()
            } else {
                vec![false; rows]
            },
            start_ns: table.i64("start_ns")?.values().to_vec(),
            dur_ns: table.i64("dur_ns")?.values().to_vec(),
            is_bound: flags("is_bound", false)?,
            is_scope: flags("is_scope", false)?,
            valid: flags("valid", true)?,
        })
    }

    /// When a row ended; an impossible end is as late as can be.
    pub fn end_ns(&self, row: usize) -> i64 {
        self.start_ns[row].saturating_add(self.dur_ns[row])
    }
}

/// The table and place in it of a row's number.
pub fn place(tables: &[Rows], number: u32) -> (usize, usize) {
    let table = tables.partition_point(|rows| rows.first <= number) - 1;
    (table, (number - tables[table].first) as usize)
}

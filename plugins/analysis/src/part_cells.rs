//! Cells of the tables of parts ([`trueno_plugin::Parts`]), none of which may be missing.

use trueno_plugin::{Error, Result, Table};

/// A cell that is there.
///
/// # Errors
/// It is null.
pub fn required<T>(cell: Option<T>, column: &str) -> Result<T> {
    cell.ok_or_else(|| Error::bad_input(format!("column `{column}` of a part is null")))
}

/// A count.
///
/// # Errors
/// The column is not there, of another type, or the cell is null.
pub fn count(table: &Table, column: &str, row: usize) -> Result<u64> {
    required(table.u64(column)?.get(row), column)
}

/// A text.
///
/// # Errors
/// As [`count`].
pub fn text(table: &Table, column: &str, row: usize) -> Result<String> {
    Ok(required(table.text(column)?.get(row), column)?.to_owned())
}

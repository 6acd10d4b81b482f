//! Which rows of a damaged table can be read: those before the damage and those behind it.

use std::fmt;

use rusqlite::Connection;

/// Rows that can be read, by row number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Good {
    /// All from the first up to this one.
    pub up_to: i64,
    /// All from this one to the last.
    pub from: i64,
}

impl fmt::Display for Good {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { up_to, from } = *self;
        match (up_to > i64::MIN, from < i64::MAX) {
            (true, true) => write!(f, "kept are its rows up to {up_to} and from {from}"),
            (true, false) => write!(f, "kept are its rows up to {up_to}"),
            (false, true) => write!(f, "kept are its rows from {from}"),
            (false, false) => write!(f, "no row could be read"),
        }
    }
}

/// Reads the table from both ends until it cannot.
pub fn good(connection: &Connection, table: &str, most_rows: i64) -> Good {
    let up_to = last(connection, table, "ASC", most_rows).unwrap_or(i64::MIN);
    let from = last(connection, table, "DESC", most_rows).unwrap_or(i64::MAX);
    // Both ways went through (the trouble was elsewhere): no row may come twice.
    let from = if from <= up_to {
        up_to.saturating_add(1)
    } else {
        from
    };
    Good { up_to, from }
}

/// The last row number that is in order and whose row can be read.
fn last(connection: &Connection, table: &str, order: &str, most_rows: i64) -> Option<i64> {
    let sql = format!("SELECT rowid, * FROM {table} ORDER BY rowid {order} LIMIT {most_rows}");
    let mut statement = connection.prepare(&sql).ok()?;
    let columns = statement.column_count();
    let mut rows = statement.query([]).ok()?;
    let mut last = None;
    while let Ok(Some(row)) = rows.next() {
        let Ok(number) = row.get::<_, i64>(0) else {
            break;
        };
        let in_order =
            last.is_none_or(|last| (number > last) == (order == "ASC") && number != last);
        if !in_order || (1..columns).any(|column| row.get_ref(column).is_err()) {
            break;
        }
        last = Some(number);
    }
    last
}

//! The rows of a damaged table that can be read: those before the damage and those behind it.

use std::fmt;

use rusqlite::Connection;

/// How many rows can be read from either end. These are counts rather than row ids: to see that an id is past the
/// last good one, SQLite would have to read the damaged page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Good {
    /// Readable rows from the first on.
    pub first: i64,
    /// Readable rows up to the last.
    pub last: i64,
}

impl fmt::Display for Good {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, last } = self;
        write!(f, "only its first {first} and last {last} rows can be read")
    }
}

pub fn good(connection: &Connection, table: &str, max_rows: i64) -> Good {
    let up_to = readable(connection, table, "ASC", max_rows);
    let from = readable(connection, table, "DESC", max_rows);
    match (up_to, from) {
        // Both ways went through, as the trouble was elsewhere: no row may come twice.
        (Some((first, up_to)), Some((_, from))) if from <= up_to => Good { first, last: 0 },
        (up_to, from) => Good {
            first: up_to.map_or(0, |(rows, _)| rows),
            last: from.map_or(0, |(rows, _)| rows),
        },
    }
}

/// How many rows are in order and can be read, and the id of the last of them.
fn readable(
    connection: &Connection,
    table: &str,
    order: &str,
    max_rows: i64,
) -> Option<(i64, i64)> {
    let sql = format!("SELECT rowid, * FROM {table} ORDER BY rowid {order} LIMIT {max_rows}");
    let mut statement = connection.prepare(&sql).ok()?;
    let columns = statement.column_count();
    let mut rows = statement.query([]).ok()?;
    let mut so_far: Option<(i64, i64)> = None;
    while let Ok(Some(row)) = rows.next() {
        let Ok(number) = row.get::<_, i64>(0) else {
            break;
        };
        let in_order =
            so_far.is_none_or(|(_, last)| number != last && (number > last) == (order == "ASC"));
        if !in_order || (1..columns).any(|column| row.get_ref(column).is_err()) {
            break;
        }
        so_far = Some((so_far.map_or(1, |(rows, _)| rows + 1), number));
    }
    so_far
}

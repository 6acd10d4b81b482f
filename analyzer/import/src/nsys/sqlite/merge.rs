//! Several tables as one sequence of rows in order of time.

use rusqlite::fallible_streaming_iterator::FallibleStreamingIterator;
use rusqlite::types::ValueRef;
use rusqlite::{Row, Rows};

use super::Database;
use crate::Error;
use crate::nsys::source::{MAX_TEXT, Scan, TEXTS_CUT, Value, Visit};

/// Sorting reads a whole table before returning its first row, so damage is found before any row is visited, and
/// the readable rows can be determined first.
pub fn merged(
    database: &mut Database,
    scans: &[Scan],
    visit: &mut Visit<'_>,
) -> Result<Vec<String>, Error> {
    let mut damage = Vec::new();
    while let Some((table, error)) = attempt(database, scans, visit, &mut damage)? {
        let text = database.salvage(&table, &error);
        damage.push(text);
    }
    Ok(damage)
}

/// Returns the table that has to be salvaged first, if any.
fn attempt(
    database: &Database,
    scans: &[Scan],
    visit: &mut Visit<'_>,
    damage: &mut Vec<String>,
) -> Result<Option<(String, rusqlite::Error)>, Error> {
    let mut statements = Vec::with_capacity(scans.len());
    for scan in scans {
        match database.connection.prepare(&ordered(database, scan)) {
            Ok(statement) => statements.push(statement),
            Err(error) => return Err(database.error(&scan.table, &error)),
        }
    }
    let mut cursors = Vec::with_capacity(scans.len());
    for (scan, statement) in scans.iter().zip(&mut statements) {
        let rows = statement
            .query([])
            .map_err(|e| database.error(&scan.table, &e))?;
        let mut cursor = Cursor { rows, key: None };
        if let Err(error) = cursor.step() {
            if !database.is_salvaged(&scan.table) {
                return Ok(Some((scan.table.clone(), error)));
            }
            damage.push(not_to_its_end(scan, &error));
        }
        cursors.push(cursor);
    }
    let mut cut_texts = vec![0_u64; scans.len()];
    loop {
        let open = cursors
            .iter()
            .enumerate()
            .filter_map(|(n, c)| Some((c.key?, n)));
        let Some((_, number)) = open.min() else {
            let cut = scans.iter().zip(cut_texts).filter(|(_, count)| *count > 0);
            damage.extend(cut.map(|(scan, count)| {
                let table = &scan.table;
                format!("table {table}: {count} {TEXTS_CUT}")
            }));
            return Ok(None);
        };
        let cursor = &mut cursors[number];
        if let Some(row) = cursor.rows.get() {
            let columns = 0..scans[number].columns.len();
            let values: Vec<Value<'_>> = columns
                .map(|column| value(row, column, &mut cut_texts[number]))
                .collect();
            visit(number, &values)?;
        }
        if let Err(error) = cursor.step() {
            damage.push(not_to_its_end(&scans[number], &error));
        }
    }
}

fn not_to_its_end(scan: &Scan, error: &rusqlite::Error) -> String {
    format!(
        "table {} could not be read to its end ({error})",
        scan.table
    )
}

fn ordered(database: &Database, scan: &Scan) -> String {
    let rows = database.select(&scan.table, &scan.columns);
    let second = if scan.columns.len() > 1 {
        "c1 DESC, "
    } else {
        ""
    };
    format!("SELECT * FROM ({rows}) ORDER BY c0, {second}r")
}

struct Cursor<'s> {
    rows: Rows<'s>,
    /// First column of the current row; `None` at the end.
    key: Option<i64>,
}

impl Cursor<'_> {
    fn step(&mut self) -> rusqlite::Result<()> {
        self.key = None;
        self.rows.advance()?;
        self.key = self.rows.get().map(|row| match row.get_ref(0) {
            Ok(ValueRef::Integer(key)) => key,
            Ok(ValueRef::Real(key)) => key as i64,
            // No time: whoever visits decides; it holds up nothing.
            _ => i64::MIN,
        });
        Ok(())
    }
}

fn value<'r>(row: &'r Row<'_>, column: usize, cut_texts: &mut u64) -> Value<'r> {
    match row.get_ref(column) {
        Ok(ValueRef::Integer(value)) => Value::Int(value),
        Ok(ValueRef::Real(value)) => Value::Real(value),
        Ok(ValueRef::Text(text)) if text.len() > MAX_TEXT => {
            *cut_texts += 1;
            // A character that is cut in two does not come back as two odd ones.
            let end = (MAX_TEXT - 3..=MAX_TEXT)
                .rev()
                .find(|at| text[*at] & 0xc0 != 0x80);
            Value::Text(String::from_utf8_lossy(&text[..end.unwrap_or(MAX_TEXT)]))
        }
        Ok(ValueRef::Text(text)) => Value::Text(String::from_utf8_lossy(text)),
        Ok(ValueRef::Blob(bytes)) => Value::Blob(bytes.into()),
        Ok(ValueRef::Null) | Err(_) => Value::Null,
    }
}

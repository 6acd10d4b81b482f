//! Exports that are sqlite databases, opened so that nothing is ever written or locked.

mod merge;
mod open;
mod salvage;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::context::damaged;
use super::source::{LATEST_NS, Scan, Source, Times, Value, Visit, is_timed};
use crate::{Error, Notes, Options};
use salvage::Good;

pub use open::open as open_file;

pub struct Database {
    connection: Connection,
    path: PathBuf,
    bytes: u64,
    tables: BTreeMap<String, Table>,
    damage: Vec<String>,
}

struct Table {
    columns: Vec<String>,
    rows: u64,
    good: Option<Good>,
}

impl Database {
    pub fn open(path: &Path, notes: &mut Notes) -> Result<Self, Error> {
        let (connection, bytes) = open::open(path, notes)?;
        let mut damage = Vec::new();
        let names = open::table_names(&connection, path, &mut damage)?;
        let mut tables = BTreeMap::new();
        for name in names {
            match open::table_of(&connection, &name) {
                Ok((columns, rows)) => {
                    let good = None;
                    tables.insert(
                        name,
                        Table {
                            columns,
                            rows,
                            good,
                        },
                    );
                }
                Err(error) => damage.push(format!("table {name} cannot be read: {error}")),
            }
        }
        let path = path.to_owned();
        Ok(Self {
            connection,
            path,
            bytes,
            tables,
            damage,
        })
    }

    /// Warns of tables that cannot be listed or read.
    ///
    /// # Errors
    /// There are some, and [`Options::partial`] is not set.
    pub fn check(&self, options: &Options, notes: &mut Notes) -> Result<(), Error> {
        for damage in &self.damage {
            if !options.partial {
                return Err(damaged(&self.path, damage));
            }
            notes.warn(damage.clone());
        }
        Ok(())
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A file cannot have more rows than bytes; one that seems to contains pages twice.
    fn max_rows(&self) -> i64 {
        i64::try_from(self.bytes).unwrap_or(i64::MAX)
    }

    fn select(&self, table: &str, columns: &[Option<String>]) -> String {
        let columns: Vec<String> = columns
            .iter()
            .enumerate()
            .map(|(number, column)| match column {
                Some(column) => format!("{} AS c{number}", quoted(column)),
                None => format!("NULL AS c{number}"),
            })
            .collect();
        let (columns, from) = (columns.join(", "), quoted(table));
        let most = self.max_rows();
        match self.tables.get(table).and_then(|table| table.good) {
            None => format!("SELECT {columns}, rowid AS r FROM {from} LIMIT {most}"),
            Some(Good { first, last }) => {
                let rows = format!("SELECT {columns}, rowid AS r FROM {from} ORDER BY rowid");
                format!(
                    "SELECT * FROM ({rows} LIMIT {first}) UNION ALL \
                     SELECT * FROM ({rows} DESC LIMIT {last})"
                )
            }
        }
    }

    /// Finds out which rows can be read. Returns a description of what is lost.
    fn salvage(&mut self, table: &str, error: &rusqlite::Error) -> String {
        let good = salvage::good(&self.connection, &quoted(table), self.max_rows());
        if let Some(table) = self.tables.get_mut(table) {
            table.good = Some(good);
        }
        format!("table {table} is damaged ({error}): {good}")
    }

    fn is_salvaged(&self, table: &str) -> bool {
        self.tables
            .get(table)
            .is_none_or(|table| table.good.is_some())
    }

    fn error(&self, place: &str, error: &rusqlite::Error) -> Error {
        Error::damaged(
            &self.path,
            place.to_owned(),
            format!("sqlite cannot read it: {error}; export the report again"),
        )
    }
}

impl Source for Database {
    fn tables(&self) -> Vec<String> {
        self.tables.keys().cloned().collect()
    }

    fn columns(&self, table: &str) -> Option<&[String]> {
        Some(&self.tables.get(table)?.columns)
    }

    fn rows(&self, table: &str) -> u64 {
        self.tables.get(table).map_or(0, |table| table.rows)
    }

    fn earliest(
        &mut self,
        table: &str,
        start: &str,
        end: Option<&str>,
    ) -> Result<(Option<i64>, Vec<String>), Error> {
        let mut damage = Vec::new();
        let columns = [Some(start.to_owned()), end.map(str::to_owned)];
        for _ in 0..2 {
            let rows = self.select(table, &columns);
            let sql = format!(
                "SELECT min(c0) FROM ({rows}) WHERE typeof(c0) = 'integer' AND NOT (c0 = 0 AND c1 IS 0) \
                 AND abs(c0 / 2) < {LATEST_NS} AND (c1 IS NULL OR c1 - c0 BETWEEN 0 AND {LATEST_NS})"
            );
            match self.connection.query_row(&sql, [], |row| row.get(0)) {
                Ok(earliest) => return Ok((earliest, damage)),
                Err(error) if damage.is_empty() => damage.push(self.salvage(table, &error)),
                Err(_) => {}
            }
        }
        Ok((None, damage))
    }

    fn times(
        &mut self,
        table: &str,
        times: Times<'_>,
        visit: &mut dyn FnMut(i64, i64),
    ) -> Result<Vec<String>, Error> {
        let columns = [
            Some(times.start.to_owned()),
            times.end.map(str::to_owned),
            times.only.map(|(column, _)| column.to_owned()),
        ];
        let sql = self.select(table, &columns);
        // Damage is reported when rows are read.
        let mut read = |connection: &rusqlite::Connection| -> rusqlite::Result<()> {
            let mut statement = connection.prepare(&sql)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let int = |at: usize| match row.get_ref(at) {
                    Ok(rusqlite::types::ValueRef::Integer(value)) => Some(value),
                    _ => None,
                };
                let is_null = matches!(row.get_ref(2), Ok(rusqlite::types::ValueRef::Null));
                let number = match int(2) {
                    Some(number) => Value::Int(number),
                    None if is_null => Value::Null,
                    None => Value::Text("".into()),
                };
                let start_ns = int(0).filter(|start_ns| is_timed(*start_ns, int(1)));
                if let Some(start_ns) = start_ns.filter(|_| times.counts(Some(&number))) {
                    visit(start_ns, int(1).unwrap_or(start_ns));
                }
            }
            Ok(())
        };
        let _ = read(&self.connection);
        Ok(Vec::new())
    }

    fn merged(&mut self, scans: &[Scan], visit: &mut Visit<'_>) -> Result<Vec<String>, Error> {
        merge::merged(self, scans, visit)
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

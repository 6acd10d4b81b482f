//! Rows of databases of other profilers than Nsight Systems, one by one.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::chrome::feed::Feed;
use crate::importer::Import;
use crate::nsys::{Unpacked, open_database, unpack};
use crate::{Error, Notes};

/// An open database, without writing to it or locking it.
pub(crate) struct Rows<'i> {
    connection: Connection,
    path: &'i Path,
    is_partial: bool,
    tables: BTreeSet<String>,
    pub bytes: u64,
    damaged: RefCell<Vec<String>>,
    _unpacked: Option<Unpacked>,
}

impl<'i> Rows<'i> {
    /// Opens a database, which may be packed: SQLite needs random access, so it is unpacked beside the run.
    pub fn open(import: &mut Import<'i>) -> Result<Self, Error> {
        let path = import.path;
        let unpacked = unpack(import)?;
        let file = unpacked.as_deref().unwrap_or(path);
        let (connection, bytes) =
            open_database(file, import.notes).map_err(|error| error.of_file(path))?;
        let mut rows = Self {
            connection,
            path,
            is_partial: import.options.partial,
            tables: BTreeSet::new(),
            bytes,
            damaged: RefCell::default(),
            _unpacked: unpacked,
        };
        let mut tables = BTreeSet::new();
        rows.each(TABLE_NAMES, |row| {
            tables.extend(row.text(0));
            Ok(())
        })?;
        rows.tables = tables;
        Ok(rows)
    }

    pub fn tables(&self) -> impl Iterator<Item = &str> {
        self.tables.iter().map(String::as_str)
    }

    pub fn has(&self, table: &str) -> bool {
        self.tables.contains(table)
    }

    /// Refuses a database of `what` that lacks one of these tables.
    pub fn need(&self, tables: &[&str], what: &str) -> Result<(), Error> {
        match tables.iter().find(|table| !self.has(table)) {
            Some(missing) => {
                let problem = format!("expected a database of {what}, found no table {missing}");
                Err(Error::format(self.path, problem))
            }
            None => Ok(()),
        }
    }

    /// The error of a database without tables such as this one.
    pub fn without(&self, table: &str, what: &str) -> Error {
        let found: Vec<&str> = self.tables().take(8).collect();
        let found = found.join(", ");
        let problem =
            format!("expected a database of {what} with tables such as {table}, found {found}");
        Error::format(self.path, problem)
    }

    /// The columns of a table, in lower case.
    pub fn columns(&self, table: &str) -> Result<BTreeSet<String>, Error> {
        let mut columns = BTreeSet::new();
        self.each(&format!("PRAGMA table_info({})", quoted(table)), |row| {
            columns.extend(row.text(1).map(|name| name.to_ascii_lowercase()));
            Ok(())
        })?;
        Ok(columns)
    }

    /// Visits all rows of a query. A damaged page is an error; with `--partial` the rest is left out.
    pub fn each(
        &self,
        sql: &str,
        mut visit: impl FnMut(Cells<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let error = match each_row(&self.connection, sql, &mut visit) {
            Ok(()) => return Ok(()),
            Err(Stop::Visit(error)) => return Err(error),
            Err(Stop::Sqlite(error)) => error,
        };
        let table = sql.split(" FROM ").nth(1).unwrap_or(sql);
        let table = table.split_whitespace().next().unwrap_or(table);
        let table = table.trim_matches(['"', '`']).to_owned();
        if self.is_partial {
            let text = format!("table {table} was read up to the first damage only: {error}");
            // A table may be read twice.
            let mut damaged = self.damaged.borrow_mut();
            if !damaged.contains(&text) {
                damaged.push(text);
            }
            return Ok(());
        }
        let problem = format!("sqlite cannot read it: {error}; --partial keeps what can be read");
        Err(Error::damaged(self.path, format!("table {table}"), problem))
    }

    /// Two columns of a table as a map; empty without the table.
    pub fn texts(&self, table: &str, [id, value]: [&str; 2]) -> Result<Texts, Error> {
        let mut texts = HashMap::new();
        if self.has(table) {
            let sql = format!("SELECT {id}, {value} FROM {}", quoted(table));
            self.each(&sql, |row| {
                texts.extend(row.number(0).zip(row.text(1)));
                Ok(())
            })?;
        }
        Ok(Texts(texts))
    }

    /// Reports what was left out for damage, and writes the rows that were fed. Returns the length of the run.
    pub fn finish(self, mut feed: Feed<'_>) -> Result<Option<i64>, Error> {
        for text in self.damaged.into_inner() {
            feed.import().problem(text);
        }
        feed.progress(self.bytes);
        feed.finish()
    }
}

/// Texts by their number.
#[derive(Debug, Default)]
pub(crate) struct Texts(HashMap<i64, String>);

impl Texts {
    pub fn of(&self, id: Option<i64>) -> Option<&str> {
        self.0.get(&id?).map(String::as_str)
    }
}

/// The tables of a database; none if it cannot be read.
pub(crate) fn table_names(path: &Path) -> Vec<String> {
    let mut names = Vec::new();
    if let Ok((connection, _)) = open_database(path, &mut Notes::default()) {
        let _ = each_row(&connection, TABLE_NAMES, &mut |row| {
            names.extend(row.text(0));
            Ok(())
        });
    }
    names
}

const TABLE_NAMES: &str = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0";

enum Stop {
    Sqlite(rusqlite::Error),
    Visit(Error),
}

impl From<rusqlite::Error> for Stop {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

fn each_row(
    connection: &Connection,
    sql: &str,
    visit: &mut impl FnMut(Cells<'_>) -> Result<(), Error>,
) -> Result<(), Stop> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        visit(Cells(row)).map_err(Stop::Visit)?;
    }
    Ok(())
}

pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The cells of a row. A cell of another type than expected is `None`.
#[derive(Clone, Copy)]
pub(crate) struct Cells<'r>(&'r rusqlite::Row<'r>);

impl Cells<'_> {
    /// A whole number, also from a real one or a text.
    pub fn number(self, at: usize) -> Option<i64> {
        match self.0.get_ref(at).ok()? {
            ValueRef::Integer(value) => Some(value),
            ValueRef::Real(value) if value.is_finite() && value.abs() < 9e18 => Some(value as i64),
            ValueRef::Text(text) => std::str::from_utf8(text).ok()?.parse().ok(),
            _ => None,
        }
    }

    pub fn unsigned(self, at: usize) -> Option<u64> {
        u64::try_from(self.number(at)?).ok()
    }

    pub fn small(self, at: usize) -> Option<u32> {
        u32::try_from(self.number(at)?).ok()
    }

    /// A grid or block: this cell and the next two.
    pub fn three(self, at: usize) -> Option<[u32; 3]> {
        Some([self.small(at)?, self.small(at + 1)?, self.small(at + 2)?])
    }

    /// A start and an end: this cell and the next.
    pub fn times(self, at: usize) -> Option<(i64, i64)> {
        self.number(at).zip(self.number(at + 1))
    }

    pub fn text(self, at: usize) -> Option<String> {
        match self.0.get_ref(at).ok()? {
            ValueRef::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
            ValueRef::Integer(value) => Some(value.to_string()),
            _ => None,
        }
    }

    pub fn real(self, at: usize) -> Option<f64> {
        let value = self.0.get::<_, f64>(at).ok()?;
        value.is_finite().then_some(value)
    }

    pub fn bytes(self, at: usize) -> Vec<u8> {
        self.0.get(at).unwrap_or_default()
    }
}

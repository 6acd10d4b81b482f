//! Rows of databases of other profilers than Nsight Systems, one by one.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, Row};
use trueno_format::run_writer::RunWriter;

use crate::chrome::feed::Feed;
use crate::nsys::{open_database, unpack};
use crate::source::Source;
use crate::{Error, Notes, Options};

/// An open database, without writing to it or locking it.
pub(crate) struct Rows {
    connection: Connection,
    path: PathBuf,
    is_partial: bool,
    tables: BTreeSet<String>,
    pub bytes: u64,
    pub damaged: Vec<String>,
    _unpacked: Option<Unpacked>,
}

/// What a packed database became, removed at the end.
struct Unpacked(PathBuf);

impl Drop for Unpacked {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

impl Rows {
    /// Opens a database, which may be packed: SQLite needs random access, so it is unpacked beside the run.
    pub fn open(
        path: &Path,
        options: &Options,
        into: &RunWriter,
        notes: &mut Notes,
    ) -> Result<Self, Error> {
        let unpacked = unpack(path, options, into, notes)?.map(Unpacked);
        let file = unpacked.as_ref().map_or(path, |unpacked| &unpacked.0);
        let (connection, bytes) =
            open_database(file, notes).map_err(|error| error.of_file(path))?;
        let mut rows = Self {
            connection,
            path: path.to_owned(),
            is_partial: options.partial,
            tables: BTreeSet::new(),
            bytes,
            damaged: Vec::new(),
            _unpacked: unpacked,
        };
        let mut tables = BTreeSet::new();
        rows.each(
            TABLE_NAMES,
            |row| row.get::<_, String>(0),
            |name| {
                tables.insert(name);
                Ok(())
            },
        )?;
        rows.tables = tables;
        Ok(rows)
    }

    pub fn tables(&self) -> impl Iterator<Item = &str> {
        self.tables.iter().map(String::as_str)
    }

    pub fn has(&self, table: &str) -> bool {
        self.tables.contains(table)
    }

    /// The columns of a table, in lower case.
    pub fn columns(&mut self, table: &str) -> Result<BTreeSet<String>, Error> {
        let mut columns = BTreeSet::new();
        let sql = format!("PRAGMA table_info({})", quoted(table));
        self.each(
            &sql,
            |row| row.get::<_, String>(1),
            |name: String| {
                columns.insert(name.to_ascii_lowercase());
                Ok(())
            },
        )?;
        Ok(columns)
    }

    /// Reads all rows of a query. A damaged page is an error; with `--partial` the rest is left out.
    pub fn each<T>(
        &mut self,
        sql: &str,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
        mut take: impl FnMut(T) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let problem = each_row(&self.connection, sql, &mut read, &mut take)?;
        match problem {
            None => Ok(()),
            Some(error) => self.broken(sql, &error),
        }
    }

    fn broken(&mut self, sql: &str, error: &rusqlite::Error) -> Result<(), Error> {
        let table = sql.split(" FROM ").nth(1).unwrap_or(sql);
        let table = table.split_whitespace().next().unwrap_or(table);
        let table = table.trim_matches(['"', '`']).to_owned();
        if self.is_partial {
            let text = format!("table {table} was read up to the first damage only: {error}");
            self.damaged.push(text);
            return Ok(());
        }
        Err(Error::Damaged {
            path: self.path.clone(),
            place: format!("table {table}"),
            problem: format!("sqlite cannot read it: {error}; --partial keeps what can be read"),
        })
    }

    /// Two columns of a table as a map; empty without the table.
    pub fn texts(
        &mut self,
        table: &str,
        [id, value]: [&str; 2],
    ) -> Result<HashMap<i64, String>, Error> {
        let mut texts = HashMap::new();
        if self.has(table) {
            let sql = format!("SELECT {id}, {value} FROM {}", quoted(table));
            self.each(
                &sql,
                |row| Ok((number(row, 0), text(row, 1))),
                |(id, value)| {
                    texts.extend(id.zip(value));
                    Ok(())
                },
            )?;
        }
        Ok(texts)
    }

    /// Reports what was left out for damage, and writes the rows that were fed. Returns the length of the run.
    pub fn finish(mut self, mut feed: Feed<'_>, options: &Options) -> Result<Option<i64>, Error> {
        for text in std::mem::take(&mut self.damaged) {
            feed.run().run().problems.push(text.clone());
            feed.notes().warn(text);
        }
        let hash = self.hash(options)?;
        feed.finish(hash)
    }

    pub fn hash(&self, options: &Options) -> Result<u64, Error> {
        let mut nothing = |_| ();
        let source = Source::open(&self.path, options, &mut nothing)?;
        let hash = source.hash();
        hash.map_err(|e| Error::io(&self.path, "read it to its end", e))
    }
}

/// The tables of a database; none if it cannot be read.
pub(crate) fn table_names(path: &Path) -> Vec<String> {
    let Ok((connection, _)) = open_database(path, &mut Notes::default()) else {
        return Vec::new();
    };
    let mut names = Vec::new();
    let _ = each_row(
        &connection,
        TABLE_NAMES,
        &mut |row| row.get::<_, String>(0),
        &mut |name| {
            names.push(name);
            Ok(())
        },
    );
    names
}

const TABLE_NAMES: &str = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0";

/// Reads rows to the end or to an unreadable one. Returns SQLite's error of the latter.
fn each_row<T>(
    connection: &Connection,
    sql: &str,
    read: &mut impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    take: &mut impl FnMut(T) -> Result<(), Error>,
) -> Result<Option<rusqlite::Error>, Error> {
    let mut statement = match connection.prepare(sql) {
        Ok(statement) => statement,
        Err(error) => return Ok(Some(error)),
    };
    let mut rows = match statement.query([]) {
        Ok(rows) => rows,
        Err(error) => return Ok(Some(error)),
    };
    loop {
        match rows.next() {
            Ok(None) => return Ok(None),
            Ok(Some(row)) => match read(row) {
                Ok(value) => take(value)?,
                Err(error) => return Ok(Some(error)),
            },
            Err(error) => return Ok(Some(error)),
        }
    }
}

pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A whole number from a cell of any type. Blobs and texts that are not numbers are `None`.
pub(crate) fn number(row: &Row<'_>, at: usize) -> Option<i64> {
    use rusqlite::types::ValueRef;
    match row.get_ref(at).ok()? {
        ValueRef::Integer(value) => Some(value),
        ValueRef::Real(value) if value.is_finite() && value.abs() < 9e18 => Some(value as i64),
        ValueRef::Text(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        _ => None,
    }
}

pub(crate) fn unsigned(row: &Row<'_>, at: usize) -> Option<u64> {
    number(row, at).and_then(|value| u64::try_from(value).ok())
}

pub(crate) fn small(row: &Row<'_>, at: usize) -> Option<u32> {
    number(row, at).and_then(|value| u32::try_from(value).ok())
}

pub(crate) fn text(row: &Row<'_>, at: usize) -> Option<String> {
    use rusqlite::types::ValueRef;
    match row.get_ref(at).ok()? {
        ValueRef::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Integer(value) => Some(value.to_string()),
        _ => None,
    }
}

pub(crate) fn real(row: &Row<'_>, at: usize) -> Option<f64> {
    row.get::<_, f64>(at).ok().filter(|value| value.is_finite())
}

//! Opening a database, also one whose end is missing.

use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::quoted;
use crate::importer::SQLITE_MAGIC;
use crate::{Error, Notes};

const PACKED: [(&[u8], &str, &str); 2] = [
    (b"\x1f\x8b", "gzip", "gunzip -k FILE"),
    (b"\x28\xb5\x2f\xfd", "zstd", "unzstd FILE"),
];

pub fn open(path: &Path, notes: &mut Notes) -> Result<(Connection, u64), Error> {
    let mut head = Vec::new();
    let file = File::open(path).map_err(|e| Error::io(path, "open it", e))?;
    let bytes = file
        .metadata()
        .map_err(|e| Error::io(path, "look at it", e))?
        .len();
    file.take(SQLITE_MAGIC.len() as u64)
        .read_to_end(&mut head)
        .map_err(|e| Error::io(path, "read it", e))?;
    if head != SQLITE_MAGIC {
        let packed = PACKED.iter().find(|(magic, ..)| head.starts_with(magic));
        let problem = match packed {
            Some((_, name, command)) => format!(
                "is a database packed with {name}, which is read only as it is (hint: unpack it first: `{command}`)"
            ),
            None => "expected an sqlite database, found other first bytes; make one with \
                     `nsys export --type sqlite REPORT.nsys-rep`"
                .to_owned(),
        };
        return Err(Error::format(path, problem));
    }
    beside(path, notes);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(uri(path), flags)
        .and_then(|connection| {
            // The file may come from anywhere: its schema may call no function, and each
            // page is looked through before its cells are believed.
            connection.execute_batch("PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON")?;
            Ok(connection)
        })
        .map_err(|error| damaged(path, &error))?;
    Ok((connection, bytes))
}

/// Immutable mode: SQLite takes no lock and writes nothing, not even files beside the database.
fn uri(path: &Path) -> String {
    let mut uri = String::from("file:");
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'_' | b'-' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri + "?mode=ro&immutable=1"
}

/// Warns of files beside the database, whose content is not read.
fn beside(path: &Path, notes: &mut Notes) {
    for (suffix, what) in [("-wal", "newer rows"), ("-journal", "an unfinished change")] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        if std::fs::metadata(&name).is_ok_and(|file| file.len() > 0) {
            notes.warn(format!(
                "a file {suffix} beside the database may hold {what}, and is not read: export again, \
                 or run `sqlite3 FILE 'PRAGMA wal_checkpoint'`"
            ));
        }
    }
}

/// Names of the real tables. Views and virtual tables are excluded, because they could be endless.
pub fn table_names(
    connection: &Connection,
    path: &Path,
    damage: &mut Vec<String>,
) -> Result<Vec<String>, Error> {
    match names(connection) {
        Ok(names) => Ok(names),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
            // sqlite refuses a file that is shorter than its header says, except so.
            let salvaged = connection
                .execute_batch("PRAGMA writable_schema=ON")
                .and_then(|()| names(connection))
                .map_err(|_| damaged(path, &error))?;
            damage.push(format!("the database is cut or damaged ({error})"));
            Ok(salvaged)
        }
        Err(error) => Err(damaged(path, &error)),
    }
}

fn names(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    connection
        .prepare(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY name",
        )?
        .query_map([], |row| row.get(0))?
        .collect()
}

pub fn table_of(connection: &Connection, name: &str) -> rusqlite::Result<(Vec<String>, u64)> {
    let columns = connection
        .prepare(&format!("PRAGMA table_info({})", quoted(name)))?
        .query_map([], |row| row.get(1))?
        .collect::<rusqlite::Result<_>>()?;
    // The highest row number: exports number from 1. Fails on tables that have none.
    let sql = format!("SELECT max(rowid) FROM {}", quoted(name));
    connection.prepare(&sql)?;
    let rows: Option<i64> = connection
        .query_row(&sql, [], |row| row.get(0))
        .unwrap_or(None);
    Ok((
        columns,
        rows.and_then(|rows| u64::try_from(rows).ok()).unwrap_or(0),
    ))
}

fn damaged(path: &Path, error: &rusqlite::Error) -> Error {
    Error::damaged(
        path,
        "list of tables",
        format!("sqlite cannot read it: {error}; export the report again"),
    )
}

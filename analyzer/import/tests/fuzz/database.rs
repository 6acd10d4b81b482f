//! Changes of databases: of bytes and pages, and of tables, columns and values.

use std::fs;
use std::path::Path;

use rusqlite::Connection;

use crate::random::{Random, mutate};

const VALUES: &[&str] = &[
    "NULL",
    "0",
    "-1",
    "1.5",
    "'text'",
    "x'00ff'",
    "9223372036854775807",
    "-9223372036854775807 - 1",
    "4294967295",
    "4294967296",
    "''",
    "CAST(x'fffe' AS TEXT)",
    "1e308",
];

pub fn mutated(from: &[u8], to: &Path, random: &mut Random) {
    let mut bytes = from.to_vec();
    let by_bytes = random.below(3);
    if by_bytes < 2 {
        fs::write(to, &bytes).unwrap();
        // What fails, such as the last column of a table, changes nothing.
        let database = Connection::open(to).unwrap();
        let _ = database.execute_batch("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN");
        for _ in 0..random.count(6) {
            let _ = database.execute_batch(&statement(&database, random));
        }
        let _ = database.execute_batch("COMMIT");
        drop(database);
        bytes = fs::read(to).unwrap();
    }
    if by_bytes > 0 {
        pages(&mut bytes, random);
    }
    fs::write(to, bytes).unwrap();
}

fn pages(bytes: &mut Vec<u8>, random: &mut Random) {
    let page = match bytes.get(16..18) {
        Some(&[high, low]) => usize::from(u16::from_be_bytes([high, low])),
        _ => 4096,
    }
    .max(512);
    for _ in 0..random.count(4) {
        let count = bytes.len() / page;
        let (one, other) = (random.below(count) * page, random.below(count) * page);
        match random.below(6) {
            0 if count > 0 => bytes.copy_within(one..one + page, other),
            1 if count > 0 => bytes[one..one + page].fill(random.word() as u8),
            2 => {
                // The head says how all else is read.
                let at = random.below(100.min(bytes.len()));
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = random.word() as u8;
                }
            }
            // The beginning of a page says what it is and where its cells are.
            3 | 4 if count > 0 => {
                for _ in 0..random.count(8) {
                    bytes[one + random.below(24)] = random.word() as u8;
                }
            }
            5 if random.one_in(4) => bytes.truncate(one + random.below(page)),
            _ => mutate(bytes, random),
        }
    }
}

fn statement(database: &Connection, random: &mut Random) -> String {
    let names = |sql: &str| -> Vec<String> {
        let Ok(mut statement) = database.prepare(sql) else {
            return Vec::new();
        };
        let rows = statement.query_map([], |row| row.get(0));
        rows.map(|rows| rows.flatten().collect())
            .unwrap_or_default()
    };
    let mut tables = names("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name");
    // Most tables of real exports are lists of words.
    tables.retain(|name| !name.starts_with("ENUM_") || random.one_in(8));
    if tables.is_empty() {
        return String::new();
    }
    let table = random.choice(&tables).clone();
    let columns = names(&format!("SELECT name FROM pragma_table_info('{table}')"));
    if columns.is_empty() {
        return String::new();
    }
    let column = random.choice(&columns).clone();
    let value = *random.choice(VALUES);
    // No random() of sqlite: a case must come out the same each time.
    let some = format!(
        "WHERE rowid * {} % {} = 0",
        1 + random.below(1_000),
        1 + random.below(8)
    );
    match random.below(8) {
        0 => format!("DROP TABLE \"{table}\""),
        1 => format!("ALTER TABLE \"{table}\" DROP COLUMN \"{column}\""),
        2 => format!("ALTER TABLE \"{table}\" RENAME COLUMN \"{column}\" TO \"other\""),
        3 => {
            let other = random.choice(&tables);
            format!("DROP TABLE \"{other}\"; ALTER TABLE \"{table}\" RENAME TO \"{other}\"")
        }
        4 => format!(
            "CREATE TABLE made AS SELECT CAST(\"{column}\" AS TEXT) AS \"{column}\", * FROM \"{table}\" LIMIT 500;
             DROP TABLE \"{table}\"; ALTER TABLE made RENAME TO \"{table}\""
        ),
        5 => format!("INSERT INTO \"{table}\" SELECT * FROM \"{table}\" LIMIT 200"),
        _ => format!("UPDATE \"{table}\" SET \"{column}\" = {value} {some}"),
    }
}

//! `nsys export --type jsonlines` (`--type json` before 2023): an event a line, texts by number before or behind them.
//!
//! The records are those of an export to sqlite, so they go into such a database beside the run, which is then read like
//! one. In memory is one line.
//!
//! | line | table |
//! | --- | --- |
//! | `{"data": ["[Unknown]", …]}`, `{"type": "String", "id": …, "value": …}` | `StringIds` |
//! | `{"type": "ThreadName", …}` | `ThreadNames` |
//! | `{"Type": 59, "NvtxEvent": …}` | `NVTX_EVENTS` |
//! | `{"Type": 48, "TraceProcessEvent": …}` | `CUPTI_ACTIVITY_KIND_RUNTIME`, `_DRIVER`, `OSRT_API`, by its class |
//! | `{"Type": 79, "CudaEvent": …}` | `_KERNEL`, `_MEMCPY`, `_MEMSET`, `_SYNCHRONIZATION`, `_CUDA_EVENT`, by its part |
//!
//! Layout: NVIDIA's "JSON and Text Format Description" (<https://docs.nvidia.com/drive/drive-os-5.2.3.0L/nsight-systems/>),
//! and lines that analysts of version 2025 quote. No whole file was found in a public repository.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::BufReader;
use std::path::Path;

use rusqlite::types::Value as Cell;
use rusqlite::{Connection, Statement, params_from_iter};
use serde_json::Value;

use super::Unpacked;
use crate::importer::{Head, Import, Importer};
use crate::{Error, Notes};

/// Nsight Systems exports to JSON, one object per line.
pub const IMPORTER: Importer = Importer {
    name: "nsys-jsonlines",
    description: "Nsight Systems, exported to JSON lines",
    recognises,
    read,
};

fn recognises(head: &Head<'_>) -> bool {
    let is_texts = head.behind(&["{", "\"data\"", ":", "[", "\"[Unknown]\""]);
    is_texts.is_some() || head.text().lines().any(is_record)
}

fn read(mut import: Import<'_>) -> Result<Option<i64>, Error> {
    let database = Unpacked(import.into.path().join("import.sqlite"));
    convert(&database, &mut import)?;
    let done = super::IMPORTER.import(import.of(&database));
    done.map_err(|error| error.of_file(import.path))
}

fn is_record(line: &str) -> bool {
    let line = Head::new(line.as_bytes());
    let is_text = line.behind(&["{", "\"type\"", ":", "\"String\"", ",", "\"id\"", ":"]);
    let event = line.behind(&["{", "\"Type\"", ":"]).and_then(|rest| {
        let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
        let key = behind.strip_prefix(',')?.trim_start().strip_prefix('"')?;
        let (key, value) = key.split_once('"')?;
        let is_event = key.ends_with("Event") && value.trim_start().starts_with(':');
        is_event.then_some(())
    });
    is_text.is_some() || event.is_some()
}

fn convert(database: &Path, import: &mut Import<'_>) -> Result<(), Error> {
    let connection = Connection::open(database).map_err(|error| failed(database, error))?;
    let mut tables = Tables::create(&connection, database)?;
    let mut source = import.open()?;
    let lines = serde_json::Deserializer::from_reader(BufReader::new(&mut source));
    for (number, line) in lines.into_iter::<Value>().enumerate() {
        match line {
            Ok(line) => record(&line, &mut tables, import.notes)?,
            Err(error) if import.options.partial && number > 0 => {
                let text = format!("was imported up to line {} only: {error}", error.line());
                import.problem(text);
                break;
            }
            Err(error) => {
                let problem = format!(
                    "expected an object of `nsys export --type jsonlines`: {error}; --partial keeps what comes before"
                );
                let place = format!("line {}", error.line());
                return Err(Error::damaged(import.path, place, problem));
            }
        }
    }
    source.end(import.notes);
    tables.end()
}

fn record(line: &Value, tables: &mut Tables<'_>, notes: &mut Notes) -> Result<(), Error> {
    if let Some(texts) = line.get("data").and_then(Value::as_array) {
        for (id, text) in (0..).zip(texts) {
            if let Some(text) = text.as_str() {
                tables.text(Cell::Integer(id), text)?;
            }
        }
    } else if let (id @ Cell::Integer(_), Some(text)) =
        (cell(line, "id"), line.get("value").and_then(Value::as_str))
    {
        tables.text(id, text)?;
    } else if line.get("nameId").is_some() {
        thread_name(line, tables)?;
    } else if let Some(event) = line.get("CudaEvent") {
        device_work(event, tables, notes)?;
    } else if let Some(event) = line.get("TraceProcessEvent") {
        call(event, tables, notes)?;
    } else if let Some(event) = line.get("NvtxEvent") {
        range(line, event, tables)?;
    } else if let Some(lists) = line.as_object().filter(|line| !line.contains_key("Type")) {
        let items = lists.values().filter_map(Value::as_array).flatten();
        for item in items.filter(|item| item.get("nameId").is_some()) {
            thread_name(item, tables)?;
        }
    } else {
        let mut keys = line.as_object().into_iter().flat_map(|line| line.keys());
        let kind = keys.find(|key| key.as_str() != "Type");
        let kind = kind.map_or("value that is not an object", String::as_str);
        notes.skip(&format!("{kind}: has no place in a run"));
    }
    Ok(())
}

/// Converts a field to a cell. Numbers may be JSON numbers or strings.
fn cell(of: &Value, field: &str) -> Cell {
    match of.get(field) {
        None | Some(Value::Null) => Cell::Null,
        Some(Value::Number(number)) => {
            let whole = number.as_i64();
            let whole = whole.or_else(|| number.as_u64().map(u64::cast_signed));
            match (whole, number.as_f64()) {
                (Some(whole), _) => Cell::Integer(whole),
                (None, Some(real)) => Cell::Real(real),
                (None, None) => Cell::Null,
            }
        }
        Some(Value::String(text)) => {
            let whole = text.parse::<i64>().ok();
            let whole = whole.or_else(|| text.parse::<u64>().ok().map(u64::cast_signed));
            whole.map_or_else(|| Cell::Text(text.clone()), Cell::Integer)
        }
        Some(other) => Cell::Text(other.to_string()),
    }
}

fn cells(of: &Value, fields: &[&str]) -> Vec<Cell> {
    fields.iter().map(|field| cell(of, field)).collect()
}

fn thread_name(of: &Value, tables: &mut Tables<'_>) -> Result<(), Error> {
    tables.row(
        "ThreadNames",
        &["globalTid", "nameId"],
        cells(of, &["globalTid", "nameId"]),
    )
}

fn range(line: &Value, event: &Value, tables: &mut Tables<'_>) -> Result<(), Error> {
    let kind = match cell(event, "Type") {
        Cell::Null => cell(line, "Type"),
        stated => stated,
    };
    let mut row = cells(event, &["Timestamp", "EndTimestamp"]);
    row.push(kind);
    // A text of digits is a text.
    row.push(match event.get("Text").and_then(Value::as_str) {
        Some(text) => Cell::Text(text.to_owned()),
        None => Cell::Null,
    });
    row.extend(cells(event, &["TextId", "GlobalTid", "EndGlobalTid"]));
    tables.row(
        "NVTX_EVENTS",
        &[
            "start",
            "end",
            "eventType",
            "text",
            "textId",
            "globalTid",
            "endGlobalTid",
        ],
        row,
    )
}

/// Call classes are numbers in newer exports and words in older ones.
fn table_of_call(class: &Cell) -> Option<&'static str> {
    let word = match class {
        Cell::Integer(0) => "CUDA_RUNTIME",
        Cell::Integer(1) => "CUDA_DRIVER",
        Cell::Integer(27) => "OS_RUNTIME",
        Cell::Text(word) => word.strip_prefix("TRACE_PROCESS_EVENT_").unwrap_or(word),
        _ => return None,
    };
    match word {
        "CUDA_RUNTIME" => Some("CUPTI_ACTIVITY_KIND_RUNTIME"),
        "CUDA_DRIVER" => Some("CUPTI_ACTIVITY_KIND_DRIVER"),
        "OS_RUNTIME" => Some("OSRT_API"),
        _ => None,
    }
}

fn call(event: &Value, tables: &mut Tables<'_>, notes: &mut Notes) -> Result<(), Error> {
    let class = cell(event, "eventClass");
    let Some(table) = table_of_call(&class) else {
        let class = event.get("eventClass").unwrap_or(&Value::Null);
        notes.skip(&format!(
            "TraceProcessEvent of class {class}: has no place in a run"
        ));
        return Ok(());
    };
    let columns = [
        "start",
        "end",
        "globalTid",
        "nameId",
        "returnValue",
        "correlationId",
    ];
    let mut row = cells(event, &["startNs", "endNs", "globalTid", "name"]);
    row.push(match cell(event, "returnValue32") {
        Cell::Null => cell(event, "returnValue"),
        stated => stated,
    });
    row.push(cell(event, "correlationId"));
    tables.row(table, &columns, row)
}

/// CUPTI's numbers for the words of waits.
const SYNC_WORDS: [(&str, i64); 4] = [
    ("EVENT_SYNCHRONIZE", 1),
    ("STREAM_WAIT_EVENT", 2),
    ("STREAM_SYNCHRONIZE", 3),
    ("CONTEXT_SYNCHRONIZE", 4),
];

const PLACE: [&str; 5] = [
    "deviceId",
    "contextId",
    "streamId",
    "correlationId",
    "globalPid",
];

/// A part of a device event: its name, the table, and which fields become which columns.
type Part = (
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

const KERNEL: [&str; 11] = [
    "demangledName",
    "gridX",
    "gridY",
    "gridZ",
    "blockX",
    "blockY",
    "blockZ",
    "registersPerThread",
    "staticSharedMemory",
    "dynamicSharedMemory",
    "graphNodeId",
];

const PARTS: [Part; 5] = [
    ("kernel", "CUPTI_ACTIVITY_KIND_KERNEL", &KERNEL, &KERNEL),
    (
        "memcpy",
        "CUPTI_ACTIVITY_KIND_MEMCPY",
        &["sizebytes", "copyKind", "srcKind", "dstKind"],
        &["bytes", "copyKind", "srcKind", "dstKind"],
    ),
    (
        "memset",
        "CUPTI_ACTIVITY_KIND_MEMSET",
        &["sizebytes", "memKind"],
        &["bytes", "memKind"],
    ),
    (
        "sync",
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
        &["syncType", "eventId", "eventSyncId"],
        &["syncType", "eventId", "eventSyncId"],
    ),
    (
        "cudaEventRecord",
        "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
        &["eventId", "eventSyncId"],
        &["eventId", "eventSyncId"],
    ),
];

fn device_work(event: &Value, tables: &mut Tables<'_>, notes: &mut Notes) -> Result<(), Error> {
    let found = PARTS
        .iter()
        .find_map(|part| Some((part, event.get(part.0)?)));
    let Some(((part, table, fields, names), of)) = found else {
        let class = event.get("eventClass").unwrap_or(&Value::Null);
        notes.skip(&format!(
            "CudaEvent of class {class}: has no place in a run"
        ));
        return Ok(());
    };
    let (mut columns, mut row) = match *part {
        "cudaEventRecord" => (vec!["timestamp"], cells(event, &["startNs"])),
        _ => (vec!["start", "end"], cells(event, &["startNs", "endNs"])),
    };
    columns.extend(PLACE);
    row.extend(cells(event, &PLACE));
    columns.extend(*names);
    row.extend(fields.iter().map(|field| match (*field, cell(of, field)) {
        ("syncType", Cell::Text(word)) => {
            let word = word.trim_start_matches("SYNCHRONIZATION_TYPE_");
            let known = SYNC_WORDS.iter().find(|(known, _)| *known == word);
            known.map_or(Cell::Null, |(_, number)| Cell::Integer(*number))
        }
        ("graphNodeId", Cell::Null) => cell(event, field),
        ("demangledName", Cell::Null) => cell(of, "shortName"),
        (_, cell) => cell,
    }));
    tables.row(table, &columns, row)
}

/// The tables of the database, each created with its first row.
struct Tables<'c> {
    connection: &'c Connection,
    path: &'c Path,
    texts: Statement<'c>,
    rows: HashMap<&'static str, Statement<'c>>,
}

impl<'c> Tables<'c> {
    fn create(connection: &'c Connection, path: &'c Path) -> Result<Self, Error> {
        let made = connection
            .execute_batch(
                "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN;
                 CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)",
            )
            .and_then(|()| connection.prepare("INSERT OR IGNORE INTO StringIds VALUES (?, ?)"));
        Ok(Self {
            connection,
            path,
            texts: made.map_err(|error| failed(path, error))?,
            rows: HashMap::new(),
        })
    }

    fn text(&mut self, id: Cell, text: &str) -> Result<(), Error> {
        let done = self.texts.execute((id, text));
        done.map(|_| ()).map_err(|error| failed(self.path, error))
    }

    fn row(&mut self, table: &'static str, columns: &[&str], row: Vec<Cell>) -> Result<(), Error> {
        let statement = match self.rows.entry(table) {
            Entry::Occupied(made) => made.into_mut(),
            Entry::Vacant(none) => {
                let create = format!("CREATE TABLE {table} ({})", columns.join(", "));
                let places = vec!["?"; columns.len()].join(", ");
                let insert = format!("INSERT INTO {table} VALUES ({places})");
                let made = self.connection.execute_batch(&create);
                let made = made.and_then(|()| self.connection.prepare(&insert));
                none.insert(made.map_err(|error| failed(self.path, error))?)
            }
        };
        let done = statement.execute(params_from_iter(row));
        done.map(|_| ()).map_err(|error| failed(self.path, error))
    }

    fn end(self) -> Result<(), Error> {
        let done = self.connection.execute_batch("COMMIT");
        done.map_err(|error| failed(self.path, error))
    }
}

fn failed(path: &Path, error: rusqlite::Error) -> Error {
    Error::io(path, "write it", std::io::Error::other(error))
}

//! Nsight Systems exports that are folders of Parquet files, one a table
//! (`nsys export --type parquetdir`).
//!
//! The tables are those of the sqlite export, and the same code makes a run of them. Here they
//! are read in order of time, with memory for a window of each table that is being merged.
//! Parquet has no hashes of its own: of a damaged file as much is read as the engine can decode.
//!
//! It stands in the command because this alone may use both sides: the importers' crate has no polars, and the
//! engine knows no importers.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use polars::io::HiveOptions;
use polars::prelude::{
    AnyValue, DataFrame, DataType, LazyFrame, NULL, ParquetReader, PlRefPath, ScanArgsParquet,
    Schema, SchemaExt, SchemaRef, SerReader, col, lit,
};
use trueno_engine::panic_guard::guarded;
use trueno_engine::time_order::{Order, Ordered};
use trueno_import::nsys::import_source;
use trueno_import::nsys::processes::{Process, device_processes};
use trueno_import::nsys::source::{Scan, Source, Value, Visit, is_timed};
use trueno_import::{Error, Import, Notes, Options};

pub(crate) const NAME: &str = "nsys-parquet";

const ACTIVITIES: &str = "CUPTI_ACTIVITY";

struct Tables {
    tables: BTreeMap<String, Table>,
}

struct Table {
    path: PathBuf,
    schema: SchemaRef,
    columns: Vec<String>,
    rows: u64,
}

/// Whether a folder holds Parquet files with names of tables of Nsight Systems. [`import`] finds out whether they are an
/// export.
pub(crate) fn recognises(folder: &Path) -> bool {
    const TABLES: [&str; 5] = [
        "META_DATA_EXPORT",
        "EXPORT_META_DATA",
        "NVTX_EVENTS",
        "OSRT_API",
        "StringIds",
    ];
    let files = files(folder);
    let mut names = files.keys();
    names.any(|name| name.starts_with(ACTIVITIES) || TABLES.contains(&name.as_str()))
}

pub(crate) fn bytes(folder: &Path) -> u64 {
    let lengths = files(folder).into_values().map(fs::metadata);
    lengths.flatten().map(|file| file.len()).sum()
}

/// Reads an export. Returns the length of the run.
///
/// # Errors
/// Not an export, a table of it is damaged and [`Options::partial`] is not asked for, or the run cannot be written.
pub fn import(import: Import<'_>) -> Result<Option<i64>, Error> {
    let said = import.notes.warnings.len();
    let mut tables = Tables::open(import.path, import.options, import.notes)?;
    let damage = &import.notes.warnings[said..];
    import.into.run().problems.extend_from_slice(damage);
    let bytes = bytes(import.path);
    import_source(&mut tables, bytes, import)
}

/// The processes in an export that ran kernels, in order of their first device.
///
/// # Errors
/// It cannot be read.
pub(crate) fn processes(folder: &Path, options: &Options) -> Result<Vec<Process>, Error> {
    device_processes(&mut Tables::open(folder, options, &mut Notes::default())?)
}

fn files(folder: &Path) -> BTreeMap<String, PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let table = name.strip_suffix(".parquet")?;
            let path = entry.path();
            (!table.is_empty() && path.is_file()).then(|| (table.to_owned(), path))
        })
        .collect()
}

impl Tables {
    fn open(folder: &Path, options: &Options, notes: &mut Notes) -> Result<Self, Error> {
        let mut tables = BTreeMap::new();
        let files = files(folder);
        // Of a folder that is none, another message says more.
        let is_export = files.keys().any(|name| name.starts_with(ACTIVITIES));
        for (name, path) in files {
            match Table::open(path) {
                Ok(table) => {
                    tables.insert(name, table);
                }
                Err(error) if options.partial || !is_export => {
                    notes.warn(format!("table {name} cannot be read: {error}"));
                }
                Err(error) => {
                    return Err(Error::Damaged {
                        path: folder.to_owned(),
                        place: format!("{name}.parquet"),
                        problem: format!(
                            "a table cannot be read: {error}; --partial reads the others"
                        ),
                    });
                }
            }
        }
        Ok(Self { tables })
    }

    fn ordered(&self, scan: &Scan) -> Result<Ordered, String> {
        let Some(table) = self.tables.get(&scan.table) else {
            return Err("there is no such table".to_owned());
        };
        let columns = scan.columns.iter().enumerate().map(|(number, column)| {
            let column = column.as_ref().filter(|name| table.columns.contains(name));
            let column = match column {
                Some(name) => col(name.as_str()),
                None => lit(NULL).cast(DataType::Int64),
            };
            column.alias(number.to_string())
        });
        let rows = table.frame()?.select(columns.collect::<Vec<_>>());
        let is_number = |number: usize| {
            let column = scan.columns.get(number).and_then(Option::as_deref);
            column.is_some_and(|column| table.is_number(column))
        };
        // Of texts the order is of no matter to anyone.
        let order = is_number(0).then(|| Order {
            time: "0".to_owned(),
            then_down: is_number(1).then(|| "1".to_owned()),
        });
        Ordered::new(vec![rows], order)
    }
}

impl Table {
    fn open(path: PathBuf) -> Result<Self, String> {
        let file = File::open(&path).map_err(|error| error.to_string())?;
        guarded(|| {
            let mut reader = ParquetReader::new(file);
            let schema = Schema::from_arrow_schema(reader.schema()?.as_ref());
            Ok(Self {
                path,
                rows: reader.num_rows()? as u64,
                columns: schema.iter_names().map(ToString::to_string).collect(),
                schema: SchemaRef::new(schema),
            })
        })
    }

    fn frame(&self) -> Result<LazyFrame, String> {
        let args = ScanArgsParquet {
            schema: Some(self.schema.clone()),
            glob: false,
            hive_options: HiveOptions::new_disabled(),
            ..ScanArgsParquet::default()
        };
        guarded(|| LazyFrame::scan_parquet(PlRefPath::try_from_path(&self.path)?, args))
    }

    fn is_integer(&self, column: &str) -> bool {
        (self.schema.get(column)).is_some_and(|ty| ty.is_integer() || ty.is_temporal())
    }

    fn is_number(&self, column: &str) -> bool {
        self.is_integer(column) || self.schema.get(column).is_some_and(DataType::is_float)
    }
}

impl Source for Tables {
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
        let Some(found) = self.tables.get(table).filter(|t| t.is_integer(start)) else {
            return Ok((None, Vec::new()));
        };
        let end = end.filter(|end| found.is_integer(end));
        let integer = |name: &str| col(name).cast(DataType::Int64);
        let columns = vec![
            integer(start).alias("start"),
            end.map_or(lit(NULL).cast(DataType::Int64), integer)
                .alias("end"),
        ];
        let rows = found.frame().map(|frame| frame.select(columns));
        let rows = match rows.and_then(|rows| Ordered::new(vec![rows], None)) {
            Ok(rows) => rows,
            Err(error) => return Ok((None, vec![not_to_its_end(table, &error)])),
        };
        let mut earliest: Option<i64> = None;
        for frame in rows {
            match frame.and_then(|frame| earliest_of(&frame)) {
                Ok(here) => earliest = earliest.into_iter().chain(here).min(),
                Err(error) => return Ok((earliest, vec![not_to_its_end(table, &error)])),
            }
        }
        Ok((earliest, Vec::new()))
    }

    fn merged(&mut self, scans: &[Scan], visit: &mut Visit<'_>) -> Result<Vec<String>, Error> {
        let mut damage = Vec::new();
        let mut cursors = Vec::with_capacity(scans.len());
        for scan in scans {
            let mut cursor = Cursor {
                table: &scan.table,
                rows: None,
                frame: DataFrame::empty(),
                times: Vec::new(),
                at: 0,
            };
            match self.ordered(scan) {
                Ok(rows) => cursor.rows = Some(rows),
                Err(error) => damage.push(not_to_its_end(&scan.table, &error)),
            }
            damage.extend(cursor.refill());
            cursors.push(cursor);
        }
        loop {
            let open = cursors.iter().enumerate();
            let Some((_, number)) = open.filter_map(|(n, c)| Some((c.key()?, n))).min() else {
                return Ok(damage);
            };
            let cursor = &mut cursors[number];
            let values: Vec<Value<'_>> = cursor.values().collect();
            visit(number, &values)?;
            drop(values);
            cursor.at += 1;
            damage.extend(cursor.refill());
        }
    }
}

fn not_to_its_end(table: &str, error: &str) -> String {
    format!("table {table} could not be read to its end ({error})")
}

fn earliest_of(frame: &DataFrame) -> Result<Option<i64>, String> {
    guarded(|| {
        let (starts, ends) = (frame.column("start")?.i64()?, frame.column("end")?.i64()?);
        let timed = starts.iter().zip(ends.iter());
        let timed = timed.filter_map(|(start, end)| start.filter(|&start| is_timed(start, end)));
        Ok(timed.min())
    })
}

struct Cursor<'s> {
    table: &'s str,
    rows: Option<Ordered>,
    frame: DataFrame,
    /// First column of the frame. Values that are not a time sort first.
    times: Vec<i64>,
    at: usize,
}

impl Cursor<'_> {
    /// Loads the next window if this one is used up. Returns a description of any damage.
    fn refill(&mut self) -> Option<String> {
        while self.at >= self.times.len() {
            (self.at, self.times) = (0, Vec::new());
            let next = self.rows.as_mut()?.next()?;
            let read = next.and_then(|mut frame| {
                guarded(|| {
                    frame.rechunk_mut();
                    let times = frame.column("0")?;
                    if !times.dtype().is_primitive_numeric() && !times.dtype().is_temporal() {
                        return Ok((vec![i64::MIN; frame.height()], frame));
                    }
                    let times = times.cast(&DataType::Int64)?;
                    let times = times.i64()?.iter().map(|time| time.unwrap_or(i64::MIN));
                    Ok((times.collect(), frame))
                })
            });
            match read {
                Ok((times, frame)) => (self.times, self.frame) = (times, frame),
                Err(error) => {
                    self.rows = None;
                    return Some(not_to_its_end(self.table, &error));
                }
            }
        }
        None
    }

    fn key(&self) -> Option<i64> {
        self.times.get(self.at).copied()
    }

    fn values(&self) -> impl Iterator<Item = Value<'_>> {
        let columns = self.frame.columns().iter();
        columns.map(|column| column.get(self.at).map_or(Value::Null, value))
    }
}

fn value(value: AnyValue<'_>) -> Value<'_> {
    match value {
        AnyValue::Null => Value::Null,
        AnyValue::Boolean(value) => Value::Int(i64::from(value)),
        // sqlite has no unsigned numbers: the same bits.
        AnyValue::UInt64(value) => Value::Int(value.cast_signed()),
        AnyValue::Float32(value) => Value::Real(f64::from(value)),
        AnyValue::Float64(value) => Value::Real(value),
        AnyValue::String(text) => Value::Text(Cow::Borrowed(text)),
        AnyValue::StringOwned(text) => Value::Text(Cow::Owned(text.to_string())),
        AnyValue::Binary(bytes) => text_or_blob(bytes),
        AnyValue::Datetime(time, ..) | AnyValue::Duration(time, _) | AnyValue::Time(time) => {
            Value::Int(time)
        }
        other if other.is_integer() => other.extract().map_or(Value::Null, Value::Int),
        other => match other.get_str() {
            Some(text) => Value::Text(Cow::Owned(text.to_owned())),
            None => Value::Blob(Cow::Borrowed(&[])),
        },
    }
}

/// Strings in columns not marked as text arrive as bytes.
fn text_or_blob(bytes: &[u8]) -> Value<'_> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Value::Text(Cow::Borrowed(text)),
        Err(_) => Value::Blob(bytes.into()),
    }
}

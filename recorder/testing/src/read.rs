//! Runs, read back the slow and obvious way.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{Cursor, Read, Seek};
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::DataType;
use trueno_format::journal::{Chunk, JOURNAL, Line};
use trueno_format::run_json::{RUN_JSON, RunJson};
use trueno_format::schema::{self, ColumnType};
use trueno_format::segment::{END_OF_STREAM, STREAM_OFFSET, dictionary_bytes, head_bytes};

#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Null,
    U(u64),
    I(i64),
    F(f64),
    B(bool),
    T(String),
}

/// A table of a run, or the content of its sealed segments.
#[derive(Debug, Default)]
pub struct Table {
    pub columns: HashMap<String, Vec<Cell>>,
    pub rows: usize,
    pub batches: Vec<usize>,
}

impl Table {
    pub fn cell(&self, column: &str, row: usize) -> &Cell {
        &self.columns[column][row]
    }

    pub fn numbers(&self, column: &str) -> Vec<Option<i128>> {
        let number = |cell: &Cell| match cell {
            Cell::U(value) => Some(i128::from(*value)),
            Cell::I(value) => Some(i128::from(*value)),
            Cell::Null => None,
            other => panic!("{column} holds {other:?}"),
        };
        self.columns
            .get(column)
            .map_or(Vec::new(), |cells| cells.iter().map(number).collect())
    }

    pub fn texts(&self, column: &str) -> Vec<Option<&str>> {
        let text = |cell| match cell {
            &Cell::Null => None,
            Cell::T(text) => Some(text.as_str()),
            other => panic!("{column} holds {other:?}"),
        };
        self.columns
            .get(column)
            .map_or(Vec::new(), |cells| cells.iter().map(text).collect())
    }

    /// Index of the row with that name, which must exist.
    pub fn named(&self, name: &str) -> usize {
        let found: Vec<usize> = (0..self.rows)
            .filter(|row| self.cell("name", *row) == &Cell::T(name.into()))
            .collect();
        assert_eq!(found.len(), 1, "rows named {name}");
        found[0]
    }

    pub fn number(&self, column: &str, row: usize) -> Option<i128> {
        self.numbers(column)[row]
    }

    pub fn add_segment(&mut self, segment: impl Read + Seek) {
        for batch in FileReader::try_new(segment, None).unwrap() {
            let batch = batch.unwrap();
            let schema = batch.schema();
            let columns: Vec<_> = schema
                .fields()
                .iter()
                .zip(batch.columns())
                .map(|(field, array)| (field.name().clone(), array.clone()))
                .collect();
            self.add(&columns);
        }
    }

    /// Adds the batches of a segment that may lack its tail, using its head and the journal's lines with
    /// dictionaries and byte ranges.
    pub fn add_batches<'l>(
        &mut self,
        table: &str,
        segment: &[u8],
        lines: impl Iterator<Item = &'l Line>,
    ) {
        let described = schema::table(table).unwrap();
        let mut dictionaries: HashMap<&str, Vec<&str>> = HashMap::new();
        let mut batches = Vec::new();
        for line in lines {
            assert_eq!(line.chunk, Chunk::Batch);
            for (column, new) in &line.new {
                let texts = new.iter().map(String::as_str);
                dictionaries.entry(column).or_default().extend(texts);
            }
            batches.extend_from_slice(
                &segment[line.offset as usize..(line.offset + line.bytes) as usize],
            );
        }
        let mut stream = head_bytes(described)[STREAM_OFFSET..].to_vec();
        let is_text = |column: &&schema::Column| column.ty == ColumnType::Text;
        for column in described.columns.iter().filter(is_text) {
            let values = dictionaries.remove(column.name).unwrap_or_default();
            stream.extend(dictionary_bytes(described, column.name, &values).unwrap());
        }
        assert!(dictionaries.is_empty(), "{table}: {dictionaries:?}");
        stream.extend(batches);
        stream.extend(END_OF_STREAM);
        for batch in StreamReader::try_new(Cursor::new(stream), None).unwrap() {
            let batch = batch.unwrap();
            let names = described
                .columns
                .iter()
                .map(|column| column.name.to_owned());
            let columns: Vec<_> = names.zip(batch.columns().iter().cloned()).collect();
            self.add(&columns);
        }
    }

    pub fn add(&mut self, columns: &[(String, ArrayRef)]) {
        for (name, array) in columns {
            let cells = self.columns.entry(name.clone()).or_default();
            cells.extend((0..array.len()).map(|at| cell(array, at)));
        }
        let rows = columns.first().map_or(0, |(_, array)| array.len());
        self.rows += rows;
        self.batches.push(rows);
    }
}

fn cell(array: &ArrayRef, at: usize) -> Cell {
    if array.is_null(at) {
        return Cell::Null;
    }
    match array.data_type() {
        DataType::UInt32 => Cell::U(array.as_primitive::<UInt32Type>().value(at).into()),
        DataType::UInt64 => Cell::U(array.as_primitive::<UInt64Type>().value(at)),
        DataType::Int64 => Cell::I(array.as_primitive::<Int64Type>().value(at)),
        DataType::Float64 => Cell::F(array.as_primitive::<Float64Type>().value(at)),
        DataType::Boolean => Cell::B(array.as_boolean().value(at)),
        DataType::Dictionary(_, _) => {
            let texts = array.as_dictionary::<Int32Type>();
            let key = texts.keys().value(at) as usize;
            Cell::T(texts.values().as_string::<i32>().value(key).to_owned())
        }
        other => panic!("unexpected type {other}"),
    }
}

pub fn segments(run: &Path, table: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(run.join(table)) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "arrow")
    });
    files.sort();
    files
}

pub fn table(run: &Path, name: &str) -> Table {
    let mut table = Table::default();
    for segment in segments(run, name) {
        table.add_segment(File::open(&segment).unwrap());
    }
    table
}

pub fn run_json(run: &Path) -> RunJson {
    serde_json::from_slice(&fs::read(run.join(RUN_JSON)).unwrap()).unwrap()
}

/// Lines of the journal by segment, in the order of the file.
pub fn journal(run: &Path) -> BTreeMap<String, Vec<Line>> {
    let mut lines: BTreeMap<String, Vec<Line>> = BTreeMap::new();
    for line in fs::read_to_string(run.join(JOURNAL)).unwrap().lines() {
        let line = Line::decode(line.as_bytes()).unwrap();
        lines.entry(line.segment.clone()).or_default().push(line);
    }
    lines
}

//! Reads tables of a run back, for tests.

use std::fs::File;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_ipc::reader::FileReader;
use arrow_schema::DataType;
use trueno_format::run_json::RunJson;
use trueno_format::run_writer::RunWriter;

use crate::{Error, Importer, Notes, Options};

/// Columns of `kernels` that most device formats fill.
pub const KERNEL_COLUMNS: [&str; 10] = [
    "name",
    "device",
    "stream",
    "thread",
    "start_ns",
    "dur_ns",
    "grid_x",
    "block_x",
    "registers",
    "smem",
];

pub struct Imported {
    folder: tempfile::TempDir,
    pub wall_ns: Option<i64>,
    pub notes: Notes,
    pub run: RunJson,
}

pub fn imported(importer: &dyn Importer, file: &Path) -> Result<Imported, Error> {
    read_back(|run, notes| importer.import(file, &Options::default(), run, notes, &mut |_| {}))
}

pub fn read_back(
    write: impl FnOnce(&mut RunWriter, &mut Notes) -> Result<Option<i64>, Error>,
) -> Result<Imported, Error> {
    let folder = tempfile::tempdir().unwrap();
    let mut run = RunWriter::create(&folder.path().join("run"), RunJson::default())?;
    let mut notes = Notes::default();
    let wall_ns = write(&mut run, &mut notes)?;
    let run = run.finish(wall_ns)?;
    Ok(Imported {
        folder,
        wall_ns,
        notes,
        run,
    })
}

impl Imported {
    /// Cells of some columns as text, one string per row; null is `-`.
    pub fn rows(&self, table: &str, columns: &[&str]) -> Vec<String> {
        let segment = self
            .folder
            .path()
            .join("run")
            .join(table)
            .join("000000.arrow");
        if !segment.exists() {
            return Vec::new();
        }
        lines(&segment, columns)
    }

    pub fn warns(&self, word: &str) -> bool {
        self.notes
            .warnings
            .iter()
            .any(|warning| warning.contains(word))
    }
}

fn lines(segment: &Path, columns: &[&str]) -> Vec<String> {
    let mut lines = Vec::new();
    for batch in FileReader::try_new(File::open(segment).unwrap(), None).unwrap() {
        let batch = batch.unwrap();
        for row in 0..batch.num_rows() {
            let cells = columns
                .iter()
                .map(|name| cell(batch.column_by_name(name).unwrap(), row));
            lines.push(cells.collect::<Vec<_>>().join(" "));
        }
    }
    lines
}

fn cell(array: &ArrayRef, row: usize) -> String {
    if array.is_null(row) {
        return "-".to_owned();
    }
    match array.data_type() {
        DataType::UInt32 => array.as_primitive::<UInt32Type>().value(row).to_string(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).to_string(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::Float64 => array.as_primitive::<Float64Type>().value(row).to_string(),
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        _ => {
            let texts = array.as_dictionary::<Int32Type>();
            let key = texts.keys().value(row) as usize;
            texts.values().as_string::<i32>().value(key).to_owned()
        }
    }
}

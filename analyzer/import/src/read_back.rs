//! Reads tables of a run back, for tests.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_ipc::reader::FileReader;
use arrow_schema::DataType;
use trueno_format::run_json::RunJson;
use trueno_format::run_writer::RunWriter;

use crate::source::no_progress;
use crate::{Error, Head, Import, Importer, Notes, Options};

/// Columns of `kernels` that most device formats fill.
pub const KERNEL_COLUMNS: &str =
    "name device stream thread start_ns dur_ns grid_x block_x registers smem";

pub struct Imported {
    folder: tempfile::TempDir,
    pub wall_ns: Option<i64>,
    pub notes: Notes,
    pub run: RunJson,
}

pub fn imported(importer: &Importer, file: &Path) -> Result<Imported, Error> {
    imported_with(importer, file, &Options::default())
}

pub fn imported_with(
    importer: &Importer,
    file: &Path,
    options: &Options,
) -> Result<Imported, Error> {
    read_back(file, options, |import| importer.import(import))
}

pub fn of_bytes(
    importer: &Importer,
    bytes: impl AsRef<[u8]>,
    options: &Options,
) -> Result<Imported, Error> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.json");
    std::fs::write(&file, bytes).unwrap();
    imported_with(importer, &file, options)
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    to.write_all(bytes).unwrap();
    to.finish().unwrap()
}

/// Options that keep what precedes damage.
pub fn partial() -> Options {
    Options {
        partial: true,
        ..Options::default()
    }
}

pub fn recognises(importer: &Importer, head: impl AsRef<[u8]>) -> bool {
    (importer.recognises)(&Head::new(head.as_ref()))
}

/// The name of the format that a file of this content is taken for.
pub fn detected(bytes: impl AsRef<[u8]>) -> &'static str {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    crate::detect(file.path()).unwrap().name
}

/// Adds to a database in small pages.
pub fn execute(file: &Path, sql: &str) {
    let connection = rusqlite::Connection::open(file).unwrap();
    let pages = "PRAGMA page_size=1024; PRAGMA synchronous=OFF;";
    connection.execute_batch(&format!("{pages} {sql}")).unwrap();
}

/// Imports a database by what recognises it.
pub fn of_sql(sql: &str) -> Imported {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.db");
    execute(&file, sql);
    imported(crate::detect(&file).unwrap(), &file).unwrap()
}

/// The same for a packed database.
pub fn of_packed_sql(sql: &str) -> Imported {
    let folder = tempfile::tempdir().unwrap();
    let (file, packed) = (folder.path().join("a.db"), folder.path().join("a.db.gz"));
    execute(&file, sql);
    std::fs::write(&packed, gzip(&std::fs::read(&file).unwrap())).unwrap();
    imported(crate::detect(&packed).unwrap(), &packed).unwrap()
}

/// Imports a database of which a page is damaged, or the end is missing: nothing panics.
pub fn damage_pages(importer: &Importer, sql: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.db");
    execute(&file, sql);
    let whole = std::fs::read(&file).unwrap();
    for at in (1024..whole.len()).step_by(1024) {
        let mut bytes = whole.clone();
        bytes[at..at + 1024].fill(0xa5);
        for damaged in [&bytes, &whole[..at]] {
            std::fs::write(&file, damaged).unwrap();
            let _ = imported_with(importer, &file, &partial());
            let _ = imported(importer, &file);
        }
    }
    std::fs::write(&file, &whole[..2048]).unwrap();
    assert!(imported(importer, &file).is_err());
}

pub fn read_back(
    path: &Path,
    options: &Options,
    read: impl FnOnce(Import<'_>) -> Result<Option<i64>, Error>,
) -> Result<Imported, Error> {
    let folder = tempfile::tempdir().unwrap();
    let mut into = RunWriter::create(&folder.path().join("run"), RunJson::default())?;
    let mut notes = Notes::default();
    let wall_ns = read(Import {
        path,
        options,
        into: &mut into,
        notes: &mut notes,
        progress: no_progress(),
    })?;
    let run = into.finish(wall_ns)?;
    Ok(Imported {
        folder,
        wall_ns,
        notes,
        run,
    })
}

impl Imported {
    /// Cells of some columns, or of all (`*`), as text, one string per row; null is `-`.
    pub fn rows(&self, table: &str, columns: &str) -> Vec<String> {
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

    /// How many records were left out for reasons with this text.
    pub fn left_out(&self, reason: &str) -> u64 {
        sum(&self.notes.left_out, reason)
    }

    pub fn repeated(&self, what: &str) -> u64 {
        sum(&self.notes.repeated, what)
    }

    /// All files of the run, by their names in it.
    pub fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let run = self.folder.path().join("run");
        let mut out = Vec::new();
        let mut folders = vec![run.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(&run).unwrap().to_owned();
                    out.push((name, std::fs::read(path).unwrap()));
                }
            }
        }
        out.sort();
        out
    }

    pub fn warns(&self, word: &str) -> bool {
        self.notes
            .warnings
            .iter()
            .any(|warning| warning.contains(word))
    }
}

fn sum(counts: &BTreeMap<String, u64>, text: &str) -> u64 {
    let found = counts.iter().filter(|(reason, _)| reason.contains(text));
    found.map(|(_, count)| count).sum()
}

fn lines(segment: &Path, columns: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for batch in FileReader::try_new(File::open(segment).unwrap(), None).unwrap() {
        let batch = batch.unwrap();
        for row in 0..batch.num_rows() {
            let cell = |name| cell(batch.column_by_name(name).unwrap(), row);
            let cells: Vec<String> = match columns {
                "*" => batch
                    .columns()
                    .iter()
                    .map(|of| self::cell(of, row))
                    .collect(),
                columns => columns.split(' ').map(cell).collect(),
            };
            lines.push(cells.join(" "));
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

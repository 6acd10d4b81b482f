//! Imports text and reads the rows back.

use std::io::Write;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::FileReader;
use arrow_schema::DataType;
use trueno_format::run_json::RunJson;
use trueno_format::run_writer::RunWriter;
use trueno_import::chrome::IMPORTER;
use trueno_import::{Import, Notes, Options};

pub struct Imported {
    folder: tempfile::TempDir,
    pub json: RunJson,
    pub notes: Notes,
}

impl Imported {
    fn path(&self) -> PathBuf {
        self.folder.path().join("imported.run")
    }

    pub fn left_out(&self, reason: &str) -> u64 {
        let of = self.notes.left_out.iter();
        of.filter(|(text, _)| text.contains(reason))
            .map(|(_, count)| count)
            .sum()
    }

    pub fn repeated(&self, what: &str) -> u64 {
        let of = self.notes.repeated.iter();
        of.filter(|(text, _)| text.contains(what))
            .map(|(_, count)| count)
            .sum()
    }

    pub fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut out = Vec::new();
        let mut folders = vec![self.path()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(self.path()).unwrap().to_owned();
                    out.push((name, std::fs::read(path).unwrap()));
                }
            }
        }
        out.sort();
        out
    }
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    to.write_all(bytes).unwrap();
    to.finish().unwrap()
}

pub fn import(content: impl AsRef<[u8]>) -> Result<Imported, String> {
    import_with(content, Options::default())
}

pub fn partial(content: impl AsRef<[u8]>) -> Result<Imported, String> {
    let options = Options {
        partial: true,
        ..Options::default()
    };
    import_with(content, options)
}

pub fn import_with(content: impl AsRef<[u8]>, options: Options) -> Result<Imported, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.json");
    std::fs::write(&file, content).unwrap();
    let path = folder.path().join("imported.run");
    let mut run = RunWriter::create(&path, RunJson::default()).unwrap();
    let mut notes = Notes::default();
    let import = Import {
        path: &file,
        options: &options,
        into: &mut run,
        notes: &mut notes,
        progress: &mut |_| (),
    };
    let wall_ns = IMPORTER.import(import).map_err(|error| error.to_string())?;
    let json = run.finish(wall_ns).unwrap();
    assert!(!path.join("import.lanes").exists());
    Ok(Imported {
        folder,
        json,
        notes,
    })
}

/// Rows as text, with cells separated by spaces; null is a dash.
pub fn rows(run: &Imported, table: &str, columns: &[&str]) -> Vec<String> {
    let file = run.path().join(table).join("000000.arrow");
    if !Path::new(&file).exists() {
        return Vec::new();
    }
    let reader = FileReader::try_new(std::fs::File::open(file).unwrap(), None).unwrap();
    let mut out = Vec::new();
    for batch in reader {
        let batch = batch.unwrap();
        for row in 0..batch.num_rows() {
            let all: Vec<_> = batch
                .schema()
                .fields()
                .iter()
                .map(|field| field.name().clone())
                .collect();
            let names = if columns == ["*"] {
                all
            } else {
                columns.iter().map(|c| (*c).to_owned()).collect()
            };
            let cells: Vec<_> = names.iter().map(|name| cell(&batch, name, row)).collect();
            out.push(cells.join(" "));
        }
    }
    out
}

fn cell(batch: &RecordBatch, name: &str, row: usize) -> String {
    let column = batch.column_by_name(name).unwrap();
    if column.is_null(row) {
        return "-".to_owned();
    }
    match column.data_type() {
        DataType::UInt32 => column.as_primitive::<UInt32Type>().value(row).to_string(),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).to_string(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::Float64 => column.as_primitive::<Float64Type>().value(row).to_string(),
        DataType::Boolean => column.as_boolean().value(row).to_string(),
        _ => {
            let texts = column.as_dictionary::<Int32Type>();
            let key = texts.keys().value(row) as usize;
            texts.values().as_string::<i32>().value(key).to_owned()
        }
    }
}

//! A small, obvious writer of runs: the other side of what the reader must understand.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, Int64Array,
    RecordBatch, RecordBatchOptions, StringArray, UInt32Array, UInt64Array,
};
use arrow_ipc::writer::{
    DictionaryTracker, IpcDataGenerator, IpcWriteContext, IpcWriteOptions, write_message,
};
use arrow_ipc::{Block, CompressionType, FooterBuilder, MetadataVersion};
use arrow_schema::{DataType, Field, Schema};
use serde_json::{Value, json};
use trueno_format::journal::Line;
use xxhash_rust::xxh3::xxh3_64;

#[derive(Clone, Debug)]
pub enum Values {
    U32(Vec<Option<u32>>),
    U64(Vec<Option<u64>>),
    I64(Vec<Option<i64>>),
    F64(Vec<Option<f64>>),
    Bool(Vec<Option<bool>>),
    Text(Vec<Option<String>>),
    PlainText(Vec<Option<String>>),
}

pub type Column = (String, Values);

pub fn i64s(name: &str, values: impl IntoIterator<Item = i64>) -> Column {
    (
        name.into(),
        Values::I64(values.into_iter().map(Some).collect()),
    )
}

pub fn u64s(name: &str, values: impl IntoIterator<Item = u64>) -> Column {
    (
        name.into(),
        Values::U64(values.into_iter().map(Some).collect()),
    )
}

pub fn u32s(name: &str, values: impl IntoIterator<Item = u32>) -> Column {
    (
        name.into(),
        Values::U32(values.into_iter().map(Some).collect()),
    )
}

pub fn texts<'a>(name: &str, values: impl IntoIterator<Item = Option<&'a str>>) -> Column {
    (
        name.into(),
        Values::Text(values.into_iter().map(|v| v.map(str::to_owned)).collect()),
    )
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Values::U32(v) => v.len(),
            Values::U64(v) => v.len(),
            Values::I64(v) => v.len(),
            Values::F64(v) => v.len(),
            Values::Bool(v) => v.len(),
            Values::Text(v) | Values::PlainText(v) => v.len(),
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            Values::U32(_) => DataType::UInt32,
            Values::U64(_) => DataType::UInt64,
            Values::I64(_) => DataType::Int64,
            Values::F64(_) => DataType::Float64,
            Values::Bool(_) => DataType::Boolean,
            Values::Text(_) => {
                DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
            }
            Values::PlainText(_) => DataType::Utf8,
        }
    }

    /// The array of rows `from..to`. For text, the keys of `dictionary`, which grows.
    fn array(&self, from: usize, to: usize, dictionary: &mut Vec<String>) -> ArrayRef {
        match self {
            Values::U32(v) => Arc::new(UInt32Array::from(v[from..to].to_vec())),
            Values::U64(v) => Arc::new(UInt64Array::from(v[from..to].to_vec())),
            Values::I64(v) => Arc::new(Int64Array::from(v[from..to].to_vec())),
            Values::F64(v) => Arc::new(Float64Array::from(v[from..to].to_vec())),
            Values::Bool(v) => Arc::new(BooleanArray::from(v[from..to].to_vec())),
            Values::PlainText(v) => Arc::new(StringArray::from(v[from..to].to_vec())),
            Values::Text(v) => {
                let number = |text: &String| {
                    let at = dictionary
                        .iter()
                        .position(|d| d == text)
                        .unwrap_or_else(|| {
                            dictionary.push(text.clone());
                            dictionary.len() - 1
                        });
                    i32::try_from(at).unwrap()
                };
                let numbers: Vec<Option<i32>> = v[from..to]
                    .iter()
                    .map(|v| v.as_ref())
                    .map({
                        let mut number = number;
                        move |v| v.map(&mut number)
                    })
                    .collect();
                Arc::new(Int32Array::from(numbers))
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    Sealed,
    /// Only batches, as during recording.
    Open,
}

fn options() -> IpcWriteOptions {
    IpcWriteOptions::try_new(64, false, MetadataVersion::V5)
        .unwrap()
        .try_with_compression(Some(CompressionType::LZ4_FRAME))
        .unwrap()
}

pub struct RunWriter {
    pub dir: PathBuf,
    journal: String,
    pub run_json: Value,
}

impl RunWriter {
    pub fn new(dir: &Path) -> Self {
        fs::create_dir_all(dir).unwrap();
        RunWriter {
            dir: dir.to_path_buf(),
            journal: String::new(),
            run_json: json!({
                "format": {"name": "trueno-run", "major": 1, "minor": 0},
                "producer": {"name": "trueno-recorder", "version": "0.1.0"},
                "run_id": "00000000deadbeef", "label": "a label", "state": "finished",
                "program": {"argv": ["decode", "--tokens", "8"], "pid": 4_000_000_000_u32},
                "host": {"name": "box", "os": "linux", "kernel": "6.1", "arch": "x86_64", "cpu_model": "Some CPU",
                         "logical_cpus": 2, "memory_bytes": 1_073_741_824_u64, "cpu_features": ["avx2", "fma"]},
                "clock": {"source": "tsc", "ticks_per_second": 2.5e9, "origin_realtime_ns": 1_700_000_000_000_000_000_i64},
                "recorder": {"ring_records": 65536, "overflow": "drop", "sync_mode": "none", "tables_off": [],
                             "cost_ns_per_span": 31.5},
                "wall_ns": 1_000_000, "tables": {}, "dropped": 0, "problems": [],
                "values": {"model": "tiny"}
            }),
        }
    }

    /// Writes a segment and its journal lines, with `batch_rows` rows per batch.
    pub fn segment(
        &mut self,
        table: &str,
        number: u32,
        columns: &[Column],
        batch_rows: usize,
        end: End,
    ) -> &mut Self {
        let name = format!("{table}/{number:06}.arrow");
        let rows = columns.first().map_or(0, |c| c.1.len());
        assert!(
            columns.iter().all(|c| c.1.len() == rows),
            "columns of {table} differ in length"
        );
        let nullable = |column: &Column| {
            let known = trueno_format::schema::table(table).and_then(|t| t.column(&column.0));
            known.is_none_or(|c| c.nullable)
                || column.1.array(0, rows, &mut Vec::new()).null_count() > 0
        };
        let fields = columns
            .iter()
            .map(|c| Field::new(&c.0, c.1.data_type(), nullable(c)));
        let schema = Schema::new(fields.collect::<Vec<_>>());
        let numbers = Schema::new(
            columns
                .iter()
                .map(|c| {
                    let ty = if matches!(c.1, Values::Text(_)) {
                        DataType::Int32
                    } else {
                        c.1.data_type()
                    };
                    Field::new(&c.0, ty, nullable(c))
                })
                .collect::<Vec<_>>(),
        );
        let generator = IpcDataGenerator::default();
        let options = options();
        let mut context = IpcWriteContext::default();
        let mut file: Vec<u8> = b"ARROW1".to_vec();
        file.resize(64, 0);
        let mut tracker = DictionaryTracker::new(true);
        let encoded =
            generator.schema_to_bytes_with_dictionary_tracker(&schema, &mut tracker, &options);
        write_message(&mut file, encoded, &options).unwrap();
        self.line(json!({"segment": name, "chunk": "head", "offset": 0, "bytes": file.len(), "xxh3": hash(&file)}));

        let mut dictionaries: Vec<Vec<String>> = vec![Vec::new(); columns.len()];
        let mut record_blocks = Vec::new();
        let mut from = 0;
        while from < rows {
            let to = (from + batch_rows).min(rows);
            let known: Vec<usize> = dictionaries.iter().map(Vec::len).collect();
            let arrays: Vec<ArrayRef> = columns
                .iter()
                .zip(&mut dictionaries)
                .map(|(c, d)| c.1.array(from, to, d))
                .collect();
            let batch = RecordBatch::try_new_with_options(
                Arc::new(numbers.clone()),
                arrays,
                &RecordBatchOptions::new().with_row_count(Some(to - from)),
            )
            .unwrap();
            let (_, encoded) = generator
                .encode(
                    &batch,
                    &mut DictionaryTracker::new(true),
                    &options,
                    &mut context,
                )
                .unwrap();
            let offset = file.len();
            let (meta, body) = write_message(&mut file, encoded, &options).unwrap();
            record_blocks.push(Block::new(offset as i64, meta as i32, body as i64));
            let mut new = serde_json::Map::new();
            for ((column, dictionary), known) in columns.iter().zip(&dictionaries).zip(known) {
                if dictionary.len() > known {
                    new.insert(column.0.clone(), json!(dictionary[known..]));
                }
            }
            self.line(json!({"segment": name, "chunk": "batch", "offset": offset, "bytes": file.len() - offset,
                             "rows": to - from, "xxh3": hash(&file[offset..]), "new": new}));
            from = to;
        }

        if end == End::Sealed {
            let offset = file.len();
            let tail = tail(&schema, columns, &dictionaries, &record_blocks, offset);
            file.extend_from_slice(&tail);
            self.line(
                json!({"segment": name, "chunk": "tail", "offset": offset, "bytes": tail.len(),
                             "rows": rows, "xxh3": hash(&tail)}),
            );
        }

        let path = self.dir.join(&name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let path = if end == End::Open {
            path.with_extension("arrow.open")
        } else {
            path
        };
        fs::write(&path, &file).unwrap();

        let facts = &mut self.run_json["tables"][table];
        if facts.is_null() {
            *facts = json!({"rows": 0, "segments": 0, "bytes": 0, "dropped": 0});
        }
        for (key, more) in [("rows", rows), ("segments", 1), ("bytes", file.len())] {
            facts[key] = json!(facts[key].as_u64().unwrap() + more as u64);
        }
        self
    }

    fn line(&mut self, value: Value) {
        self.journal.push_str(&sealed(value));
    }

    pub fn finish(&self) -> PathBuf {
        fs::write(
            self.dir.join("run.json"),
            trueno_format::run_json::sealed(&self.run_json).unwrap(),
        )
        .unwrap();
        fs::write(self.dir.join("batches.jsonl"), &self.journal).unwrap();
        self.dir.clone()
    }
}

fn tail(
    schema: &Schema,
    columns: &[Column],
    dictionaries: &[Vec<String>],
    record_blocks: &[Block],
    offset: usize,
) -> Vec<u8> {
    let generator = IpcDataGenerator::default();
    let options = options();
    let mut tracker = DictionaryTracker::new(true);
    // Numbers the dictionaries as the schema message does.
    generator.schema_to_bytes_with_dictionary_tracker(schema, &mut tracker, &options);
    let arrays: Vec<ArrayRef> = columns
        .iter()
        .zip(dictionaries)
        .map(|(column, dictionary)| match &column.1 {
            Values::Text(_) => Arc::new(DictionaryArray::<Int32Type>::new(
                Int32Array::new_null(0),
                Arc::new(StringArray::from(dictionary.clone())),
            )) as ArrayRef,
            other => other.array(0, 0, &mut Vec::new()),
        })
        .collect();
    let empty = RecordBatch::try_new_with_options(
        Arc::new(schema.clone()),
        arrays,
        &RecordBatchOptions::new().with_row_count(Some(0)),
    )
    .unwrap();
    let (encoded, _) = generator
        .encode(
            &empty,
            &mut tracker,
            &options,
            &mut IpcWriteContext::default(),
        )
        .unwrap();
    let mut out = Vec::new();
    let mut blocks = Vec::new();
    for dictionary in encoded {
        let at = out.len();
        let (meta, body) = write_message(&mut out, dictionary, &options).unwrap();
        blocks.push(Block::new((offset + at) as i64, meta as i32, body as i64));
    }
    out.extend_from_slice(&[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);

    let mut builder = flatbuffers::FlatBufferBuilder::new();
    let dictionaries = builder.create_vector(&blocks);
    let record_batches = builder.create_vector(record_blocks);
    let mut tracker = DictionaryTracker::new(true);
    let schema = arrow_ipc::convert::IpcSchemaEncoder::new()
        .with_dictionary_tracker(&mut tracker)
        .schema_to_fb_offset(&mut builder, schema);
    let mut footer = FooterBuilder::new(&mut builder);
    footer.add_version(MetadataVersion::V5);
    footer.add_schema(schema);
    footer.add_dictionaries(dictionaries);
    footer.add_recordBatches(record_batches);
    let root = footer.finish();
    builder.finish(root, None);
    let footer = builder.finished_data();
    out.extend_from_slice(footer);
    out.extend_from_slice(&(footer.len() as i32).to_le_bytes());
    out.extend_from_slice(b"ARROW1");
    out
}

fn hash(bytes: &[u8]) -> String {
    format!("{:016x}", xxh3_64(bytes))
}

pub fn sealed(value: Value) -> String {
    let line: Line = serde_json::from_value(value).unwrap();
    line.encode().unwrap()
}

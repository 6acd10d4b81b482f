//! One Parquet file, and what the journal says of its bytes.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use polars::prelude::{CompatLevel, DataFrame, DataType, PolarsResult, SchemaExt};
use polars_parquet::write::{FileWriter, KeyValue};
use trueno_engine::panic_guard::guarded;
use trueno_format::embedded_hashes::{self, FOOTER_KEY, FileForm};
use trueno_format::journal::{Chunk, Line};
use xxhash_rust::xxh3::Xxh3;

use super::{encode, named};
use crate::error::ExportError;

pub(super) struct Part {
    table: String,
    name: String,
    path: PathBuf,
    tally: Tally,
    writer: FileWriter<Tally>,
    lines: Vec<Line>,
    rows: u64,
    /// Texts of this file that are already in the journal, by column.
    known: BTreeMap<String, HashSet<String>>,
}

impl Part {
    /// Creates a file of a table in the folder `root`, for rows with the schema of `like`.
    pub(super) fn create(
        root: &Path,
        table: &str,
        name: String,
        like: &DataFrame,
    ) -> Result<Part, ExportError> {
        let path = root.join(&name);
        let disk = |error| named(&path, error);
        let tally = Tally(Rc::new(RefCell::new(Counted {
            file: BufWriter::new(File::create_new(&path).map_err(disk)?),
            hash: Xxh3::new(),
            unhashed: FileForm::Parquet.magic().len(),
            chunk_bytes: 0,
            held: None,
            failed: None,
        })));
        let schema = like.schema().to_arrow(CompatLevel::newest());
        let writer = guarded(|| FileWriter::try_new(tally.clone(), schema, encode::OPTIONS));
        Ok(Part {
            writer: writer.map_err(|reason| engine(table, reason))?,
            table: table.to_owned(),
            tally,
            lines: vec![Line::new(&name, Chunk::Head, 0, FileForm::Parquet.magic())],
            rows: 0,
            known: BTreeMap::new(),
            name,
            path,
        })
    }

    pub(super) fn groups(&self) -> usize {
        self.lines.len() - 1
    }

    pub(super) fn write(&mut self, rows: &DataFrame) -> Result<(), ExportError> {
        let texts = guarded(|| self.new_texts(rows));
        let texts = texts.map_err(|reason| engine(&self.table, reason))?;
        let count = rows.height() as u64;
        self.guard(|part| {
            let parquet = part.writer.parquet_schema().fields().to_vec();
            let group = encode::row_group(rows, &parquet)?;
            part.writer.write(count, group)
        })?;
        let mut line = self.end_chunk(Chunk::Batch);
        line.rows = Some(count);
        line.new = texts;
        self.lines.push(line);
        self.rows += count;
        Ok(())
    }

    /// Finishes and syncs the file, and appends its lines to the journal. Returns its length.
    pub(super) fn finish(mut self, journal: &mut String) -> Result<u64, ExportError> {
        // The writer's own entry describes the columns to Arrow a second time, in types that
        // not every reader of Arrow has.
        let about = vec![KeyValue {
            key: FOOTER_KEY.to_owned(),
            value: Some(self.table.clone()),
        }];
        self.tally.0.borrow_mut().held = Some(Vec::new());
        self.guard(|part| part.writer.end(Some(about)).map(|_| ()))?;
        let held = self.tally.0.borrow_mut().held.take();
        let groups: Vec<_> = self.lines[1..].iter().map(Into::into).collect();
        let held = held.unwrap_or_default();
        let end = embedded_hashes::insert(FileForm::Parquet, &held, &groups);
        let end = end.ok_or_else(|| engine(&self.table, "it wrote no footer".to_owned()))?;
        (self.tally.write_all(&end)).map_err(|error| named(&self.path, error))?;
        let mut line = self.end_chunk(Chunk::Tail);
        line.rows = Some(self.rows);
        let bytes = line.offset + line.bytes;
        self.lines.push(line);
        let synced = self.tally.0.borrow_mut().sync();
        synced.map_err(|error| named(&self.path, error))?;
        for line in &self.lines {
            journal.push_str(&line.encode().map_err(io::Error::from)?);
        }
        Ok(bytes)
    }

    /// Runs a part of the work. An I/O error takes precedence over the engine's error, which it causes.
    fn guard(
        &mut self,
        work: impl FnOnce(&mut Part) -> PolarsResult<()>,
    ) -> Result<(), ExportError> {
        let done = guarded(|| work(self));
        match self.tally.0.borrow_mut().failed.take() {
            Some(error) => Err(named(&self.path, error)),
            None => done.map_err(|reason| engine(&self.table, reason)),
        }
    }

    fn end_chunk(&mut self, kind: Chunk) -> Line {
        let before = self.lines.last().map_or(0, |line| line.offset + line.bytes);
        let mut counted = self.tally.0.borrow_mut();
        let hash = std::mem::replace(&mut counted.hash, Xxh3::new()).digest();
        let bytes = std::mem::take(&mut counted.chunk_bytes);
        let mut line = Line::new(&self.name, kind, before, &[]);
        line.bytes = bytes;
        line.xxh3 = format!("{hash:016x}");
        line
    }

    /// Texts of each column that no earlier row group had, in order of first appearance.
    fn new_texts(&mut self, rows: &DataFrame) -> PolarsResult<BTreeMap<String, Vec<String>>> {
        let mut new = BTreeMap::new();
        for column in rows.columns() {
            if *column.dtype() != DataType::String {
                continue;
            }
            let known = self.known.entry(column.name().to_string()).or_default();
            let distinct = column.as_materialized_series().unique_stable()?;
            let texts: Vec<String> = distinct
                .str()?
                .iter()
                .flatten()
                .filter(|text| !known.contains(*text))
                .map(str::to_owned)
                .collect();
            if !texts.is_empty() {
                known.extend(texts.iter().cloned());
                new.insert(column.name().to_string(), texts);
            }
        }
        Ok(new)
    }
}

fn engine(table: &str, reason: String) -> ExportError {
    ExportError::Rows {
        table: table.to_owned(),
        reason,
    }
}

#[derive(Clone)]
struct Tally(Rc<RefCell<Counted>>);

struct Counted {
    file: BufWriter<File>,
    hash: Xxh3,
    /// Remaining bytes of the magic, which have their own line in the journal.
    unhashed: usize,
    chunk_bytes: u64,
    /// End of the file, which is held back until the hashes are added.
    held: Option<Vec<u8>>,
    failed: Option<io::Error>,
}

impl Counted {
    fn sync(&mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_all()
    }
}

impl Write for Tally {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut counted = self.0.borrow_mut();
        if let Some(held) = &mut counted.held {
            held.extend_from_slice(bytes);
            return Ok(());
        }
        if let Err(error) = counted.file.write_all(bytes) {
            let kind = error.kind();
            counted.failed = Some(error);
            return Err(kind.into());
        }
        let magic = counted.unhashed.min(bytes.len());
        counted.unhashed -= magic;
        counted.hash.update(&bytes[magic..]);
        counted.chunk_bytes += (bytes.len() - magic) as u64;
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

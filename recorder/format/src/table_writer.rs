//! The segments of one table: batches to chunks to files.

use std::time::Instant;

use crate::columns::Columns;
use crate::embedded_hashes::Part;
use crate::error::Error;
use crate::file_size_signal;
use crate::folder::Folder;
use crate::held_file::HeldFile;
use crate::journal::{Chunk, Line};
use crate::mapping::Mapping;
use crate::run_files::RunFiles;
use crate::run_json;
use crate::schema::Table;
use crate::segment::{self, BATCH_ROWS, BatchEncoder, Block, Dictionary, SEGMENT_ROWS};
use crate::text::{Text, Texts};
use crate::waiting_rows::WaitingRows;

/// Limit on batches per segment. Only short batches, written on the timer, reach it.
const SEGMENT_BATCHES: usize = 4096;

/// Rows waiting for a batch, and the files before them.
pub struct TableWriter {
    /// Its table.
    pub table: &'static Table,
    /// `None` before the first row.
    columns: Option<Columns>,
    open: Option<OpenSegment>,
    next_number: u32,
    dictionaries: Vec<Dictionary>,
    /// Rows, segments and bytes on disk.
    pub written: run_json::Table,
    ended: Vec<(u32, u64)>,
    /// Time at which the oldest waiting row came, or the last batch went.
    pub waiting_since: Instant,
}

struct OpenSegment {
    file: HeldFile,
    number: u32,
    /// Relative to the run directory.
    name: String,
    bytes: u64,
    rows: u64,
    batches: Vec<Block>,
    parts: Vec<Part>,
}

impl TableWriter {
    /// A writer without rows.
    pub fn new(table: &'static Table) -> Self {
        Self {
            table,
            columns: None,
            open: None,
            next_number: 0,
            dictionaries: segment::text_columns(table)
                .map(|_| Dictionary::default())
                .collect(),
            written: run_json::Table::default(),
            ended: Vec::new(),
            waiting_since: Instant::now(),
        }
    }

    /// Rows that wait for their batch.
    pub fn waiting(&self) -> usize {
        self.columns.as_ref().map_or(0, Columns::rows)
    }

    /// The columns, if they have room for `rows` more rows.
    #[inline(always)]
    pub fn room(&mut self, rows: usize) -> Option<&mut Columns> {
        let columns = self.columns.as_mut()?;
        (columns.rows() + rows <= BATCH_ROWS).then_some(columns)
    }

    /// The columns, made where there are none, in zeroed memory that `memory` gives for a number of bytes.
    /// `None`: there is no memory.
    pub fn columns(
        &mut self,
        memory: impl FnOnce(usize) -> Option<Mapping>,
    ) -> Option<&mut Columns> {
        if self.columns.is_none() {
            let memory = memory(WaitingRows::bytes(self.table))?;
            self.columns = Some(Columns::new(self.table, memory));
        }
        self.columns.as_mut()
    }

    /// Takes the waiting rows out, to be kept elsewhere. The next ones need new memory.
    pub fn take_columns(&mut self) -> Option<Columns> {
        self.columns.take()
    }

    /// The waiting rows.
    pub fn waiting_columns(&self) -> Option<&Columns> {
        self.columns.as_ref()
    }

    /// Forgets the waiting rows, which cannot be written, and counts them.
    pub fn give_up(&mut self) -> u64 {
        let rows = self.waiting();
        if let Some(columns) = &mut self.columns {
            columns.clear(false);
        }
        rows as u64
    }

    /// Writes the waiting rows as one batch. True: a segment was sealed with it.
    ///
    /// # Errors
    /// The files cannot be written.
    pub fn flush(
        &mut self,
        files: &mut RunFiles,
        encoder: &mut BatchEncoder,
        texts: &mut dyn Texts,
    ) -> Result<bool, Error> {
        if self.waiting() == 0 {
            return Ok(false);
        }
        self.waiting_since = Instant::now();
        let mut segment = match self.open.take() {
            Some(segment) => segment,
            None => self.start(files)?,
        };
        let Some(columns) = &mut self.columns else {
            return Ok(false);
        };
        let before: Vec<usize> = self.dictionaries.iter().map(|d| d.len()).collect();
        let dictionaries = &mut self.dictionaries;
        let rows = columns.rows() as u64;
        let (bytes, block) = columns.view(|batch| {
            encoder.encode(batch, segment.bytes, |column, text| {
                dictionaries[column].key(Text::from_number(text as u32))
            })
        });
        let mut line = Line::new(&segment.name, Chunk::Batch, segment.bytes, bytes);
        line.rows = Some(rows);
        for ((column, dictionary), from) in segment::text_columns(self.table)
            .zip(&self.dictionaries)
            .zip(before)
        {
            let new = &dictionary.texts()[from..];
            if !new.is_empty() {
                let new = new.iter().map(|text| texts.str(*text).to_owned()).collect();
                line.new.insert(column.name.to_owned(), new);
            }
        }
        segment.append(files, &line, bytes)?;
        segment.batches.push(block);
        segment.rows += rows;
        self.written.rows += rows;
        self.written.bytes += bytes.len() as u64;
        columns.clear(true);
        let full = segment.rows >= SEGMENT_ROWS || segment.batches.len() >= SEGMENT_BATCHES;
        self.open = Some(segment);
        if full {
            self.seal(files, texts)?;
        }
        Ok(full)
    }

    fn start(&mut self, files: &mut RunFiles) -> Result<OpenSegment, Error> {
        let number = self.next_number;
        let name = format!("{}/{}", self.table.name, sealed_name(number));
        let folder = files.folder_of(self.table.name)?;
        let file = HeldFile::create(&folder, &open_name(number));
        let file = file.map_err(|e| files.error(&open(&name), "make the segment", e))?;
        self.next_number += 1;
        let mut segment = OpenSegment {
            file,
            number,
            name,
            bytes: 0,
            rows: 0,
            batches: Vec::new(),
            parts: Vec::new(),
        };
        let head = segment::head_bytes(self.table);
        let line = Line::new(&segment.name, Chunk::Head, 0, &head);
        segment.append(files, &line, &head)?;
        self.written.segments += 1;
        self.written.bytes += head.len() as u64;
        Ok(segment)
    }

    /// Ends the open segment, if there is one.
    ///
    /// # Errors
    /// As of [`TableWriter::flush`].
    pub fn seal(&mut self, files: &mut RunFiles, texts: &mut dyn Texts) -> Result<(), Error> {
        let Some(mut segment) = self.open.take() else {
            return Ok(());
        };
        self.ended.push((segment.number, segment.rows));
        let values: Vec<Vec<String>> = self
            .dictionaries
            .iter()
            .map(|dictionary| {
                dictionary
                    .texts()
                    .iter()
                    .map(|text| texts.str(*text).to_owned())
                    .collect()
            })
            .collect();
        let OpenSegment { batches, parts, .. } = &segment;
        let tail = segment::tail_bytes(self.table, &values, batches, parts, segment.bytes)
            .map_err(|e| files.error(&open(&segment.name), "encode a batch", e))?;
        let mut line = Line::new(&segment.name, Chunk::Tail, segment.bytes, &tail);
        line.rows = Some(segment.rows);
        segment.append(files, &line, &tail)?;
        self.written.bytes += tail.len() as u64;
        for dictionary in &mut self.dictionaries {
            dictionary.clear();
        }
        let (from, to) = (open_name(segment.number), sealed_name(segment.number));
        let folder = files.folder().folder(self.table.name);
        folder
            .and_then(|folder| folder.rename(&from, &to))
            .map_err(|e| files.error(&open(&segment.name), "rename the segment", e))
    }

    /// Rows that were written to segments that are not there any more.
    pub fn rows_gone(&self, run: &Folder) -> u64 {
        let folder = run.folder(self.table.name).ok();
        let has = |name: &str| folder.as_ref().is_some_and(|folder| folder.has(name));
        let is_gone = |number: &u32| {
            ![sealed_name(*number), open_name(*number)]
                .iter()
                .any(|name| has(name))
        };
        let ended = self.ended.iter().copied();
        let open = self.open.iter().map(|open| (open.number, open.rows));
        let gone = ended.chain(open).filter(|(number, _)| is_gone(number));
        gone.map(|(_, rows)| rows).sum()
    }
}

fn sealed_name(number: u32) -> String {
    format!("{number:06}.arrow")
}

fn open_name(number: u32) -> String {
    open(&sealed_name(number))
}

fn open(sealed: &str) -> String {
    format!("{sealed}.open")
}

impl OpenSegment {
    /// Writes the journal's line first, then the chunk.
    fn append(&mut self, files: &mut RunFiles, line: &Line, bytes: &[u8]) -> Result<(), Error> {
        files.journal(line)?;
        let reopen = |name: &str| {
            let table = self.name.split('/').next().unwrap_or_default();
            files.folder().folder(table)?.open_appended(name)
        };
        if let Err(error) = file_size_signal::without(|| self.file.append(reopen, bytes)) {
            // Half a chunk is of no use, and on a full disk its room is wanted for run.json.
            let _ = self.file.set_len(self.bytes);
            files.take_back(line);
            return Err(files.error(&open(&self.name), "write a batch", error));
        }
        self.bytes += bytes.len() as u64;
        self.parts.push(Part::from(line));
        Ok(())
    }
}

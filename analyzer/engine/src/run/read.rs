//! Decides, for one segment, what of it can be read and how.
//!
//! Sealed and as the journal says: the engine scans the file. Sealed, but the
//! journal does not tell all of it: scanned too, where its own hashes do; where it
//! has none, once its structure has been checked and its batches decoded. Everything else is rebuilt from the chunks
//! that are as they were written.

mod own_columns;
mod part;
mod self_verified;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::PathBuf;

use polars::prelude::{IpcReader, SchemaExt, SchemaRef, SerReader};
use trueno_format::{regular_file, segment};
use trueno_plugin::counted;

use super::journal::{Chunk, ChunkKind};
use super::layout::{self, SegmentFile};
use super::segment::{Segment, SegmentState, Source, table_of};
use super::verify::{self, Checked, Verdict};
use super::{ipc, rebuild, segment_errors};
use crate::panic_guard::guarded;

/// Checks a segment. `None` if the journal announced it but nothing was written. With `is_journal_whole`, whatever
/// the journal does not list was not written by the run's recorder. `checked` is the result of an earlier
/// verification.
pub(super) fn read(
    name: &str,
    file: Option<&SegmentFile>,
    chunks: &[Chunk],
    is_journal_whole: bool,
    checked: Option<Checked>,
) -> Option<Segment> {
    let listed = (!chunks.is_empty()).then(|| {
        chunks
            .iter()
            .map(Chunk::rows_of_batch)
            .fold(0, u64::saturating_add)
    });
    let Some(file) = file else {
        return match listed {
            None | Some(0) => None,
            Some(rows) => Some(Segment::lost(
                name,
                0,
                listed,
                format!("missing: {} lost", counted(rows, "row", "rows")),
            )),
        };
    };
    let opened = open(file).and_then(|(mut handle, path)| {
        let checked = match checked {
            Some(checked) => checked,
            None => check_bytes(name, file, chunks, &mut handle)?,
        };
        Ok((handle, path, checked))
    });
    let (handle, path, checked) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            return Some(Segment::lost(
                name,
                file.bytes,
                listed,
                format!("cannot be read: {error}"),
            ));
        }
    };
    if file.bytes == 0 && chunks.is_empty() && file.open {
        return None;
    }
    let reader = Reader {
        name,
        file,
        path,
        chunks,
        checked,
        listed,
        is_journal_whole,
    };
    Some(reader.read(handle).unwrap_or_else(|error| {
        Segment::lost(name, file.bytes, listed, format!("cannot be read: {error}"))
    }))
}

/// Verifies the bytes of a segment against the journal.
///
/// # Errors
/// The file cannot be read.
pub(super) fn check(name: &str, file: &SegmentFile, chunks: &[Chunk]) -> io::Result<Checked> {
    let (mut handle, _) = open(file)?;
    check_bytes(name, file, chunks, &mut handle)
}

fn check_bytes(
    name: &str,
    file: &SegmentFile,
    chunks: &[Chunk],
    handle: &mut File,
) -> io::Result<Checked> {
    verify::check(handle, file.bytes, chunks, |chunk, bytes| {
        if layout::is_parquet(name) {
            Ok(chunk.rows)
        } else {
            ipc::batch_rows(bytes)
        }
    })
}

/// Opens a segment file. One that was sealed after listing has a new name.
fn open(file: &SegmentFile) -> io::Result<(File, PathBuf)> {
    match regular_file::open(&file.path) {
        Err(error) if file.open && error.kind() == io::ErrorKind::NotFound => {
            let sealed = file.path.with_extension("");
            regular_file::open(&sealed).map(|handle| (handle, sealed))
        }
        opened => opened.map(|handle| (handle, file.path.clone())),
    }
}

struct Reader<'a> {
    name: &'a str,
    file: &'a SegmentFile,
    path: PathBuf,
    chunks: &'a [Chunk],
    checked: Checked,
    listed: Option<u64>,
    is_journal_whole: bool,
}

impl Reader<'_> {
    fn read(&self, mut handle: File) -> io::Result<Segment> {
        if layout::is_parquet(self.name) {
            return self.part(&mut handle);
        }
        let tail = self
            .chunks
            .last()
            .is_some_and(|c| c.kind == ChunkKind::Tail);
        if self.checked.all_good() {
            if tail && self.checked.covers() {
                return self.sealed(&mut handle);
            }
            if !self.file.open {
                if let Some(segment) = self.by_own_hashes(&mut handle)? {
                    return Ok(segment);
                }
                let unverified = self.unverified(&mut handle)?;
                if unverified.state == SegmentState::Sealed || self.chunks.is_empty() {
                    return Ok(unverified);
                }
            }
        }
        self.rebuilt(&mut handle)
    }

    fn segment(
        &self,
        state: SegmentState,
        rows_read: u64,
        faults: Vec<String>,
        source: Source,
    ) -> Segment {
        Segment {
            name: self.name.to_owned(),
            table: table_of(self.name),
            state,
            verified: false,
            rows_expected: self.listed.map(|_| self.checked.rows_written(self.chunks)),
            rows_read,
            bytes: self.file.bytes,
            faults,
            unwritten_rows: 0,
            source,
            content: None,
        }
    }

    /// Every byte is as it was written.
    fn sealed(&self, handle: &mut File) -> io::Result<Segment> {
        let rows = self.checked.rows_written(self.chunks);
        let head = self.chunk(handle, &self.chunks[0])?;
        let schema = match rebuild::schema_of_head(&head) {
            Ok(schema) => schema,
            Err(reason) => {
                let fault = format!("cannot be read, although it is unchanged: {reason}");
                return Ok(self.segment(SegmentState::Lost, 0, vec![fault], Source::Nothing));
            }
        };
        let source = Source::Scan {
            path: self.path.clone(),
            schema,
        };
        let mut segment = self.segment(
            SegmentState::Sealed,
            rows,
            segment_errors::row_count_errors(self.chunks, &self.checked),
            source,
        );
        segment.verified = true;
        Ok(segment)
    }

    /// The journal does not cover all of a sealed file, so its structure is checked instead.
    fn unverified(&self, handle: &mut File) -> io::Result<Segment> {
        let mut bytes = Vec::new();
        handle.rewind()?;
        handle.read_to_end(&mut bytes)?;
        let fault = match self.chunks.len() {
            0 => "not verified: the journal does not list it".to_owned(),
            _ => "not verified: the journal lists only parts of it".to_owned(),
        };
        let decoded = ipc::file_rows(&bytes).and_then(|rows| {
            let schema = guarded(|| {
                let mut reader = IpcReader::new(io::Cursor::new(&bytes));
                let schema = polars::prelude::Schema::from_arrow_schema(reader.schema()?.as_ref());
                reader.finish().map(|rows| (SchemaRef::new(schema), rows))
            })?;
            let (schema, frame) = schema;
            Ok((
                rows,
                schema,
                own_columns::foreign_to(&table_of(self.name), &frame),
            ))
        });
        Ok(match decoded {
            Ok((_, _, Some(reason))) => {
                let faults = vec![own_columns::fault(&table_of(self.name), &reason)];
                self.segment(SegmentState::Lost, 0, faults, Source::Nothing)
            }
            Ok((rows, schema, None)) => {
                let source = Source::Scan {
                    path: self.path.clone(),
                    schema,
                };
                let mut segment = self.segment(SegmentState::Sealed, rows, vec![fault], source);
                segment.rows_expected = Some(self.checked.rows_written(self.chunks).max(rows));
                segment
            }
            Err(reason) => {
                let fault =
                    format!("cannot be read: {reason}, and the journal does not list its parts");
                self.segment(SegmentState::Lost, 0, vec![fault], Source::Nothing)
            }
        })
    }

    /// Reads the intact chunks.
    fn rebuilt(&self, handle: &mut File) -> io::Result<Segment> {
        let open = self.file.open
            && self
                .checked
                .verdicts
                .iter()
                .all(|v| !matches!(v, Verdict::Damaged { .. }));
        let state = if open {
            SegmentState::Open
        } else {
            SegmentState::Rebuilt
        };
        let mut faults =
            segment_errors::chunk_errors(self.chunks, &self.checked, segment_errors::Names::ARROW);
        faults.extend(segment_errors::row_count_errors(self.chunks, &self.checked));
        let unwritten_rows = if open {
            self.checked.rows_cut(self.chunks)
        } else {
            0
        };
        let schema = match self.schema(handle)? {
            Ok(schema) => schema,
            Err(reason) => {
                faults.push(reason);
                let mut segment = self.segment(SegmentState::Lost, 0, faults, Source::Nothing);
                segment.unwritten_rows = unwritten_rows;
                return Ok(segment);
            }
        };

        // Numbers of texts are only known up to the first gap in the journal.
        let until = self
            .checked
            .gaps
            .first()
            .copied()
            .unwrap_or(self.chunks.len());
        if until < self.chunks.len() {
            let at = self.chunks[until].offset;
            faults.push(format!(
                "the journal has a gap before byte {at}: batches from there on are lost"
            ));
        }
        let mut dictionaries: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut batches = Vec::new();
        let mut rows = 0;
        for (chunk, verdict) in self.chunks.iter().zip(&self.checked.verdicts).take(until) {
            for (column, texts) in &chunk.new {
                dictionaries
                    .entry(column)
                    .or_default()
                    .extend(texts.iter().map(String::as_str));
            }
            if let (ChunkKind::Batch, Verdict::Good { rows: more }) = (chunk.kind, verdict) {
                batches.extend_from_slice(&self.chunk(handle, chunk)?);
                rows += more;
            }
        }
        let mut segment = match rebuild::rebuild(&schema, &batches, &dictionaries) {
            Ok(frame) => self.segment(state, rows, faults, Source::Frame(frame)),
            Err(reason) => {
                faults.push(format!("its good batches cannot be read: {reason}"));
                self.segment(SegmentState::Lost, 0, faults, Source::Nothing)
            }
        };
        segment.verified = segment.state == SegmentState::Open && self.checked.gaps.is_empty();
        segment.unwritten_rows = unwritten_rows;
        Ok(segment)
    }

    /// The segment's columns: from its head, or from the format's list if that is what was written.
    fn schema(&self, handle: &mut File) -> io::Result<Result<SchemaRef, String>> {
        let head = self
            .chunks
            .first()
            .filter(|c| c.kind == ChunkKind::Head && c.offset == 0);
        let Some(head) = head else {
            return Ok(Err(
                "the journal does not list its head: its columns are not known".into(),
            ));
        };
        if let Some(Verdict::Good { .. }) = self.checked.verdicts.first() {
            let bytes = self.chunk(handle, head)?;
            return Ok(rebuild::schema_of_head(&bytes));
        }
        let table = self.name.split('/').next().unwrap_or_default();
        let known = trueno_format::schema::table(table)
            .and_then(|table| segment::table_of_head(table, head.xxh3));
        Ok(match known {
            Some(written) => rebuild::schema_of_head(&segment::head_bytes(&written)),
            None => Err(
                "its head is damaged, and it is none this program knows: its columns are not known"
                    .into(),
            ),
        })
    }

    fn chunk(&self, handle: &mut File, chunk: &Chunk) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        verify::read_chunk(handle, chunk, &mut bytes)?;
        Ok(bytes)
    }
}

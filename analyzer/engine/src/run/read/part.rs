//! Decides the same for a part of an exported run, a Parquet file.
//!
//! Its row groups stand alone, given the footer: those whose bytes are as they were written
//! are read, also where others are not. Where the journal does not tell, the file's own hashes
//! do. A file without any was written by another program: it is read as it is once all of it
//! could be decoded.

use std::fs::File;
use std::io;
use std::ops::Range;

use polars::prelude::{DataFrame, ParquetReader, Schema, SchemaExt, SchemaRef, SerReader};
use trueno_format::embedded_hashes::FileForm;

use super::super::embedded_hashes::{self, Own};
use super::super::journal::ChunkKind;
use super::super::segment::{Segment, SegmentState, Source};
use super::super::segment_errors::Names;
use super::super::verify::{self, Verdict};
use super::self_verified::UNLISTED;
use super::{Reader, own_columns, segment_errors, table_of};
use crate::panic_guard::guarded;

/// Rows decoded at a time when a file has to be decoded to check it.
const DECODED_ROWS: u64 = 1 << 17;

struct Footer {
    schema: SchemaRef,
    rows: u64,
}

impl Reader<'_> {
    pub(super) fn part(&self, handle: &mut File) -> io::Result<Segment> {
        if self.lists_all_of_it() {
            return self.good_groups(handle);
        }
        match embedded_hashes::read(handle, self.file.bytes, FileForm::Parquet)? {
            Own::Chunks(chunks) => {
                let checked =
                    verify::check(handle, self.file.bytes, &chunks, |chunk, _| Ok(chunk.rows))?;
                let own = Reader {
                    path: self.path.clone(),
                    chunks: &chunks,
                    checked,
                    ..*self
                };
                let mut segment = own.good_groups(handle)?;
                if let Ok(Some(reason)) = own.decoded(handle) {
                    let faults = vec![own_columns::fault(&table_of(self.name), &reason)];
                    return Ok(self.segment(SegmentState::Lost, 0, faults, Source::Nothing));
                }
                if self.was_changed() {
                    segment.verified = false;
                    segment.faults.insert(0, self.why_not_verified());
                } else if self.is_journal_whole {
                    segment.faults.insert(0, UNLISTED.to_owned());
                }
                segment.rows_expected = segment.rows_expected.max(self.listed);
                segment.content = Some(embedded_hashes::content(&chunks));
                Ok(segment)
            }
            Own::Damaged => {
                let mut faults = self.faults();
                faults.push("its end is damaged, and without it none of it can be read".to_owned());
                Ok(self.segment(SegmentState::Lost, 0, faults, Source::Nothing))
            }
            Own::None => self.foreign(handle),
        }
    }

    /// The journal covers a file of this length from the first to the last byte.
    fn lists_all_of_it(&self) -> bool {
        self.checked.covers()
            && (self.chunks.last())
                .is_some_and(|c| c.kind == ChunkKind::Tail && c.end() == self.file.bytes)
    }

    fn was_changed(&self) -> bool {
        let last = self.chunks.last();
        last.is_some_and(|c| c.kind == ChunkKind::Tail && c.end() != self.file.bytes)
    }

    fn why_not_verified(&self) -> String {
        let listed = (self.chunks.last()).filter(|c| c.kind == ChunkKind::Tail);
        match listed {
            Some(last) if last.end() != self.file.bytes => format!(
                "changed since it was exported: expected {} bytes, found {}; it is read as it is \
                 now, and not verified",
                last.end(),
                self.file.bytes
            ),
            _ if self.chunks.is_empty() => "not verified: the journal does not list it".to_owned(),
            _ => "not verified: the journal lists only parts of it".to_owned(),
        }
    }

    /// The intact row groups, provided that head and footer are intact.
    fn good_groups(&self, handle: &File) -> io::Result<Segment> {
        let mut faults = self.faults();
        let ends = self.chunks.iter().zip(&self.checked.verdicts);
        let mut ends = ends.filter(|(chunk, _)| chunk.kind != ChunkKind::Batch);
        if !ends.all(|(_, verdict)| matches!(verdict, Verdict::Good { .. })) {
            faults.push("without its head and its footer none of it can be read".to_owned());
            return Ok(self.segment(SegmentState::Lost, 0, faults, Source::Nothing));
        }
        let mut good: Vec<Range<u64>> = Vec::new();
        let (mut at, mut read) = (0_u64, 0_u64);
        for (chunk, verdict) in self.chunks.iter().zip(&self.checked.verdicts) {
            let rows = at..at.saturating_add(chunk.rows_of_batch());
            at = rows.end;
            if chunk.kind == ChunkKind::Batch && matches!(verdict, Verdict::Good { .. }) {
                read = read.saturating_add(rows.end - rows.start);
                match good.last_mut() {
                    Some(last) if last.end == rows.start => last.end = rows.end,
                    _ => good.push(rows),
                }
            }
        }
        let footer = match footer(handle.try_clone()?) {
            Ok(footer) if footer.rows == at => footer,
            Ok(footer) => {
                faults.push(format!(
                    "its footer counts {} rows, the journal (batches.jsonl) {at}",
                    footer.rows
                ));
                return Ok(self.segment(SegmentState::Lost, 0, faults, Source::Nothing));
            }
            Err(reason) => {
                faults.push(format!(
                    "cannot be read, although it is unchanged: {reason}"
                ));
                return Ok(self.segment(SegmentState::Lost, 0, faults, Source::Nothing));
            }
        };
        if self.checked.all_good() {
            let source = Source::Parquet {
                path: self.path.clone(),
                schema: footer.schema,
            };
            let mut segment = self.segment(SegmentState::Sealed, read, faults, source);
            segment.verified = true;
            return Ok(segment);
        }
        // Kept in memory: a scan looks at all row groups, whatever it is asked for.
        let mut frame: Option<DataFrame> = None;
        for rows in good {
            let read = decode(handle, &rows).and_then(|rows| match &mut frame {
                Some(frame) => guarded(|| frame.vstack_mut(&rows).map(|_| ())),
                None => {
                    frame = Some(rows);
                    Ok(())
                }
            });
            if let Err(reason) = read {
                faults.push(format!("its good row groups cannot be read: {reason}"));
                return Ok(self.segment(SegmentState::Lost, 0, faults, Source::Nothing));
            }
        }
        Ok(match frame {
            Some(frame) => self.segment(SegmentState::Rebuilt, read, faults, Source::Frame(frame)),
            None => self.segment(SegmentState::Lost, 0, faults, Source::Nothing),
        })
    }

    /// A file of another program without hashes is decoded completely.
    fn foreign(&self, handle: &File) -> io::Result<Segment> {
        let decoded =
            footer(handle.try_clone()?).and_then(|footer| Ok((footer, self.decoded(handle)?)));
        Ok(match decoded {
            Ok((_, Some(reason))) => {
                let faults = vec![own_columns::fault(&table_of(self.name), &reason)];
                self.segment(SegmentState::Lost, 0, faults, Source::Nothing)
            }
            Ok((Footer { schema, rows }, None)) => {
                let source = Source::Parquet {
                    path: self.path.clone(),
                    schema,
                };
                let faults = vec![self.why_not_verified()];
                let mut segment = self.segment(SegmentState::Sealed, rows, faults, source);
                segment.rows_expected = Some(self.listed.unwrap_or(rows).max(rows));
                segment
            }
            Err(reason) => {
                let mut faults = self.faults();
                faults.push(format!("cannot be read: {reason}"));
                self.segment(SegmentState::Lost, 0, faults, Source::Nothing)
            }
        })
    }

    /// Decodes all rows. Returns why they do not belong to the table, if so.
    fn decoded(&self, handle: &File) -> Result<Option<String>, String> {
        let footer = footer(handle.try_clone().map_err(|error| error.to_string())?)?;
        let mut at = 0;
        while at < footer.rows {
            let end = footer.rows.min(at + DECODED_ROWS);
            let rows = decode(handle, &(at..end))?;
            if let Some(reason) = own_columns::foreign_to(&table_of(self.name), &rows) {
                return Ok(Some(reason));
            }
            at = end;
        }
        Ok(None)
    }

    fn faults(&self) -> Vec<String> {
        segment_errors::chunk_errors(self.chunks, &self.checked, Names::PARQUET)
    }
}

fn footer(handle: File) -> Result<Footer, String> {
    guarded(|| {
        let mut reader = ParquetReader::new(handle);
        let schema = Schema::from_arrow_schema(reader.schema()?.as_ref());
        let rows = reader.num_rows()? as u64;
        Ok(Footer {
            schema: SchemaRef::new(schema),
            rows,
        })
    })
}

fn decode(handle: &File, rows: &Range<u64>) -> Result<DataFrame, String> {
    let count = usize::try_from(rows.end - rows.start);
    let (Ok(first), Ok(count)) = (usize::try_from(rows.start), count) else {
        return Err("it counts more rows than there can be".to_owned());
    };
    let frame = guarded(|| {
        let reader = ParquetReader::new(handle.try_clone()?);
        reader.with_slice(Some((first, count))).finish()
    })?;
    if frame.height() == count {
        Ok(frame)
    } else {
        let found = frame.height();
        Err(format!(
            "expected {count} rows from row {first} on, found {found}"
        ))
    }
}

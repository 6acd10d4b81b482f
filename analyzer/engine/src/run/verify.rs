//! Compares a segment's bytes with the journal.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use xxhash_rust::xxh3::xxh3_64;

use super::journal::{Chunk, ChunkKind};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The bytes are as written; the rows were counted in the bytes themselves.
    Good {
        rows: u64,
    },
    Damaged {
        found: u64,
    },
    Cut {
        present: u64,
    },
}

pub(super) struct Checked {
    /// One per chunk, in file order.
    pub(super) verdicts: Vec<Verdict>,
    /// Indices of chunks that do not begin where the previous one ends; the first must begin at 0.
    pub(super) gaps: Vec<usize>,
    /// Bytes after the last listed chunk.
    pub(super) unlisted: u64,
}

impl Checked {
    pub(super) fn all_good(&self) -> bool {
        self.verdicts
            .iter()
            .all(|v| matches!(v, Verdict::Good { .. }))
    }

    /// Rows that were written: counted in intact batches, as listed for others.
    pub(super) fn rows_written(&self, chunks: &[Chunk]) -> u64 {
        let rows = chunks
            .iter()
            .zip(&self.verdicts)
            .map(|(chunk, verdict)| match verdict {
                Verdict::Good { rows } => *rows,
                Verdict::Damaged { .. } | Verdict::Cut { .. } => chunk.rows_of_batch(),
            });
        // A damaged journal may list anything.
        rows.fold(0, u64::saturating_add)
    }

    /// Rows of batches beyond the end of the file.
    pub(super) fn rows_cut(&self, chunks: &[Chunk]) -> u64 {
        let cut = chunks
            .iter()
            .zip(&self.verdicts)
            .filter(|(_, v)| matches!(v, Verdict::Cut { .. }));
        cut.map(|(chunk, _)| chunk.rows_of_batch())
            .fold(0, u64::saturating_add)
    }

    /// The chunks cover the whole file without gaps.
    pub(super) fn covers(&self) -> bool {
        self.gaps.is_empty() && self.unlisted == 0
    }
}

/// Reads the first `bytes` of a file once, one chunk at a time. If a writer extends the file meanwhile, the rest is
/// ignored. `rows_of` counts the rows in an intact batch.
pub(super) fn check(
    file: &mut File,
    bytes: u64,
    chunks: &[Chunk],
    rows_of: impl Fn(&Chunk, &[u8]) -> Result<u64, String>,
) -> io::Result<Checked> {
    let file_bytes = bytes;
    let mut buffer = Vec::new();
    let mut checked = Checked {
        verdicts: Vec::with_capacity(chunks.len()),
        gaps: Vec::new(),
        unlisted: 0,
    };
    let mut end = 0;
    for (index, chunk) in chunks.iter().enumerate() {
        if chunk.offset != end {
            checked.gaps.push(index);
        }
        end = chunk.end();
        if end > file_bytes {
            checked.verdicts.push(Verdict::Cut {
                present: file_bytes.saturating_sub(chunk.offset),
            });
            continue;
        }
        read_chunk(file, chunk, &mut buffer)?;
        let found = xxh3_64(&buffer);
        checked.verdicts.push(if found != chunk.xxh3 {
            Verdict::Damaged { found }
        } else if chunk.kind == ChunkKind::Batch {
            match rows_of(chunk, &buffer) {
                Ok(rows) => Verdict::Good { rows },
                // The journal says that these bytes were written so, and they are no batch.
                Err(_) => Verdict::Damaged { found },
            }
        } else {
            Verdict::Good { rows: 0 }
        });
    }
    checked.unlisted = file_bytes.saturating_sub(end);
    Ok(checked)
}

/// Reads a chunk, which must lie within the file.
pub(super) fn read_chunk(file: &mut File, chunk: &Chunk, buffer: &mut Vec<u8>) -> io::Result<()> {
    buffer.clear();
    file.seek(SeekFrom::Start(chunk.offset))?;
    file.take(chunk.bytes).read_to_end(buffer)?;
    Ok(())
}

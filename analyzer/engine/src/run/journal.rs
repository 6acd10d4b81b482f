//! `batches.jsonl`: what the recorder wrote down about every chunk before writing it.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use trueno_format::journal::{JOURNAL as FILE, Line};
use trueno_format::regular_file;
use trueno_model::Problem;

use super::layout::segment_table;

pub(super) use trueno_format::journal::Chunk as ChunkKind;

#[derive(Clone, Debug)]
pub(super) struct Chunk {
    pub(super) kind: ChunkKind,
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) rows: u64,
    pub(super) xxh3: u64,
    /// By text column, the texts that first appear in this chunk.
    pub(super) new: BTreeMap<String, Vec<String>>,
}

impl Chunk {
    pub(super) fn rows_of_batch(&self) -> u64 {
        if self.kind == ChunkKind::Batch {
            self.rows
        } else {
            0
        }
    }

    pub(super) fn end(&self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }
}

#[derive(Debug, Default)]
pub(super) struct Journal {
    pub(super) segments: BTreeMap<String, Vec<Chunk>>,
    /// All lines could be read.
    pub(super) is_whole: bool,
}

impl Journal {
    /// Chunks of a segment in file order; empty if the journal does not list it.
    pub(super) fn chunks(&self, segment: &str) -> &[Chunk] {
        self.segments.get(segment).map_or(&[], Vec::as_slice)
    }

    /// Reads the journal of the run at `dir`. Unreadable lines are problems, not errors.
    pub(super) fn read(dir: &Path, problems: &mut Vec<Problem>) -> Journal {
        let bytes = match regular_file::read(&dir.join(FILE)) {
            Ok(bytes) => bytes,
            Err(error) => {
                let what = match error.kind() {
                    io::ErrorKind::NotFound => "is missing".to_owned(),
                    _ => format!("cannot be read ({error})"),
                };
                let text = format!("{FILE} {what}: segments have their own hashes alone, if any");
                problems.push(Problem::warning("journal_missing", text));
                return Journal::default();
            }
        };
        let mut journal = Journal::default();
        let mut garbage = Vec::new();
        let whole = bytes.last().is_none_or(|&b| b == b'\n');
        let lines: Vec<&[u8]> = bytes.split(|&b| b == b'\n').collect();
        let mut cut = false;
        for (number, line) in lines.iter().enumerate() {
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            match parse(line) {
                Some((segment, chunk)) => journal.segments.entry(segment).or_default().push(chunk),
                None if !whole && number + 1 == lines.len() => cut = true,
                None => garbage.push(number + 1),
            }
        }
        for chunks in journal.segments.values_mut() {
            chunks.sort_by_key(|chunk| chunk.offset);
        }
        journal.is_whole = garbage.is_empty() && !cut;
        if let Some(first) = garbage.first() {
            problems.push(Problem::warning(
                "journal_damaged",
                format!(
                    "{FILE}: {} of {} lines cannot be read, the first is line {first}",
                    garbage.len(),
                    lines.len()
                ),
            ));
        }
        if cut {
            problems.push(Problem::warning(
                "journal_cut",
                format!(
                    "{FILE}: the last line, line {}, was cut while it was written",
                    lines.len()
                ),
            ));
        }
        journal
    }
}

fn parse(line: &[u8]) -> Option<(String, Chunk)> {
    let line = Line::decode(line)?;
    segment_table(&line.segment)?;
    let xxh3 = (line.xxh3.len() == 16)
        .then(|| u64::from_str_radix(&line.xxh3, 16).ok())
        .flatten()?;
    let chunk = Chunk {
        kind: line.chunk,
        offset: line.offset,
        bytes: line.bytes,
        rows: line.rows.unwrap_or(0),
        xxh3,
        new: line.new,
    };
    Some((line.segment, chunk))
}

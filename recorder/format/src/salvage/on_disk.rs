//! Rows on disk: the batches that the journal knows.

use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::journal::{Chunk, JOURNAL, Line, chunk_hash};
use crate::regular_file;

/// A batch that the journal announces and that is not whole.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CutBatch {
    /// The segment, as the journal names it.
    pub segment: String,
    /// Offset of the batch in it.
    pub offset: u64,
    /// Its rows.
    pub rows: u64,
}

impl CutBatch {
    /// The table whose rows were in it.
    pub fn table(&self) -> &str {
        self.segment.split('/').next().unwrap_or_default()
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OnDisk {
    pub batches: u64,
    pub rows: u64,
}

/// Reads which batches are on disk, by table, and the last batches that are incomplete.
pub(super) fn read(run: &Path) -> (BTreeMap<String, OnDisk>, Vec<CutBatch>) {
    let journal = regular_file::read(&run.join(JOURNAL)).unwrap_or_default();
    let lines: Vec<Line> = journal
        .split_inclusive(|byte| *byte == b'\n')
        .filter_map(Line::decode)
        .filter(|line| line.chunk == Chunk::Batch)
        .collect();
    let mut tables: BTreeMap<String, OnDisk> = BTreeMap::new();
    let mut cut = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let table = line.segment.split('/').next().unwrap_or_default();
        // Only the very last batch can have been under way: the writer writes one at a time.
        if at + 1 == lines.len() && !is_whole(run, line) {
            cut.push(CutBatch {
                segment: line.segment.clone(),
                offset: line.offset,
                rows: line.rows.unwrap_or(0),
            });
            continue;
        }
        let on_disk = tables.entry(table.to_owned()).or_default();
        on_disk.batches += 1;
        on_disk.rows = on_disk.rows.saturating_add(line.rows.unwrap_or(0));
    }
    (tables, cut)
}

fn is_whole(run: &Path, line: &Line) -> bool {
    let sealed = run.join(&line.segment);
    let file = regular_file::open(&sealed)
        .or_else(|_| regular_file::open(Path::new(&format!("{}.open", sealed.display()))));
    let Ok(length) = usize::try_from(line.bytes) else {
        return false;
    };
    let Ok(file) = file else { return false };
    // A length that the file does not have is not worth the memory.
    if file.metadata().map_or(0, |m| m.len()) < line.offset.saturating_add(line.bytes) {
        return false;
    }
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, line.offset).is_ok() && chunk_hash(&bytes) == line.xxh3
}

//! Faults of a segment's chunks, in words.

use super::journal::{Chunk, ChunkKind};
use super::verify::{Checked, Verdict};

/// Limit for the faults of a segment that are listed individually.
const TOLD: usize = 8;

#[derive(Clone, Copy)]
pub(super) struct Names {
    batch: &'static str,
    tail: &'static str,
}

impl Names {
    pub(super) const ARROW: Names = Names {
        batch: "batch",
        tail: "tail (dictionaries and footer)",
    };
    pub(super) const PARQUET: Names = Names {
        batch: "row group",
        tail: "footer",
    };
}

pub(super) fn chunk_errors(chunks: &[Chunk], checked: &Checked, names: Names) -> Vec<String> {
    let mut faults = Vec::new();
    let mut first_row: u64 = 0;
    let mut batch = 0;
    for (chunk, verdict) in chunks.iter().zip(&checked.verdicts) {
        let what = match chunk.kind {
            ChunkKind::Head => "head".to_owned(),
            ChunkKind::Tail => names.tail.to_owned(),
            ChunkKind::Batch => {
                let from = first_row;
                first_row = first_row.saturating_add(chunk.rows);
                batch += 1;
                format!(
                    "{} {} (rows {from}..{})",
                    names.batch,
                    batch - 1,
                    first_row.saturating_sub(1)
                )
            }
        };
        match verdict {
            Verdict::Good { .. } => {}
            Verdict::Damaged { found } => {
                let expected = chunk.xxh3;
                faults.push(format!(
                    "{what} damaged: expected xxh3 {expected:016x}, found {found:016x}"
                ));
            }
            Verdict::Cut { present } => {
                faults.push(format!(
                    "{what} cut: expected {} bytes, found {present}",
                    chunk.bytes
                ));
            }
        }
    }
    if checked.unlisted > 0 {
        let bytes = checked.unlisted;
        faults.push(format!(
            "{bytes} bytes at its end are not in the journal, and are not read"
        ));
    }
    if faults.len() > TOLD {
        let more = faults.len() - TOLD;
        faults.truncate(TOLD);
        faults.push(format!("and {more} more of its chunks are damaged or cut"));
    }
    faults
}

/// Batches whose own row count differs from the journal's.
pub(super) fn row_count_errors(chunks: &[Chunk], checked: &Checked) -> Vec<String> {
    let differ = |(chunk, verdict): (&Chunk, &Verdict)| match verdict {
        Verdict::Good { rows } if chunk.kind == ChunkKind::Batch && *rows != chunk.rows => {
            let (at, listed) = (chunk.offset, chunk.rows);
            Some(format!(
                "the batch at byte {at} holds {rows} rows, the journal (batches.jsonl) says {listed}"
            ))
        }
        _ => None,
    };
    chunks
        .iter()
        .zip(&checked.verdicts)
        .filter_map(differ)
        .take(TOLD)
        .collect()
}

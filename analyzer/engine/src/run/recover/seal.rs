//! Ends a segment that its writer did not come to end.

use std::collections::BTreeMap;

use trueno_format::journal::Line;
use trueno_format::regular_file;
use trueno_format::schema;
use trueno_format::segment::{SegmentBuilder, head_bytes};
use xxhash_rust::xxh3::xxh3_64;

use crate::run::ipc;
use crate::run::journal::{Chunk, ChunkKind};
use crate::run::layout::SegmentFile;
use crate::run::verify::{self, Verdict};

/// A segment of this table can be sealed only if it has the columns that this program knows.
pub(super) fn can_seal(table: &str, chunks: &[Chunk]) -> bool {
    let known = schema::table(table).map(|table| xxh3_64(&head_bytes(table)));
    chunks.first().is_some_and(|head| {
        head.kind == ChunkKind::Head && head.offset == 0 && Some(head.xxh3) == known
    })
}

/// The intact batches of an open segment, as a sealed one.
pub(super) fn seal(
    name: &str,
    table: &str,
    file: &SegmentFile,
    chunks: &[Chunk],
) -> Result<(Vec<u8>, Vec<Line>), String> {
    let table = schema::table(table).ok_or("a table this program does not know")?;
    let text = |error: std::io::Error| error.to_string();
    let mut handle = regular_file::open(&file.path).map_err(text)?;
    let checked = verify::check(&mut handle, file.bytes, chunks, |_, bytes| {
        ipc::batch_rows(bytes)
    })
    .map_err(text)?;
    // Numbers of texts are only known up to the first gap in the journal.
    let until = checked.gaps.first().copied().unwrap_or(chunks.len());
    let mut segment = SegmentBuilder::new(table, name);
    let mut bytes = Vec::new();
    for (chunk, verdict) in chunks.iter().zip(&checked.verdicts).take(until) {
        segment.texts(&chunk.new);
        if let (ChunkKind::Batch, Verdict::Good { rows }) = (chunk.kind, verdict) {
            verify::read_chunk(&mut handle, chunk, &mut bytes).map_err(text)?;
            segment.batch(&bytes, *rows)?;
        }
    }
    segment.seal()
}

/// The journal line of an unchanged chunk.
pub(super) fn line(name: &str, chunk: &Chunk) -> Line {
    Line {
        segment: name.to_owned(),
        chunk: chunk.kind,
        offset: chunk.offset,
        bytes: chunk.bytes,
        rows: (chunk.kind != ChunkKind::Head).then_some(chunk.rows),
        xxh3: format!("{:016x}", chunk.xxh3),
        new: BTreeMap::clone(&chunk.new),
    }
}

//! Reads the hashes that segments and parts of exported runs carry themselves, for where the journal is lost.
//!
//! Dictionaries and footers are not believed, and pages of Parquet not decoded, before a hash vouches for them, or
//! when another program wrote the file: the engine does not survive all that damaged pages may say.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use trueno_format::embedded_hashes::{FIXED_BYTES, FOOTER_KEY, FileForm, MARK, Part};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::journal::{Chunk, ChunkKind};

/// Our lists and footers are shorter.
const MAX_BYTES: u64 = 64 << 20;

pub(super) enum Own {
    /// Its chunks, in the form of the journal.
    Chunks(Vec<Chunk>),
    /// It has hashes, but they are damaged.
    Damaged,
    /// It has none, because another program wrote it.
    None,
}

pub(super) fn content(chunks: &[Chunk]) -> u64 {
    let hashes: Vec<u8> = chunks
        .iter()
        .flat_map(|chunk| chunk.xxh3.to_le_bytes())
        .collect();
    xxh3_64(&hashes)
}

pub(super) fn read(file: &mut File, bytes: u64, form: FileForm) -> io::Result<Own> {
    if let Some(chunks) = chunks(file, bytes, form)? {
        return Ok(Own::Chunks(chunks));
    }
    let end = part(file, bytes.saturating_sub(MAX_BYTES), bytes)?;
    let has = |what: &[u8]| end.windows(what.len()).any(|window| window == what);
    Ok(if has(MARK) || has(FOOTER_KEY.as_bytes()) {
        Own::Damaged
    } else {
        Own::None
    })
}

fn chunks(file: &mut File, bytes: u64, form: FileForm) -> io::Result<Option<Vec<Chunk>>> {
    let end = part(file, bytes.saturating_sub(form.end_bytes()), bytes)?;
    let footer = form
        .footer_bytes(&end)
        .and_then(|length| bytes.checked_sub(length));
    let Some((footer, fixed)) = footer.and_then(|at| Some((at, at.checked_sub(FIXED_BYTES)?)))
    else {
        return Ok(None);
    };
    let ours = part(file, fixed, footer)?;
    let word = |at: usize| {
        let word = ours.get(at..at + 8)?.try_into().ok()?;
        Some(u64::from_le_bytes(word))
    };
    let (Some(length), Some(hash), Some(MARK)) = (word(0), word(8), ours.last_chunk::<8>()) else {
        return Ok(None);
    };
    let Some(list_at) = fixed.checked_sub(length.min(MAX_BYTES)) else {
        return Ok(None);
    };
    let list = part(file, list_at, fixed)?;
    let Ok(parts) = serde_json::from_slice::<Vec<Part>>(&list) else {
        return Ok(None);
    };
    let parts_end = parts.last().map_or(form.first_offset(), |part| {
        part.offset.saturating_add(part.bytes)
    });
    if parts_end > list_at {
        return Ok(None);
    }
    let tail = part(file, parts_end, bytes)?;
    let hash_at = (fixed + 8 - parts_end) as usize;
    let mut found = Xxh3::new();
    found.update(&tail[..hash_at]);
    found.update(&tail[hash_at + 8..]);
    if found.digest() != hash {
        return Ok(None);
    }
    let chunk = |kind, offset, bytes, rows, xxh3| Chunk {
        kind,
        offset,
        bytes,
        rows,
        xxh3,
        new: std::collections::BTreeMap::new(),
    };
    let mut chunks = Vec::new();
    if form == FileForm::Parquet {
        let magic = form.magic();
        let bytes = magic.len() as u64;
        chunks.push(chunk(ChunkKind::Head, 0, bytes, 0, xxh3_64(magic)));
    }
    for part in &parts {
        let Ok(xxh3) = u64::from_str_radix(&part.xxh3, 16) else {
            return Ok(None);
        };
        let kind = if chunks.is_empty() {
            ChunkKind::Head
        } else {
            ChunkKind::Batch
        };
        chunks.push(chunk(kind, part.offset, part.bytes, part.rows, xxh3));
    }
    let tail_hash = xxh3_64(&tail);
    chunks.push(chunk(
        ChunkKind::Tail,
        parts_end,
        bytes - parts_end,
        0,
        tail_hash,
    ));
    Ok(Some(chunks))
}

/// The bytes `from..to`, as far as they exist.
fn part(file: &mut File, from: u64, to: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(from))?;
    file.take(to.saturating_sub(from)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

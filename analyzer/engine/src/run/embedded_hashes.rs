//! Hashes that a part of an exported run carries itself, for where the journal is lost.
//!
//! They stand between the last row group's indexes and the footer, where readers of Parquet
//! do not look: a list of the row groups as JSON, its length, a hash, a mark. The hash is that
//! of all bytes behind the row groups but its own, so the footer is not believed before it is
//! known to be as it was written: the engine does not survive all that damaged pages may say.
//!
//! Pages are decoded only when a hash vouches for them, or when another program wrote the file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::journal::{Chunk, ChunkKind};

/// The mark before the footer.
const MARK: &[u8; 8] = b"trueno\x00\x01";
/// An entry of the footer that others leave in place as little as they leave the mark.
pub const FOOTER_KEY: &str = "trueno.table";
/// First and last bytes of the file.
pub const MAGIC: &[u8; 4] = b"PAR1";
/// Length of the list, hash, mark.
const FIXED_BYTES: u64 = 24;
/// Length of the footer, magic.
const END_BYTES: u64 = 8;
/// No list and no footer of ours is longer.
const MAX_BYTES: u64 = 64 << 20;

/// A row group.
#[derive(Serialize, Deserialize)]
pub struct Group {
    pub offset: u64,
    pub bytes: u64,
    pub rows: u64,
    pub xxh3: String,
}

/// Hashes a file has of itself.
pub(super) enum Own {
    /// Its chunks, as a journal lists them.
    Chunks(Vec<Chunk>),
    /// It had hashes, and they are damaged.
    Damaged,
    /// It has none: another program wrote it.
    None,
}

/// Puts the hashes into `end`: all that follows the row groups, as the engine wrote it.
/// `None`: that is no end of a file.
pub fn insert(end: &[u8], groups: &[Group]) -> Option<Vec<u8>> {
    let footer = end.len().checked_sub(footer_bytes(end)? as usize)?;
    let list = serde_json::to_vec(groups).ok()?;
    let mut out = end[..footer].to_vec();
    out.extend_from_slice(&list);
    out.extend_from_slice(&(list.len() as u64).to_le_bytes());
    let mut hash = Xxh3::new();
    hash.update(&out);
    hash.update(MARK);
    hash.update(&end[footer..]);
    out.extend_from_slice(&hash.digest().to_le_bytes());
    out.extend_from_slice(MARK);
    out.extend_from_slice(&end[footer..]);
    Some(out)
}

/// Length of the footer with what follows it, of a file that ends so.
fn footer_bytes(end: &[u8]) -> Option<u64> {
    let (length, magic) = end.last_chunk::<8>()?.split_first_chunk::<4>()?;
    (magic == MAGIC).then(|| u64::from(u32::from_le_bytes(*length)) + END_BYTES)
}

/// Reads the hashes of a file of that length.
pub(super) fn read(file: &mut File, bytes: u64) -> io::Result<Own> {
    if let Some(chunks) = chunks(file, bytes)? {
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

fn chunks(file: &mut File, bytes: u64) -> io::Result<Option<Vec<Chunk>>> {
    let end = part(file, bytes.saturating_sub(END_BYTES), bytes)?;
    let footer = footer_bytes(&end).and_then(|length| bytes.checked_sub(length));
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
    let Ok(groups) = serde_json::from_slice::<Vec<Group>>(&list) else {
        return Ok(None);
    };
    let groups_end = groups.last().map_or(MAGIC.len() as u64, |group| {
        group.offset.saturating_add(group.bytes)
    });
    if groups_end > list_at {
        return Ok(None);
    }
    let tail = part(file, groups_end, bytes)?;
    let hash_at = (fixed + 8 - groups_end) as usize;
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
    let mut chunks = vec![chunk(
        ChunkKind::Head,
        0,
        MAGIC.len() as u64,
        0,
        xxh3_64(MAGIC),
    )];
    for group in &groups {
        let Ok(xxh3) = u64::from_str_radix(&group.xxh3, 16) else {
            return Ok(None);
        };
        let kind = ChunkKind::Batch;
        chunks.push(chunk(kind, group.offset, group.bytes, group.rows, xxh3));
    }
    let tail_hash = xxh3_64(&tail);
    chunks.push(chunk(
        ChunkKind::Tail,
        groups_end,
        bytes - groups_end,
        0,
        tail_hash,
    ));
    Ok(Some(chunks))
}

/// Bytes `from..to`, as far as they are there.
fn part(file: &mut File, from: u64, to: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(from))?;
    file.take(to.saturating_sub(from)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

//! The journal `batches.jsonl`: one line for every chunk of every segment.
//!
//! A line is written and handed to the operating system before its chunk. The chunks of a
//! segment cover its file without holes, so that what a crash or a fault has left can be
//! checked chunk by chunk ([`chunk_hash`]) and the good ones read on their own.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// Name of the journal in the run directory.
pub const JOURNAL: &str = "batches.jsonl";

/// The part of a segment that a chunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Chunk {
    /// Magic and schema; for Parquet, only the magic.
    Head,
    /// One record batch; for Parquet, one row group.
    Batch,
    /// Dictionaries, end of stream, footer and magic, written when the segment is sealed. For Parquet, page
    /// indexes and footer.
    Tail,
}

/// One line of the journal; see [`Line::encode`]. Unknown fields are ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Path of the sealed segment in the run directory, `<table>/<number>.arrow`; never with `.open`.
    /// Of an exported run, `<table>/<number>.parquet`.
    pub segment: String,
    /// The part of the segment.
    pub chunk: Chunk,
    /// Its offset in the file.
    pub offset: u64,
    /// Its length.
    pub bytes: u64,
    /// Rows: of the batch, or of the whole segment (tail).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// [`chunk_hash`] of its bytes.
    pub xxh3: String,
    /// Dictionary entries that first appear in this batch, by column, in order. The
    /// dictionary of a column is what all batches of the segment add, one after the other.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub new: BTreeMap<String, Vec<String>>,
}

/// Last member of a line: the hash of the text before it.
const SEAL: &str = ",\"line\":\"";

impl Line {
    /// The line of a chunk that is `bytes` and begins at `offset`; without rows and texts.
    pub fn new(segment: &str, chunk: Chunk, offset: u64, bytes: &[u8]) -> Self {
        Self {
            segment: segment.to_owned(),
            chunk,
            offset,
            bytes: bytes.len() as u64,
            rows: None,
            xxh3: chunk_hash(bytes),
            new: BTreeMap::new(),
        }
    }

    /// The line as it stands in the journal, with its newline. Its last member `line` is
    /// [`chunk_hash`] of all before it: texts of an unfinished segment stand only here.
    pub fn encode(&self) -> serde_json::Result<String> {
        Ok(seal(serde_json::to_string(self)?))
    }

    /// Reads a line. `None`: cut, damaged, or not a line of a journal.
    pub fn decode(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(unseal(line)?).ok()
    }
}

/// Appends the seal to a JSON object, and a newline.
pub(crate) fn seal(mut object: String) -> String {
    object.truncate(object.len() - 1);
    let hash = chunk_hash(object.as_bytes());
    object.extend([SEAL, &hash, "\"}\n"]);
    object
}

pub(crate) fn unseal(line: &[u8]) -> Option<&[u8]> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let sealed = line.strip_suffix(b"\"}")?;
    let hash = sealed.last_chunk::<16>()?;
    let text = sealed[..sealed.len() - 16].strip_suffix(SEAL.as_bytes())?;
    (chunk_hash(text).as_bytes() == hash).then_some(line)
}

/// XXH3-64 over the bytes of a chunk, as 16 hex digits.
pub fn chunk_hash(bytes: &[u8]) -> String {
    format!("{:016x}", xxh3_64(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_survives_and_any_changed_byte_is_noticed() {
        let line = Line {
            segment: "bricks/000000.arrow".into(),
            chunk: Chunk::Batch,
            offset: 840,
            bytes: 40_960,
            rows: Some(8192),
            xxh3: chunk_hash(b"body"),
            new: BTreeMap::from([("name".into(), vec!["RmsNorm".into(), "q\"\n".into()])]),
        };
        let text = line.encode().unwrap();
        assert_eq!(Line::decode(text.as_bytes()), Some(line));
        for at in 0..text.len() - 1 {
            let mut damaged = text.clone().into_bytes();
            damaged[at] ^= 1;
            assert_eq!(Line::decode(&damaged), None, "byte {at}");
            assert_eq!(Line::decode(&text.as_bytes()[..at]), None, "cut at {at}");
        }
    }
}

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

/// What a chunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Chunk {
    /// Magic and schema.
    Head,
    /// One record batch.
    Batch,
    /// Dictionaries, end of stream, footer, magic: written when the segment is sealed.
    Tail,
}

/// One line of the journal. Unknown fields are ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Path of the sealed segment in the run directory, `<table>/<number>.arrow`; never with `.open`.
    pub segment: String,
    /// What the chunk is.
    pub chunk: Chunk,
    /// Where it begins in the file.
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

/// XXH3-64 over the bytes of a chunk, as 16 hex digits.
pub fn chunk_hash(bytes: &[u8]) -> String {
    format!("{:016x}", xxh3_64(bytes))
}

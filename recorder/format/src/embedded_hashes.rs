//! Hashes that a file of rows carries itself, for where the journal is lost.
//!
//! They stand before the footer, where readers of Arrow and Parquet do not look: a list of the parts before the
//! file's end as JSON, its length, a hash, a mark. The hash is that of all bytes behind those parts but its own, so
//! that neither dictionaries nor footer are believed before they are known to be as they were written.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use crate::journal::{Line, chunk_hash};

/// The mark before the footer.
pub const MARK: &[u8; 8] = b"trueno\x00\x01";
/// An entry of the footer, with the name of the table; others leave it in place as little as they leave the mark.
pub const FOOTER_KEY: &str = "trueno.table";
/// Length of the list, hash, mark.
pub const FIXED_BYTES: u64 = 24;

/// Form of a file of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileForm {
    /// A segment: its parts are head and batches.
    Arrow,
    /// A file of an export: its parts are row groups.
    Parquet,
}

impl FileForm {
    /// Last bytes of a file.
    pub fn magic(self) -> &'static [u8] {
        match self {
            FileForm::Arrow => b"ARROW1",
            FileForm::Parquet => b"PAR1",
        }
    }

    /// Offset of the first part that is listed.
    pub fn first_offset(self) -> u64 {
        match self {
            FileForm::Arrow => 0,
            FileForm::Parquet => self.magic().len() as u64,
        }
    }

    /// Bytes behind the footer: its length, the magic.
    pub fn end_bytes(self) -> u64 {
        4 + self.magic().len() as u64
    }

    /// Length of the footer with what follows it, of a file that ends so.
    pub fn footer_bytes(self, end: &[u8]) -> Option<u64> {
        let length = end.strip_suffix(self.magic())?.last_chunk::<4>()?;
        Some(u64::from(u32::from_le_bytes(*length)) + self.end_bytes())
    }

    /// File lengths must be a multiple of this, so that readers find the footer.
    fn alignment(self) -> usize {
        match self {
            FileForm::Arrow => 8,
            FileForm::Parquet => 1,
        }
    }
}

/// A part of a file before its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Its offset in the file.
    pub offset: u64,
    /// Its length.
    pub bytes: u64,
    /// Rows in it.
    pub rows: u64,
    /// [`chunk_hash`] of its bytes.
    pub xxh3: String,
}

impl Part {
    /// The part that is `bytes`.
    pub fn new(offset: u64, bytes: &[u8], rows: u64) -> Part {
        Part {
            offset,
            bytes: bytes.len() as u64,
            rows,
            xxh3: chunk_hash(bytes),
        }
    }
}

impl From<&Line> for Part {
    fn from(line: &Line) -> Part {
        Part {
            offset: line.offset,
            bytes: line.bytes,
            rows: line.rows.unwrap_or(0),
            xxh3: line.xxh3.clone(),
        }
    }
}

/// Puts the hashes into `end`: all that follows the parts, as it would be without. `None`: that is no end of a file.
pub fn insert(form: FileForm, end: &[u8], parts: &[Part]) -> Option<Vec<u8>> {
    let footer_bytes = usize::try_from(form.footer_bytes(end)?).ok()?;
    let footer = end.len().checked_sub(footer_bytes)?;
    let mut list = serde_json::to_vec(parts).ok()?;
    // JSON may end with spaces.
    list.resize(list.len().next_multiple_of(form.alignment()), b' ');
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

//! The end of a segment: dictionaries, hashes of what is before them, and footer.

use std::io;

use super::dictionaries::append_dictionary;
use super::metadata::{Block, footer};
use super::{END_OF_STREAM, MAGIC};
use crate::embedded_hashes::{self, FileForm, Part};
use crate::schema::Table;

/// The end of a segment that is `offset` bytes long: dictionaries, end of stream, hashes, footer, magic. `values`
/// has the texts of each text column, in order; `parts` are head and batches.
///
/// # Errors
/// The texts of a column together are longer than 32 bits can express.
pub(crate) fn tail_bytes(
    table: &Table,
    values: &[Vec<String>],
    batches: &[Block],
    parts: &[Part],
    offset: u64,
) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut blocks = Vec::new();
    for (id, values) in values.iter().enumerate() {
        blocks.push(append_dictionary(&mut bytes, id, values, offset)?);
    }
    bytes.extend_from_slice(&END_OF_STREAM);
    bytes.extend(footer(table, &blocks, batches));
    bytes.extend_from_slice(MAGIC);
    embedded_hashes::insert(FileForm::Arrow, &bytes, parts)
        .ok_or_else(|| io::Error::other("a footer that is too long"))
}

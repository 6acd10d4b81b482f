//! The dictionaries of a segment's text columns, as messages.

use std::io::{self, Write};

use lz4_flex::frame::FrameEncoder;

use super::metadata::{self, Block, Builder, Header, Pair};
use super::{END_OF_STREAM, MESSAGE_ALIGNMENT, PREFIX_BYTES};
use crate::schema::{Column, ColumnType, Table};

/// Prefix of a buffer that is stored uncompressed.
const NOT_COMPRESSED: i64 = -1;

/// One dictionary message of a segment: all `values` of a text column, in order.
///
/// `None` when the table has no such text column.
pub fn dictionary_bytes<S: AsRef<str>>(
    table: &Table,
    column: &str,
    values: &[S],
) -> Option<Vec<u8>> {
    let id = text_columns(table).position(|c| c.name == column)?;
    let mut bytes = Vec::new();
    append_dictionary(&mut bytes, id, values, 0).ok()?;
    Some(bytes)
}

/// The text columns of a table, in order. The index of a column is its dictionary's id.
pub(crate) fn text_columns(table: &Table) -> impl Iterator<Item = &'static Column> {
    table
        .columns
        .iter()
        .filter(|column| column.ty == ColumnType::Text)
}

/// Appends a dictionary to bytes that begin at `offset` of their file.
///
/// # Errors
/// Its texts together are longer than 32 bits can express.
pub(super) fn append_dictionary<S: AsRef<str>>(
    bytes: &mut Vec<u8>,
    id: usize,
    values: &[S],
    offset: u64,
) -> io::Result<Block> {
    let mut ends = 0i32.to_le_bytes().to_vec();
    let mut texts = Vec::new();
    for value in values {
        texts.extend_from_slice(value.as_ref().as_bytes());
        let end = i32::try_from(texts.len()).map_err(io::Error::other)?;
        ends.extend_from_slice(&end.to_le_bytes());
    }
    let mut body = Vec::new();
    // There are no nulls, and so no bits that tell them.
    let mut buffers = vec![Pair(0, 0)];
    for plain in [ends, texts] {
        let at = body.len();
        append_compressed(&mut body, &plain)?;
        buffers.push(Pair(at, body.len() - at));
        body.resize(body.len().next_multiple_of(MESSAGE_ALIGNMENT), 0);
    }

    let mut builder = Builder::new();
    let compression = metadata::compression(&mut builder);
    let buffers = builder.create_vector(&buffers);
    let nodes = builder.create_vector(&[Pair(values.len(), 0)]);
    let batch = metadata::record_batch(&mut builder, values.len(), nodes, buffers, compression);
    let dictionary = metadata::dictionary_batch(&mut builder, id, batch);
    metadata::message(
        &mut builder,
        Header::DictionaryBatch,
        dictionary,
        body.len(),
    );
    let metadata_bytes = append_metadata(bytes, &builder);
    let block = Block {
        offset: offset + (bytes.len() - metadata_bytes) as u64,
        metadata_bytes,
        body_bytes: body.len(),
    };
    bytes.extend_from_slice(&body);
    Ok(block)
}

/// Appends a message's prefix and padded metadata. Returns their length in bytes.
pub(super) fn append_metadata(bytes: &mut Vec<u8>, builder: &Builder) -> usize {
    let metadata = builder.finished_data();
    let padded = (PREFIX_BYTES + metadata.len()).next_multiple_of(MESSAGE_ALIGNMENT);
    let end = bytes.len() + padded;
    bytes.extend_from_slice(&END_OF_STREAM[..4]);
    bytes.extend_from_slice(&((padded - PREFIX_BYTES) as i32).to_le_bytes());
    bytes.extend_from_slice(metadata);
    bytes.resize(end, 0);
    padded
}

/// Appends a buffer: its length and an LZ4 frame, or the plain bytes if the frame would be longer.
fn append_compressed(to: &mut Vec<u8>, plain: &[u8]) -> io::Result<()> {
    if plain.is_empty() {
        return Ok(());
    }
    let start = to.len();
    to.extend_from_slice(&(plain.len() as i64).to_le_bytes());
    let mut encoder = FrameEncoder::new(&mut *to);
    encoder.write_all(plain)?;
    encoder.finish().map_err(io::Error::other)?;
    if to.len() - start > plain.len() {
        to.truncate(start);
        to.extend_from_slice(&NOT_COMPRESSED.to_le_bytes());
        to.extend_from_slice(plain);
    }
    Ok(())
}

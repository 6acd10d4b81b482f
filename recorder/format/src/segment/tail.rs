//! What ends a segment.

use arrow_ipc::convert::IpcSchemaEncoder;
use arrow_ipc::writer::{DictionaryTracker, EncodedData, write_message};
use arrow_ipc::{Block, FooterBuilder, MetadataVersion};
use arrow_schema::ArrowError;
use flatbuffers::FlatBufferBuilder;

use super::dictionaries::dictionaries;
use super::{END_OF_STREAM, MAGIC, arrow_schema, options};
use crate::schema::Table;

/// The end of a segment that is `offset` long: dictionaries, end of stream, footer, magic.
pub(crate) fn tail_bytes(
    table: &Table,
    values: &[Vec<String>],
    batches: &[Block],
    offset: u64,
) -> Result<Vec<u8>, ArrowError> {
    let mut bytes = Vec::new();
    let mut blocks = Vec::new();
    for message in dictionaries(
        table,
        values
            .iter()
            .map(|values| values.iter().map(String::as_str)),
    )? {
        let at = offset + bytes.len() as u64;
        blocks.push(append(&mut bytes, message, at)?);
    }
    bytes.extend_from_slice(&END_OF_STREAM);

    let mut builder = FlatBufferBuilder::new();
    let dictionaries = builder.create_vector(&blocks);
    let batches = builder.create_vector(batches);
    let schema = IpcSchemaEncoder::new()
        .with_dictionary_tracker(&mut DictionaryTracker::new(false))
        .schema_to_fb_offset(&mut builder, &arrow_schema(table));
    let mut footer = FooterBuilder::new(&mut builder);
    footer.add_version(MetadataVersion::V5);
    footer.add_schema(schema);
    footer.add_dictionaries(dictionaries);
    footer.add_recordBatches(batches);
    let footer = footer.finish();
    builder.finish(footer, None);
    let footer = builder.finished_data();
    bytes.extend_from_slice(footer);
    bytes.extend_from_slice(&(footer.len() as i32).to_le_bytes());
    bytes.extend_from_slice(MAGIC);
    Ok(bytes)
}

/// Appends a message; the block places it in the file.
fn append(bytes: &mut Vec<u8>, message: EncodedData, offset: u64) -> Result<Block, ArrowError> {
    let (metadata, body) = write_message(bytes, message, &options())?;
    Ok(Block::new(offset as i64, metadata as i32, body as i64))
}

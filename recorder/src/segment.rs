//! Segments: Arrow IPC files whose dictionaries come last.
//!
//! Record batches are written while recording and hold only the keys of text columns; the
//! dictionary of each text column is written whole when the segment is sealed, between the
//! last batch and the footer. The pieces are public, so that a damaged segment can be put
//! together again from its good batches and the journal: [`head_bytes`], a
//! [`dictionary_bytes`] for every text column, the batches, [`END_OF_STREAM`]. From
//! [`STREAM_OFFSET`] on that is an Arrow IPC stream.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray, new_empty_array,
};
use arrow_ipc::convert::IpcSchemaEncoder;
use arrow_ipc::writer::{
    DictionaryTracker, EncodedData, IpcDataGenerator, IpcWriteContext, IpcWriteOptions,
    write_message,
};
use arrow_ipc::{Block, CompressionType, FooterBuilder, MetadataVersion};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use flatbuffers::FlatBufferBuilder;

use crate::schema::{Column, ColumnType, Table};

/// Rows of a batch; those at the end of a run or a second may have fewer.
pub const BATCH_ROWS: usize = 8192;
/// A segment is sealed when it has this many rows.
pub const SEGMENT_ROWS: u64 = 122 * BATCH_ROWS as u64;
/// Where the IPC stream begins in a segment: after the padded magic.
pub const STREAM_OFFSET: usize = 64;
/// What ends an IPC stream.
pub const END_OF_STREAM: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

const MAGIC: &[u8; 6] = b"ARROW1";

/// The Arrow type a column has in a segment.
fn data_type(ty: ColumnType) -> DataType {
    match ty {
        ColumnType::U32 => DataType::UInt32,
        ColumnType::U64 => DataType::UInt64,
        ColumnType::I64 => DataType::Int64,
        ColumnType::F64 => DataType::Float64,
        ColumnType::Bool => DataType::Boolean,
        ColumnType::Text => DataType::Dictionary(DataType::Int32.into(), DataType::Utf8.into()),
    }
}

/// The Arrow schema of a table's segments.
pub fn arrow_schema(table: &Table) -> Schema {
    schema_with(table, data_type)
}

/// The same with bare keys in place of dictionaries: what batches are encoded with. Their
/// bytes do not differ, since a dictionary stands in messages of its own.
pub(crate) fn keys_schema(table: &Table) -> Schema {
    schema_with(table, |ty| match ty {
        ColumnType::Text => DataType::Int32,
        other => data_type(other),
    })
}

fn schema_with(table: &Table, data_type: impl Fn(ColumnType) -> DataType) -> Schema {
    let field = |column: &Column| Field::new(column.name, data_type(column.ty), column.nullable);
    Schema::new(table.columns.iter().map(field).collect::<Vec<_>>())
}

fn options() -> IpcWriteOptions {
    // LZ4 is compiled in, and version 5 allows it.
    IpcWriteOptions::default()
        .try_with_compression(Some(CompressionType::LZ4_FRAME))
        .unwrap_or_default()
}

/// The beginning of every segment of a table: magic and schema.
pub fn head_bytes(table: &Table) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.resize(STREAM_OFFSET, 0);
    let message = IpcDataGenerator::default().schema_to_bytes_with_dictionary_tracker(
        &arrow_schema(table),
        &mut DictionaryTracker::new(false),
        &options(),
    );
    // Writing to a Vec does not fail, and a schema message has no body to misalign.
    let _ = write_message(&mut bytes, message, &options());
    bytes
}

/// One dictionary message of a segment: all `values` of a text column, in order.
///
/// `None` when the table has no such text column.
pub fn dictionary_bytes<S: AsRef<str>>(
    table: &Table,
    column: &str,
    values: &[S],
) -> Option<Vec<u8>> {
    let wanted = table.column(column).filter(|c| c.ty == ColumnType::Text)?;
    let nth = text_columns(table).position(|c| c.name == wanted.name)?;
    let none = std::iter::repeat_n(Vec::new(), nth);
    let given = none.chain([values.iter().map(AsRef::as_ref).collect()]);
    let message = dictionaries(table, given).ok()?.into_iter().nth(nth)?;
    let mut bytes = Vec::new();
    write_message(&mut bytes, message, &options()).ok()?;
    Some(bytes)
}

/// The text columns of a table, in order: their place is their dictionary's id.
pub(crate) fn text_columns(table: &Table) -> impl Iterator<Item = &'static Column> {
    table
        .columns
        .iter()
        .filter(|column| column.ty == ColumnType::Text)
}

/// The dictionary messages of all text columns; those without values given are empty.
fn dictionaries<'a, V: IntoIterator<Item = &'a str>>(
    table: &Table,
    values: impl IntoIterator<Item = V>,
) -> Result<Vec<EncodedData>, ArrowError> {
    // The generator makes dictionaries from a batch: one without rows does.
    let mut values = values.into_iter();
    let columns = table
        .columns
        .iter()
        .map(|column| -> Result<ArrayRef, ArrowError> {
            if column.ty != ColumnType::Text {
                return Ok(new_empty_array(&data_type(column.ty)));
            }
            let texts = StringArray::from_iter_values(values.next().into_iter().flatten());
            let keys = Int32Array::from(Vec::<i32>::new());
            Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(
                keys,
                Arc::new(texts),
            )?))
        });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let batch = RecordBatch::try_new(Arc::new(arrow_schema(table)), columns)?;
    let mut tracker = DictionaryTracker::new(false);
    for _ in text_columns(table) {
        tracker.next_dict_id();
    }
    let generator = IpcDataGenerator::default();
    Ok(generator
        .encode(
            &batch,
            &mut tracker,
            &options(),
            &mut IpcWriteContext::default(),
        )?
        .0)
}

/// Encodes batches, reusing its buffers.
pub(crate) struct BatchEncoder {
    options: IpcWriteOptions,
    context: IpcWriteContext,
}

impl BatchEncoder {
    pub fn new() -> Self {
        Self {
            options: options(),
            context: IpcWriteContext::default(),
        }
    }

    /// One batch as a message. `batch` has the [`keys_schema`].
    pub fn encode(
        &mut self,
        batch: &RecordBatch,
        offset: u64,
    ) -> Result<(Vec<u8>, Block), ArrowError> {
        let mut tracker = DictionaryTracker::new(false);
        let generator = IpcDataGenerator::default();
        let (_, message) =
            generator.encode(batch, &mut tracker, &self.options, &mut self.context)?;
        let mut bytes = Vec::with_capacity(message.arrow_data.len() + 4096);
        let block = append(&mut bytes, message, offset, &self.options)?;
        Ok((bytes, block))
    }
}

/// Appends a message; the block places it in the file.
fn append(
    bytes: &mut Vec<u8>,
    message: EncodedData,
    offset: u64,
    options: &IpcWriteOptions,
) -> Result<Block, ArrowError> {
    let (metadata, body) = write_message(bytes, message, options)?;
    Ok(Block::new(offset as i64, metadata as i32, body as i64))
}

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
        blocks.push(append(&mut bytes, message, at, &options())?);
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

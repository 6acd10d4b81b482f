//! Segments: Arrow IPC files whose dictionaries come last.
//!
//! Record batches are written while recording and hold only the keys of text columns; the
//! dictionary of each text column is written whole when the segment is sealed, between the
//! last batch and the footer. The pieces are public, so that a damaged segment can be put
//! together again from its good batches and the journal: [`head_bytes`], a
//! [`dictionary_bytes`] for every text column, the batches, [`END_OF_STREAM`]. From
//! [`STREAM_OFFSET`] on that is an Arrow IPC stream. [`SegmentBuilder`] makes a sealed segment
//! of them.

mod batch;
mod bits;
mod builder;
mod dictionaries;
mod dictionary;
mod lz4;
mod tail;

use arrow_ipc::CompressionType;
use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteOptions, write_message};
use arrow_schema::{DataType, Field, Schema};

pub use batch::{BatchEncoder, BatchView, Cells};
pub use builder::SegmentBuilder;
pub use dictionaries::dictionary_bytes;
pub(crate) use dictionaries::text_columns;
pub(crate) use dictionary::Dictionary;
pub(crate) use tail::tail_bytes;

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

#[cfg(test)]
mod tests;

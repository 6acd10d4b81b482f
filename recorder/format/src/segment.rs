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
mod metadata;
mod tail;

pub use batch::{BatchEncoder, BatchView, Cells};
pub use builder::SegmentBuilder;
pub use dictionaries::dictionary_bytes;
pub(crate) use dictionaries::text_columns;
pub(crate) use dictionary::Dictionary;
pub use metadata::Block;
pub(crate) use tail::tail_bytes;

use metadata::Header;
use xxhash_rust::xxh3::xxh3_64;

use crate::schema::Table;

/// Rows of a batch; those at the end of a run or a second may have fewer.
pub const BATCH_ROWS: usize = 8192;
/// A segment is sealed when it has this many rows.
pub const SEGMENT_ROWS: u64 = 122 * BATCH_ROWS as u64;
/// Offset of the IPC stream in a segment: after the padded magic.
pub const STREAM_OFFSET: usize = 64;
/// The end of an IPC stream.
pub const END_OF_STREAM: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

const MAGIC: &[u8; 6] = b"ARROW1";
const MESSAGE_ALIGNMENT: usize = STREAM_OFFSET;
/// Size of the prefix of a message's metadata: a marker and the length.
const PREFIX_BYTES: usize = END_OF_STREAM.len();

/// The beginning of every segment of a table: magic and schema.
pub fn head_bytes(table: &Table) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.resize(STREAM_OFFSET, 0);
    let mut builder = metadata::Builder::new();
    let schema = metadata::schema(&mut builder, table);
    metadata::message(&mut builder, Header::Schema, schema, 0);
    dictionaries::append_metadata(&mut bytes, &builder);
    bytes
}

/// The table as a writer of this or an older minor version had it, by the hash of its head; `None`: of none of them.
///
/// Minor versions add columns at the end, so an older table is the beginning of this one.
pub fn table_of_head(table: &Table, xxh3: u64) -> Option<Table> {
    let mut versions = (1..=table.columns.len()).rev().map(|columns| Table {
        columns: &table.columns[..columns],
        ..*table
    });
    versions.find(|version| xxh3_64(&head_bytes(version)) == xxh3)
}

#[cfg(test)]
mod tests;

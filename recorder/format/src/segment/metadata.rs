//! Metadata of Arrow IPC messages, slot by slot: as many of the format's tables as segments have.
//!
//! The crates of Arrow have code for all of them and bring thirty other crates, which every program that links the
//! recorder would have to build. Numbers and defaults are those of `Schema.fbs`, `Message.fbs` and `File.fbs`; tests
//! read the result with `arrow-ipc` and compare it with what that writes, byte by byte.

use flatbuffers::{FlatBufferBuilder, Push, PushAlignment, TableFinishedWIPOffset, WIPOffset};

use crate::embedded_hashes::FOOTER_KEY;
use crate::schema::{Column, ColumnType, Table};

pub(super) type Builder = FlatBufferBuilder<'static>;
pub(super) type Offset = WIPOffset<TableFinishedWIPOffset>;

/// `MetadataVersion.V5`.
const VERSION: i16 = 4;
/// `Precision.DOUBLE`.
const DOUBLE: i16 = 2;

/// Members of the union `MessageHeader`.
#[derive(Clone, Copy)]
pub(super) enum Header {
    Schema = 1,
    DictionaryBatch = 2,
    RecordBatch = 3,
}

/// The place of a message in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Offset of the message's first byte.
    pub offset: u64,
    /// Bytes before the body, the prefix included.
    pub metadata_bytes: usize,
    /// Bytes of the body.
    pub body_bytes: usize,
}

/// A struct of two numbers: `FieldNode` (rows, nulls) or `Buffer` (offset, bytes).
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair(pub usize, pub usize);

impl Push for Block {
    type Output = Self;

    unsafe fn push(&self, to: &mut [u8], _: usize) {
        to[..8].copy_from_slice(&self.offset.to_le_bytes());
        // Its four bytes and four of padding.
        to[8..16].copy_from_slice(&(self.metadata_bytes as u64).to_le_bytes());
        to[16..24].copy_from_slice(&(self.body_bytes as u64).to_le_bytes());
    }

    fn size() -> usize {
        24
    }

    fn alignment() -> PushAlignment {
        PushAlignment::new(8)
    }
}

impl Push for Pair {
    type Output = Self;

    unsafe fn push(&self, to: &mut [u8], _: usize) {
        to[..8].copy_from_slice(&(self.0 as u64).to_le_bytes());
        to[8..16].copy_from_slice(&(self.1 as u64).to_le_bytes());
    }

    fn size() -> usize {
        16
    }

    fn alignment() -> PushAlignment {
        PushAlignment::new(8)
    }
}

const fn slot(number: u16) -> u16 {
    4 + 2 * number
}

fn table(builder: &mut Builder, fill: impl FnOnce(&mut Builder)) -> Offset {
    let start = builder.start_table();
    fill(builder);
    builder.end_table(start)
}

/// `Int`.
fn integer(builder: &mut Builder, is_signed: bool, bits: i32) -> Offset {
    table(builder, |to| {
        to.push_slot(slot(1), is_signed, false);
        to.push_slot(slot(0), bits, 0);
    })
}

/// `Field`; `dictionary` is the id for a text column.
fn field(builder: &mut Builder, column: &Column, dictionary: i64) -> Offset {
    let name = builder.create_string(column.name);
    // Readers expect a list of children, if an empty one. Members of the union `Type`.
    let (member, ty, children): (u8, _, _) = match column.ty {
        ColumnType::Bool | ColumnType::Text => {
            let ty = table(builder, |_| {});
            let member = if column.ty == ColumnType::Bool { 6 } else { 5 };
            (member, ty, builder.create_vector::<Offset>(&[]))
        }
        ColumnType::F64 => {
            let children = builder.create_vector::<Offset>(&[]);
            let ty = table(builder, |to| to.push_slot(slot(0), DOUBLE, 0));
            (3, ty, children)
        }
        ColumnType::U32 | ColumnType::U64 | ColumnType::I64 => {
            let children = builder.create_vector::<Offset>(&[]);
            let bits = if column.ty == ColumnType::U32 { 32 } else { 64 };
            (
                2,
                integer(builder, column.ty == ColumnType::I64, bits),
                children,
            )
        }
    };
    let dictionary = (column.ty == ColumnType::Text).then(|| {
        let keys = integer(builder, true, 32);
        table(builder, |to| {
            to.push_slot(slot(0), dictionary, 0);
            to.push_slot_always(slot(1), keys);
        })
    });
    table(builder, |to| {
        to.push_slot_always(slot(0), name);
        if let Some(dictionary) = dictionary {
            to.push_slot_always(slot(4), dictionary);
        }
        to.push_slot(slot(2), member, 0);
        to.push_slot(slot(1), column.nullable, false);
        to.push_slot_always(slot(5), children);
        to.push_slot_always(slot(3), ty);
    })
}

/// `Schema`. Dictionaries are numbered in the order of their columns.
pub(super) fn schema(builder: &mut Builder, of: &Table) -> Offset {
    let mut dictionaries = 0;
    let fields: Vec<Offset> = of
        .columns
        .iter()
        .map(|column| {
            let field = field(builder, column, dictionaries);
            dictionaries += i64::from(column.ty == ColumnType::Text);
            field
        })
        .collect();
    let fields = builder.create_vector(&fields);
    table(builder, |to| to.push_slot_always(slot(1), fields))
}

/// `BodyCompression`: LZ4 frames per buffer, which are the defaults.
pub(super) fn compression(builder: &mut Builder) -> Offset {
    table(builder, |_| {})
}

/// `RecordBatch`, of vectors of [`Pair`].
pub(super) fn record_batch<N, B>(
    builder: &mut Builder,
    rows: usize,
    nodes: WIPOffset<N>,
    buffers: WIPOffset<B>,
    compression: Offset,
) -> Offset {
    table(builder, |to| {
        to.push_slot(slot(0), rows as i64, 0);
        to.push_slot_always(slot(1), nodes);
        to.push_slot_always(slot(2), buffers);
        to.push_slot_always(slot(3), compression);
    })
}

/// `DictionaryBatch`, whole.
pub(super) fn dictionary_batch(builder: &mut Builder, id: usize, values: Offset) -> Offset {
    table(builder, |to| {
        to.push_slot(slot(0), id as i64, 0);
        to.push_slot_always(slot(1), values);
    })
}

/// `Message`. Finishes the builder.
pub(super) fn message(builder: &mut Builder, kind: Header, header: Offset, body_bytes: usize) {
    let message = table(builder, |to| {
        to.push_slot(slot(0), VERSION, 0);
        to.push_slot(slot(1), kind as u8, 0);
        to.push_slot(slot(3), body_bytes as i64, 0);
        to.push_slot_always(slot(2), header);
    });
    builder.finish(message, None);
}

/// `Footer`, with the bytes that end the file.
pub(super) fn footer(of: &Table, dictionaries: &[Block], batches: &[Block]) -> Vec<u8> {
    let mut builder = Builder::new();
    let dictionaries = builder.create_vector(dictionaries);
    let batches = builder.create_vector(batches);
    let schema = schema(&mut builder, of);
    let key = builder.create_string(FOOTER_KEY);
    let name = builder.create_string(of.name);
    let entry = table(&mut builder, |to| {
        to.push_slot_always(slot(1), name);
        to.push_slot_always(slot(0), key);
    });
    let entries = builder.create_vector(&[entry]);
    let footer = table(&mut builder, |to| {
        to.push_slot(slot(0), VERSION, 0);
        to.push_slot_always(slot(1), schema);
        to.push_slot_always(slot(2), dictionaries);
        to.push_slot_always(slot(3), batches);
        to.push_slot_always(slot(4), entries);
    });
    builder.finish(footer, None);
    let footer = builder.finished_data();
    [footer, &(footer.len() as i32).to_le_bytes()].concat()
}

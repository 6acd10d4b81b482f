//! Record batches as Arrow IPC messages, straight from columns of 64-bit words.
//!
//! The same messages `arrow-ipc` writes, without its arrays: most columns of a batch hold one
//! value or none at all, and cost next to nothing here.

use super::bits::{self, Bits, Presence, Present};
use super::lz4::{Compressor, Value};
use super::metadata::{self, Block, Builder, Header, Pair};
use super::{BATCH_ROWS, END_OF_STREAM, MESSAGE_ALIGNMENT, PREFIX_BYTES};
use crate::schema::{Column, ColumnType, Table};

const BUFFER_ALIGNMENT: usize = 8;

/// The cells of one column: 64 bits each, whatever their type. A text is a number.
#[derive(Clone, Copy, Debug)]
pub enum Cells<'a> {
    /// Every row has this value.
    Same(u64),
    /// One value per row. Where a cell is missing, the value does not matter.
    Each(&'a [u64]),
}

/// Rows of a table.
pub struct BatchView<'a> {
    /// Their table.
    pub table: &'a Table,
    /// [`BATCH_ROWS`] at most.
    pub rows: usize,
    /// Of each row, a bit for every column whose cell is there.
    pub present: Cells<'a>,
    /// Columns in the order of the schema.
    pub columns: &'a [Cells<'a>],
}

/// Encodes batches, reusing its memory.
pub struct BatchEncoder {
    compressor: Compressor,
    metadata: Builder,
    nodes: Vec<Pair>,
    buffers: Vec<Pair>,
    /// Space for the metadata, then the body, so that neither has to be moved.
    message: Vec<u8>,
    body_at: usize,
    words: Vec<u64>,
    halves: Vec<u32>,
}

impl Default for BatchEncoder {
    fn default() -> Self {
        Self::new()
    }
}

impl BatchEncoder {
    /// Without memory for a batch yet.
    pub fn new() -> Self {
        Self {
            compressor: Compressor::new(),
            metadata: Builder::new(),
            nodes: Vec::new(),
            buffers: Vec::new(),
            message: Vec::new(),
            body_at: 0,
            words: Vec::with_capacity(BATCH_ROWS),
            halves: Vec::with_capacity(BATCH_ROWS),
        }
    }

    /// One batch as a message that stands at `offset` of its file. `key` gives the dictionary
    /// key of a text: which text column of the table, which text. It is asked row by row.
    pub fn encode(
        &mut self,
        batch: &BatchView<'_>,
        offset: u64,
        mut key: impl FnMut(usize, u64) -> i32,
    ) -> (&[u8], Block) {
        self.nodes.clear();
        self.buffers.clear();
        self.body_at = max_metadata_bytes(batch.table.columns.len());
        self.message.clear();
        self.message.resize(self.body_at, 0);
        let present = Present::new(batch.present);
        let mut text_columns = 0;
        for (number, (column, cells)) in batch.table.columns.iter().zip(batch.columns).enumerate() {
            let mut bits = [0; BATCH_ROWS / 64];
            let presence = if column.nullable {
                present.column(number, &mut bits)
            } else {
                Presence::All
            };
            self.validity(&presence, &bits, batch.rows);
            let mut key_here = |text| key(text_columns, text);
            match presence {
                Presence::None => self.one_value(column.ty, 0, batch.rows),
                Presence::All => match *cells {
                    Cells::Same(value) => {
                        let value = match column.ty {
                            ColumnType::Text => key_here(value) as u32 as u64,
                            _ => value,
                        };
                        self.one_value(column.ty, value, batch.rows);
                    }
                    Cells::Each(values) => {
                        self.values(column, &values[..batch.rows], None, key_here)
                    }
                },
                Presence::Some(_) => {
                    let mut words = std::mem::take(&mut self.words);
                    words.clear();
                    match *cells {
                        Cells::Same(value) => words.resize(batch.rows, value),
                        Cells::Each(values) => words.extend_from_slice(&values[..batch.rows]),
                    }
                    for (at, word) in words.iter_mut().enumerate() {
                        *word &= 0u64.wrapping_sub(u64::from(bits::is_set(&bits, at)));
                    }
                    self.values(column, &words, Some(&bits), key_here);
                    self.words = words;
                }
            }
            text_columns += usize::from(column.ty == ColumnType::Text);
        }
        self.message(batch.rows, offset)
    }

    fn validity(&mut self, presence: &Presence, bits: &Bits, rows: usize) {
        let (nulls, words) = match presence {
            Presence::All => {
                let at = self.message.len() - self.body_at;
                self.buffers.push(Pair(at, 0));
                self.nodes.push(Pair(rows, 0));
                return;
            }
            Presence::None => (rows, bits::words(rows)),
            Presence::Some(count) => (rows - count, bits::words(rows)),
        };
        self.nodes.push(Pair(rows, nulls));
        self.buffer(&bits[..words]);
    }

    /// Adds a column of one value; for texts, the key.
    fn one_value(&mut self, ty: ColumnType, value: u64, rows: usize) {
        match ty {
            ColumnType::U64 | ColumnType::I64 | ColumnType::F64 => self.same(value, rows),
            ColumnType::U32 | ColumnType::Text => self.same(value as u32, rows),
            ColumnType::Bool => {
                let mut bits = [0; BATCH_ROWS / 64];
                if value != 0 {
                    bits::collect(&[1; BATCH_ROWS][..rows], &mut bits, |bit| bit);
                }
                self.buffer(&bits[..bits::words(rows)]);
            }
        }
    }

    /// Adds a column of several values, with zeros where `present` has no cell.
    fn values(
        &mut self,
        column: &Column,
        values: &[u64],
        present: Option<&Bits>,
        mut key: impl FnMut(u64) -> i32,
    ) {
        let mut halves = std::mem::take(&mut self.halves);
        halves.clear();
        match column.ty {
            ColumnType::U64 | ColumnType::I64 | ColumnType::F64 if column.is_distinct() => {
                let start = self.message.len();
                self.compressor.append_distinct(values, &mut self.message);
                self.end_buffer(start);
            }
            ColumnType::U64 | ColumnType::I64 | ColumnType::F64 => self.buffer(values),
            ColumnType::U32 => {
                halves.extend(values.iter().map(|value| *value as u32));
                self.buffer(&halves);
            }
            ColumnType::Text => {
                match present {
                    None => halves.extend(values.iter().map(|text| key(*text) as u32)),
                    Some(bits) => halves.extend(values.iter().enumerate().map(|(at, text)| {
                        if bits::is_set(bits, at) {
                            key(*text) as u32
                        } else {
                            0
                        }
                    })),
                }
                self.buffer(&halves);
            }
            ColumnType::Bool => {
                let mut bits = [0; BATCH_ROWS / 64];
                bits::collect(values, &mut bits, |value| u64::from(value != 0));
                self.buffer(&bits[..bits::words(values.len())]);
            }
        }
        self.halves = halves;
    }

    fn buffer<V: Value>(&mut self, values: &[V]) {
        let start = self.message.len();
        self.compressor.append(values, &mut self.message);
        self.end_buffer(start);
    }

    fn same<V: Value>(&mut self, value: V, rows: usize) {
        let start = self.message.len();
        self.compressor.append_same(value, rows, &mut self.message);
        self.end_buffer(start);
    }

    fn end_buffer(&mut self, start: usize) {
        let (at, bytes) = (start - self.body_at, self.message.len() - start);
        self.buffers.push(Pair(at, bytes));
        self.pad(BUFFER_ALIGNMENT);
    }

    /// Pads the body. It begins at a multiple of both alignments.
    fn pad(&mut self, alignment: usize) {
        let padded = self.message.len().next_multiple_of(alignment);
        self.message.resize(padded, 0);
    }

    fn message(&mut self, rows: usize, offset: u64) -> (&[u8], Block) {
        self.pad(MESSAGE_ALIGNMENT);
        let body_bytes = self.message.len() - self.body_at;
        let builder = &mut self.metadata;
        builder.reset();
        let nodes = builder.create_vector(&self.nodes);
        let buffers = builder.create_vector(&self.buffers);
        let compression = metadata::compression(builder);
        let batch = metadata::record_batch(builder, rows, nodes, buffers, compression);
        metadata::message(builder, Header::RecordBatch, batch, body_bytes);
        let metadata = builder.finished_data();

        let metadata_bytes = (PREFIX_BYTES + metadata.len()).next_multiple_of(MESSAGE_ALIGNMENT);
        let message = &mut self.message[self.body_at - metadata_bytes..];
        let (prefix, rest) = message.split_at_mut(PREFIX_BYTES);
        prefix[..4].copy_from_slice(&END_OF_STREAM[..4]);
        prefix[4..].copy_from_slice(&((metadata_bytes - PREFIX_BYTES) as i32).to_le_bytes());
        rest[..metadata.len()].copy_from_slice(metadata);
        let block = Block {
            offset,
            metadata_bytes,
            body_bytes,
        };
        (message, block)
    }
}

/// Upper bound of the metadata of a batch: two buffers and a node per column, 16 bytes each, and some tables around
/// them.
fn max_metadata_bytes(columns: usize) -> usize {
    (columns * 3 * 16 + 512).next_multiple_of(MESSAGE_ALIGNMENT)
}

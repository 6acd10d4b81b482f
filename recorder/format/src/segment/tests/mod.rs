//! Batches against the reader of `arrow-ipc`, blocks against a decoder of the letter.

mod columns;
mod lz4;
mod metadata;

use std::io::Cursor;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::FileReader;
use proptest::prelude::*;

use super::*;
use crate::embedded_hashes::Part;
use crate::schema::{ColumnType, TABLES};
use columns::{BatchColumns, Pattern, pattern};
use metadata::arrow_schema;

/// Number of texts in every dictionary; the key of text `n` is `TEXTS - 1 - n`.
const TEXTS: u64 = 300;

fn key(text: u64) -> i32 {
    (TEXTS - 1 - text % TEXTS) as i32
}

fn encode(encoder: &mut BatchEncoder, given: &BatchColumns, offset: u64) -> (Vec<u8>, Block) {
    given.view(|batch| {
        let (bytes, block) = encoder.encode(batch, offset, |_, text| key(text));
        (bytes.to_vec(), block)
    })
}

fn decode(table: &Table, batches: &[BatchColumns]) -> Vec<RecordBatch> {
    let mut encoder = BatchEncoder::new();
    let mut file = head_bytes(table);
    let mut blocks = Vec::new();
    let mut parts = vec![Part::new(0, &file, 0)];
    for given in batches {
        let (bytes, block) = encode(&mut encoder, given, file.len() as u64);
        parts.push(Part::new(block.offset, &bytes, given.rows as u64));
        file.extend(bytes);
        blocks.push(block);
    }
    let texts: Vec<String> = (0..TEXTS).map(|n| format!("text of key {n}")).collect();
    let dictionaries = vec![texts; text_columns(table).count()];
    let tail = tail_bytes(table, &dictionaries, &blocks, &parts, file.len() as u64);
    file.extend(tail.unwrap());
    let reader = FileReader::try_new(Cursor::new(file), None).unwrap();
    assert_eq!(*reader.schema(), arrow_schema(table));
    reader.map(Result::unwrap).collect()
}

/// The value of a cell as 64 bits; for a text, its key.
fn cell(array: &dyn Array, ty: ColumnType, row: usize) -> Option<u64> {
    array.is_valid(row).then(|| match ty {
        ColumnType::U32 => array.as_primitive::<UInt32Type>().value(row).into(),
        ColumnType::U64 => array.as_primitive::<UInt64Type>().value(row),
        ColumnType::I64 => array.as_primitive::<Int64Type>().value(row) as u64,
        ColumnType::F64 => array.as_primitive::<Float64Type>().value(row).to_bits(),
        ColumnType::Bool => array.as_boolean().value(row).into(),
        ColumnType::Text => {
            let keys = array.as_dictionary::<Int32Type>().keys();
            keys.value(row) as u64
        }
    })
}

fn wanted(ty: ColumnType, value: u64) -> u64 {
    match ty {
        ColumnType::U64 | ColumnType::I64 | ColumnType::F64 => value,
        ColumnType::U32 => u64::from(value as u32),
        ColumnType::Bool => u64::from(value != 0),
        ColumnType::Text => key(value) as u64,
    }
}

fn some_rows() -> impl Strategy<Value = usize> {
    prop_oneof![0usize..70, 0usize..=BATCH_ROWS, Just(BATCH_ROWS)]
}

fn some_batch() -> impl Strategy<Value = BatchColumns> {
    (0..TABLES.len(), some_rows()).prop_flat_map(|(table, rows)| {
        let table = &TABLES[table];
        let columns = prop::collection::vec((pattern(), pattern()), table.columns.len());
        columns.prop_map(move |columns| BatchColumns::new(table, rows, &columns))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_batch_is_read_as_it_was_given(given in some_batch()) {
        let table = given.table;
        let batches = decode(table, std::slice::from_ref(&given));
        prop_assert_eq!(batches.len(), 1);
        prop_assert_eq!(batches[0].num_rows(), given.rows);
        for (number, column) in table.columns.iter().enumerate() {
            let array = batches[0].column(number);
            let mut nulls = 0;
            for row in 0..given.rows {
                let value = given.cell(number, row);
                nulls += usize::from(value.is_none());
                prop_assert_eq!(
                    cell(array, column.ty, row),
                    value.map(|value| wanted(column.ty, value)),
                    "{}, row {}", column.name, row
                );
            }
            prop_assert_eq!(array.null_count(), nulls);
        }
    }

    /// The bytes depend neither on what was encoded before, nor on the contents of missing cells, nor on the
    /// form in which constant columns are passed.
    #[test]
    fn the_same_rows_are_the_same_bytes(given in some_batch(), before in some_batch(), junk in any::<u64>()) {
        let mut used = BatchEncoder::new();
        encode(&mut used, &before, 64);
        let (bytes, block) = encode(&mut used, &given, 64);
        let (again, _) = encode(&mut BatchEncoder::new(), &given.with_junk(junk), 64);
        prop_assert!(bytes == again);
        prop_assert_eq!(bytes.len() % 64, 0);
        prop_assert_eq!(bytes.len(), block.metadata_bytes + block.body_bytes);
    }
}

/// A constant column takes little more space than the description of its buffers.
#[test]
fn columns_of_one_value_take_next_to_nothing() {
    let table = crate::schema::table("bricks").unwrap();
    let columns = vec![(Pattern::Constant(7), Pattern::Constant(1)); table.columns.len()];
    let mut encoder = BatchEncoder::new();
    let (bytes, _) = encode(
        &mut encoder,
        &BatchColumns::new(table, BATCH_ROWS, &columns),
        0,
    );
    assert!(
        bytes.len() < 8 * 1024,
        "{} bytes for {BATCH_ROWS} rows",
        bytes.len()
    );
}

#[test]
fn batches_follow_each_other_in_a_file() {
    let table = crate::schema::table("tiles").unwrap();
    let columns = vec![(Pattern::Steps(3, 5), Pattern::Constant(1)); table.columns.len()];
    let batches = [BATCH_ROWS, 1, 100].map(|rows| BatchColumns::new(table, rows, &columns));
    let rows: Vec<usize> = decode(table, &batches)
        .iter()
        .map(RecordBatch::num_rows)
        .collect();
    assert_eq!(rows, [BATCH_ROWS, 1, 100]);
}

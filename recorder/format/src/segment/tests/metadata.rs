//! Heads, dictionaries and footers, byte by byte as `arrow-ipc` writes them.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray, new_empty_array,
};
use arrow_ipc::convert::IpcSchemaEncoder;
use arrow_ipc::writer::{
    DictionaryTracker, IpcDataGenerator, IpcWriteContext, IpcWriteOptions, write_message,
};
use arrow_ipc::{CompressionType, FooterBuilder, KeyValue, KeyValueArgs, MetadataVersion};
use arrow_schema::{DataType, Field, Schema};
use flatbuffers::FlatBufferBuilder;

use super::super::{MAGIC, text_columns};
use super::*;
use crate::embedded_hashes::{FOOTER_KEY, FileForm, Part, insert};
use crate::schema::{Column, ColumnType, TABLES};

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
    let options = IpcWriteOptions::default();
    let lz4 = Some(CompressionType::LZ4_FRAME);
    options.try_with_compression(lz4).unwrap()
}

fn head(table: &Table) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.resize(STREAM_OFFSET, 0);
    let message = IpcDataGenerator::default().schema_to_bytes_with_dictionary_tracker(
        &arrow_schema(table),
        &mut DictionaryTracker::new(false),
        &options(),
    );
    write_message(&mut bytes, message, &options()).unwrap();
    bytes
}

fn dictionaries(table: &Table, texts: &[String]) -> Vec<(Vec<u8>, (usize, usize))> {
    let columns = table.columns.iter().map(|column| -> ArrayRef {
        if column.ty != ColumnType::Text {
            return new_empty_array(&data_type(column.ty));
        }
        let texts = Arc::new(StringArray::from_iter_values(texts));
        let keys = Int32Array::from(Vec::<i32>::new());
        Arc::new(DictionaryArray::<Int32Type>::try_new(keys, texts).unwrap())
    });
    let batch = RecordBatch::try_new(Arc::new(arrow_schema(table)), columns.collect()).unwrap();
    let mut tracker = DictionaryTracker::new(false);
    text_columns(table).for_each(|_| {
        tracker.next_dict_id();
    });
    let (generator, mut context) = (IpcDataGenerator::default(), IpcWriteContext::default());
    let encoded = generator.encode(&batch, &mut tracker, &options(), &mut context);
    let messages = encoded.unwrap().0.into_iter().map(|message| {
        let mut bytes = Vec::new();
        let lengths = write_message(&mut bytes, message, &options()).unwrap();
        (bytes, lengths)
    });
    messages.collect()
}

fn footer(
    table: &Table,
    dictionaries: &[arrow_ipc::Block],
    batches: &[arrow_ipc::Block],
) -> Vec<u8> {
    let mut builder = FlatBufferBuilder::new();
    let dictionaries = builder.create_vector(dictionaries);
    let batches = builder.create_vector(batches);
    let schema = IpcSchemaEncoder::new()
        .with_dictionary_tracker(&mut DictionaryTracker::new(false))
        .schema_to_fb_offset(&mut builder, &arrow_schema(table));
    let entry = KeyValueArgs {
        key: Some(builder.create_string(FOOTER_KEY)),
        value: Some(builder.create_string(table.name)),
    };
    let entry = KeyValue::create(&mut builder, &entry);
    let entries = builder.create_vector(&[entry]);
    let mut footer = FooterBuilder::new(&mut builder);
    footer.add_version(MetadataVersion::V5);
    footer.add_schema(schema);
    footer.add_dictionaries(dictionaries);
    footer.add_recordBatches(batches);
    footer.add_custom_metadata(entries);
    let footer = footer.finish();
    builder.finish(footer, None);
    builder.finished_data().to_vec()
}

#[test]
fn metadata_are_those_of_arrow_ipc() {
    let long: Vec<String> = (0..5_000).map(|n| format!("a name of row {n}")).collect();
    for texts in [&[][..], &["".to_owned(), "é".to_owned()], &long] {
        for table in TABLES {
            assert_eq!(head_bytes(table), head(table), "{}", table.name);
            let offset = 4096u64;
            let batches = [(64u64, 192usize, 320usize), (576, 256, 128)];
            let mut expected = Vec::new();
            let mut blocks = Vec::new();
            for (column, (bytes, (metadata, body))) in
                text_columns(table).zip(dictionaries(table, texts))
            {
                let own = dictionary_bytes(table, column.name, texts).unwrap();
                assert_eq!(own, bytes, "{}.{}", table.name, column.name);
                let at = offset as i64 + expected.len() as i64;
                blocks.push(arrow_ipc::Block::new(at, metadata as i32, body as i64));
                expected.extend(bytes);
            }
            let theirs = batches.map(|(at, metadata, body)| {
                arrow_ipc::Block::new(at as i64, metadata as i32, body as i64)
            });
            expected.extend(END_OF_STREAM);
            let footer = footer(table, &blocks, &theirs);
            expected.extend(&footer);
            expected.extend((footer.len() as i32).to_le_bytes());
            expected.extend(MAGIC);
            let parts = [Part::new(0, &head(table), 0), Part::new(512, b"batch", 7)];
            let expected = insert(FileForm::Arrow, &expected, &parts).unwrap();
            let ours = batches.map(|(offset, metadata_bytes, body_bytes)| Block {
                offset,
                metadata_bytes,
                body_bytes,
            });
            let values = vec![texts.to_vec(); text_columns(table).count()];
            let tail = tail_bytes(table, &values, &ours, &parts, offset).unwrap();
            assert_eq!(tail, expected, "{}", table.name);
        }
    }
}

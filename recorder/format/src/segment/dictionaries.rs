//! The dictionaries of a segment's text columns, as messages.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray, new_empty_array,
};
use arrow_ipc::writer::{
    DictionaryTracker, EncodedData, IpcDataGenerator, IpcWriteContext, write_message,
};
use arrow_schema::ArrowError;

use super::{arrow_schema, data_type, options};
use crate::schema::{Column, ColumnType, Table};

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
pub(super) fn dictionaries<'a, V: IntoIterator<Item = &'a str>>(
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

//! Makes a table of a segment's good batches and the journal's dictionaries.
//!
//! A batch holds only the numbers of its texts. So the batches are decoded
//! under a schema in which every text column is a column of numbers, and the
//! texts are put in afterwards. This needs neither the segment's footer nor its
//! dictionaries, which stand at its end.

use std::collections::BTreeMap;
use std::io::Cursor;

use polars::prelude::{
    Column, DataFrame, DataType, IDX_DTYPE, IpcStreamReader, IpcStreamWriter, NamedFrom,
    PolarsResult, Schema, SchemaRef, SerReader, SerWriter, Series,
};

use super::ipc;
use crate::panic_guard::guarded;

const END_OF_STREAM: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

pub(super) fn schema_of_head(head: &[u8]) -> Result<SchemaRef, String> {
    let message = ipc::schema_message(head).ok_or("its head holds no schema")?;
    guarded(|| IpcStreamReader::new(Cursor::new(message)).schema()).map(SchemaRef::new)
}

/// Decodes `batches`, which are consecutive record batch messages.
///
/// `dictionaries` contains the texts of each text column in the order of their numbers.
pub(super) fn rebuild(
    schema: &Schema,
    batches: &[u8],
    dictionaries: &BTreeMap<&str, Vec<&str>>,
) -> Result<DataFrame, String> {
    let mut stream = numbers_head(schema)?;
    stream.extend_from_slice(batches);
    stream.extend_from_slice(&END_OF_STREAM);
    guarded(|| {
        let numbers = IpcStreamReader::new(Cursor::new(stream)).finish()?;
        let height = numbers.height();
        let columns = schema
            .iter()
            .zip(numbers.into_columns())
            .map(|((name, dtype), column)| {
                if is_text(dtype) {
                    with_texts(&column, dictionaries.get(name.as_str()))
                } else {
                    Ok(column)
                }
            })
            .collect::<PolarsResult<Vec<Column>>>()?;
        DataFrame::new(height, columns)
    })
}

fn is_text(dtype: &DataType) -> bool {
    matches!(dtype, DataType::Categorical(..))
}

/// A schema message in which text columns are numbers.
fn numbers_head(schema: &Schema) -> Result<Vec<u8>, String> {
    let mut numbers = Schema::with_capacity(schema.len());
    for (name, dtype) in schema.iter() {
        let dtype = match dtype {
            text if is_text(text) => DataType::Int32,
            plain if plain.is_primitive_numeric() || plain.is_bool() => plain.clone(),
            other => {
                return Err(format!(
                    "column {name} has the type {other}, which cannot be rebuilt"
                ));
            }
        };
        numbers.insert(name.clone(), dtype);
    }
    let mut bytes = Vec::new();
    guarded(|| {
        IpcStreamWriter::new(&mut bytes).finish(&mut DataFrame::empty_with_schema(&numbers))
    })?;
    let end = ipc::message(&bytes, 0)
        .ok_or("the engine wrote no schema")?
        .range
        .end;
    bytes.truncate(end);
    Ok(bytes)
}

fn with_texts(numbers: &Column, dictionary: Option<&Vec<&str>>) -> PolarsResult<Column> {
    let texts = Series::new(
        numbers.name().clone(),
        dictionary.map_or(&[][..], Vec::as_slice),
    );
    let numbers = numbers.strict_cast(&IDX_DTYPE)?;
    if texts.is_empty() {
        // Nothing to take from: fine if there is nothing to take.
        if numbers.null_count() == numbers.len() {
            return Ok(Column::full_null(
                numbers.name().clone(),
                numbers.len(),
                &DataType::String,
            ));
        }
    }
    Ok(texts.take(numbers.idx()?)?.into())
}

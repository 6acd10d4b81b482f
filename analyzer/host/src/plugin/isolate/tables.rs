//! Tables as Arrow IPC streams, batch by batch.

use std::io::{Cursor, Read, Seek, Write};
use std::sync::Arc;

use polars::prelude::*;
use polars_arrow::array::StructArray;
use polars_arrow::datatypes::{
    ArrowDataType, ArrowSchema as Schema, ArrowSchemaRef, Field as ArrowField,
};
use polars_arrow::io::ipc::read::{StreamReader, StreamState, read_stream_metadata};
use polars_arrow::io::ipc::write::{StreamWriter, WriteOptions};
use polars_arrow::record_batch::RecordBatchT;
use trueno_engine::closed_types::{self, ClosedRows};
use trueno_plugin::Table;
use trueno_plugin::arrow::{ArrowArrayStream, read_stream};

/// Writes rows of the closed types, and lets go of each batch once it is written.
///
/// # Errors
/// They cannot be made, or not be written.
pub fn write(rows: ClosedRows, to: impl Write) -> PolarsResult<()> {
    let fields = rows.fields().iter().cloned();
    let schema: ArrowSchemaRef = Arc::new(
        fields
            .map(|field| (field.name.clone(), field))
            .collect::<Schema>(),
    );
    let mut writer = StreamWriter::new(to, WriteOptions { compression: None });
    writer.start(&schema, None)?;
    for batch in rows.into_batches() {
        let batch = batch?;
        let columns = batch.as_any().downcast_ref::<StructArray>();
        let columns =
            columns.ok_or_else(|| polars_err!(ComputeError: "a batch without columns"))?;
        let arrays = columns.values().to_vec();
        writer.write(
            &RecordBatchT::try_new(batch.len(), schema.clone(), arrays)?,
            None,
        )?;
    }
    writer.finish()
}

/// A stream over what was written: batches are read when they are asked for.
///
/// # Errors
/// It does not begin as such a stream does.
pub fn stream(mut from: impl Read + Seek + 'static) -> PolarsResult<ArrowArrayStream> {
    let metadata = read_stream_metadata(&mut from)?;
    let fields: Vec<ArrowField> = metadata.schema.iter_values().cloned().collect();
    let dtype = ArrowDataType::Struct(fields);
    let of = dtype.clone();
    let batches = StreamReader::new(from, metadata, None).map(move |state| match state? {
        StreamState::Waiting => Err(polars_err!(ComputeError: "the table is cut short")),
        StreamState::Some(batch) => {
            let rows = batch.len();
            Ok(StructArray::try_new(of.clone(), rows, batch.into_arrays(), None)?.boxed())
        }
    });
    Ok(closed_types::stream_of(batches, dtype))
}

/// A plugin's table, to be sent.
///
/// # Errors
/// It cannot be written.
pub fn to_bytes(table: &Table) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let rows = ClosedRows::of_frame(closed_types::to_frame(table)?);
    write(rows, &mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// The table that was sent.
///
/// # Errors
/// The bytes are not such a table.
pub fn from_bytes(bytes: Vec<u8>, name: &str) -> Result<Table, String> {
    let mut stream = stream(Cursor::new(bytes)).map_err(|error| error.to_string())?;
    // SAFETY: a live stream of polars, which obeys the interface.
    let table = unsafe { read_stream(&mut stream) }.map_err(|error| error.to_string())?;
    Ok(table.with_name(name))
}

#[cfg(test)]
mod tests {
    use trueno_plugin::{Column, F64Column};

    use super::*;

    fn there_and_back(table: &Table) -> Table {
        from_bytes(to_bytes(table).unwrap(), table.name()).unwrap()
    }

    #[test]
    fn tables_come_back_as_they_were() {
        let rows = (2 << 16) + 17;
        let long = Table::build("long")
            .u64("id", (0..rows as u64).map(|id| (id % 7 != 0).then_some(id)))
            .i64("dur_ns", (0..rows as i64).map(|ns| i64::MIN + ns))
            .f64(
                "busy_share",
                (0..rows).map(|row| (row % 3 > 0).then_some(row as f64 / 7.0)),
            )
            .bool(
                "seen",
                (0..rows).map(|row| (row % 5 > 0).then_some(row % 2 == 0)),
            )
            .text(
                "name",
                (0..rows).map(|row| (row % 11 > 0).then(|| format!("näme {row} 算"))),
            )
            .finish()
            .unwrap();
        assert_eq!(there_and_back(&long).to_string(), long.to_string());
        let empty = Table::build("empty")
            .i64("x", Vec::<i64>::new())
            .text("name", Vec::<&str>::new())
            .finish()
            .unwrap();
        assert_eq!(there_and_back(&empty), empty);
    }

    #[test]
    fn odd_numbers_keep_their_bits() {
        let odd = [f64::NAN, f64::INFINITY, -0.0, f64::MIN_POSITIVE / 2.0];
        let column = Column::F64(F64Column::from(odd.to_vec()));
        let table = Table::from_columns("odd", vec![("x".into(), column)]).unwrap();
        let back = there_and_back(&table);
        let bits = |table: &Table| -> Vec<u64> {
            let values = table.f64("x").unwrap().values();
            values.iter().map(|value| value.to_bits()).collect()
        };
        assert_eq!(bits(&back), bits(&table));
    }

    #[test]
    fn a_cut_table_is_an_error() {
        let table = Table::build("t").i64("x", 0..1000).finish().unwrap();
        let bytes = to_bytes(&table).unwrap();
        for length in [0, 3, 8, bytes.len() / 2, bytes.len() - 8] {
            assert!(
                from_bytes(bytes[..length].to_vec(), "t").is_err(),
                "{length}"
            );
        }
    }
}

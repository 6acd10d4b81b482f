//! Inputs as Arrow IPC streams, batch by batch.

use std::io::{Read, Seek, Write};
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
use trueno_plugin::arrow::ArrowArrayStream;

/// Writes rows as an Arrow stream. Each batch is freed once it is written.
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

/// Reads such a stream. Batches are read on demand.
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

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use trueno_plugin::Table;
    use trueno_plugin::arrow::read_stream;

    use super::*;

    fn written(table: &Table) -> Vec<u8> {
        let mut bytes = Vec::new();
        let frame = closed_types::to_frame(table).unwrap();
        write(ClosedRows::of_frame(frame), &mut bytes).unwrap();
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Table, String> {
        let mut stream = stream(Cursor::new(bytes.to_vec())).map_err(|error| error.to_string())?;
        // SAFETY: a live stream of polars, which obeys the interface.
        let table = unsafe { read_stream(&mut stream) }.map_err(|error| error.to_string())?;
        Ok(table.with_name("t"))
    }

    #[test]
    fn inputs_are_read_as_they_were_written() {
        let table = Table::build("t")
            .u64(
                "id",
                (0..(2 << 16) + 17_u64).map(|id| (id % 7 != 0).then_some(id)),
            )
            .finish()
            .unwrap();
        assert_eq!(read(&written(&table)).unwrap(), table);
    }

    #[test]
    fn a_cut_table_is_an_error() {
        let bytes = written(&Table::build("t").i64("x", 0..1000).finish().unwrap());
        for length in [0, 3, 8, bytes.len() / 2, bytes.len() - 8] {
            assert!(read(&bytes[..length]).is_err(), "{length}");
        }
    }
}

//! Columns of tables that are in memory as frames of the query engine.

use std::sync::Arc;

use polars::prelude::{CategoricalMapping, Column, DataFrame, DataType, PolarsResult};

use super::{Kind, Packed, ReadColumns, StoredTable};

/// Rows of a batch.
const BATCH_ROWS: usize = 1 << 13;

struct FrameColumns {
    frame: DataFrame,
    /// Place of each column in the frame, and its type.
    columns: Vec<(usize, Kind)>,
    numbers: Arc<CategoricalMapping>,
}

/// The columns of a frame whose types are known; its texts get numbers of the dictionary once they are read.
pub(crate) fn of_frame(frame: &DataFrame, numbers: &Arc<CategoricalMapping>) -> StoredTable {
    let kinds = frame.columns().iter().enumerate();
    let known = kinds.filter_map(|(at, column)| Some((at, kind(column.dtype())?)));
    let columns: Vec<(usize, Kind)> = known.collect();
    let name = |at: usize| frame.columns()[at].name().to_string();
    let names = columns.iter().map(|(at, kind)| (name(*at), *kind));
    let names = names.collect();
    let reader = FrameColumns {
        frame: frame.clone(),
        columns,
        numbers: Arc::clone(numbers),
    };
    StoredTable::new(names, frame.height() as u64, Box::new(reader)).without_numbers()
}

fn kind(dtype: &DataType) -> Option<Kind> {
    match dtype {
        DataType::Int64 => Some(Kind::I64),
        DataType::UInt64 => Some(Kind::U64),
        DataType::UInt32 => Some(Kind::U32),
        DataType::Float64 => Some(Kind::F64),
        DataType::Boolean => Some(Kind::Bool),
        DataType::String => Some(Kind::Text),
        _ => None,
    }
}

impl ReadColumns for FrameColumns {
    fn read(&self, columns: &[usize]) -> Result<Vec<Vec<Packed>>, String> {
        let mut values = Vec::new();
        let read = columns.iter().map(|column| {
            let (at, kind) = self.columns[*column];
            let column = &self.frame.columns()[at];
            let rows = self.rows(column, kind).map_err(|error| error.to_string())?;
            let batches = rows.chunks(BATCH_ROWS);
            let packed =
                |batch: &[Option<u64>]| Packed::of_rows(batch.iter().copied(), &mut values);
            Ok(batches.map(packed).collect())
        });
        read.collect()
    }
}

impl FrameColumns {
    fn rows(&self, column: &Column, kind: Kind) -> PolarsResult<Vec<Option<u64>>> {
        Ok(match kind {
            Kind::I64 => column
                .i64()?
                .iter()
                .map(|v| v.map(i64::cast_unsigned))
                .collect(),
            Kind::U64 => column.u64()?.iter().collect(),
            Kind::U32 => column.u32()?.iter().map(|v| v.map(u64::from)).collect(),
            Kind::F64 => column.f64()?.iter().map(|v| v.map(f64::to_bits)).collect(),
            Kind::Bool => column.bool()?.iter().map(|v| v.map(u64::from)).collect(),
            Kind::Text => {
                let number = |text: Option<&str>| match text {
                    None => Ok(None),
                    Some(text) => Ok(Some(u64::from(self.numbers.insert_cat(text)?))),
                };
                let texts = column.str()?.iter().map(number);
                texts.collect::<PolarsResult<_>>()?
            }
        })
    }
}

//! Columns of tables that the query engine holds or reads.
//!
//! Frames, and tables in files that only the engine reads: Parquet, damaged segments, several ranks put together. A
//! column is read once, one after the other, so that no more than one is in memory as the engine has it.

use std::collections::BTreeSet;
use std::sync::Arc;

use polars::prelude::{
    CategoricalMapping, Categories, Column, DataFrame, DataType, Engine, Expr, LazyFrame,
    PolarsResult, col,
};

use super::{Kind, Packed, ReadColumns, StoredTable};
use crate::catalog::ID_SUFFIX;
use crate::panic_guard::guarded;

const BATCH_ROWS: usize = 1 << 13;
/// All columns of a table with fewer rows are read together.
const MANY_ROWS: u64 = 1 << 16;

/// The columns of a frame with supported types. Texts are added to the dictionary when they are read.
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

/// The columns of a lazily read table. `texts` are the text columns with companions. `anchor` is a column that its
/// files contain.
pub(crate) fn of_lazy<'a>(
    frame: LazyFrame,
    columns: Vec<(String, Kind)>,
    anchor: usize,
    rows: u64,
    numbered: impl Iterator<Item = &'a str>,
) -> StoredTable {
    let reader = LazyColumns {
        frame,
        anchor: columns.get(anchor).map(|(name, _)| name.clone()),
        columns: columns.clone(),
        numbered: numbered.map(str::to_owned).collect(),
        is_long: rows >= MANY_ROWS,
    };
    StoredTable::new(columns, rows, Box::new(reader))
}

pub(crate) fn kind(dtype: &DataType) -> Option<Kind> {
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

struct FrameColumns {
    frame: DataFrame,
    columns: Vec<(usize, Kind)>,
    numbers: Arc<CategoricalMapping>,
}

impl ReadColumns for FrameColumns {
    fn read(&self, columns: &[usize]) -> Result<Vec<Vec<Packed>>, String> {
        let read = columns.iter().map(|column| {
            let (at, kind) = self.columns[*column];
            let column = &self.frame.columns()[at];
            let packed = match kind {
                Kind::Text => self.texts(column),
                kind => packed(column, kind),
            };
            packed.map_err(|error| error.to_string())
        });
        read.collect()
    }
}

impl FrameColumns {
    fn texts(&self, column: &Column) -> PolarsResult<Vec<Packed>> {
        let number = |text: Option<&str>| match text {
            None => Ok(None),
            Some(text) => Ok(Some(u64::from(self.numbers.insert_cat(text)?))),
        };
        let rows = column.str()?.iter().map(number);
        let rows = rows.collect::<PolarsResult<Vec<Option<u64>>>>()?;
        Ok(batches(rows.into_iter()))
    }
}

struct LazyColumns {
    frame: LazyFrame,
    columns: Vec<(String, Kind)>,
    /// Read together with each other column. If a plan keeps only a constant, the engine counts the rows of
    /// several files in 128 bits, which our build does not support.
    anchor: Option<String>,
    numbered: BTreeSet<String>,
    is_long: bool,
}

impl ReadColumns for LazyColumns {
    fn read(&self, columns: &[usize]) -> Result<Vec<Vec<Packed>>, String> {
        let together = if self.is_long {
            1
        } else {
            columns.len().max(1)
        };
        let mut read = Vec::with_capacity(columns.len());
        for columns in columns.chunks(together) {
            let select = columns.iter().map(|column| self.values(*column));
            let mut select: Vec<Expr> = select.collect();
            let is_read = |name: &String| columns.iter().any(|at| self.columns[*at].0 == *name);
            select.extend(self.anchor.iter().filter(|name| !is_read(name)).map(col));
            let frame = self.frame.clone().select(select);
            let frame = guarded(|| frame.collect_with_engine(Engine::Streaming))?;
            for (at, values) in columns.iter().zip(frame.unwrap_single().columns()) {
                let packed = match self.columns[*at].1 {
                    Kind::Text => packed(values, Kind::I64),
                    kind => packed(values, kind),
                };
                read.push(packed.map_err(|error| error.to_string())?);
            }
        }
        Ok(read)
    }
}

impl LazyColumns {
    fn values(&self, column: usize) -> Expr {
        let (name, kind) = &self.columns[column];
        match kind {
            Kind::Text if self.numbered.contains(name) => col(format!("{name}{ID_SUFFIX}")),
            Kind::Text => {
                let numbers = DataType::from_categories(Categories::global());
                col(name.as_str())
                    .cast(numbers)
                    .to_physical()
                    .cast(DataType::Int64)
            }
            _ => col(name.as_str()),
        }
    }
}

fn packed(column: &Column, kind: Kind) -> PolarsResult<Vec<Packed>> {
    Ok(match kind {
        Kind::I64 => batches(column.i64()?.iter().map(|v| v.map(i64::cast_unsigned))),
        Kind::U64 => batches(column.u64()?.iter()),
        Kind::U32 | Kind::Text => batches(column.u32()?.iter().map(|v| v.map(u64::from))),
        Kind::F64 => batches(column.f64()?.iter().map(|v| v.map(f64::to_bits))),
        Kind::Bool => batches(column.bool()?.iter().map(|v| v.map(u64::from))),
    })
}

fn batches(mut rows: impl ExactSizeIterator<Item = Option<u64>>) -> Vec<Packed> {
    let mut values = Vec::new();
    let count = rows.len().div_ceil(BATCH_ROWS);
    let batches = (0..count).map(|_| Packed::of_rows(rows.by_ref().take(BATCH_ROWS), &mut values));
    batches.collect()
}

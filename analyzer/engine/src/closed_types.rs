//! Frames of the query engine as Arrow streams in the closed set of types, and
//! tables of plugins as frames.

use std::panic::{AssertUnwindSafe, catch_unwind};

use polars::prelude::*;
use polars_arrow::array::{StructArray, new_empty_array};
use polars_arrow::datatypes::{ArrowDataType, Field as ArrowField};
use polars_arrow::ffi;
use trueno_plugin::arrow::ArrowArrayStream;
use trueno_plugin::{Batches, Column as PluginColumn, Table};

/// A frame with these columns and no rows.
///
/// polars would allocate and zero 8 MiB on the first call, which takes longer than the analyses of a small run.
pub(crate) fn frame_without_rows(schema: &Schema) -> DataFrame {
    let columns = schema.iter().map(|(name, dtype)| {
        let physical = dtype.is_primitive_numeric() || dtype.is_bool() || dtype.is_string();
        let array = physical.then(|| new_empty_array(dtype.to_arrow(CompatLevel::newest())));
        let series = array.and_then(|array| Series::try_from((name.clone(), array)).ok());
        match series {
            Some(series) => series.into_column(),
            None => Column::new_empty(name.clone(), dtype),
        }
    });
    DataFrame::new(0, columns.collect()).unwrap_or_else(|_| DataFrame::empty_with_schema(schema))
}

/// Casts every column to one of the five types of the plugin interface: integers to `i64` (except `u64`), floats to
/// `f64`, text unchanged.
///
/// # Errors
/// A column has another type, such as `u128`; the message names column and type.
pub fn to_closed_types(frame: DataFrame) -> Result<DataFrame, String> {
    let height = frame.height();
    if height == 0 {
        let closed = |(name, dtype): (&PlSmallStr, &DataType)| {
            Ok(Field::new(name.clone(), closed_type(name, dtype)?))
        };
        let schema = frame.schema().iter().map(closed);
        return Ok(frame_without_rows(
            &schema.collect::<Result<Schema, String>>()?,
        ));
    }
    let columns = frame
        .into_columns()
        .into_iter()
        .map(to_closed_type)
        .collect::<Result<Vec<_>, String>>()?;
    DataFrame::new(height, columns).map_err(|error| error.to_string())
}

/// The columns that [`to_closed_types`] returns for this schema.
///
/// # Errors
/// As [`to_closed_types`].
pub(crate) fn fields_of(schema: &Schema) -> Result<Vec<ArrowField>, String> {
    let fields = schema.iter().map(|(name, dtype)| {
        let dtype = closed_type(name, dtype)?;
        Ok(Field::new(name.clone(), dtype).to_arrow(CompatLevel::oldest()))
    });
    fields.collect()
}

fn to_closed_type(column: Column) -> Result<Column, String> {
    let target = closed_type(column.name(), column.dtype())?;
    if *column.dtype() == target {
        return Ok(column);
    }
    column
        .cast(&target)
        .map_err(|error| format!("column {}: {error}", column.name()))
}

fn closed_type(name: &PlSmallStr, dtype: &DataType) -> Result<DataType, String> {
    if name.contains('\0') {
        return Err(format!(
            "the column name {:?} holds a NUL byte",
            name.as_str()
        ));
    }
    Ok(match dtype {
        DataType::UInt64 => DataType::UInt64,
        DataType::Boolean => DataType::Boolean,
        DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32 => DataType::Int64,
        DataType::Float32 | DataType::Float64 => DataType::Float64,
        // A column of nothing but nulls: no value contradicts any type.
        DataType::Null => DataType::Int64,
        DataType::String => DataType::String,
        other if other.is_categorical() || other.is_enum() => DataType::String,
        other => {
            return Err(format!(
                "column {name} is of type {other}, which plugins cannot read (hint: cast it in the query to an integer, a double, a boolean or text)"
            ));
        }
    })
}

/// Rows in the closed types, batch by batch.
///
/// Numbers are passed on without copying. Text is converted to 64-bit offsets when its batch is requested. A batch
/// is freed before the next one is made, so memory falls as the reader's grows.
pub struct ClosedRows {
    fields: Vec<ArrowField>,
    batches: Box<dyn Iterator<Item = PolarsResult<ArrayRef>>>,
}

impl ClosedRows {
    pub(crate) fn new(
        fields: Vec<ArrowField>,
        batches: impl Iterator<Item = PolarsResult<ArrayRef>> + 'static,
    ) -> Self {
        let batches = Box::new(batches);
        Self { fields, batches }
    }

    pub(crate) fn without_rows(fields: Vec<ArrowField>) -> Self {
        Self::new(fields, std::iter::empty())
    }

    pub fn of_frame(frame: DataFrame) -> Self {
        let fields: Vec<ArrowField> = frame
            .columns()
            .iter()
            .map(|column| column.field().to_arrow(CompatLevel::oldest()))
            .collect();
        let dtype = ArrowDataType::Struct(fields.clone());
        let mut read_bytes = 0;
        let batches = slices(frame).map(move |chunk| {
            // The chunks before this one are free by now.
            if read_bytes >= GIVE_BACK_BYTES {
                give_back();
                read_bytes = 0;
            }
            read_bytes += chunk.estimated_size();
            batch(chunk, &dtype)
        });
        Self::new(fields, batches)
    }

    /// Keeps `held` alive until the last row was read or the rows are dropped.
    pub fn holding(self, held: impl Sized + 'static) -> Self {
        let mut rest = Some((self.batches, held));
        let batches = std::iter::from_fn(move || {
            let next = rest.as_mut()?.0.next();
            if next.is_none() {
                rest = None;
            }
            next
        });
        Self::new(self.fields, batches)
    }

    pub fn fields(&self) -> &[ArrowField] {
        &self.fields
    }

    pub fn into_batches(self) -> impl Iterator<Item = PolarsResult<ArrayRef>> {
        self.batches
    }

    /// All rows as one frame.
    ///
    /// # Errors
    /// A batch cannot be made.
    pub fn into_frame(self) -> PolarsResult<DataFrame> {
        let mut chunks: Vec<Vec<ArrayRef>> = self.fields.iter().map(|_| Vec::new()).collect();
        let mut height = 0;
        for batch in self.batches {
            let batch = batch?;
            height += batch.len();
            let columns = batch.as_any().downcast_ref::<StructArray>();
            let columns = columns.map(StructArray::values).unwrap_or_default();
            for (chunks, column) in chunks.iter_mut().zip(columns) {
                chunks.push(column.clone());
            }
        }
        let columns = self.fields.iter().zip(chunks).map(|(field, mut chunks)| {
            let name = field.name.clone();
            if chunks.is_empty() {
                chunks.push(new_empty_array(field.dtype.clone()));
            }
            Ok(Series::try_from((name, chunks))?.into_column())
        });
        DataFrame::new(height, columns.collect::<PolarsResult<Vec<Column>>>()?)
    }

    /// The rows as a reader for plugins.
    ///
    /// # Errors
    /// A column has a type that plugins cannot read.
    pub fn into_reader(self) -> trueno_plugin::Result<Batches> {
        let mut stream = self.into_stream();
        // SAFETY: the stream is our own and obeys the interface; it is moved out.
        unsafe { Batches::of_stream(&mut stream) }
    }

    pub fn into_stream(self) -> ArrowArrayStream {
        stream_of(self.batches, ArrowDataType::Struct(self.fields))
    }
}

const BATCH_ROWS: usize = 1 << 16;

fn slices(mut frame: DataFrame) -> impl Iterator<Item = DataFrame> {
    frame.align_chunks_par();
    let chunks: Vec<DataFrame> = match frame.height() {
        0 => Vec::new(),
        _ if frame.max_n_chunks() < 2 => vec![frame],
        _ => frame.split_chunks().collect(),
    };
    chunks.into_iter().flat_map(|chunk| {
        let starts = (0..chunk.height()).step_by(BATCH_ROWS);
        starts.map(move |from| chunk.slice(from as i64, BATCH_ROWS))
    })
}

pub fn lend(frame: DataFrame) -> ArrowArrayStream {
    ClosedRows::of_frame(frame).into_stream()
}

/// A stream of rows that are computed when the first batch is requested.
pub fn lend_later(
    columns: &[ArrowField],
    make: impl FnOnce() -> Result<ClosedRows, String> + 'static,
) -> ArrowArrayStream {
    let batches = std::iter::once_with(make).flat_map(|made| match made {
        Ok(rows) => rows.batches,
        Err(why) => Box::new(std::iter::once(Err(polars_err!(ComputeError: "{why}")))),
    });
    stream_of(batches, ArrowDataType::Struct(columns.to_vec()))
}

pub fn stream_of(
    mut batches: impl Iterator<Item = PolarsResult<ArrayRef>> + 'static,
    dtype: ArrowDataType,
) -> ArrowArrayStream {
    let field = ArrowField::new(PlSmallStr::EMPTY, dtype, false);
    let columns = match &field.dtype {
        ArrowDataType::Struct(columns) => columns.len(),
        _ => 1,
    };
    let mut read_bytes = 0;
    let batches = std::iter::from_fn(move || {
        // A panic here would meet the C function around it, which aborts.
        let next = catch_unwind(AssertUnwindSafe(|| batches.next())).unwrap_or_else(|_| {
            Some(Err(
                polars_err!(ComputeError: "the analyzer panicked while laying out a batch"),
            ))
        });
        match &next {
            Some(Ok(batch)) => read_bytes += batch.len() * columns * size_of::<u64>(),
            Some(Err(_)) => {}
            // What little left behind is soon used again.
            None if read_bytes < GIVE_BACK_BYTES => {}
            None => {
                read_bytes = 0;
                give_back();
            }
        }
        next
    });
    let stream = ffi::export_iterator(Box::new(batches), field);
    // SAFETY: both are the struct that the Arrow C stream interface fixes, repr(C) with the same five
    // fields in the same order; what was one is forgotten by the transmute, so it is released once.
    unsafe { std::mem::transmute::<ffi::ArrowArrayStream, ArrowArrayStream>(stream) }
}

/// Freed memory is returned to the system each time this much was read.
const GIVE_BACK_BYTES: usize = 128 << 20;

/// Returns freed memory to the system. Frames leave pieces that the C library would keep, while the plugin needs as
/// much again.
fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it may be called at any time, by any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}

fn batch(chunk: DataFrame, dtype: &ArrowDataType) -> PolarsResult<ArrayRef> {
    let rows = chunk.height();
    let arrays = chunk.rechunk_into_arrow(CompatLevel::oldest());
    Ok(StructArray::try_new(dtype.clone(), rows, arrays, None)?.boxed())
}

pub fn to_frame(table: &Table) -> Result<DataFrame, String> {
    let columns = table
        .columns()
        .map(|(name, column)| to_column(name, column))
        .collect();
    DataFrame::new(table.rows(), columns).map_err(|error| error.to_string())
}

fn to_column(name: &str, column: &PluginColumn) -> Column {
    let name = PlSmallStr::from_str(name);
    match column {
        PluginColumn::I64(c) => Int64Chunked::from_iter_options(name, c.iter()).into_column(),
        PluginColumn::U64(c) => UInt64Chunked::from_iter_options(name, c.iter()).into_column(),
        PluginColumn::F64(c) => Float64Chunked::from_iter_options(name, c.iter()).into_column(),
        PluginColumn::Bool(c) => BooleanChunked::from_iter_options(name, c.iter()).into_column(),
        PluginColumn::Text(c) => StringChunked::from_iter_options(name, c.iter()).into_column(),
    }
}

#[cfg(test)]
#[path = "closed_types_tests.rs"]
mod tests;

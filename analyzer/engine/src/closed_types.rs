//! Frames of the query engine as Arrow streams in the closed set of types, and
//! tables of plugins as frames.

use std::panic::{AssertUnwindSafe, catch_unwind};

use polars::prelude::*;
use polars_arrow::array::StructArray;
use polars_arrow::datatypes::{ArrowDataType, Field as ArrowField};
use polars_arrow::ffi;
use trueno_plugin::arrow::ArrowArrayStream;
use trueno_plugin::{Column as PluginColumn, Table};

/// Casts every column to one of the five types of the plugin interface: all
/// integers to `i64`, but `u64` stays; floats to `f64`; text as it is.
///
/// # Errors
/// A column of another type, a `u128` or the like; the message names column and type.
pub fn to_closed_types(frame: DataFrame) -> Result<DataFrame, String> {
    let height = frame.height();
    let columns = frame
        .into_columns()
        .into_iter()
        .map(to_closed_type)
        .collect::<Result<Vec<_>, String>>()?;
    DataFrame::new(height, columns).map_err(|error| error.to_string())
}

fn to_closed_type(column: Column) -> Result<Column, String> {
    let name = column.name().clone();
    if name.contains('\0') {
        return Err(format!(
            "the column name {:?} holds a NUL byte",
            name.as_str()
        ));
    }
    let target = match column.dtype() {
        DataType::Int64
        | DataType::UInt64
        | DataType::Float64
        | DataType::Boolean
        | DataType::String => {
            return Ok(column);
        }
        DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32 => DataType::Int64,
        DataType::Float32 => DataType::Float64,
        // A column of nothing but nulls: no value contradicts any type.
        DataType::Null => DataType::Int64,
        other if other.is_categorical() || other.is_enum() => DataType::String,
        other => {
            return Err(format!(
                "column {name} is of type {other}, which plugins cannot read (hint: cast it in the query to an integer, a double, a boolean or text)"
            ));
        }
    };
    column
        .cast(&target)
        .map_err(|error| format!("column {name}: {error}"))
}

/// A stream of the frame, chunk by chunk. Numbers are lent as they lie; text is
/// laid out with 64-bit offsets when its chunk is asked for. A chunk's frame is
/// freed with the batch made of it, so memory falls as the plugin reads on.
///
/// The frame is one of [`to_closed_types`].
pub fn lend(frame: DataFrame) -> ArrowArrayStream {
    let columns = frame.clear();
    lend_later(columns, move || Ok(frame))
}

/// As [`lend`], of a frame with these columns that is made when its first chunk is asked for.
pub fn lend_later(
    columns: DataFrame,
    make: impl FnOnce() -> Result<DataFrame, String> + 'static,
) -> ArrowArrayStream {
    let fields: Vec<ArrowField> = columns
        .columns()
        .iter()
        .map(|column| column.field().to_arrow(CompatLevel::oldest()))
        .collect();
    let dtype = ArrowDataType::Struct(fields);
    let of = dtype.clone();
    let batches = std::iter::once_with(make).flat_map(move |made| {
        let chunks = match made {
            Ok(frame) => chunks(frame),
            Err(why) => vec![Err(polars_err!(ComputeError: "{why}"))],
        };
        let of = of.clone();
        let mut read_bytes = 0;
        chunks.into_iter().map(move |chunk| {
            let chunk = chunk?;
            // The chunks before this one are free by now.
            if read_bytes >= GIVE_BACK_BYTES {
                give_back();
                read_bytes = 0;
            }
            read_bytes += chunk.estimated_size();
            batch(chunk, &of)
        })
    });
    stream_of(batches, dtype)
}

fn chunks(mut frame: DataFrame) -> Vec<PolarsResult<DataFrame>> {
    if frame.height() == 0 {
        return Vec::new();
    }
    frame.align_chunks_par();
    frame.split_chunks().map(Ok).collect()
}

/// A stream of batches that are structs of type `dtype`.
pub fn stream_of(
    mut batches: impl Iterator<Item = PolarsResult<ArrayRef>> + 'static,
    dtype: ArrowDataType,
) -> ArrowArrayStream {
    let field = ArrowField::new(PlSmallStr::EMPTY, dtype, false);
    let batches = std::iter::from_fn(move || {
        // A panic here would meet the C function around it, which aborts.
        catch_unwind(AssertUnwindSafe(|| batches.next())).unwrap_or_else(|_| {
            Some(Err(
                polars_err!(ComputeError: "the analyzer panicked while laying out a batch"),
            ))
        })
    });
    let batches = batches.chain(std::iter::from_fn(|| {
        give_back();
        None
    }));
    let stream = ffi::export_iterator(Box::new(batches), field);
    // SAFETY: both are the struct that the Arrow C stream interface fixes, repr(C) with the same five
    // fields in the same order; what was one is forgotten by the transmute, so it is released once.
    unsafe { std::mem::transmute::<ffi::ArrowArrayStream, ArrowArrayStream>(stream) }
}

/// So much is read between two times that memory is given back.
const GIVE_BACK_BYTES: usize = 128 << 20;

/// Gives freed memory to the system: what frames leave behind lies in pieces that the C library would keep,
/// while the plugin needs as much again.
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

/// A plugin's table as a frame, for the queries of later plugins.
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

//! Tables of values that Python has.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, LargeStringArray, RecordBatch, UInt64Array,
};
use arrow_schema::{Field, Schema};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// One record batch of these columns.
///
/// # Errors
/// A type is unknown, a value is of another type, or lengths differ.
pub fn batch(
    names: Vec<String>,
    types: &[String],
    values: &[Bound<'_, PyList>],
) -> PyResult<RecordBatch> {
    if names.len() != types.len() || names.len() != values.len() {
        return Err(PyValueError::new_err(
            "as many names, types and lists of values are expected",
        ));
    }
    let columns = types.iter().zip(values);
    let columns = columns.map(|(ty, values)| column(ty, values));
    let columns = columns.collect::<PyResult<Vec<_>>>()?;
    let fields = names.into_iter().zip(&columns);
    let fields = fields.map(|(name, column)| Field::new(name, column.data_type().clone(), true));
    let schema = Schema::new(fields.collect::<Vec<_>>());
    RecordBatch::try_new(Arc::new(schema), columns)
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

fn column(ty: &str, values: &Bound<'_, PyList>) -> PyResult<ArrayRef> {
    Ok(match ty {
        "i64" => Arc::new(Int64Array::from(values.extract::<Vec<Option<i64>>>()?)),
        "u64" => Arc::new(UInt64Array::from(values.extract::<Vec<Option<u64>>>()?)),
        "f64" => Arc::new(Float64Array::from(values.extract::<Vec<Option<f64>>>()?)),
        "bool" => Arc::new(BooleanArray::from(values.extract::<Vec<Option<bool>>>()?)),
        "text" => Arc::new(LargeStringArray::from(
            values.extract::<Vec<Option<String>>>()?,
        )),
        other => {
            return Err(PyValueError::new_err(format!(
                "{other} is not a column type (hint: i64, u64, f64, bool or text)"
            )));
        }
    })
}

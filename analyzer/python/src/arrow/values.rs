//! Values of columns as objects of Python.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// Appends all values of an array. Nulls become `None`.
///
/// # Errors
/// There is no object of Python for its type.
pub fn append(array: &ArrayRef, to: &Bound<'_, PyList>) -> PyResult<()> {
    macro_rules! all {
        ($values:expr) => {
            for value in $values {
                to.append(value)?;
            }
        };
    }
    match array.data_type() {
        DataType::Null => (0..array.len()).try_for_each(|_| to.append(None::<bool>))?,
        DataType::Boolean => all!(array.as_boolean().iter()),
        DataType::Int8 => all!(array.as_primitive::<Int8Type>().iter()),
        DataType::Int16 => all!(array.as_primitive::<Int16Type>().iter()),
        DataType::Int32 => all!(array.as_primitive::<Int32Type>().iter()),
        DataType::Int64 => all!(array.as_primitive::<Int64Type>().iter()),
        DataType::UInt8 => all!(array.as_primitive::<UInt8Type>().iter()),
        DataType::UInt16 => all!(array.as_primitive::<UInt16Type>().iter()),
        DataType::UInt32 => all!(array.as_primitive::<UInt32Type>().iter()),
        DataType::UInt64 => all!(array.as_primitive::<UInt64Type>().iter()),
        DataType::Float32 => all!(array.as_primitive::<Float32Type>().iter()),
        DataType::Float64 => all!(array.as_primitive::<Float64Type>().iter()),
        DataType::Utf8 => all!(array.as_string::<i32>().iter()),
        DataType::LargeUtf8 => all!(array.as_string::<i64>().iter()),
        DataType::Utf8View => all!(array.as_string_view().iter()),
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            let texts = PyList::empty(to.py());
            append(dictionary.values(), &texts)?;
            for (row, key) in dictionary.normalized_keys().into_iter().enumerate() {
                if dictionary.keys().is_null(row) {
                    to.append(None::<bool>)?
                } else {
                    to.append(texts.get_item(key)?)?
                }
            }
        }
        other => {
            return Err(PyTypeError::new_err(format!(
                "columns of type {other} have no values in plain Python (hint: to_pandas or to_polars)"
            )));
        }
    }
    Ok(())
}

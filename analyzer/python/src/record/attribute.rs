//! Values that are said of rows beside their columns.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};
use trueno_recorder::AttributeValue;

/// A Python value: a boolean, a number, or else its text.
pub enum Value {
    Truth(bool),
    Integer(i64),
    Unsigned(u64),
    Number(f64),
    Text(String),
}

impl Value {
    /// Reads an object.
    ///
    /// # Errors
    /// Its `__str__` raised.
    pub fn read(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(truth) = value.cast::<PyBool>() {
            return Ok(Self::Truth(truth.is_true()));
        }
        if value.is_instance_of::<PyInt>() {
            if let Ok(integer) = value.extract::<i64>() {
                return Ok(Self::Integer(integer));
            }
            if let Ok(unsigned) = value.extract::<u64>() {
                return Ok(Self::Unsigned(unsigned));
            }
        }
        if value.is_instance_of::<PyFloat>() {
            return Ok(Self::Number(value.extract()?));
        }
        Ok(Self::Text(value.str()?.to_string()))
    }

    pub fn lent(&self) -> AttributeValue<'_> {
        match self {
            Self::Truth(value) => (*value).into(),
            Self::Integer(value) => (*value).into(),
            Self::Unsigned(value) => (*value).into(),
            Self::Number(value) => (*value).into(),
            Self::Text(text) => text.as_str().into(),
        }
    }
}

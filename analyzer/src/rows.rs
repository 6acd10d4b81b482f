//! Columns of a query's result, typed.

use polars::prelude::{
    ChunkedArray, DataFrame, DataType, Float64Type, Int64Type, StringChunked, UInt64Type,
};

use crate::query::QueryError;

/// Rows of a result.
pub(crate) struct Rows<'a>(&'a DataFrame);

impl<'a> Rows<'a> {
    pub(crate) fn new(frame: &'a DataFrame) -> Self {
        Self(frame)
    }

    fn cast(&self, column: &str, ty: &DataType) -> Result<polars::prelude::Column, QueryError> {
        let column = self.0.column(column).and_then(|column| column.cast(ty));
        column.map_err(|error| QueryError::Failed(error.to_string()))
    }

    /// A column of integers.
    pub(crate) fn i64(&self, column: &str) -> Result<ChunkedArray<Int64Type>, QueryError> {
        let column = self.cast(column, &DataType::Int64)?;
        let values = column.i64().cloned();
        values.map_err(|error| QueryError::Failed(error.to_string()))
    }

    /// A column of integers with all 64 bits.
    pub(crate) fn u64(&self, column: &str) -> Result<ChunkedArray<UInt64Type>, QueryError> {
        let column = self.cast(column, &DataType::UInt64)?;
        let values = column.u64().cloned();
        values.map_err(|error| QueryError::Failed(error.to_string()))
    }

    /// A column of numbers.
    pub(crate) fn f64(&self, column: &str) -> Result<ChunkedArray<Float64Type>, QueryError> {
        let column = self.cast(column, &DataType::Float64)?;
        let values = column.f64().cloned();
        values.map_err(|error| QueryError::Failed(error.to_string()))
    }

    /// A column of texts.
    pub(crate) fn text(&self, column: &str) -> Result<StringChunked, QueryError> {
        let column = self.cast(column, &DataType::String)?;
        let values = column.str().cloned();
        values.map_err(|error| QueryError::Failed(error.to_string()))
    }
}

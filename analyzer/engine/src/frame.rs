//! Columns of a query's result, typed.

use polars::prelude::{
    AnyValue, ChunkedArray, DataFrame, DataType, Float64Type, Int64Type, StringChunked, UInt64Type,
};

use crate::query::QueryError;

pub struct Rows<'a>(&'a DataFrame);

impl<'a> Rows<'a> {
    pub fn new(frame: &'a DataFrame) -> Self {
        Self(frame)
    }

    fn cast(&self, column: &str, ty: &DataType) -> Result<polars::prelude::Column, QueryError> {
        let column = self.0.column(column).and_then(|column| column.cast(ty));
        column.map_err(|error| QueryError::Failed(error.to_string()))
    }

    pub fn i64(&self, column: &str) -> Result<ChunkedArray<Int64Type>, QueryError> {
        let column = self.cast(column, &DataType::Int64)?;
        let values = column.i64().cloned();
        values.map_err(|error| QueryError::Failed(error.to_string()))
    }

    pub fn u64(&self, column: &str) -> Result<ChunkedArray<UInt64Type>, QueryError> {
        let column = self.cast(column, &DataType::UInt64)?;
        let values = column.u64().cloned();
        values.map_err(|error| QueryError::Failed(error.to_string()))
    }

    pub fn f64(&self, column: &str) -> Result<ChunkedArray<Float64Type>, QueryError> {
        let column = self.cast(column, &DataType::Float64)?;
        let values = column.f64().cloned();
        values.map_err(|error| QueryError::Failed(error.to_string()))
    }

    pub fn text(&self, column: &str) -> Result<StringChunked, QueryError> {
        let column = self.cast(column, &DataType::String)?;
        let values = column.str().cloned();
        values.map_err(|error| QueryError::Failed(error.to_string()))
    }
}

/// `None` if the cell is null or out of range, or the column does not exist.
pub fn i64_at(frame: &DataFrame, column: &str, row: usize) -> Option<i64> {
    frame.column(column).ok()?.get(row).ok()?.extract()
}

/// As [`i64_at`].
pub fn u64_at(frame: &DataFrame, column: &str, row: usize) -> Option<u64> {
    frame.column(column).ok()?.get(row).ok()?.extract()
}

/// `None` if the cell is null or not text, or the column does not exist.
pub fn text_at<'f>(frame: &'f DataFrame, column: &str, row: usize) -> Option<&'f str> {
    // A column of one value for all rows gives out copies; as a series it lends its text.
    let texts = frame.column(column).ok()?.as_materialized_series();
    match texts.get(row).ok()? {
        AnyValue::String(text) => Some(text),
        _ => None,
    }
}

pub fn bool_at(frame: &DataFrame, column: &str, row: usize) -> Option<bool> {
    match frame.column(column).ok()?.get(row).ok()? {
        AnyValue::Boolean(value) => Some(value),
        _ => None,
    }
}

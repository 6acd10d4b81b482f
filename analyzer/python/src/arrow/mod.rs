//! Tables in Arrow's memory layout, for whatever library of Python knows its C interface.

mod from_lists;
mod mapped;
mod values;

use std::ffi::CStr;
use std::os::fd::RawFd;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::SchemaRef;
use arrow_schema::ffi::FFI_ArrowSchema;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};

const STREAM: &CStr = c"arrow_array_stream";
const SCHEMA: &CStr = c"arrow_schema";

/// A table as record batches.
#[pyclass(frozen, module = "trueno._native")]
pub struct Batches {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

#[pymethods]
impl Batches {
    /// The stream of Arrow IPC in a file, which is mapped and not read; the file may be closed.
    #[staticmethod]
    fn from_file(fd: RawFd) -> PyResult<Self> {
        let (schema, batches) = mapped::read(fd).map_err(PyValueError::new_err)?;
        Ok(Self { schema, batches })
    }

    /// A table of columns: their names, their types (i64, u64, f64, bool or text), and lists of their values.
    #[staticmethod]
    fn from_columns(
        names: Vec<String>,
        types: Vec<String>,
        values: Vec<Bound<'_, PyList>>,
    ) -> PyResult<Self> {
        let batch = from_lists::batch(names, &types, &values)?;
        Ok(Self {
            schema: batch.schema(),
            batches: vec![batch],
        })
    }

    #[getter]
    fn num_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        let fields = self.schema.fields().iter();
        fields.map(|field| field.name().clone()).collect()
    }

    /// Types of the columns, as Arrow calls them.
    #[getter]
    fn column_types(&self) -> Vec<String> {
        let fields = self.schema.fields().iter();
        fields.map(|field| field.data_type().to_string()).collect()
    }

    /// Values of a column by its number, at most so many of the first.
    #[pyo3(signature = (index, limit = usize::MAX))]
    fn column<'py>(
        &self,
        py: Python<'py>,
        index: usize,
        limit: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        if index >= self.schema.fields().len() {
            return Err(PyIndexError::new_err(format!("there is no column {index}")));
        }
        let list = PyList::empty(py);
        for batch in &self.batches {
            let column = batch.column(index);
            let room = limit.saturating_sub(list.len());
            values::append(&column.slice(0, room.min(column.len())), &list)?;
        }
        Ok(list)
    }

    /// Arrow's C stream, in a capsule: each call begins anew, over the same memory.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // By the protocol a request that is not met is no error: the consumer looks at the types it gets.
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, STREAM)
    }

    /// Arrow's C schema, in a capsule.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref());
        let schema = schema.map_err(|error| PyValueError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, SCHEMA)
    }
}

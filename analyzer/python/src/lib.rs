//! The compiled half of the Python module `trueno`: Arrow streams, and the recorder.

mod arrow;
mod record;

/// The compiled half of `trueno`, which is the module to use.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::arrow::Batches;
    #[pymodule_export]
    use crate::record::{RecordError, Recorder, Span};
}

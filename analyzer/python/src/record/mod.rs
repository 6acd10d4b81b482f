//! The recorder.

mod attribute;
mod place;
mod span;
mod tensor;

use std::path::PathBuf;

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use trueno_recorder::{Name, Overflow, Source};

pub use span::Span;
use span::{Bytes, Kind};

create_exception!(
    _native,
    RecordError,
    PyException,
    "A run cannot be recorded, or is not whole."
);

fn error(error: trueno_recorder::Error) -> PyErr {
    RecordError::new_err(error.to_string())
}

/// Records what a program did, and when, into a run directory.
#[pyclass(frozen, weakref, module = "trueno")]
pub struct Recorder {
    recorder: trueno_recorder::Recorder,
}

impl Recorder {
    /// The name with the calling Python line. The line is left out if nothing is recorded.
    fn name(&self, py: Python<'_>, name: &str) -> Name {
        if self.recorder.is_enabled() {
            place::name(py, name)
        } else {
            Name::from(name)
        }
    }

    /// File and line of the Python caller; `None` if nothing is recorded.
    fn line(&self, py: Python<'_>) -> Option<(String, u32)> {
        self.recorder
            .is_enabled()
            .then(|| place::line(py))
            .flatten()
    }
}

#[pymethods]
impl Recorder {
    #[new]
    #[pyo3(signature = (path, *, label = None, overwrite = false, on_overflow = "grow", ring_records = None, checksum_every = None, without = Vec::new()))]
    fn new(
        path: PathBuf,
        label: Option<String>,
        overwrite: bool,
        on_overflow: &str,
        ring_records: Option<usize>,
        checksum_every: Option<u64>,
        without: Vec<String>,
    ) -> PyResult<Self> {
        let on_overflow = match on_overflow {
            "grow" => Overflow::Grow,
            "drop" => Overflow::Drop,
            "block" => Overflow::Block,
            other => {
                return Err(PyValueError::new_err(format!(
                    "on_overflow={other:?} is unknown (hint: \"grow\", \"drop\" or \"block\")"
                )));
            }
        };
        let mut builder = trueno_recorder::Recorder::builder(path)
            .overwrite(overwrite)
            .overflow(on_overflow);
        if let Some(label) = label {
            builder = builder.label(label);
        }
        if let Some(records) = ring_records {
            builder = builder.ring_records(records);
        }
        if let Some(n) = checksum_every {
            builder = builder.checksum_every(n);
        }
        for table in &without {
            builder = builder.without_table(table);
        }
        let recorder = builder.create().map_err(error)?;
        Ok(Self { recorder })
    }

    /// A recorder that records nothing.
    #[staticmethod]
    fn disabled() -> Self {
        Self {
            recorder: trueno_recorder::Recorder::disabled(),
        }
    }

    /// False of one that is disabled, and of one that has finished.
    #[getter]
    fn is_enabled(&self) -> bool {
        self.recorder.is_enabled()
    }

    /// A step of the computation; `with` begins and ends it.
    #[pyo3(signature = (name, *, elements = None, flops = None, bytes_read = None, bytes_written = None, backend = None, category = None, read_bytes = None, written_bytes = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords")]
    fn brick(
        slf: Py<Self>,
        py: Python<'_>,
        name: &str,
        elements: Option<u64>,
        flops: Option<u64>,
        bytes_read: Option<u64>,
        bytes_written: Option<u64>,
        backend: Option<String>,
        category: Option<String>,
        read_bytes: Option<u64>,
        written_bytes: Option<u64>,
    ) -> PyResult<Span> {
        let bytes =
            Bytes::read_and_written([bytes_read, read_bytes], [bytes_written, written_bytes])?;
        let named = slf.get().name(py, name);
        let mut span = Span::new(slf, named, Kind::Brick);
        span.declared.elements = elements;
        span.declared.flops = flops;
        span.declared.bytes = bytes;
        span.declared.backend = backend;
        span.declared.category = category;
        Ok(span)
    }

    /// A function of the program.
    fn function(slf: Py<Self>, py: Python<'_>, name: &str) -> Span {
        let named = slf.get().name(py, name);
        Span::new(slf, named, Kind::Function)
    }

    /// A kernel, as this thread sees it: from its call to its end. `bytes`: read and written together.
    #[pyo3(signature = (name, *, elements = None, flops = None, bytes = None, bytes_read = None, bytes_written = None, backend = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords")]
    fn kernel(
        slf: Py<Self>,
        py: Python<'_>,
        name: &str,
        elements: Option<u64>,
        flops: Option<u64>,
        bytes: Option<u64>,
        bytes_read: Option<u64>,
        bytes_written: Option<u64>,
        backend: Option<String>,
    ) -> PyResult<Span> {
        let bytes = Bytes::new(bytes, bytes_read, bytes_written)?;
        let named = slf.get().name(py, name);
        let mut span = Span::new(slf, named, Kind::Kernel);
        span.declared.elements = elements;
        span.declared.flops = flops;
        span.declared.bytes = bytes;
        span.declared.backend = backend;
        Ok(span)
    }

    /// A layer of a model, by its number.
    fn layer(slf: Py<Self>, py: Python<'_>, number: u32) -> Span {
        let place = slf.get().line(py);
        Span::numbered(slf, Kind::Layer(number), place)
    }

    fn iteration(slf: Py<Self>, py: Python<'_>, number: u64) -> Span {
        let place = slf.get().line(py);
        Span::numbered(slf, Kind::Iteration(number), place)
    }

    /// Something that happened now, with arguments.
    #[pyo3(signature = (name, **arguments))]
    fn instant(&self, name: &str, arguments: Option<Bound<'_, PyDict>>) -> PyResult<()> {
        let Some(arguments) = arguments else {
            self.recorder.instant(name);
            return Ok(());
        };
        let mut values = Vec::new();
        for (key, value) in arguments {
            values.push((key.extract::<String>()?, attribute::Value::read(&value)?));
        }
        let values: Vec<_> = values
            .iter()
            .map(|(key, value)| (key.as_str(), value.lent()))
            .collect();
        self.recorder.instant_with(name, &values);
        Ok(())
    }

    /// A value of a counter or gauge now. `source` says whether it was measured, or declared by the program.
    #[pyo3(signature = (name, value, unit = "", *, source = "declared"))]
    fn counter(&self, name: &str, value: f64, unit: &str, source: &str) -> PyResult<()> {
        let known = Source::ALL.into_iter().find(|known| known.name() == source);
        let source = known.ok_or_else(|| {
            let names = Source::ALL.map(Source::name).join(", ");
            PyValueError::new_err(format!(
                "source={source:?} is unknown (hint: one of {names})"
            ))
        })?;
        self.recorder.counter(name, value, unit, source);
        Ok(())
    }

    /// The fingerprint of a tensor: of anything with the buffer protocol or DLPack, whose memory is the host's.
    #[pyo3(signature = (name, tensor, *, position = None))]
    fn checksum(
        &self,
        name: &str,
        tensor: &Bound<'_, PyAny>,
        position: Option<u64>,
    ) -> PyResult<()> {
        if !self.recorder.is_enabled() {
            return Ok(());
        }
        tensor::Tensor::of(tensor)?.record(&self.recorder, name, position)
    }

    /// A fact about the run, kept as text.
    fn value(&self, key: String, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.recorder.value(key, value.str()?.to_string());
        Ok(())
    }

    /// Rows so far, rows dropped so far, and problems.
    #[getter]
    fn status(&self) -> (u64, u64, Vec<String>) {
        let status = self.recorder.status();
        (status.rows, status.dropped, status.problems)
    }

    /// Ends the run: its rows, those that were dropped, and those that were still open.
    fn finish(&self, py: Python<'_>) -> PyResult<(u64, u64, u64)> {
        let recorder = &self.recorder;
        let summary = py.detach(|| recorder.finish()).map_err(error)?;
        Ok((summary.rows, summary.dropped, summary.open))
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, py: Python<'_>, _raised: Bound<'_, PyTuple>) -> PyResult<()> {
        self.finish(py).map(drop)
    }
}

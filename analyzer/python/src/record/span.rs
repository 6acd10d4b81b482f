//! Open rows: a guard of the recorder's in an object of Python.

use std::mem::{ManuallyDrop, transmute};
use std::thread::{self, ThreadId};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use trueno_recorder::finished::Site;
use trueno_recorder::{BrickGuard, KernelGuard, Name, Operand, ScopeGuard};

use super::Recorder;
use super::attribute::Value;

#[derive(Clone, Copy)]
pub enum Kind {
    Brick,
    Function,
    Kernel,
    Layer(u32),
    Iteration(u64),
}

/// File and line where a layer or an iteration begins, which the recorder names.
type Place = Option<(String, u32)>;

#[derive(Clone, Default)]
pub struct Declared {
    pub elements: Option<u64>,
    pub flops: Option<u64>,
    pub bytes: Bytes,
    pub backend: Option<String>,
    pub category: Option<String>,
}

/// Declared bytes: read and written, or for a kernel their sum.
#[derive(Clone, Copy, Default)]
pub struct Bytes {
    total: Option<u64>,
    read: Option<u64>,
    written: Option<u64>,
}

impl Bytes {
    pub fn new(total: Option<u64>, read: Option<u64>, written: Option<u64>) -> PyResult<Self> {
        if total.is_some() && (read.is_some() || written.is_some()) {
            return Err(PyValueError::new_err(
                "bytes is the sum of bytes_read and bytes_written (hint: give the sum, or the two)",
            ));
        }
        Ok(Self {
            total,
            read,
            written,
        })
    }

    /// Bytes read and written, by these names or the older `read_bytes` and `written_bytes`.
    pub fn read_and_written(
        [read, older_read]: [Option<u64>; 2],
        [written, older_written]: [Option<u64>; 2],
    ) -> PyResult<Self> {
        for (name, older, is_twice) in [
            ("bytes_read", "read_bytes", read.and(older_read).is_some()),
            (
                "bytes_written",
                "written_bytes",
                written.and(older_written).is_some(),
            ),
        ] {
            if is_twice {
                return Err(PyValueError::new_err(format!(
                    "{older} is the older name of {name} (hint: give {name} alone)"
                )));
            }
        }
        Self::new(None, read.or(older_read), written.or(older_written))
    }

    /// New values replace earlier ones.
    fn or(self, before: Self) -> Self {
        if self.total.is_some() {
            return self;
        }
        let parts_before = match before.total {
            Some(_) if self.read.is_some() || self.written.is_some() => Self::default(),
            _ => before,
        };
        Self {
            total: parts_before.total,
            read: self.read.or(parts_before.read),
            written: self.written.or(parts_before.written),
        }
    }

    fn sum(self) -> Option<u64> {
        let parts = match (self.read, self.written) {
            (None, None) => None,
            (read, written) => Some(read.unwrap_or(0).saturating_add(written.unwrap_or(0))),
        };
        self.total.or(parts)
    }
}

enum Guard {
    Brick(BrickGuard<'static>),
    Kernel(KernelGuard<'static>),
    Scope(ScopeGuard<'static>),
}

/// A guard, and the only thread that may use it.
struct Open {
    guard: ManuallyDrop<Guard>,
    thread: ThreadId,
}

// SAFETY: the guard is touched by its own thread alone, which `of_this_thread` and `drop` ask for.
unsafe impl Send for Open {}
// SAFETY: as above.
unsafe impl Sync for Open {}

impl Open {
    fn new(guard: Guard) -> Self {
        Self {
            guard: ManuallyDrop::new(guard),
            thread: thread::current().id(),
        }
    }

    fn of_this_thread(&mut self) -> PyResult<&mut Guard> {
        if self.thread == thread::current().id() {
            Ok(&mut self.guard)
        } else {
            Err(PyRuntimeError::new_err(
                "the span was begun on another thread (hint: a span begins and ends on one thread)",
            ))
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // On another thread, which a garbage collector may be, the row stays open: the run says how many did.
        if self.thread == thread::current().id() {
            // SAFETY: once, and nothing uses it afterwards.
            unsafe { ManuallyDrop::drop(&mut self.guard) };
        }
    }
}

/// A row that `with` begins and ends. As a decorator: one at each call of the function.
#[pyclass(module = "trueno")]
pub struct Span {
    // Before the recorder, which it borrows: fields are dropped in their order.
    open: Option<Open>,
    recorder: Py<Recorder>,
    name: Name,
    kind: Kind,
    place: Place,
    pub(super) declared: Declared,
}

impl Span {
    pub(super) fn new(recorder: Py<Recorder>, name: Name, kind: Kind) -> Self {
        Self {
            open: None,
            recorder,
            name,
            kind,
            place: None,
            declared: Declared::default(),
        }
    }

    /// A layer or an iteration, which the recorder names, with the line that creates it.
    pub(super) fn numbered(recorder: Py<Recorder>, kind: Kind, place: Place) -> Self {
        Self {
            place,
            ..Self::new(recorder, Name::from(""), kind)
        }
    }

    fn begin(&self) -> Guard {
        let recorder = &self.recorder.get().recorder;
        // SAFETY: the recorder lies in an object that never moves, and lives as long as `self.recorder`: the guard is
        // dropped, or forgotten, before that.
        let recorder = unsafe {
            transmute::<&trueno_recorder::Recorder, &'static trueno_recorder::Recorder>(recorder)
        };
        match self.kind {
            Kind::Brick => Guard::Brick(recorder.brick(self.name)),
            Kind::Function => Guard::Brick(recorder.function(self.name)),
            Kind::Kernel => Guard::Kernel(recorder.kernel(self.name)),
            Kind::Layer(number) => Guard::Scope(match &self.place {
                Some((file, line)) => recorder.layer_at(number, file, *line),
                None => recorder.layer(number),
            }),
            Kind::Iteration(number) => Guard::Scope(match &self.place {
                Some((file, line)) => recorder.iteration_at(number, file, *line),
                None => recorder.iteration(number),
            }),
        }
    }

    /// The open guard, if this is its thread.
    fn guard(&mut self) -> PyResult<&mut Guard> {
        match &mut self.open {
            Some(open) => open.of_this_thread(),
            None => Err(PyRuntimeError::new_err(
                "the span is not open (hint: `with rec.brick(…) as brick:`)",
            )),
        }
    }
}

impl Declared {
    fn give(&self, guard: &mut Guard) {
        match guard {
            Guard::Brick(brick) => {
                if let Some(elements) = self.elements {
                    brick.elements(elements);
                }
                if let Some(flops) = self.flops {
                    brick.flops(flops);
                }
                let Bytes { read, written, .. } = self.bytes;
                if read.is_some() || written.is_some() {
                    brick.bytes(read.unwrap_or(0), written.unwrap_or(0));
                }
                if let Some(backend) = &self.backend {
                    brick.backend(backend);
                }
                if let Some(category) = &self.category {
                    brick.category(category);
                }
            }
            Guard::Kernel(kernel) => {
                if let Some(elements) = self.elements {
                    kernel.elements(elements);
                }
                if let Some(flops) = self.flops {
                    kernel.flops(flops);
                }
                if let Some(bytes) = self.bytes.sum() {
                    kernel.bytes(bytes);
                }
                if let Some(backend) = &self.backend {
                    kernel.backend(backend);
                }
            }
            Guard::Scope(_) => {}
        }
    }
}

#[pymethods]
impl Span {
    fn __enter__(mut slf: PyRefMut<'_, Self>) -> PyResult<PyRefMut<'_, Self>> {
        if slf.open.is_some() {
            return Err(PyRuntimeError::new_err(
                "the span is open already (hint: make one for each `with`)",
            ));
        }
        let mut guard = slf.begin();
        slf.declared.give(&mut guard);
        slf.open = Some(Open::new(guard));
        Ok(slf)
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&mut self, _raised: Bound<'_, PyTuple>) -> PyResult<()> {
        self.guard()?;
        self.open = None;
        Ok(())
    }

    /// Says something of the row beside its columns.
    fn set<'a>(
        mut slf: PyRefMut<'a, Self>,
        key: &str,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<PyRefMut<'a, Self>> {
        let value = Value::read(value)?;
        match slf.guard()? {
            Guard::Brick(brick) => drop(brick.set(key, value.lent())),
            Guard::Kernel(kernel) => drop(kernel.set(key, value.lent())),
            Guard::Scope(scope) => drop(scope.set(key, value.lent())),
        }
        Ok(slf)
    }

    /// Declares its work once it is known. `bytes`, the sum, is for kernels only.
    #[pyo3(signature = (*, elements = None, flops = None, bytes = None, bytes_read = None, bytes_written = None, read_bytes = None, written_bytes = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords")]
    fn declare(
        mut slf: PyRefMut<'_, Self>,
        elements: Option<u64>,
        flops: Option<u64>,
        bytes: Option<u64>,
        bytes_read: Option<u64>,
        bytes_written: Option<u64>,
        read_bytes: Option<u64>,
        written_bytes: Option<u64>,
    ) -> PyResult<PyRefMut<'_, Self>> {
        if bytes.is_some() && !matches!(slf.kind, Kind::Kernel) {
            return Err(PyValueError::new_err(
                "bytes is for kernels only (hint: a brick takes bytes_read and bytes_written)",
            ));
        }
        let parts =
            Bytes::read_and_written([bytes_read, read_bytes], [bytes_written, written_bytes])?;
        let bytes = Bytes::new(bytes, parts.read, parts.written)?;
        let declared = &mut slf.declared;
        declared.elements = elements.or(declared.elements);
        declared.flops = flops.or(declared.flops);
        declared.bytes = bytes.or(declared.bytes);
        let declared = declared.clone();
        declared.give(slf.guard()?);
        Ok(slf)
    }

    /// Dimensions and element types of what it computes with.
    fn shapes(
        mut slf: PyRefMut<'_, Self>,
        dims: Vec<Vec<usize>>,
        element_types: Vec<String>,
    ) -> PyResult<PyRefMut<'_, Self>> {
        if dims.len() != element_types.len() {
            return Err(PyValueError::new_err(format!(
                "{} shapes have {} element types",
                dims.len(),
                element_types.len()
            )));
        }
        let operands = dims.iter().zip(&element_types);
        let operands = operands.map(|(dims, element)| Operand::new(dims, element));
        let operands: Vec<_> = operands.collect();
        match slf.guard()? {
            Guard::Brick(brick) => drop(brick.shapes(operands.as_slice())),
            Guard::Kernel(_) | Guard::Scope(_) => {
                return Err(PyValueError::new_err(
                    "shapes are for bricks and functions only",
                ));
            }
        }
        Ok(slf)
    }

    /// Another span like this one, not begun.
    fn again(&self, py: Python<'_>) -> Self {
        Self {
            open: None,
            recorder: self.recorder.clone_ref(py),
            name: self.name,
            kind: self.kind,
            place: self.place.clone(),
            declared: self.declared.clone(),
        }
    }

    /// The function with a span around each call.
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        function: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut span = self.again(py);
        if let Ok(code) = function.getattr("__code__") {
            // Rows tell of the function, not of the line that decorates it.
            let file: String = code.getattr("co_filename")?.extract()?;
            let line: u32 = code.getattr("co_firstlineno")?.extract()?;
            span.name = Site::in_file(self.name.as_str(), &file, line).into();
        }
        let decorate = py.import("trueno._decorate")?.getattr("decorated")?;
        decorate.call1((span, function))
    }
}

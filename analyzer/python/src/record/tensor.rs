//! Tensors of other libraries, where they lie: by the buffer protocol, or by DLPack.

mod buffer;
mod dlpack;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use trueno_recorder::{Bf16, Element, F16, Strided};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementType {
    F16,
    Bf16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
}

/// Elements in host memory.
pub struct Layout {
    ty: ElementType,
    /// Address of the first element.
    at: *const u8,
    shape: Vec<usize>,
    strides: Vec<isize>,
}

/// A tensor, borrowed from its owner until dropped.
pub enum Tensor {
    Buffer(buffer::Buffer),
    DlPack(dlpack::Managed),
}

impl Tensor {
    /// Finds the tensor in a Python object.
    ///
    /// # Errors
    /// It is none, or lies where the host cannot read it.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        // First: of a tensor of PyTorch it is the only way, and it knows more types.
        if object.hasattr("__dlpack__")? && !object.hasattr("__array_interface__")? {
            return dlpack::Managed::of(object).map(Self::DlPack);
        }
        if let Some(buffer) = buffer::Buffer::of(object)? {
            return Ok(Self::Buffer(buffer));
        }
        let ty = object.get_type().name()?;
        let _ = py;
        Err(PyTypeError::new_err(format!(
            "an object of type {ty} is not a tensor (hint: it needs the buffer protocol, as NumPy's arrays have it, or DLPack)"
        )))
    }

    /// Records the tensor's fingerprint.
    ///
    /// # Errors
    /// Its elements are of an unknown type, or lie in an odd way.
    pub fn record(
        &self,
        recorder: &trueno_recorder::Recorder,
        name: &str,
        position: Option<u64>,
    ) -> PyResult<()> {
        let layout = match self {
            Self::Buffer(buffer) => buffer.layout()?,
            Self::DlPack(managed) => managed.layout()?,
        };
        let to = (recorder, name, position);
        match layout.ty {
            ElementType::F16 => layout.record::<F16>(to),
            ElementType::Bf16 => layout.record::<Bf16>(to),
            ElementType::F32 => layout.record::<f32>(to),
            ElementType::F64 => layout.record::<f64>(to),
            ElementType::I8 => layout.record::<i8>(to),
            ElementType::I16 => layout.record::<i16>(to),
            ElementType::I32 => layout.record::<i32>(to),
            ElementType::I64 => layout.record::<i64>(to),
            ElementType::U8 => layout.record::<u8>(to),
            ElementType::U16 => layout.record::<u16>(to),
            ElementType::U32 => layout.record::<u32>(to),
            ElementType::U64 => layout.record::<u64>(to),
        }
    }
}

type Target<'a> = (&'a trueno_recorder::Recorder, &'a str, Option<u64>);

impl Layout {
    fn record<T: Element>(&self, (recorder, name, position): Target<'_>) -> PyResult<()> {
        let odd = |why: &str| {
            PyValueError::new_err(format!(
                "the tensor {name} {why} (hint: give a contiguous copy)"
            ))
        };
        let is_empty = self.shape.contains(&0);
        if !is_empty && !self.at.cast::<T>().is_aligned() {
            return Err(odd("is not aligned to its elements"));
        }
        let mut strides = Vec::with_capacity(self.shape.len());
        let mut last = 0_usize;
        for (length, stride) in self.shape.iter().zip(&self.strides) {
            let stride = match usize::try_from(*stride) {
                Ok(stride) => stride,
                // Of a single element no step is taken.
                Err(_) if *length < 2 => 0,
                Err(_) => return Err(odd("runs backwards")),
            };
            let far = length.saturating_sub(1).checked_mul(stride);
            let far = far.and_then(|far| last.checked_add(far));
            last = far.ok_or_else(|| odd("is larger than memory"))?;
            strides.push(stride);
        }
        let data: &[T] = match is_empty {
            true => &[],
            // SAFETY: the owner vouches for all elements from the first to the one farthest from it, aligned and
            // initialised, until the tensor is given back; any bits are a value of these types.
            false => unsafe { std::slice::from_raw_parts(self.at.cast(), last + 1) },
        };
        if strides == contiguous(&self.shape) || is_empty {
            recorder.checksum(name, position, data, &self.shape);
            return Ok(());
        }
        let view = Strided::new(data, &self.shape, &strides);
        let view = view.ok_or_else(|| odd("has elements outside of itself"))?;
        recorder.checksum_strided(name, position, view);
        Ok(())
    }
}

/// Strides of a contiguous tensor in row-major order.
fn contiguous(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for at in (1..shape.len()).rev() {
        strides[at - 1] = strides[at] * shape[at].max(1);
    }
    strides
}

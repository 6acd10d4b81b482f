//! The buffer protocol.

use std::ffi::CStr;

use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;

use super::{ElementType, Layout};

/// A buffer, held until dropped.
pub struct Buffer {
    // Boxed: some exporters have it point into itself.
    view: Box<ffi::Py_buffer>,
}

impl Buffer {
    /// The buffer of an object; `None` if it has none.
    ///
    /// # Errors
    /// It does not give it.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        // SAFETY: Python is attached.
        if unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) } == 0 {
            return Ok(None);
        }
        let mut view = Box::new(ffi::Py_buffer::new());
        let flags = ffi::PyBUF_STRIDES | ffi::PyBUF_FORMAT;
        // SAFETY: Python is attached, and the view is ours.
        let got = unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &raw mut *view, flags) };
        match got {
            0 => Ok(Some(Self { view })),
            _ => Err(PyErr::fetch(object.py())),
        }
    }

    /// The elements of the buffer.
    ///
    /// # Errors
    /// They are of a type that is not fingerprinted.
    pub fn layout(&self) -> PyResult<Layout> {
        let view = &self.view;
        let format = match view.format.is_null() {
            true => "B",
            // SAFETY: a text of the exporter's, which lives as long as the view.
            false => unsafe { CStr::from_ptr(view.format) }
                .to_str()
                .unwrap_or("?"),
        };
        let width = usize::try_from(view.itemsize).unwrap_or(0);
        let ty = element_type(format, width).ok_or_else(|| {
            PyValueError::new_err(format!(
                "elements of format {format:?} have no fingerprint (hint: numbers of 1 to 8 bytes in the order of this machine)"
            ))
        })?;
        let dimensions = usize::try_from(view.ndim).unwrap_or(0);
        let list = |at: *const ffi::Py_ssize_t| match at.is_null() || dimensions == 0 {
            true => Vec::new(),
            // SAFETY: asked for with PyBUF_STRIDES, both lists have a number for each dimension.
            false => unsafe { std::slice::from_raw_parts(at, dimensions) }.to_vec(),
        };
        let shape = list(view.shape);
        let shape = shape
            .into_iter()
            .map(|length| usize::try_from(length).unwrap_or(0));
        let strides = list(view.strides);
        let wide = view.itemsize.max(1);
        if strides.iter().any(|stride| stride % wide != 0) {
            return Err(PyValueError::new_err(
                "elements do not lie in steps of whole elements (hint: give a contiguous copy)",
            ));
        }
        Ok(Layout {
            ty,
            at: view.buf.cast_const().cast(),
            shape: shape.collect(),
            strides: strides.into_iter().map(|stride| stride / wide).collect(),
        })
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: got once, and given back once; a tensor lives within a call from Python.
        unsafe { ffi::PyBuffer_Release(&raw mut *self.view) };
    }
}

/// Element type of a format of the Python module `struct`, given the element size.
fn element_type(format: &str, bytes: usize) -> Option<ElementType> {
    let own = if cfg!(target_endian = "little") {
        '<'
    } else {
        '>'
    };
    let code = format.trim_start_matches(['@', '=', own]);
    Some(match (code, bytes) {
        ("e", 2) => ElementType::F16,
        ("f", 4) => ElementType::F32,
        ("d", 8) => ElementType::F64,
        ("b", 1) => ElementType::I8,
        ("B" | "?" | "c", 1) => ElementType::U8,
        ("h", 2) => ElementType::I16,
        ("H", 2) => ElementType::U16,
        ("i" | "l", 4) => ElementType::I32,
        ("I" | "L", 4) => ElementType::U32,
        ("l" | "q" | "n", 8) => ElementType::I64,
        ("L" | "Q" | "N", 8) => ElementType::U64,
        _ => return None,
    })
}

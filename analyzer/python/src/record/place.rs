//! The line of Python that begins a row.

use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyString};
use trueno_recorder::Name;
use trueno_recorder::finished::Site;

/// Code object and line of the Python caller.
fn caller(py: Python<'_>) -> Option<(Bound<'_, PyAny>, u32)> {
    // SAFETY: called with Python attached; the frame is borrowed, and runs as long as this call.
    let (code, line) = unsafe {
        let frame = ffi::PyEval_GetFrame();
        if frame.is_null() {
            return None;
        }
        let code = ffi::PyFrame_GetCode(frame);
        let code = Bound::from_owned_ptr_or_opt(py, code.cast())?;
        (code, ffi::PyFrame_GetLineNumber(frame))
    };
    Some((code, u32::try_from(line).ok()?))
}

/// The name with the calling line; without a line if no Python code is running.
pub fn name(py: Python<'_>, name: &str) -> Name {
    let named = || -> Option<Name> {
        let (code, line) = caller(py)?;
        let file = code.getattr(intern!(py, "co_filename")).ok()?;
        let file = file.cast::<PyString>().ok()?.to_str().ok()?;
        Some(Site::in_file(name, file, line).into())
    };
    named().unwrap_or_else(|| Name::from(name))
}

/// File and line of the Python caller; `None` if no Python code is running.
pub fn line(py: Python<'_>) -> Option<(String, u32)> {
    let (code, line) = caller(py)?;
    let file = code.getattr(intern!(py, "co_filename")).ok()?;
    Some((file.extract().ok()?, line))
}

//! Errors of the driver.

use std::ffi::{CStr, c_char, c_int};

pub(super) type ErrorText = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    #[error("no NVIDIA driver library was found: {} (hint: it comes with the driver, and `LD_LIBRARY_PATH` is searched too)", .searched.join("; "))]
    NoLibrary {
        /// Each name, with what the loader says about it.
        searched: Vec<String>,
    },
    #[error("{path}: has no {function} (hint: the library of a newer NVIDIA driver has it)")]
    NoFunction {
        /// File it was loaded from.
        path: String,
        function: String,
    },
    #[error("the NVIDIA driver sees no device (hint: `CUDA_VISIBLE_DEVICES` hides devices)")]
    NoDevice,
    #[error(
        "the NVIDIA driver sees {found} devices; there is no device {asked} (hint: `CUDA_VISIBLE_DEVICES` hides devices)"
    )]
    NoSuchDevice {
        /// The requested number.
        asked: usize,
        found: u32,
    },
    #[error("{function}: {words} (error {code})")]
    Failed {
        function: &'static str,
        code: i32,
        words: String,
    },
    /// A text that cannot be passed to the driver.
    #[error("{0}: a null byte in the text")]
    Text(&'static str),
}

const NO_DEVICE: c_int = 100;

pub(super) fn done(
    text: Option<ErrorText>,
    function: &'static str,
    code: c_int,
) -> Result<(), DriverError> {
    match code {
        0 => Ok(()),
        NO_DEVICE => Err(DriverError::NoDevice),
        code => Err(DriverError::Failed {
            function,
            code,
            words: words(text, code)
                .unwrap_or_else(|| "an error that the driver has no words for".to_owned()),
        }),
    }
}

fn words(text: Option<ErrorText>, code: c_int) -> Option<String> {
    let mut words = std::ptr::null();
    // SAFETY: valid for the write; what the driver points to is a text of its own that stays.
    unsafe {
        if text?(code, &mut words) != 0 || words.is_null() {
            return None;
        }
        Some(CStr::from_ptr(words).to_string_lossy().into_owned())
    }
}

//! Errors.

use crate::driver::DriverError;

/// A failure on the device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no usable driver.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The driver refused a call.
    #[error("{action}: {problem}")]
    Call {
        /// The action that failed.
        action: &'static str,
        /// The driver's error message.
        problem: String,
    },
    /// The destination of a copy is too short.
    #[error("a copy of {from} elements to {to} (expected as many or more)")]
    Length {
        /// Number of elements to copy.
        from: usize,
        /// Number of elements that fit.
        to: usize,
    },
    /// A text that cannot be passed to the driver.
    #[error("{what}: a null byte in the text")]
    Text {
        /// What the text is.
        what: &'static str,
    },
}

impl Error {
    /// For `map_err`: adds the action that failed.
    pub(crate) fn call(action: &'static str) -> impl FnOnce(cudarc::driver::DriverError) -> Self {
        move |error| Self::Call {
            action,
            problem: words(&error),
        }
    }
}

pub(crate) fn words(error: &cudarc::driver::DriverError) -> String {
    let code = error.0 as u32;
    match error.error_string() {
        Ok(text) => format!("{} (error {code})", text.to_string_lossy()),
        Err(_) => format!("error {code}"),
    }
}

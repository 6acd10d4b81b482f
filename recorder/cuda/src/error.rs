//! Errors.

use crate::driver::DriverError;

/// A failure on the device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no driver, or none that will do.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The driver refused a call.
    #[error("{action}: {problem}")]
    Call {
        /// The action that failed.
        action: &'static str,
        /// Problem in the driver's words.
        problem: String,
    },
    /// A copy to something shorter.
    #[error("a copy of {from} elements to {to} (expected as many or more)")]
    Length {
        /// Elements to copy.
        from: usize,
        /// Elements there is room for.
        to: usize,
    },
    /// A text that cannot be given to the driver.
    #[error("{what}: a null byte in the text")]
    Text {
        /// The text's name.
        what: &'static str,
    },
}

impl Error {
    /// Says what was tried; for `map_err`.
    pub(crate) fn call(action: &'static str) -> impl FnOnce(cudarc::driver::DriverError) -> Self {
        move |error| Self::Call {
            action,
            problem: words(&error),
        }
    }
}

/// The driver's words for a code.
pub(crate) fn words(error: &cudarc::driver::DriverError) -> String {
    let code = error.0 as u32;
    match error.error_string() {
        Ok(text) => format!("{} (error {code})", text.to_string_lossy()),
        Err(_) => format!("error {code}"),
    }
}

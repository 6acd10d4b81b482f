//! Errors, and the status each becomes at the boundary.

use std::fmt;

use crate::abi;

/// Result of everything in this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// Reason why a plugin stopped. Each kind is one status of the C ABI.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Any other failure.
    Failed(String),
    /// The user's options are invalid.
    BadOption(String),
    /// The data is not what the query promised: a missing column, another type, an unexpected null, or a broken
    /// Arrow stream.
    BadInput(String),
    /// The plugin saw [`Run::cancelled`](crate::Run::cancelled) and stopped.
    Cancelled,
    /// The plugin panicked. The text ends with the source location.
    Panicked(String),
}

impl Error {
    /// A failure in words. State what was found, what was expected, and the next step.
    pub fn failed(message: impl fmt::Display) -> Self {
        Self::Failed(message.to_string())
    }

    /// The data breaks a promise.
    pub fn bad_input(message: impl fmt::Display) -> Self {
        Self::BadInput(message.to_string())
    }

    /// An option has a value that makes no sense.
    pub fn bad_option(message: impl fmt::Display) -> Self {
        Self::BadOption(message.to_string())
    }

    /// Prefixes the error with the name of an input of the plugin.
    pub(crate) fn of_input(self, name: &str) -> Self {
        match name {
            "" => self,
            name => Self::BadInput(format!("input `{name}`: {self}")),
        }
    }

    /// The status this error becomes, one of `TRUENO_*`.
    pub fn status(&self) -> abi::Status {
        match self {
            Self::Failed(_) => abi::FAILED,
            Self::BadOption(_) => abi::BAD_OPTION,
            Self::BadInput(_) => abi::BAD_INPUT,
            Self::Cancelled => abi::CANCELLED,
            Self::Panicked(_) => abi::PANICKED,
        }
    }

    /// The error for a status and its text. An unknown status is [`Error::Failed`].
    pub fn from_status(status: abi::Status, message: String) -> Self {
        match status {
            abi::BAD_OPTION => Self::BadOption(message),
            abi::BAD_INPUT => Self::BadInput(message),
            abi::CANCELLED => Self::Cancelled,
            abi::PANICKED => Self::Panicked(message),
            _ => Self::Failed(message),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(message) | Self::BadOption(message) | Self::BadInput(message) => {
                f.write_str(message)
            }
            Self::Cancelled => f.write_str("cancelled"),
            Self::Panicked(message) => write!(f, "panicked: {message}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<String> for Error {
    fn from(message: String) -> Self {
        Self::Failed(message)
    }
}

impl From<&str> for Error {
    fn from(message: &str) -> Self {
        Self::Failed(message.to_owned())
    }
}

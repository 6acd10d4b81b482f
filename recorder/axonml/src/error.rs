//! Errors.

use thiserror::Error;

/// A result, or a [`ProfileError`].
pub type ProfileResult<T> = Result<T, ProfileError>;

/// An error, with the original's variants. Only those for files and for JSON occur.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ProfileError {
    #[error("no such operation: {0}")]
    OperationNotFound(String),
    #[error("the profiler is in the wrong state for this: {0}")]
    InvalidState(String),
    #[error("cannot write the report: {0}")]
    IoError(#[from] std::io::Error),
    #[error("cannot be written as JSON: {0}")]
    SerializationError(String),
    #[error("the clock cannot be read: {0}")]
    TimerError(String),
}

//! Reasons not to answer.

/// A question that is not answered, with the reason in words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It makes no sense.
    #[error("{0}")]
    Wrong(String),
    /// There is no such thing.
    #[error("{0}")]
    Missing(String),
    /// It is not known yet.
    #[error("{0}")]
    NotYet(String),
    /// It was tried, and failed.
    #[error("{0}")]
    Failed(String),
    /// Too many are asked at once.
    #[error("{0}")]
    Busy(String),
}

//! Reasons not to answer.

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("{0}")]
    Wrong(String),
    #[error("{0}")]
    Missing(String),
    #[error("{0}")]
    NotYet(String),
    #[error("{0}")]
    Failed(String),
    #[error("{0}")]
    Busy(String),
}

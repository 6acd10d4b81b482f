//! The part of a run that a report is about.

/// A window of a run.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Window {
    /// As reports call it.
    pub name: String,
    /// When it begins.
    pub from_ns: i64,
    /// When it ends.
    pub until_ns: i64,
}

//! The part of a run that a report is about.

/// A window of a run.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Window {
    /// Name in reports.
    pub name: String,
    pub from_ns: i64,
    pub until_ns: i64,
}

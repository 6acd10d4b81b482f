//! The part of a run that a report is about.

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Window {
    pub name: String,
    pub from_ns: i64,
    pub until_ns: i64,
}

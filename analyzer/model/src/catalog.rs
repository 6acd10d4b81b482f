//! Published tables and columns, as lists and reports name them.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableInfo {
    pub name: String,
    pub doc: String,
    pub columns: Vec<ColumnInfo>,
    /// Rows in the opened run; `None` for a table that has not been computed yet.
    pub rows: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnInfo {
    pub name: String,
    /// `i64`, `u32`, `u64`, `f64`, `bool` or `text`, or the engine's own name for types that only occur in
    /// files.
    #[serde(rename = "type")]
    pub ty: String,
    pub unit: Option<Cow<'static, str>>,
    pub nullable: bool,
    /// `measured`, `declared`, `computed` or `identity`; `None` if the file does not say.
    pub provenance: Option<Cow<'static, str>>,
    pub doc: String,
}

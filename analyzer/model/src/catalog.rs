//! Published tables and columns, as lists and reports name them.

use serde::Serialize;

/// One published table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableInfo {
    /// Name, as SQL uses it.
    pub name: String,
    /// Description for people, in one line.
    pub doc: String,
    /// Columns in order.
    pub columns: Vec<ColumnInfo>,
    /// Rows of this table in the opened run; `None`: not known before they are computed.
    pub rows: Option<u64>,
}

/// One published column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ColumnInfo {
    /// Name, as SQL uses it.
    pub name: String,
    /// `i64`, `u32`, `u64`, `f64`, `bool` or `text`; the engine's own name for types only found in files.
    #[serde(rename = "type")]
    pub ty: String,
    /// Unit of the values, where they have one.
    pub unit: Option<&'static str>,
    /// Tells whether a row may lack it.
    pub nullable: bool,
    /// `measured`, `declared`, `computed` or `identity`; `None`: the file does not tell.
    pub provenance: Option<&'static str>,
    /// Description for people, in one line.
    pub doc: String,
}

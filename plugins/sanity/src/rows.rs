//! All rows with times, of all tables, by one number.

use trueno_plugin::{Result, Run, Table};

/// Tables with intervals; a row's number counts through them in this order.
pub const TABLES: [&str; 6] = ["bricks", "kernels", "tiles", "syncs", "calls", "transfers"];

/// The rows of one table.
#[derive(Default)]
pub struct Rows {
    /// Number of the first row.
    pub first: u32,
    /// Unique in the run.
    pub id: Vec<u64>,
    /// The enclosing row, where it has one.
    pub parent: Vec<Option<u64>>,
    /// Host thread.
    pub thread: Vec<Option<i64>>,
    /// A device ran it.
    pub on_device: Vec<bool>,
    /// When it began.
    pub start_ns: Vec<i64>,
    /// How long it lasted.
    pub dur_ns: Vec<i64>,
    /// Only known to contain the work.
    pub is_bound: Vec<bool>,
    /// Run, iteration or layer.
    pub is_scope: Vec<bool>,
    /// Its times can be trusted.
    pub valid: Vec<bool>,
}

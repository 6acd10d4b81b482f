//! Intervals in the order of time, with what lies around each: tables that are computed, not recorded.
//!
//! [`SPANS`] has a row for each interval of each lane, and [`LANES`] one for each lane. Lanes, nesting and categories
//! are those of [`trueno_analysis::lanes`], which plugins read them with too. Nothing is computed before a query asks
//! for it.

mod columns;
mod inputs;
mod tables;

pub use columns::computed_tables;
pub(crate) use columns::{lane_columns, span_columns};
pub(crate) use tables::{queries, tables};

pub const SPANS: &str = "timeline.spans";
pub const LANES: &str = "timeline.lanes";

pub fn is_computed(table: &str) -> bool {
    matches!(table, SPANS | LANES)
}

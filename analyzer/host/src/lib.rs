//! Finds, loads, isolates, plans and runs plugins, and gathers what they give as a report.
//!
//! Nothing here shows a report: what comes out is data of `trueno-model`.

mod build;
mod by_rank;
pub mod conformance;
pub mod coverage;
pub mod evidence;
pub mod name_tables;
pub mod plan;
pub mod plugin;
mod rank_parts;
mod request;
mod rows;
pub mod scaffold;
mod sections;
mod side_by_side;
pub mod window;

pub use build::{BuildError, build};
pub use request::{MOST_ROWS, OverRanks, REFERENCE, Request};

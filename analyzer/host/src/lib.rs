//! Finds, loads, isolates, plans and runs plugins, and gathers what they give as a report.
//!
//! Nothing here shows a report: what comes out is data of `trueno-model`.

mod build;
mod by_rank;
mod catalog;
pub mod conformance;
pub mod coverage;
pub mod evidence;
mod excerpt;
pub mod name_tables;
mod part_cache;
pub mod plan;
pub mod plugin;
mod rank_parts;
mod request;
mod rows;
pub mod scaffold;
mod sections;
mod side_by_side;
mod together;
pub mod window;

pub use build::{BuildError, build, make_parts};
pub use by_rank::Made;
pub use catalog::{Catalog, Lookups};
pub use part_cache::PartCache;
pub use request::{MAX_ROWS, OverRanks, REFERENCE, Request};

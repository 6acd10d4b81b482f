//! Opens recorded runs, and answers SQL over them.
//!
//! The query engine is used here, and by what reads its results column by column.

pub mod attributes;
pub mod catalog;
pub mod closed_types;
mod columns;
pub mod cores;
pub mod frame;
mod lane;
mod literal;
pub mod panic_guard;
pub mod query;
pub mod run;
pub mod spans;
pub mod time_order;
pub mod timeline;

pub use lane::{Lane, is_of_thread_first};

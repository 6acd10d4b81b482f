//! SQL over the published tables, and printing of results.

mod database;
mod dictionary_lookup;
mod error;
pub mod output;
mod rewrite;
mod tokens;

pub use database::{Database, Planned, collect, collect_in_order, tables_of};
pub use error::QueryError;
pub use error::nearest;

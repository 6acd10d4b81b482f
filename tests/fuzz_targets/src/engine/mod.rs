//! Targets whose parsers link the query engine.

mod messages;
mod runs;
mod sql;
mod texts;

pub use messages::messages;
pub use runs::{nsys_parquet, parquet_part, segment};
pub use sql::sql;
pub use texts::{assertions, golden, project};

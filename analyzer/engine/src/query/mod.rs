//! SQL over the published tables, and printing of results.

mod column_source;
mod database;
mod dictionary_lookup;
mod direct;
mod divided;
mod empty_join;
mod error;
mod ordered_rows;
pub mod output;
mod plan;
mod planned;
mod reads;
mod rewrite;
mod timeline_tables;
mod tokens;

pub(crate) use database::Scan;
pub use database::{Database, Plans, collect, collect_from_columns, collect_in_order, tables_of};
pub use divided::{Divided, Division, Piece, RowsOfRanks};
pub use error::QueryError;
pub use error::nearest;
pub use ordered_rows::{
    BatchValues, OrderedRow, OrderedRows, OrderedTable, RowBatch, RowOrder, RowWindow, TableWindow,
    Texts,
};
pub use planned::Planned;
pub use reads::Claims;
pub use rewrite::may_read_dotted;

pub use crate::columns::Kind as ColumnKind;

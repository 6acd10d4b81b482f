//! Queries that are planned now and run later, or never.

use std::sync::Arc;

use polars::prelude::{DataFrame, Schema};
use polars_arrow::datatypes::Field;

use super::database::collect;
use super::direct::Direct;
use super::{Database, QueryError};
use crate::closed_types::{self, ClosedRows};

pub struct Planned {
    sql: String,
    by: By,
}

enum By {
    /// Reads columns directly. The database is the fallback for a damaged table.
    Columns(Direct, Database),
    Rows(DataFrame),
    /// The engine, over the database.
    Engine(Arc<[Field]>, Database),
}

impl Planned {
    pub(super) fn direct(sql: &str, direct: Direct, database: &Database) -> Self {
        Self::new(sql, By::Columns(direct, database.clone()))
    }

    pub(super) fn made(sql: &str, rows: DataFrame) -> Self {
        Self::new(sql, By::Rows(rows))
    }

    pub(super) fn by_engine(sql: &str, columns: Arc<[Field]>, database: &Database) -> Self {
        Self::new(sql, By::Engine(columns, database.clone()))
    }

    fn new(sql: &str, by: By) -> Self {
        let sql = sql.to_owned();
        Self { sql, by }
    }

    /// Its columns in the types that plugins read.
    ///
    /// # Errors
    /// As [`collect`](super::collect), or a column has a type that plugins cannot read.
    pub fn columns(&self) -> Result<Vec<Field>, QueryError> {
        match &self.by {
            By::Columns(direct, _) => Ok(direct.fields()),
            By::Rows(rows) => fields_of(rows.schema()),
            By::Engine(columns, _) => Ok(columns.to_vec()),
        }
    }

    /// Its rows in the types that plugins read.
    ///
    /// # Errors
    /// As [`Planned::columns`].
    pub fn rows(self) -> Result<ClosedRows, QueryError> {
        let Self { sql, by } = self;
        match by {
            By::Columns(direct, database) => {
                let fields = direct.fields();
                let ask = |sql: &str| database.frame(sql).map_err(|error| error.to_string());
                match direct.resolved(&ask).and_then(Direct::batches) {
                    Ok(batches) => Ok(ClosedRows::new(fields, batches)),
                    Err(_) => database.planned_by_engine(&sql)?.rows(),
                }
            }
            By::Rows(rows) => closed(rows),
            By::Engine(columns, database) => {
                if database.gives_no_rows(&sql) {
                    Ok(ClosedRows::without_rows(columns.to_vec()))
                } else {
                    closed(collect(&database, &sql)?)
                }
            }
        }
    }
}

pub(super) fn fields_of(schema: &Schema) -> Result<Vec<Field>, QueryError> {
    closed_types::fields_of(schema).map_err(QueryError::Failed)
}

fn closed(frame: DataFrame) -> Result<ClosedRows, QueryError> {
    let frame = closed_types::to_closed_types(frame).map_err(QueryError::Failed)?;
    Ok(ClosedRows::of_frame(frame))
}

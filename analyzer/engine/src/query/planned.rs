//! Queries that are planned now and run later, or never.

use polars::prelude::{DataFrame, LazyFrame, Schema, SchemaRef};

use super::database::collect;
use super::direct::Direct;
use super::error::first_line;
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
    /// The engine, over the database. The frame states the columns.
    Engine(Box<LazyFrame>, Database),
}

impl Planned {
    pub(super) fn direct(sql: &str, direct: Direct, database: &Database) -> Self {
        Self::new(sql, By::Columns(direct, database.clone()))
    }

    pub(super) fn made(sql: &str, rows: DataFrame) -> Self {
        Self::new(sql, By::Rows(rows))
    }

    pub(super) fn by_engine(sql: &str, frame: LazyFrame, database: &Database) -> Self {
        Self::new(sql, By::Engine(Box::new(frame), database.clone()))
    }

    fn new(sql: &str, by: By) -> Self {
        let sql = sql.to_owned();
        Self { sql, by }
    }

    /// Its columns in the types that plugins read, without rows.
    ///
    /// # Errors
    /// As [`collect`](super::collect), or a column has a type that plugins cannot read.
    pub fn columns(&mut self) -> Result<ClosedRows, QueryError> {
        match &mut self.by {
            By::Columns(direct, _) => Ok(ClosedRows::without_rows(direct.fields())),
            By::Rows(rows) => without_rows(rows.schema()),
            By::Engine(frame, _) => without_rows(&*schema_of(frame)?),
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
            By::Engine(mut frame, database) => {
                if database.gives_no_rows(&sql) {
                    without_rows(&*schema_of(&mut frame)?)
                } else {
                    closed(collect(&database, &sql)?)
                }
            }
        }
    }
}

fn schema_of(frame: &mut LazyFrame) -> Result<SchemaRef, QueryError> {
    let schema = frame.collect_schema();
    schema.map_err(|error| QueryError::Failed(first_line(&error)))
}

fn without_rows(schema: &Schema) -> Result<ClosedRows, QueryError> {
    let fields = closed_types::fields_of(schema).map_err(QueryError::Failed)?;
    Ok(ClosedRows::without_rows(fields))
}

fn closed(frame: DataFrame) -> Result<ClosedRows, QueryError> {
    let frame = closed_types::to_closed_types(frame).map_err(QueryError::Failed)?;
    Ok(ClosedRows::of_frame(frame))
}

//! Queries that are planned now and run later, or never.

use polars::prelude::{DataFrame, LazyFrame};

use super::database::{collect, first_line, roomy, run};
use super::direct::Direct;
use super::{Database, QueryError};
use crate::closed_types::{self, ClosedRows};

/// A query that was planned.
pub struct Planned {
    sql: String,
    by: By,
}

/// Executor of a query.
enum By {
    /// Columns of a table are handed out; the database is for a table that turns out to be damaged.
    Columns(Direct, Database),
    /// The engine, over columns of the database in memory where one is given.
    Engine(Box<LazyFrame>, Option<Database>),
}

impl Planned {
    pub(super) fn direct(sql: &str, direct: Direct, database: &Database) -> Self {
        Self {
            sql: sql.to_owned(),
            by: By::Columns(direct, database.clone()),
        }
    }

    pub(super) fn by_engine(sql: &str, frame: LazyFrame, database: Option<Database>) -> Self {
        Self {
            sql: sql.to_owned(),
            by: By::Engine(Box::new(frame), database),
        }
    }

    /// Its columns in the types that plugins read, without rows.
    ///
    /// # Errors
    /// As [`collect`](super::collect), or a column is of a type that plugins cannot read.
    pub fn columns(&mut self) -> Result<ClosedRows, QueryError> {
        match &mut self.by {
            By::Columns(direct, _) => Ok(ClosedRows::without_rows(direct.fields())),
            By::Engine(frame, _) => {
                let schema = frame.collect_schema();
                let schema = schema.map_err(|error| QueryError::Failed(first_line(&error)))?;
                closed(DataFrame::empty_with_schema(&schema))
            }
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
            By::Engine(_, Some(database)) => closed(collect(&database, &sql)?),
            By::Engine(frame, None) => closed(roomy(&sql, || run(*frame, &sql))?),
        }
    }
}

fn closed(frame: DataFrame) -> Result<ClosedRows, QueryError> {
    let frame = closed_types::to_closed_types(frame).map_err(QueryError::Failed)?;
    Ok(ClosedRows::of_frame(frame))
}

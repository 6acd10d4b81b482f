//! Ceilings that a user gives for the devices of a run, in place of those recorded with it.

use polars::prelude::{
    Column, DataFrame, DataType, IntoColumn, NamedFrom, PolarsError, PolarsResult, Series,
};
use trueno_format::Ceiling;
use trueno_format::schema::TableId;

use super::{Run, RunError};
use crate::query::{Database, collect};

const TABLE: &str = "ceilings";

impl Run {
    /// Replaces the run's ceilings of the same devices in everything read from now on. Nothing is written.
    pub fn give_ceilings(&mut self, ceilings: Vec<Ceiling>) {
        self.given_ceilings = ceilings;
    }

    pub(super) fn publish_given_ceilings(&self, database: &mut Database) -> Result<(), RunError> {
        if self.given_ceilings.is_empty() {
            return Ok(());
        }
        let failed = |reason: String| RunError::Plan {
            table: TABLE.to_owned(),
            reason,
        };
        let columns = TableId::Ceilings.schema().columns.iter();
        let columns: Vec<&str> = columns.map(|column| column.name).collect();
        let devices = self
            .given_ceilings
            .iter()
            .map(|ceiling| ceiling.device.replace('\'', "''"));
        let devices: Vec<String> = devices.map(|device| format!("'{device}'")).collect();
        let sql = format!(
            "SELECT {} FROM {TABLE} WHERE device NOT IN ({})",
            columns.join(", "),
            devices.join(", ")
        );
        let recorded = collect(database, &sql).map_err(|error| failed(error.to_string()))?;
        let all = with_given(recorded, &self.given_ceilings);
        database.register(TABLE, all.map_err(|error| failed(error.to_string()))?);
        Ok(())
    }
}

/// Adds rows to the recorded ones, whose texts are converted to plain strings.
fn with_given(recorded: DataFrame, given: &[Ceiling]) -> PolarsResult<DataFrame> {
    let columns = recorded.columns().iter().map(|recorded| {
        let dtype = match recorded.dtype() {
            of if of.is_categorical() || of.is_enum() => DataType::String,
            of => of.clone(),
        };
        let mut column = recorded.cast(&dtype)?;
        column.append(&values(recorded.name(), given)?.cast(&dtype)?)?;
        Ok::<_, PolarsError>(column)
    });
    let columns = columns.collect::<PolarsResult<Vec<Column>>>()?;
    DataFrame::new(recorded.height() + given.len(), columns)
}

fn values(column: &str, given: &[Ceiling]) -> PolarsResult<Column> {
    let name = column.into();
    let texts = |of: fn(&Ceiling) -> Option<&str>| {
        let texts: Vec<Option<&str>> = given.iter().map(of).collect();
        Series::new(column.into(), texts)
    };
    let numbers = |of: fn(&Ceiling) -> Option<f64>| {
        let numbers: Vec<Option<f64>> = given.iter().map(of).collect();
        Series::new(column.into(), numbers)
    };
    let counts = |of: fn(&Ceiling) -> Option<u32>| {
        let counts: Vec<Option<u32>> = given.iter().map(of).collect();
        Series::new(column.into(), counts)
    };
    let series = match column {
        "device" => texts(|row| Some(&row.device)),
        "kind" => texts(|row| Some(row.kind.name())),
        "level" => texts(|row| row.level.as_deref()),
        "precision" => texts(|row| row.precision.as_deref()),
        "unit" => texts(|row| Some(row.unit())),
        "source" => texts(|row| Some(row.source.name())),
        "operation" => texts(|row| row.operation.as_deref()),
        "value" => numbers(|row| Some(row.value)),
        "median" => numbers(|row| row.median),
        "spread" => numbers(|row| row.spread),
        "earlier" => numbers(|row| row.earlier),
        "threads" => counts(|row| row.threads),
        "repetitions" => counts(|row| row.repetitions),
        "settled" => {
            let settled: Vec<Option<bool>> = given.iter().map(|row| row.settled).collect();
            Series::new(name, settled)
        }
        _ => Series::full_null(name, given.len(), &DataType::Null),
    };
    Ok(series.into_column())
}

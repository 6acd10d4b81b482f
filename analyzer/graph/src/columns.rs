//! Rows of a query as typed columns, texts as numbers of one list of names.

use std::collections::HashMap;

use polars::prelude::{BooleanChunked, DataFrame, DataType};
use polars_arrow::array::{Array, PrimitiveArray};
use polars_arrow::types::NativeType;
use trueno_engine::query::{Database, Planned};
use trueno_host::name_tables::{GROUPS, learn};

use super::GraphError;

/// The rows of one query, unordered.
pub(super) struct Rows {
    frame: DataFrame,
    table: &'static str,
}

/// A column of integers.
pub(super) enum Numbers {
    Signed(PrimitiveArray<i64>),
    Unsigned(PrimitiveArray<u64>),
    /// The query did not ask for it.
    Missing,
}

/// A column of truth values.
pub(super) struct Truths(Option<BooleanChunked>);

impl Rows {
    pub(super) fn ask(
        database: &Database,
        table: &'static str,
        sql: &str,
    ) -> Result<Rows, GraphError> {
        let failed = |why: String| GraphError::Table { table, why };
        let rows = database.planned(sql).and_then(Planned::rows);
        let rows = rows.map_err(|error| failed(error.to_string()))?;
        let mut frame = rows
            .into_frame()
            .map_err(|error| failed(error.to_string()))?;
        frame.rechunk_mut();
        Ok(Rows { frame, table })
    }

    pub(super) fn len(&self) -> usize {
        self.frame.height()
    }

    fn failed(&self, column: &str) -> GraphError {
        GraphError::Table {
            table: self.table,
            why: format!("its column {column} is of another type than it should be"),
        }
    }

    pub(super) fn numbers(&self, column: &str) -> Result<Numbers, GraphError> {
        let Ok(found) = self.frame.column(column) else {
            return Ok(Numbers::Missing);
        };
        let series = found.as_materialized_series();
        // One array: the frame was put together.
        match (series.i64(), series.u64()) {
            (Ok(numbers), _) => Ok(Numbers::Signed(
                numbers.rechunk().downcast_as_array().clone(),
            )),
            (_, Ok(numbers)) => Ok(Numbers::Unsigned(
                numbers.rechunk().downcast_as_array().clone(),
            )),
            _ => Err(self.failed(column)),
        }
    }

    pub(super) fn texts(&self, column: &str) -> Result<Vec<Option<String>>, GraphError> {
        let found = self.frame.column(column);
        let texts = found.and_then(|texts| texts.cast(&DataType::String)?.str().cloned());
        let texts = texts.map_err(|_| self.failed(column))?;
        Ok(texts.iter().map(|text| text.map(str::to_owned)).collect())
    }

    pub(super) fn truths(&self, column: &str) -> Result<Truths, GraphError> {
        let Ok(found) = self.frame.column(column) else {
            return Ok(Truths(None));
        };
        let series = found.as_materialized_series();
        let truths = series.bool().map_err(|_| self.failed(column))?;
        Ok(Truths(Some(truths.rechunk().into_owned())))
    }
}

impl Numbers {
    pub(super) fn i64(&self, row: usize) -> Option<i64> {
        match self {
            Numbers::Signed(numbers) => value(numbers, row),
            Numbers::Unsigned(numbers) => value(numbers, row).and_then(|n| i64::try_from(n).ok()),
            Numbers::Missing => None,
        }
    }

    pub(super) fn u64(&self, row: usize) -> Option<u64> {
        match self {
            Numbers::Signed(numbers) => value(numbers, row).and_then(|n| u64::try_from(n).ok()),
            Numbers::Unsigned(numbers) => value(numbers, row),
            Numbers::Missing => None,
        }
    }
}

#[inline]
fn value<T: NativeType>(numbers: &PrimitiveArray<T>, row: usize) -> Option<T> {
    numbers.is_valid(row).then(|| numbers.value(row))
}

impl Truths {
    pub(super) fn get(&self, row: usize) -> Option<bool> {
        self.0.as_ref().and_then(|truths| truths.get(row))
    }
}

/// One number a text, over all tables.
#[derive(Default)]
pub(super) struct Names {
    pub(super) names: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Names {
    pub(super) fn number(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// For each name the number of that of its group. Names of groups come to the others.
    pub(super) fn merged(&mut self, database: &Database) -> Result<Vec<u32>, GraphError> {
        let groups = learn(database).map_err(|error| GraphError::Table {
            table: GROUPS,
            why: error.to_string(),
        })?;
        let of_groups: Vec<Option<String>> =
            self.names.iter().map(|name| groups.group(name)).collect();
        let number = |(at, group): (usize, Option<String>)| match group {
            Some(group) => self.number(&group),
            None => at as u32,
        };
        Ok(of_groups.into_iter().enumerate().map(number).collect())
    }

    /// The engine's numbers of the texts of a column, as ours.
    pub(super) fn number_column(
        &mut self,
        database: &Database,
        table: &'static str,
        column: &str,
    ) -> Result<HashMap<i64, u32>, GraphError> {
        // This form is answered from the run's dictionary, without a text for every row.
        let sql = format!("SELECT DISTINCT {column}_id AS id, {column} AS name FROM {table}");
        let rows = Rows::ask(database, table, &sql)?;
        let ids = rows.numbers("id")?;
        let texts = rows.texts("name")?;
        let mut sorted: Vec<(&str, i64)> = texts
            .iter()
            .enumerate()
            .filter_map(|(row, text)| Some((text.as_deref()?, ids.i64(row)?)))
            .collect();
        sorted.sort_unstable();
        Ok(sorted
            .into_iter()
            .map(|(text, id)| (id, self.number(text)))
            .collect())
    }
}

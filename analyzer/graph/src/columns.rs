//! Rows of a query as typed columns, texts as numbers of one list of names.

use std::collections::HashMap;

use polars::prelude::{DataFrame, DataType};
use polars_arrow::array::{Array, PrimitiveArray};
use polars_arrow::types::NativeType;
use trueno_engine::query::{
    BatchValues, ColumnKind, Database, OrderedRows, OrderedTable, Planned, RowBatch, RowOrder,
    Texts,
};
use trueno_host::name_tables::{GROUPS, learn};

use super::{GraphError, NONE};

/// Rows of one query, in no particular order.
pub(super) struct Rows {
    frame: DataFrame,
    table: &'static str,
}

pub(super) enum Numbers {
    Signed(PrimitiveArray<i64>),
    Unsigned(PrimitiveArray<u64>),
    Missing,
}

/// Columns of a table that is read batch by batch in stored order.
pub(super) struct TableColumns {
    names: &'static [&'static str],
    kinds: Vec<ColumnKind>,
    pub(super) texts: Texts,
}

/// `None` if the table has no such column.
#[derive(Clone, Copy)]
pub(super) struct Place(Option<(usize, ColumnKind)>);

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
}

pub(super) fn open(
    database: &Database,
    table: &'static str,
    names: &'static [&'static str],
) -> Result<(TableColumns, OrderedRows), GraphError> {
    let failed = |why: String| GraphError::Table { table, why };
    let columns: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let wanted = OrderedTable {
        name: table,
        columns: &columns,
        order: RowOrder::AsStored,
    };
    let rows = database.ordered_rows(&[wanted]);
    let rows = rows.map_err(|error| failed(error.to_string()))?;
    let kinds = rows.kinds().next().unwrap_or_default().to_vec();
    let texts = database.texts();
    let texts = texts.ok_or_else(|| failed("the run has no dictionary".to_owned()))?;
    let columns = TableColumns {
        names,
        kinds,
        texts,
    };
    Ok((columns, rows))
}

impl TableColumns {
    pub(super) fn place(&self, name: &str) -> Place {
        let at = self.names.iter().position(|other| *other == name);
        Place(at.map(|at| (at, self.kinds[at])))
    }
}

impl Place {
    /// The bits of a value; for a text its id.
    #[inline]
    pub(super) fn bits(self, batch: &RowBatch, row: usize) -> Option<u64> {
        batch.bits(self.0?.0, row)
    }

    #[inline]
    pub(super) fn u64(self, batch: &RowBatch, row: usize) -> Option<u64> {
        as_u64(self.0?.1, self.bits(batch, row)?)
    }

    /// The value common to all rows of a batch: `Some(None)` if no row has one, `None` if they differ.
    pub(super) fn same(self, batch: &RowBatch) -> Option<Option<u64>> {
        let Some((at, kind)) = self.0 else {
            return Some(None);
        };
        match batch.values(at) {
            BatchValues::Missing => Some(None),
            BatchValues::Same(bits) => Some(as_u64(kind, bits)),
            BatchValues::Several => None,
        }
    }

    pub(super) fn is_same(self, batch: &RowBatch) -> bool {
        (self.0).is_none_or(|(at, _)| batch.values(at) != BatchValues::Several)
    }

    /// Appends `of(bits)` for each row of a batch. `spare` is a reusable buffer.
    pub(super) fn bits_into<T: Clone>(
        self,
        batch: &RowBatch,
        spare: &mut Vec<u64>,
        to: &mut Vec<T>,
        of: impl Fn(Option<u64>) -> T,
    ) {
        let rows = batch.rows();
        let Some((at, _)) = self.0 else {
            return to.resize(to.len() + rows, of(None));
        };
        match batch.values(at) {
            BatchValues::Missing => to.resize(to.len() + rows, of(None)),
            BatchValues::Same(bits) => to.resize(to.len() + rows, of(Some(bits))),
            BatchValues::Several if batch.has_missing(at) => {
                to.extend((0..rows).map(|row| of(batch.bits(at, row))));
            }
            BatchValues::Several => {
                batch.unpack(at, spare);
                to.extend(spare.iter().map(|bits| of(Some(*bits))));
            }
        }
    }

    pub(super) fn u64_into<T: Clone>(
        self,
        batch: &RowBatch,
        spare: &mut Vec<u64>,
        to: &mut Vec<T>,
        of: impl Fn(Option<u64>) -> T,
    ) {
        let kind = self.0.map_or(ColumnKind::U64, |(_, kind)| kind);
        self.bits_into(batch, spare, to, |bits| {
            of(bits.and_then(|bits| as_u64(kind, bits)))
        });
    }

    pub(super) fn i64_into(
        self,
        batch: &RowBatch,
        spare: &mut Vec<u64>,
        to: &mut Vec<Option<i64>>,
    ) {
        let kind = self.0.map_or(ColumnKind::I64, |(_, kind)| kind);
        self.bits_into(batch, spare, to, |bits| as_i64(kind, bits?));
    }
}

#[inline]
fn as_i64(kind: ColumnKind, bits: u64) -> Option<i64> {
    match kind {
        ColumnKind::I64 => Some(bits.cast_signed()),
        _ => i64::try_from(bits).ok(),
    }
}

#[inline]
fn as_u64(kind: ColumnKind, bits: u64) -> Option<u64> {
    match kind {
        ColumnKind::I64 => u64::try_from(bits.cast_signed()).ok(),
        _ => Some(bits),
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

/// Our name numbers by the engine's text ids.
#[derive(Default)]
pub(super) struct NumberedNames(Vec<u32>);

impl NumberedNames {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = Option<u32>> {
        (self.0.iter()).map(|number| (*number != NONE).then_some(*number))
    }

    #[inline]
    pub(super) fn get(&self, of_engine: u64) -> Option<u32> {
        let number = self.0.get(of_engine as usize).copied();
        number.filter(|number| *number != NONE)
    }
}

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

    /// For each name, the number of its group's name. Group names are added to the names.
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

    pub(super) fn number_column(
        &mut self,
        database: &Database,
        table: &'static str,
        column: &str,
    ) -> Result<HashMap<i64, u32>, GraphError> {
        let texts = texts(database, table, column)?.into_iter();
        Ok(texts.map(|(text, id)| (id, self.number(&text))).collect())
    }

    /// Our numbers of a column's texts, by their ids in stored columns. A file may store a column of its own in
    /// place of the one in queries.
    pub(super) fn numbered(
        &mut self,
        database: &Database,
        columns: &TableColumns,
        table: &'static str,
        column: &str,
    ) -> Result<NumberedNames, GraphError> {
        let mut all = Vec::new();
        for (text, _) in texts(database, table, column)? {
            let number = self.number(&text);
            if let Some(of_engine) = columns.texts.number(&text) {
                let at = of_engine as usize;
                if all.len() <= at {
                    all.resize(at + 1, NONE);
                }
                all[at] = number;
            }
        }
        Ok(NumberedNames(all))
    }
}

/// The sorted texts of a column with their ids in queries.
fn texts(
    database: &Database,
    table: &'static str,
    column: &str,
) -> Result<Vec<(String, i64)>, GraphError> {
    // This form is answered from the run's dictionary, without a text for every row.
    let sql = format!("SELECT DISTINCT {column}_id AS id, {column} AS name FROM {table}");
    let rows = Rows::ask(database, table, &sql)?;
    let ids = rows.numbers("id")?;
    let texts = rows.texts("name")?.into_iter().enumerate();
    let mut sorted: Vec<(String, i64)> = texts
        .filter_map(|(row, text)| Some((text?, ids.i64(row)?)))
        .collect();
    sorted.sort_unstable();
    Ok(sorted)
}

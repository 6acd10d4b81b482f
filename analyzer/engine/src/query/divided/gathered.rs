//! Rows that the other engine has read, as a table of this one.

use std::collections::BTreeMap;

use polars::prelude::{
    Categories, Column, DataFrame, DataType, IntoColumn, IntoLazy, LazyFrame, PolarsResult, Schema,
    SortMultipleOptions, UnionArgs, col, concat,
};

use super::{Database, Divided, Piece, RANK, Scope, condition, listed, quoted};
use crate::catalog::ID_SUFFIX;
use crate::closed_types::frame_without_rows;
use crate::columns::{Kind, StoredTable};
use crate::panic_guard::guarded;
use crate::query::column_source::Named;
use crate::query::empty_join::{conjuncts, parsed, table_name};
use crate::query::{QueryError, tokens};
use sqlparser::ast::{Expr, SetExpr};

impl Database {
    /// The question for the rows of a table that a query may read.
    pub(super) fn rows_of(
        &self,
        divided: &Divided,
        table: &str,
        stored: &StoredTable,
        rows: &BTreeMap<u32, u64>,
    ) -> Piece {
        let all: Vec<&(String, Kind)> = stored.columns().iter().collect();
        let tokens = tokens::tokens(&divided.sql);
        let named = Named::of(&tokens, stored);
        let named = named.map(|named| named.columns().map(|at| all[at]).collect::<Vec<_>>());
        let named = named.filter(|named| self.can_be_planned(divided, table, named));
        let mut columns: Vec<(String, DataType)> = named
            .unwrap_or(all)
            .into_iter()
            .map(|(name, kind)| (name.clone(), kind.data_type()))
            .collect();
        if !columns.iter().any(|(name, _)| name == RANK) {
            columns.insert(0, (RANK.to_owned(), DataType::UInt64));
        }
        let condition = self.condition(&divided.sql, table, stored);
        let names = columns.iter().map(|(name, _)| name.as_str());
        let mut sql = format!("SELECT {} FROM {}", listed(names), quoted(table));
        if let Some(condition) = &condition {
            sql.push_str(" WHERE ");
            sql.push_str(condition);
        }
        Piece {
            table: table.to_owned(),
            sql,
            columns,
            counted: None,
            whole: condition.is_none().then(|| rows.clone()),
        }
    }

    /// Planning with only these columns gives the same result columns.
    fn can_be_planned(&self, divided: &Divided, table: &str, columns: &[&(String, Kind)]) -> bool {
        let rank = (RANK, DataType::UInt64);
        let rank = (!columns.iter().any(|(name, _)| name == RANK)).then_some(rank);
        let columns = columns
            .iter()
            .map(|(name, kind)| (name.as_str(), kind.data_type()));
        let none = without_rows(columns.chain(rank));
        let mut own = self.clone();
        let published = own.publish_gathered(table, none);
        let planned = || {
            own.planned_columns(&divided.sql)
                .ok()?
                .collect_schema()
                .ok()
        };
        published.is_ok() && planned() == Some(divided.schema.clone())
    }

    /// A condition that all rows needed by the query pass, if the query reads only this table.
    fn condition(&self, sql: &str, table: &str, stored: &StoredTable) -> Option<String> {
        let tokens = tokens::tokens(sql);
        // Below or beside another one, all rows may be needed.
        let selects = tokens.iter().filter(|token| token.is("select")).count();
        let query = parsed(&self.quoted(sql)).filter(|_| selects == 1)?;
        let SetExpr::Select(select) = query.body.as_ref() else {
            return None;
        };
        let [from] = select.from.as_slice() else {
            return None;
        };
        let (name, called) = table_name(&from.relation)?;
        (name == table && from.joins.is_empty()).then_some(())?;
        let scope = Scope { stored, called };
        let all = conjuncts(select.selection.as_ref()?);
        let exact = |one: &Expr| condition::exact(one, &scope);
        let exact: Vec<String> = all.into_iter().filter_map(exact).collect();
        (!exact.is_empty()).then(|| exact.join(" AND "))
    }

    /// Publishes rows in place of a recorded table, with the numbers of its texts.
    pub(super) fn publish_gathered(
        &mut self,
        table: &str,
        rows: DataFrame,
    ) -> Result<(), QueryError> {
        let stored = self.stored.get(table).cloned();
        let of_table = |name: &str| {
            let stored = stored.as_ref()?;
            let place = stored.column(name)?;
            (place.1 == Kind::Text && stored.is_numbered()).then_some(())
        };
        let texts = rows.get_column_names_owned();
        let texts = texts.iter().filter(|name| of_table(name).is_some());
        let frame = with_numbers(rows.clone().lazy(), texts.map(|name| name.as_str()));
        // The numbers are made once, and in the order of the rows.
        let frame = guarded(|| frame.collect()).map_err(QueryError::Failed)?;
        let frame = by_rank(&frame).map_err(|error| QueryError::Failed(error.to_string()))?;
        self.register_lazy(table, frame);
        Ok(())
    }
}

/// Sorts the rows by rank, as in files: sums of floats depend on the order of addition.
fn by_rank(rows: &DataFrame) -> PolarsResult<LazyFrame> {
    let Ok(ranks) = rows.column(RANK).and_then(Column::u64) else {
        return Ok(rows.clone().lazy());
    };
    let (mut parts, mut from) = (Vec::new(), 0);
    for (row, pair) in ranks.iter().zip(ranks.iter().skip(1)).enumerate() {
        if pair.0 != pair.1 {
            parts.push(rows.slice(from as i64, row + 1 - from).lazy());
            from = row + 1;
        }
    }
    if parts.is_empty() {
        Ok(rows.clone().lazy())
    } else {
        parts.push(rows.slice(from as i64, usize::MAX).lazy());
        concat(parts, UnionArgs::default())
    }
}

pub(super) fn without_rows<'a>(columns: impl Iterator<Item = (&'a str, DataType)>) -> DataFrame {
    let mut schema = Schema::default();
    for (name, ty) in columns {
        schema.insert(name.into(), ty);
    }
    frame_without_rows(&schema)
}

/// Adds the companions after all other columns, as in the catalog.
fn with_numbers<'a>(frame: LazyFrame, texts: impl Iterator<Item = &'a str>) -> LazyFrame {
    let numbers = DataType::from_categories(Categories::global());
    let number = |name: &str| {
        let number = col(name).cast(numbers.clone()).to_physical();
        number
            .cast(DataType::Int64)
            .alias(format!("{name}{ID_SUFFIX}"))
    };
    let numbers: Vec<_> = texts.map(number).collect();
    if numbers.is_empty() {
        frame
    } else {
        frame.with_columns(numbers)
    }
}

/// Selects columns of an answer by name and casts them, sorted by rank.
pub(super) fn typed(
    answer: DataFrame,
    columns: &[(String, DataType)],
) -> Result<DataFrame, String> {
    if answer.width() != columns.len() {
        return Err(format!(
            "it has {} columns in the place of {}",
            answer.width(),
            columns.len()
        ));
    }
    let typed = columns.iter().map(|(name, ty)| {
        let column = answer.column(name).map_err(|error| error.to_string())?;
        let cast = column.strict_cast(ty);
        cast.map_err(|error| format!("column {name}: {error}"))
    });
    let typed = typed.collect::<Result<Vec<Column>, String>>()?;
    let rows = DataFrame::new(answer.height(), typed).map_err(|error| error.to_string())?;
    if !columns.iter().any(|(name, _)| name == RANK) {
        return Ok(rows);
    }
    let stable = SortMultipleOptions::default().with_maintain_order(true);
    guarded(|| rows.sort([RANK], stable))
}

pub(super) fn sum(rows: &DataFrame, column: &str) -> u64 {
    let column = rows
        .column(column)
        .and_then(|column| column.cast(&DataType::UInt64));
    let sum = column.and_then(|column| Ok(column.u64()?.iter().flatten().sum()));
    sum.unwrap_or(0)
}

pub(super) fn rows_of_ranks(rows: &DataFrame) -> BTreeMap<u32, u64> {
    let mut counts = BTreeMap::new();
    let Ok(ranks) = rows.column(RANK).and_then(Column::u64) else {
        return counts;
    };
    for rank in ranks.iter().flatten() {
        *counts
            .entry(u32::try_from(rank).unwrap_or(u32::MAX))
            .or_insert(0) += 1;
    }
    counts
}

pub(super) fn as_planned(found: DataFrame, schema: &Schema) -> Result<DataFrame, QueryError> {
    let rows = found.height();
    let planned = || -> PolarsResult<DataFrame> {
        let columns = found.into_columns().into_iter().zip(schema.iter());
        let columns = columns.map(|(column, (name, ty))| {
            let series = column.strict_cast(ty)?.take_materialized_series();
            Ok(series.with_name(name.clone()).into_column())
        });
        DataFrame::new(rows, columns.collect::<PolarsResult<Vec<Column>>>()?)
    };
    guarded(planned).map_err(QueryError::Failed)
}

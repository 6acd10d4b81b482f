//! One table of those of all ranks.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use polars::prelude::{
    AnyValue, Categories, Column, DataFrame, DataType, Expr, IntoColumn, IntoLazy, LazyFrame, NULL,
    NamedFrom, PolarsResult, Schema, Series, UnionArgs, col, concat, lit,
};
use trueno_format::schema::{self, Scope};
use trueno_model::{ColumnInfo, Problem};
use trueno_plugin::rank::PLACE_BITS;

use super::rank_columns::RankColumns;
use super::rank_keys;
use super::ranks::Member;
use crate::catalog::{self, ID_SUFFIX};
use crate::columns::{Kind, StoredTable, kind, of_lazy};

pub(super) const RANK: &str = "rank";

#[derive(Default)]
pub(super) struct Combined {
    pub(super) columns: Vec<ColumnInfo>,
    pub(super) rows: u64,
    /// Types of the columns except the rank, by name: those of the first rank that has the column.
    pub(super) types: BTreeMap<String, DataType>,
    pub(super) numbered: Vec<String>,
    pub(super) no_rows: OnceLock<LazyFrame>,
}

pub(super) fn tables(
    members: &[Member],
    problems: &mut Vec<(Option<u32>, Problem)>,
) -> BTreeMap<String, Combined> {
    let mut tables: BTreeMap<String, Combined> = BTreeMap::new();
    for member in members {
        for info in member.run.tables() {
            if catalog::RUN_TABLES.contains(&info.name.as_str()) {
                continue;
            }
            let lost = member.beyond.rows.get(info.name.as_str());
            let rows = info
                .rows
                .unwrap_or(0)
                .saturating_sub(lost.copied().unwrap_or(0));
            let table = tables.entry(info.name.clone()).or_insert_with(|| Combined {
                columns: vec![catalog::rank_column(false)],
                ..Combined::default()
            });
            table.rows = table.rows.saturating_add(rows);
            // A table that cannot be planned says so when it is read.
            let is_new = |column: &ColumnInfo| !table.types.contains_key(&column.name);
            if info.columns.iter().any(is_new)
                && let Ok(Some(mut frame)) = member.run.frame(&info.name)
                && let Ok(found) = frame.collect_schema()
            {
                for (name, ty) in found.iter() {
                    table
                        .types
                        .entry(name.to_string())
                        .or_insert_with(|| ty.clone());
                }
            }
            for column in info.columns {
                match table.columns.iter().find(|c| c.name == column.name) {
                    None => table.columns.push(column),
                    Some(first) if first.ty == column.ty => {}
                    Some(first) => {
                        let text = format!(
                            "rank {}: {}: column {} is {}, in another rank {}: read as null",
                            member.rank, info.name, column.name, column.ty, first.ty
                        );
                        let problem = Problem::error("column_type", text);
                        problems.push((Some(member.rank), problem));
                    }
                }
            }
        }
    }
    for (name, table) in &mut tables {
        table.numbered = numbered(&table.columns, members, name);
        let Some(known) = schema::table(name) else {
            continue;
        };
        // Columns that not all ranks have come behind those of the format and their numbers.
        for column in &mut table.columns {
            let scope = known.column(&column.name).map(schema::Column::scope);
            column.doc.push_str(match scope {
                Some(Scope::Key) => "; the rank in the bits above 48",
                Some(Scope::Place) => "; the rank in the bits above 16",
                _ => "",
            });
        }
    }
    tables
}

fn numbered(columns: &[ColumnInfo], members: &[Member], table: &str) -> Vec<String> {
    let is_numbered = |column: &&ColumnInfo| {
        let mut all = members.iter();
        all.all(|member| member.run.is_numbered(table, &column.name))
    };
    let texts = columns.iter().filter(|column| column.ty == "text");
    let numbered = texts.filter(is_numbered);
    numbered.map(|column| column.name.clone()).collect()
}

impl Combined {
    /// The rows of these ranks, in rank order.
    pub(super) fn frame(&self, members: &[Member], name: &str) -> PolarsResult<LazyFrame> {
        let mut parts = Vec::new();
        for member in members {
            let Some(mut frame) = member.run.frame_with_rows(name) else {
                continue;
            };
            let found = frame.collect_schema()?;
            parts.push(self.part(member, name, frame, &found)?);
        }
        match parts.len() {
            0 => Ok(self.no_rows()),
            1 => Ok(parts.remove(0)),
            _ => concat(parts, UnionArgs::default()),
        }
    }

    /// Its columns, as a table without rows.
    pub(super) fn no_rows(&self) -> LazyFrame {
        self.no_rows.get_or_init(|| self.without_rows()).clone()
    }

    fn without_rows(&self) -> LazyFrame {
        let columns = self.columns.iter().map(|column| {
            let ty = match column.name.as_str() {
                RANK => DataType::UInt64,
                name => self.types.get(name).cloned().unwrap_or(DataType::Null),
            };
            Column::new_empty(column.name.as_str().into(), &ty)
        });
        let frame = DataFrame::new(0, columns.collect()).unwrap_or_default();
        frame.lazy()
    }

    pub(super) fn rows_of(&self, members: &[Member], name: &str) -> u64 {
        let rows = members.iter().map(|member| {
            let all = member.run.rows_of(name);
            let lost = member.beyond.rows.get(name).copied().unwrap_or(0);
            all.saturating_sub(lost)
        });
        rows.fold(0, u64::saturating_add)
    }

    pub(super) fn numbered(&self) -> impl Iterator<Item = &str> + Clone {
        self.numbered.iter().map(String::as_str)
    }

    /// The columns of these ranks, read without the query engine. `None` if only the engine can read them.
    pub(super) fn read_directly(&self, members: &[Member], name: &str) -> Option<StoredTable> {
        let numbers = |column: &str| {
            let text = column.strip_suffix(ID_SUFFIX);
            text.is_some_and(|text| self.numbered.iter().any(|numbered| numbered == text))
        };
        let own = self.columns.iter().map(|column| column.name.as_str());
        let own = own.filter(|column| !numbers(column));
        let columns: Vec<(String, Kind)> = own
            .filter_map(|column| match column {
                RANK => Some((RANK.to_owned(), Kind::U64)),
                column => Some((column.to_owned(), kind(self.types.get(column)?)?)),
            })
            .collect();
        let mut texts = columns.iter().filter(|(_, kind)| *kind == Kind::Text);
        if !texts.all(|(text, _)| self.numbered.contains(text)) {
            return None;
        }
        let reader = RankColumns::new(members, name, schema::table(name), &columns)?;
        let rows = self.rows_of(members, name);
        Some(StoredTable::new(columns, rows, Box::new(reader)))
    }

    /// The columns of these rows, if their types are supported.
    pub(super) fn stored<'a>(
        &self,
        mut frame: LazyFrame,
        rows: u64,
        numbered: impl Iterator<Item = &'a str> + Clone,
    ) -> PolarsResult<StoredTable> {
        let schema = frame.collect_schema()?;
        let ids: Vec<String> = numbered
            .clone()
            .map(|name| format!("{name}{ID_SUFFIX}"))
            .collect();
        let own = schema
            .iter()
            .filter(|(name, _)| !ids.iter().any(|id| id == name.as_str()));
        let columns = own.filter_map(|(name, dtype)| Some((name.to_string(), kind(dtype)?)));
        // The first is the rank, which is in no file.
        Ok(of_lazy(frame, columns.collect(), 1, rows, numbered))
    }

    fn part(
        &self,
        member: &Member,
        name: &str,
        frame: LazyFrame,
        found: &Schema,
    ) -> PolarsResult<LazyFrame> {
        let known = schema::table(name);
        let mut frame = frame;
        if member.beyond.rows.contains_key(name)
            && let Some(out) = known.and_then(rank_keys::left_out)
        {
            frame = frame.filter(out.not());
        }
        let mut select: Vec<Expr> = Vec::with_capacity(self.columns.len());
        let mut device_names = false;
        for column in self.columns.iter().skip(1) {
            let name_of = column.name.as_str();
            let ty = self.types.get(name_of).cloned().unwrap_or(DataType::Null);
            select.push(match found.get(name_of) {
                Some(found) if *found == ty => match known.and_then(|t| t.column(name_of)) {
                    Some(column) => {
                        device_names |= column.scope() == Scope::PlaceName;
                        let beyond = member.beyond.has(name, name_of);
                        rank_keys::moved(column, member.rank, member.offset_ns, beyond)
                    }
                    None => col(name_of),
                },
                _ => lit(NULL).cast(ty).alias(name_of),
            });
        }
        // Not among the others: a selection of nothing but a number would have one row.
        let rank = lit(u64::from(member.rank))
            .cast(DataType::UInt64)
            .alias(RANK);
        let names = self.columns.iter().map(|column| col(column.name.as_str()));
        let frame = frame.select(select).with_column(rank);
        let frame = frame.select(names.collect::<Vec<_>>());
        if device_names && member.rank > 0 {
            return renamed_devices(frame.collect()?, member.rank);
        }
        Ok(frame)
    }
}

/// Renumbers `gpu:<number>` as in the combined run. Ceilings are few, so they are read here.
fn renamed_devices(mut frame: DataFrame, rank: u32) -> PolarsResult<LazyFrame> {
    let device = frame.column("device")?.as_materialized_series().clone();
    let name = |value: AnyValue<'_>| -> Option<String> {
        let text = value.get_str()?.to_owned();
        let number = text
            .strip_prefix("gpu:")
            .and_then(|n| n.parse::<u32>().ok());
        Some(match number {
            Some(number) if number < 1 << PLACE_BITS => {
                format!("gpu:{}", (rank << PLACE_BITS) + number)
            }
            _ => text,
        })
    };
    let names: Vec<Option<String>> = device.iter().map(name).collect();
    let names: Column = Series::new("device".into(), names).into_column();
    frame.with_column(names)?;
    let number = col("device")
        .cast(DataType::from_categories(Categories::global()))
        .to_physical()
        .cast(DataType::Int64);
    Ok(frame.lazy().with_column(number.alias("device_id")))
}

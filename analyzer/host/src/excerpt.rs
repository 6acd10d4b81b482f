//! Rows of a part of a job, in the place of all of them.
//!
//! A plugin that gets the rows of all ranks at once cannot have those of a large job. Where the report is about a window
//! it needs few: those in it, and those before it for as long as the window lasts, as rows in it may wait for them.

use std::collections::{BTreeMap, BTreeSet};

use polars::prelude::{
    BooleanChunked, DataFrame, IdxCa, IdxSize, NewChunkedArray, PlSmallStr, PolarsResult,
};
use trueno_analysis::hash::FastSet;
use trueno_engine::cores;
use trueno_engine::panic_guard::guarded;
use trueno_engine::query::{Database, collect_from_columns};
use trueno_format::schema;
use trueno_model::Window;

use crate::by_rank::Ranks;
use crate::plugin::Plugin;
use crate::together::run_tables;

pub(crate) struct Excerpt(BTreeMap<String, DataFrame>);

impl Excerpt {
    /// Reads what these plugins read of the run, from one window length before the window to its end, of all ranks.
    ///
    /// # Errors
    /// There are more than `max_rows` rows, or a rank cannot be read.
    pub(crate) fn read(
        plugins: &[&Plugin],
        job: &Database,
        ranks: &Ranks<'_>,
        window: &Window,
        max_rows: u64,
    ) -> Result<Self, String> {
        let inputs = plugins.iter().flat_map(|plugin| &plugin.descriptor.inputs);
        let queries: Vec<&str> = inputs
            .filter(|input| !input.baseline)
            .map(|input| input.sql.as_str())
            .collect();
        let columns = job.columns_read(&queries);
        let tables: BTreeSet<String> = plugins
            .iter()
            .flat_map(|plugin| run_tables(plugin))
            .collect();
        let selections: Vec<Selection> = tables
            .iter()
            .filter_map(|name| Selection::new(name, columns.get(name), window))
            .collect();
        let mut all = Self(BTreeMap::new());
        for some in ranks.numbers.chunks(cores::count()) {
            let read = |rank: &u32| {
                let read = rows_of_rank(&selections, &(ranks.open)(*rank)?);
                read.map_err(|error| format!("rank {rank}: {error}"))
            };
            for of_rank in cores::map(some, read) {
                for (name, rows) in of_rank? {
                    all.add(&name, rows)?;
                }
            }
            let rows = all.rows();
            if rows > max_rows {
                let rank = some.last().copied().unwrap_or_default();
                return Err(format!(
                    "the window already has {rows} rows of ranks up to {rank}, and at most {max_rows} are allowed at once (hint: a \
                     shorter window, or --max-rows N, at some 80 bytes of memory a row)"
                ));
            }
        }
        Ok(all)
    }

    fn add(&mut self, table: &str, rows: DataFrame) -> Result<(), String> {
        match self.0.get_mut(table) {
            Some(known) => guarded(|| known.vstack_mut(&rows).map(|_| ())),
            None => {
                self.0.insert(table.to_owned(), rows);
                Ok(())
            }
        }
    }

    fn rows(&self) -> u64 {
        self.0.values().map(|rows| rows.height() as u64).sum()
    }

    pub(crate) fn over(&self, job: &Database) -> Database {
        let mut database = job.clone();
        for (name, rows) in &self.0 {
            database.register(name, rows.clone());
        }
        database
    }
}

/// Rows of a table, and how they are chosen.
struct Selection {
    table: String,
    sql: String,
    /// Rows have no times, and those are chosen that refer to a chosen one.
    by_reference: bool,
}

impl Selection {
    /// `columns`: all if `None`. Returns `None` for a table of which all rows are read as they are.
    fn new(table: &str, columns: Option<&BTreeSet<String>>, window: &Window) -> Option<Self> {
        let schema = schema::table(table)?;
        let has = |name: &str| schema.columns.iter().any(|column| column.name == name);
        let start = ["start_ns", "time_ns"].into_iter().find(|name| has(name));
        if start.is_none() && !has("from") && !has("span") {
            return None;
        }
        let read = match columns {
            None => "*".to_owned(),
            Some(columns) => {
                let for_choice = REFERENCES.into_iter().chain(["id"]).chain(start);
                let for_choice = for_choice.filter(|name| has(name)).map(str::to_owned);
                let all: BTreeSet<String> = columns.iter().cloned().chain(for_choice).collect();
                let quoted: Vec<String> = all.iter().map(|name| format!("\"{name}\"")).collect();
                quoted.join(", ")
            }
        };
        let mut sql = format!("SELECT {read} FROM {table}");
        if let Some(start) = start {
            let (from_ns, until_ns) = (window.from_ns, window.until_ns);
            let from_ns = from_ns.saturating_sub(until_ns.saturating_sub(from_ns));
            sql.push_str(&format!(
                " WHERE {start} < {until_ns} AND ({start} >= {from_ns}"
            ));
            if has("dur_ns") {
                sql.push_str(&format!(" OR {start} + dur_ns >= {from_ns}"));
            }
            sql.push_str(&format!(") OR {start} IS NULL"));
        }
        Some(Self {
            table: table.to_owned(),
            sql,
            by_reference: start.is_none(),
        })
    }
}

fn rows_of_rank(
    selections: &[Selection],
    database: &Database,
) -> Result<Vec<(String, DataFrame)>, String> {
    let published: BTreeSet<&str> = database.table_names().collect();
    let mut ids: FastSet<u64> = FastSet::default();
    let mut read = Vec::new();
    for by_reference in [false, true] {
        let chosen = selections.iter().filter(|selection| {
            selection.by_reference == by_reference && published.contains(selection.table.as_str())
        });
        for selection in chosen {
            let rows = collect_from_columns(database, &selection.sql)
                .map_err(|error| error.to_string())?;
            let rows = guarded(|| {
                if by_reference {
                    return rows.filter(&points_to(&ids, &rows));
                }
                ids.extend(numbers(&rows, "id").into_iter().flatten());
                Ok(rows)
            })?;
            let rows = guarded(|| copied(&rows))?;
            read.push((selection.table.clone(), rows));
        }
    }
    Ok(read)
}

/// Rows that are chosen by time follow each other, so they may be a part of the columns of the whole rank, which would
/// then stay in memory.
fn copied(rows: &DataFrame) -> PolarsResult<DataFrame> {
    let numbers = (0..rows.height()).map(|row| row as IdxSize);
    rows.take(&IdxCa::from_vec(PlSmallStr::EMPTY, numbers.collect()))
}

/// Columns by which rows refer to rows of any table.
const REFERENCES: [&str; 3] = ["from", "to", "span"];

fn numbers(rows: &DataFrame, column: &str) -> Vec<Option<u64>> {
    let column = rows.column(column).ok();
    let numbers = column.and_then(|column| Some(column.u64().ok()?.iter().collect()));
    numbers.unwrap_or_default()
}

/// Marks rows, such as edges, that refer to at least one of these ids.
fn points_to(ids: &FastSet<u64>, rows: &DataFrame) -> BooleanChunked {
    let ends = REFERENCES.map(|column| numbers(rows, column));
    let is_there = |at: usize| {
        let ids_of_row = ends.iter().filter_map(|end| *end.get(at)?);
        ids_of_row.into_iter().any(|id| ids.contains(&id))
    };
    BooleanChunked::from_iter_values("is_there".into(), (0..rows.height()).map(is_there))
}

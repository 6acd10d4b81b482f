//! Rows of a part of a job, in the place of all of them.
//!
//! A plugin that gets the rows of all ranks at once cannot have those of a large job. Where the report is about a window
//! it needs few: those in it, and those before it for as long as the window lasts, as rows in it may wait for them.

use std::collections::{BTreeMap, BTreeSet};

use polars::prelude::{BooleanChunked, DataFrame, NewChunkedArray};
use trueno_analysis::hash::FastSet;
use trueno_engine::panic_guard::guarded;
use trueno_engine::query::{Database, collect_from_columns};
use trueno_format::schema;
use trueno_model::Window;

use crate::by_rank::Ranks;

pub(crate) struct Excerpt(BTreeMap<String, DataFrame>);

impl Excerpt {
    /// Reads the rows of these tables from one window length before the window to its end, of all ranks.
    ///
    /// # Errors
    /// There are more than `max_rows` rows, or a rank cannot be read.
    pub(crate) fn read(
        tables: &BTreeSet<String>,
        ranks: &Ranks<'_>,
        window: &Window,
        max_rows: u64,
    ) -> Result<Self, String> {
        let conditions: Vec<(&str, Option<String>)> = tables
            .iter()
            .filter_map(|name| Some((name.as_str(), selection(name, window)?)))
            .collect();
        let mut all = Self(BTreeMap::new());
        for rank in ranks.numbers {
            let database = (ranks.open)(*rank)?;
            let published: BTreeSet<&str> = database.table_names().collect();
            let mut ids: FastSet<u64> = FastSet::default();
            // Tables with times first: what points to their rows is chosen by them.
            for is_timed in [true, false] {
                let chosen = conditions.iter().filter(|(name, condition)| {
                    condition.is_some() == is_timed && published.contains(name)
                });
                for (name, condition) in chosen {
                    let mut sql = format!("SELECT * FROM {name}");
                    if let Some(condition) = condition {
                        sql.push_str(" WHERE ");
                        sql.push_str(condition);
                    }
                    let rows = collect_from_columns(&database, &sql);
                    let rows = rows.map_err(|error| format!("rank {rank}: {error}"))?;
                    let rows = guarded(|| {
                        if is_timed {
                            ids.extend(numbers(&rows, "id").into_iter().flatten());
                            Ok(rows)
                        } else {
                            rows.filter(&points_to(&ids, &rows))
                        }
                    })?;
                    all.add(name, &rows)?;
                }
            }
            let rows = all.rows();
            if rows > max_rows {
                return Err(format!(
                    "the window already has {rows} rows of ranks up to {rank}, and at most {max_rows} are allowed at once (hint: a \
                     shorter window, or --max-rows N, at some 80 bytes of memory a row)"
                ));
            }
        }
        Ok(all)
    }

    fn add(&mut self, table: &str, rows: &DataFrame) -> Result<(), String> {
        match self.0.get_mut(table) {
            Some(known) => guarded(|| known.vstack_mut(rows).map(|_| ())),
            None => {
                self.0.insert(table.to_owned(), rows.clone());
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

/// The condition that selects rows by time. `Some(None)`: rows have no times but refer to others. `None`: all rows
/// are read.
fn selection(table: &str, window: &Window) -> Option<Option<String>> {
    let table = schema::table(table)?;
    let has = |name: &str| table.columns.iter().any(|column| column.name == name);
    let Some(start) = ["start_ns", "time_ns"].into_iter().find(|name| has(name)) else {
        return (has("from") || has("span")).then_some(None);
    };
    let (from_ns, until_ns) = (window.from_ns, window.until_ns);
    let from_ns = from_ns.saturating_sub(until_ns.saturating_sub(from_ns));
    let mut condition = format!("{start} < {until_ns} AND ({start} >= {from_ns}");
    if has("dur_ns") {
        condition.push_str(&format!(" OR {start} + dur_ns >= {from_ns}"));
    }
    condition.push_str(&format!(") OR {start} IS NULL"));
    Some(Some(condition))
}

fn numbers(rows: &DataFrame, column: &str) -> Vec<Option<u64>> {
    let column = rows.column(column).ok();
    let numbers = column.and_then(|column| Some(column.u64().ok()?.iter().collect()));
    numbers.unwrap_or_default()
}

/// Marks rows, such as edges, that refer to at least one of these ids.
fn points_to(ids: &FastSet<u64>, rows: &DataFrame) -> BooleanChunked {
    let ends = ["from", "to", "span"].map(|column| numbers(rows, column));
    let is_there = |at: usize| {
        let ids_of_row = ends.iter().filter_map(|end| *end.get(at)?);
        ids_of_row.into_iter().any(|id| ids.contains(&id))
    };
    BooleanChunked::from_iter_values("is_there".into(), (0..rows.height()).map(is_there))
}

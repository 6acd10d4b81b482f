//! The rows of a table, in order and in parts.
//!
//! Sorting takes a table into memory. A large one is therefore asked for by
//! windows of time, each sorted alone: parts of about [`WINDOW_ROWS`] rows.

mod merged;

use std::collections::BTreeMap;

use polars::prelude::DataFrame;
use trueno_engine::attributes::Attributes;
use trueno_engine::catalog;
use trueno_engine::frame::{bool_at, i64_at, text_at, u64_at};
use trueno_engine::query::{Database, Planned, QueryError, collect, collect_in_order};
use trueno_engine::run::Run;
use trueno_format::schema::{TableId, interval_tables};
use trueno_plugin::Batch;

use crate::error::ExportError;

/// Rows of a window, where they are spread evenly over time.
const WINDOW_ROWS: u64 = 1 << 19;

/// A run whose tables are read in order.
pub(super) struct Source<'a> {
    pub(super) run: &'a Run,
    database: Database,
    window_rows: u64,
}

/// One table of the run.
pub(super) struct Stored {
    pub(super) name: String,
    /// Its columns, without the numbers of texts.
    pub(super) columns: Vec<String>,
    pub(super) rows: u64,
}

impl<'a> Source<'a> {
    pub(super) fn open(run: &'a Run) -> Result<Self, ExportError> {
        Ok(Self {
            run,
            database: run.sql_context()?,
            window_rows: WINDOW_ROWS,
        })
    }

    /// Attributes that the program gave rows.
    pub(super) fn attributes(&self) -> Result<Attributes, ExportError> {
        Attributes::read(&self.database).map_err(|source| failed("attributes", source))
    }

    /// True where the run holds ranks.
    pub(super) fn is_of_ranks(&self) -> bool {
        !self.run.facts().ranks.is_empty()
    }

    /// The tables that hold rows of the run's files.
    pub(super) fn tables(&self) -> Vec<Stored> {
        let of_ranks = self.is_of_ranks();
        let own = |name: &str| {
            catalog::RUN_TABLES.contains(&name) || (of_ranks && name == catalog::RANKS)
        };
        let tables = self.run.tables().into_iter().filter(|t| !own(&t.name));
        tables
            .map(|table| {
                let number = |name: &str| {
                    table.columns.iter().find(|c| {
                        c.ty == "text" && name == format!("{}{}", c.name, catalog::ID_SUFFIX)
                    })
                };
                let stored = table.columns.iter().filter(|column| {
                    number(&column.name).is_none_or(|text| {
                        catalog::id_column(&text.name, text.nullable) != **column
                    })
                });
                Stored {
                    columns: stored.map(|column| column.name.clone()).collect(),
                    name: table.name,
                    rows: table.rows.unwrap_or(0),
                }
            })
            .collect()
    }

    /// The tables of intervals, the outer ones first.
    pub(super) fn interval_tables(&self) -> impl Iterator<Item = Stored> {
        interval_tables().filter_map(|table| self.table(table.name))
    }

    pub(super) fn table(&self, name: &str) -> Option<Stored> {
        self.tables().into_iter().find(|table| table.name == name)
    }

    /// Rows of a query.
    pub(super) fn ask(&self, table: &str, sql: &str) -> Result<DataFrame, ExportError> {
        collect(&self.database, sql).map_err(|source| failed(table, source))
    }

    /// The texts of a column by their numbers.
    pub(super) fn texts(
        &self,
        table: &str,
        column: &str,
    ) -> Result<BTreeMap<i64, String>, ExportError> {
        let sql = format!("SELECT DISTINCT {column}_id AS number, {column} AS text FROM {table}");
        let frame = self.ask(table, &sql)?;
        let texts = (0..frame.height()).filter_map(|row| {
            let text = text_at(&frame, "text", row)?;
            Some((i64_at(&frame, "number", row)?, text.to_owned()))
        });
        Ok(texts.collect())
    }

    /// Hands out the rows of a query as they lie, batch by batch.
    pub(super) fn batches(
        &self,
        table: &str,
        sql: &str,
        mut take: impl FnMut(&Batch<'_>) -> trueno_plugin::Result<()>,
    ) -> Result<(), ExportError> {
        let rows = self.database.planned(sql).and_then(Planned::rows);
        let rows = rows.map_err(|source| failed(table, source))?;
        let each = || {
            let mut batches = rows.into_reader()?;
            while let Some(batch) = batches.next_batch()? {
                take(&batch)?;
            }
            Ok(())
        };
        each().map_err(|error: trueno_plugin::Error| {
            failed(table, QueryError::Failed(error.to_string()))
        })
    }

    /// Hands out the rows of `table`, in parts: by start, by time, or else as they were written.
    pub(super) fn each(
        &self,
        table: &Stored,
        mut take: impl FnMut(&DataFrame) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        let has = |name: &str| table.columns.iter().any(|column| column == name);
        let quoted: Vec<String> = table.columns.iter().map(|c| format!("\"{c}\"")).collect();
        let select = format!("SELECT {} FROM \"{}\"", quoted.join(", "), table.name);
        let (time, order) = match (has("start_ns") && has("dur_ns"), has("time_ns")) {
            (true, _) => ("start_ns", " ORDER BY start_ns, dur_ns DESC"),
            (_, true) => ("time_ns", " ORDER BY time_ns"),
            _ => ("", ""),
        };
        for window in self.windows(std::slice::from_ref(table), time)? {
            let sql = format!("{select}{window}{order}");
            // Of equal times and durations the lower id comes first, as a parent was given its before.
            let frame = if has("id") && time == "start_ns" {
                collect(&self.database, &format!("{sql}, id"))
            } else {
                collect_in_order(&self.database, &sql)
            };
            take(&frame.map_err(|source| failed(&table.name, source))?)?;
        }
        Ok(())
    }

    /// Conditions that share out the rows of tables; one that keeps them all for most.
    fn windows(&self, tables: &[Stored], time: &str) -> Result<Vec<String>, ExportError> {
        let rows: u64 = tables.iter().map(|table| table.rows).sum();
        if time.is_empty() || rows <= self.window_rows {
            return Ok(vec![String::new()]);
        }
        let (mut first, mut last) = (i64::MAX, i64::MIN);
        for table in tables {
            let sql = format!(
                "SELECT MIN({time}) AS first, MAX({time}) AS last FROM \"{}\"",
                table.name
            );
            let reach = self.ask(&table.name, &sql)?;
            first = i64_at(&reach, "first", 0).map_or(first, |found| found.min(first));
            last = i64_at(&reach, "last", 0).map_or(last, |found| found.max(last));
        }
        if first > last {
            return Ok(vec![String::new()]);
        }
        let count = rows.div_ceil(self.window_rows).max(1);
        let edge = |i: u64| {
            first.saturating_add(
                (i128::from(last.saturating_sub(first)) * i128::from(i) / i128::from(count)) as i64,
            )
        };
        // Rows without a time come first, as they do in an unbroken sort.
        let mut windows = vec![format!(" WHERE {time} IS NULL")];
        windows.extend((0..count).map(|i| {
            if i + 1 == count {
                format!(" WHERE {time} >= {}", edge(i))
            } else {
                format!(" WHERE {time} >= {} AND {time} < {}", edge(i), edge(i + 1))
            }
        }));
        Ok(windows)
    }
}

fn failed(table: &str, source: QueryError) -> ExportError {
    ExportError::Table {
        table: table.to_owned(),
        source,
    }
}

/// Memory that a row of `allocations` changes, `device` as people number it, and the change in bytes:
/// of a sample by what it stands for.
pub(super) fn bytes_in_use(frame: &DataFrame, row: usize, device: Option<u64>) -> (String, i64) {
    let bytes = i64_at(frame, "bytes", row).unwrap_or(0);
    let weight = frame.column("weight").ok().and_then(|c| c.get(row).ok());
    let weight: Option<f64> = weight.and_then(|weight| weight.extract());
    let title = match (device, weight, u64_at(frame, "sample_bytes", row)) {
        (Some(device), ..) => format!("gpu{device} bytes in use"),
        (None, None, _) => "host bytes in use".to_owned(),
        (None, Some(_), None) => "heap bytes in use".to_owned(),
        (None, Some(_), Some(_)) => "heap bytes in use (estimated)".to_owned(),
    };
    // A cast of a float saturates.
    let scaled = |weight: f64| (bytes as f64 * weight).round() as i64;
    (title, weight.map_or(bytes, scaled))
}

/// Names of threads that have one.
pub(super) fn thread_names(
    source: &Source<'_>,
) -> Result<std::collections::BTreeMap<u64, String>, ExportError> {
    let frame = source.ask("threads", "SELECT thread, name FROM threads")?;
    let name = |row| {
        Some((
            u64_at(&frame, "thread", row)?,
            text_at(&frame, "name", row)?.to_owned(),
        ))
    };
    Ok((0..frame.height()).filter_map(name).collect())
}

/// Name of a row of intervals.
pub(super) fn span_name(table: &str, frame: &DataFrame, row: usize) -> String {
    let labels = TableId::from_name(table).map_or(&[][..], |id| id.schema().labels);
    let mut texts = labels.iter().filter_map(|label| text_at(frame, label, row));
    texts.next().unwrap_or("?").to_owned()
}

/// Reason that the times of a row are not those of its work: `bound`, `invalid`, or a duration that cannot be.
pub(super) fn untimed(frame: &DataFrame, row: usize) -> Option<&'static str> {
    if text_at(frame, "timing", row) == Some("bound") {
        return Some("bound");
    }
    if bool_at(frame, "valid", row) == Some(false) {
        return Some("invalid");
    }
    let (start_ns, dur_ns) = (i64_at(frame, "start_ns", row), i64_at(frame, "dur_ns", row));
    let end_ns = start_ns
        .zip(dur_ns)
        .and_then(|(start, dur)| start.checked_add(dur));
    (end_ns.is_none() || dur_ns.is_none_or(|dur| dur < 0)).then_some("impossible")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn windows_hand_out_the_same_rows_in_the_same_order() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets/decode/simd.run");
        let run = Run::open(&path).unwrap();
        let mut source = Source::open(&run).unwrap();
        for name in ["kernels", "checksums", "edges"] {
            let table = source.table(name).unwrap();
            let mut whole = Vec::new();
            for window_rows in [WINDOW_ROWS, 100] {
                source.window_rows = window_rows;
                let mut rows: Vec<String> = Vec::new();
                let mut parts = 0;
                source
                    .each(&table, |frame| {
                        parts += 1;
                        for row in 0..frame.height() {
                            let mut line = String::new();
                            crate::json::members(&mut line, frame, row, &[]);
                            rows.push(line);
                        }
                        Ok(())
                    })
                    .unwrap();
                assert_eq!(rows.len() as u64, table.rows, "{name}");
                assert_eq!(parts > 1, window_rows == 100 && name != "edges", "{name}");
                if whole.is_empty() {
                    whole = rows;
                } else {
                    assert!(
                        whole == rows,
                        "{name}: windows change the rows or their order"
                    );
                }
            }
        }
    }
}

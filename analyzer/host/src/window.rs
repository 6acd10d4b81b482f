//! The part of a run that a report is about.
//!
//! Plugins read it as the table [`TABLE`]; without a window there is no such table, and they take all.

use polars::prelude::{AnyValue, DataFrame};
use serde::{Deserialize, Serialize};
use trueno_engine::closed_types;
use trueno_engine::query::{Database, QueryError, collect};
use trueno_format::schema;
use trueno_model::Window;
use trueno_model::units::duration;
use trueno_plugin::{Table, TableBuilder};

use crate::rows::Rows;

/// The table `(from_ns, until_ns)` with one row.
pub const TABLE: &str = "report_window";
/// The table `(name, from_ns, until_ns)` with one row: the part of the run that plugins analysed for lack of room.
const PART: &str = "report_part";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WindowSpec {
    /// From start to end of the iteration with this number.
    Iteration(u64),
    /// From the start of the iteration with the first number to the end of the one with the last, in between what lies there.
    Iterations(u64, u64),
    Id(u64),
    /// Between two times; `None` for the start or the end of the run.
    Times(Option<i64>, Option<i64>),
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WindowError {
    #[error("--window {wanted}: the run has none; {there} (hint: {hint})")]
    Nothing {
        wanted: String,
        there: String,
        hint: &'static str,
    },
    #[error("the window from {from} to {until} is empty (hint: --from must be before --to)")]
    Empty { from: String, until: String },
    #[error(
        "nothing was recorded {part}: {times} (hint: --from and --to count from the start of the recording)"
    )]
    NoRows {
        /// The requested part, in words.
        part: String,
        times: String,
    },
    #[error("--from without --to: the end of the run was not recorded (hint: give --to)")]
    NoEnd,
    #[error("the window cannot be looked up: {0}")]
    Query(String),
}

impl WindowSpec {
    /// Parses `iteration=3`, `iteration=3..8` (both ends belong to it) or `id=42`.
    ///
    /// # Errors
    /// The expected form.
    pub fn parse(text: &str) -> Result<Self, String> {
        const EXPECTED: &str = "expected iteration=N, iteration=N..M or id=N, such as iteration=3";
        let (what, value) = text.split_once('=').ok_or(EXPECTED)?;
        let number = |text: &str| text.trim().parse::<u64>().map_err(|_| EXPECTED.to_owned());
        match (what.trim(), value.split_once("..")) {
            ("iteration", Some((first, last))) => {
                let (first, last) = (number(first)?, number(last)?);
                if first > last {
                    return Err(format!("{first}..{last} is empty (hint: {last}..{first})"));
                }
                Ok(Self::Iterations(first, last))
            }
            ("iteration", None) => number(value).map(Self::Iteration),
            ("id", None) => number(value).map(Self::Id),
            _ => Err(EXPECTED.to_owned()),
        }
    }

    /// Finds the window of a run that ends at `wall_ns`. The engine accepts no number above `i64::MAX`, and no
    /// recorder writes one.
    ///
    /// # Errors
    /// See [`WindowError`].
    pub(crate) fn find(
        &self,
        rows: &Rows<'_>,
        wall_ns: Option<i64>,
    ) -> Result<Window, WindowError> {
        let window = match *self {
            Self::Times(from, until) => between(rows, from.unwrap_or(0), until, wall_ns)?,
            Self::Iteration(number) => iterations(rows, number, number)?,
            Self::Iterations(first, last) => iterations(rows, first, last)?,
            Self::Id(id) => {
                let tables: Vec<&str> = schema::interval_tables().map(|table| table.name).collect();
                let found = match i64::try_from(id) {
                    Ok(id) => times(rows, &tables, &format!("id = {id}"))?,
                    Err(_) => None,
                };
                let (from_ns, until_ns) = found.ok_or_else(|| WindowError::Nothing {
                    wanted: format!("id={id}"),
                    there: "no row has this id and times".to_owned(),
                    hint: "`trueno-analyze query RUN \"SELECT id, name, start_ns FROM bricks\"` lists ids",
                })?;
                Window {
                    name: format!("row {id}"),
                    from_ns,
                    until_ns,
                }
            }
        };
        if window.from_ns >= window.until_ns {
            return Err(empty(window.from_ns, window.until_ns));
        }
        Ok(window)
    }
}

fn iterations(rows: &Rows<'_>, first: u64, last: u64) -> Result<Window, WindowError> {
    let wanted = if first == last {
        format!("iteration={first}")
    } else {
        format!("iteration={first}..{last}")
    };
    let highest = last.min(i64::MAX as u64);
    let condition = format!("kind = 'iteration' AND iteration BETWEEN {first} AND {highest}");
    let found = match i64::try_from(first) {
        Ok(_) => times(rows, &["bricks"], &condition)?,
        Err(_) => None,
    };
    let (from_ns, until_ns) = match found {
        Some(found) => found,
        None => return Err(no_iteration(rows, wanted)),
    };
    let name = match numbers(rows, &condition)?.1 {
        Some((first, last)) if first < last => format!("iterations {first} to {last}"),
        _ => format!("iteration {first}"),
    };
    Ok(Window {
        name,
        from_ns,
        until_ns,
    })
}

/// How many iterations fulfil a condition, and their lowest and highest number.
fn numbers(rows: &Rows<'_>, condition: &str) -> Result<(i64, Option<(i64, i64)>), WindowError> {
    let sql = format!(
        "SELECT COUNT(*) AS n, MIN(iteration) AS a, MAX(iteration) AS b FROM bricks WHERE {condition}"
    );
    let mut count = 0;
    let mut numbers: Option<(i64, i64)> = None;
    let asked = rows.each(&["bricks"], |database| {
        let frame = collect(database, &sql)?;
        count += integer(&frame, "n").unwrap_or(0);
        if let (Some(first), Some(last)) = (integer(&frame, "a"), integer(&frame, "b")) {
            let (before, after) = numbers.unwrap_or((first, last));
            numbers = Some((before.min(first), after.max(last)));
        }
        Ok(())
    });
    asked.map_err(|error| WindowError::Query(error.to_string()))?;
    Ok((count, numbers))
}

fn between(
    rows: &Rows<'_>,
    from_ns: i64,
    until: Option<i64>,
    wall_ns: Option<i64>,
) -> Result<Window, WindowError> {
    if let Some(until_ns) = until.filter(|until_ns| *until_ns <= from_ns) {
        return Err(empty(from_ns, until_ns));
    }
    let end = until.or(wall_ns).ok_or(WindowError::NoEnd)?;
    let window = Window {
        name: "times".to_owned(),
        from_ns,
        until_ns: wall_ns.map_or(end, |wall_ns| end.min(wall_ns)),
    };
    if window.from_ns < window.until_ns && holds_rows(rows, &window)? {
        return Ok(window);
    }
    let part = match until {
        Some(until_ns) => format!("between {} and {}", time(from_ns), time(until_ns)),
        None => format!("after {}", time(from_ns)),
    };
    let times = match event_times(rows)? {
        Some((first, last)) => format!(
            "the run's rows lie between {} and {}",
            time(first),
            time(last)
        ),
        None => "no row of the run has a time".to_owned(),
    };
    Err(WindowError::NoRows { part, times })
}

fn time(ns: i64) -> String {
    duration(ns as f64)
}

fn empty(from_ns: i64, until_ns: i64) -> WindowError {
    WindowError::Empty {
        from: time(from_ns),
        until: time(until_ns),
    }
}

/// Whether a row of an event table lies at least partly in the window.
fn holds_rows(rows: &Rows<'_>, window: &Window) -> Result<bool, WindowError> {
    let (from, until) = (window.from_ns, window.until_ns);
    let mut count = 0;
    each_event_table(rows, |database, table, start, end| {
        if count == 0 {
            let sql = format!(
                "SELECT COUNT(*) AS n FROM {table} WHERE {start} < {until} AND ({start} >= {from} OR {end} > {from})"
            );
            count += integer(&collect(database, &sql)?, "n").unwrap_or(0);
        }
        Ok(())
    })?;
    Ok(count > 0)
}

fn event_times(rows: &Rows<'_>) -> Result<Option<(i64, i64)>, WindowError> {
    let mut found: Option<(i64, i64)> = None;
    each_event_table(rows, |database, table, start, end| {
        let sql = format!("SELECT MIN({start}) AS a, MAX({end}) AS b FROM {table}");
        let frame = collect(database, &sql)?;
        if let (Some(first), Some(last)) = (integer(&frame, "a"), integer(&frame, "b")) {
            let (before, after) = found.unwrap_or((first, last));
            found = Some((before.min(first), after.max(last)));
        }
        Ok(())
    })?;
    Ok(found)
}

/// Calls `what` with each database, each event table, and SQL for the start and end of its rows.
fn each_event_table(
    rows: &Rows<'_>,
    mut what: impl FnMut(&Database, &str, &str, &str) -> Result<(), QueryError>,
) -> Result<(), WindowError> {
    let tables = schema::TABLES.iter().filter(|table| table.is_event());
    let tables: Vec<(&str, &str, bool)> = tables
        .filter_map(|table| Some((table.name, table.time_column()?, table.is_interval())))
        .collect();
    let names: Vec<&str> = tables.iter().map(|(name, ..)| *name).collect();
    let done = rows.each(&names, |database| {
        for &(name, start, is_interval) in &tables {
            // A row of the whole run lies in every window.
            let of = match name {
                "bricks" => "(SELECT start_ns, dur_ns FROM bricks WHERE kind <> 'run') AS parts",
                name => name,
            };
            let end = if is_interval {
                "start_ns + dur_ns"
            } else {
                start
            };
            what(database, of, start, end)?;
        }
        Ok(())
    });
    done.map_err(|error| WindowError::Query(error.to_string()))
}

/// Publishes [`TABLE`].
///
/// # Errors
/// The table cannot be made; the message says why.
pub fn publish(window: &Window, database: &mut Database) -> Result<(), String> {
    let table = Table::build(TABLE);
    register(table, window, database)
}

/// Publishes [`PART`].
///
/// # Errors
/// The table cannot be made; the message says why.
pub(crate) fn publish_part(window: &Window, database: &mut Database) -> Result<(), String> {
    let table = Table::build(PART).text("name", [window.name.as_str()]);
    register(table, window, database)
}

fn register(table: TableBuilder, window: &Window, database: &mut Database) -> Result<(), String> {
    let table = table
        .i64("from_ns", [window.from_ns])
        .i64("until_ns", [window.until_ns])
        .finish()
        .map_err(|error| error.to_string())?;
    let name = table.name().to_owned();
    database.register(&name, closed_types::to_frame(&table)?);
    Ok(())
}

fn times(
    rows: &Rows<'_>,
    tables: &[&str],
    condition: &str,
) -> Result<Option<(i64, i64)>, WindowError> {
    let mut found: Option<(i64, i64)> = None;
    let asked = rows.each(tables, |database| {
        for table in tables {
            let sql = format!(
                "SELECT MIN(start_ns) AS a, MAX(start_ns + dur_ns) AS b FROM {table} WHERE {condition}"
            );
            let frame = collect(database, &sql)?;
            if let (Some(from), Some(until)) = (integer(&frame, "a"), integer(&frame, "b")) {
                let (before, after) = found.unwrap_or((from, until));
                found = Some((before.min(from), after.max(until)));
            }
        }
        Ok(())
    });
    asked.map_err(|error| WindowError::Query(error.to_string()))?;
    Ok(found)
}

fn no_iteration(rows: &Rows<'_>, wanted: String) -> WindowError {
    let (count, numbers) = match numbers(rows, "kind = 'iteration'") {
        Ok(found) => found,
        Err(error) => return error,
    };
    let there = match numbers {
        Some((first, last)) => {
            format!("its {count} iterations have the numbers {first} to {last}")
        }
        None => "it has no numbered iterations".to_owned(),
    };
    WindowError::Nothing {
        wanted,
        there,
        hint: "--from and --to take times",
    }
}

fn integer(frame: &DataFrame, column: &str) -> Option<i64> {
    let value = frame.column(column).ok()?.get(0).ok()?;
    match value {
        AnyValue::Null => None,
        value => value.try_extract().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_iterations_or_rows() {
        assert_eq!(
            WindowSpec::parse("iteration=3"),
            Ok(WindowSpec::Iteration(3))
        );
        assert_eq!(
            WindowSpec::parse("iteration=3..8"),
            Ok(WindowSpec::Iterations(3, 8))
        );
        assert_eq!(WindowSpec::parse("id = 42"), Ok(WindowSpec::Id(42)));
        for wrong in [
            "",
            "iteration",
            "iteration=x",
            "iteration=3..",
            "iteration=8..3",
            "layer=1",
            "id=-1",
            "id=1..2",
        ] {
            assert!(WindowSpec::parse(wrong).is_err(), "{wrong}");
        }
    }
}

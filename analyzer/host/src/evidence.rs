//! Evidence of findings, looked up in the run and in the report's tables.

use polars::prelude::{AnyValue, DataFrame, DataType};
use serde_json::Value;
use trueno_engine::closed_types::to_frame;
use trueno_engine::frame::{i64_at, u64_at};
use trueno_engine::query::{Database, QueryError, collect_in_order};
use trueno_format::schema;
use trueno_model::evidence::{Evidence, Place, Shown};
use trueno_model::{Finding, Report};
use trueno_plugin::Table;

const MAX_ROWS: usize = 12;
/// Limit on findings whose rows are looked up; lower in large runs, where each query takes long.
const MAX_FINDINGS: usize = 40;
const MAX_FINDINGS_OF_LARGE: usize = 6;
const LARGE_ROWS: u64 = 1_000_000;

/// Looks up the rows that findings name as evidence, in the run and in the tables of the report. A failing query
/// shows nothing: the finding itself already states the result.
pub fn gather(report: &Report, database: &Database) -> Evidence {
    let mut database = database.clone();
    for section in &report.sections {
        for table in &section.tables {
            if let Ok(frame) = to_frame(table) {
                database.register(&format!("{}.{}", section.plugin, table.name()), frame);
            }
        }
    }
    let is_large = report.header.facts.rows > LARGE_ROWS;
    let most = if is_large {
        MAX_FINDINGS_OF_LARGE
    } else {
        MAX_FINDINGS
    };
    let mut all: Vec<(usize, usize, &Finding)> = report
        .sections
        .iter()
        .enumerate()
        .flat_map(|(s, section)| {
            section
                .findings
                .iter()
                .enumerate()
                .map(move |(f, finding)| (s, f, finding))
        })
        .collect();
    all.sort_by_key(|(_, _, finding)| std::cmp::Reverse(finding.severity));
    let mut evidence = Evidence::default();
    let asked = all
        .into_iter()
        .filter(|(_, _, finding)| finding.evidence.is_some());
    for (section, number, finding) in asked.take(most) {
        let shown = match &finding.evidence {
            Some(Value::String(sql)) => rows(&database, sql),
            Some(Value::Array(ids)) => rows_with_ids(&database, ids),
            _ => continue,
        };
        if let Ok(Some(shown)) = shown {
            evidence.shown.insert((section, number), shown);
        }
    }
    evidence
}

fn rows(database: &Database, sql: &str) -> Result<Option<Shown>, QueryError> {
    let frame = collect_in_order(database, sql)?;
    Ok(shown(database, &frame))
}

fn rows_with_ids(database: &Database, ids: &[Value]) -> Result<Option<Shown>, QueryError> {
    let ids = ids.iter().filter_map(Value::as_u64);
    let ids: Vec<u64> = ids.take(MAX_ROWS).collect();
    Ok(intervals(database, &ids)?.and_then(|frame| {
        let rows = first_rows(&frame)?;
        Some(Shown {
            place: place(&rows),
            of: frame.height(),
            rows,
        })
    }))
}

/// Rows with these ids in the first interval table that has any.
fn intervals(database: &Database, ids: &[u64]) -> Result<Option<DataFrame>, QueryError> {
    if ids.is_empty() {
        return Ok(None);
    }
    let list: Vec<String> = ids.iter().map(u64::to_string).collect();
    for table in schema::interval_tables() {
        let sql = format!(
            "SELECT id, {} AS name, start_ns, dur_ns FROM {} WHERE id IN ({}) ORDER BY start_ns, id",
            table.label().unwrap_or("NULL"),
            table.name,
            list.join(", ")
        );
        let frame = collect_in_order(database, &sql)?;
        if frame.height() > 0 {
            return Ok(Some(frame));
        }
    }
    Ok(None)
}

fn shown(database: &Database, frame: &DataFrame) -> Option<Shown> {
    let rows = first_rows(frame)?;
    Some(Shown {
        place: place(&rows).or_else(|| place_of_id(database, &rows)),
        of: frame.height(),
        rows,
    })
}

/// `None` if the answer is empty.
fn first_rows(frame: &DataFrame) -> Option<Table> {
    if frame.height() == 0 {
        return None;
    }
    let mut table = Table::build("rows");
    let rows = 0..frame.height().min(MAX_ROWS);
    for column in frame.columns() {
        let name = column.name().as_str();
        table = match column.dtype() {
            DataType::Boolean => {
                let truth = |row| match column.get(row) {
                    Ok(AnyValue::Boolean(value)) => Some(value),
                    _ => None,
                };
                table.bool(name, rows.clone().map(truth))
            }
            dtype if dtype.is_float() => {
                let number = |row| {
                    column
                        .get(row)
                        .ok()
                        .and_then(|value| value.extract::<f64>())
                };
                table.f64(name, rows.clone().map(number))
            }
            dtype if dtype.is_unsigned_integer() => {
                table.u64(name, rows.clone().map(|row| u64_at(frame, name, row)))
            }
            dtype if dtype.is_integer() => {
                table.i64(name, rows.clone().map(|row| i64_at(frame, name, row)))
            }
            _ => {
                let series = column.as_materialized_series();
                let text = |row| match series.get(row) {
                    Ok(AnyValue::Null) | Err(_) => None,
                    Ok(value) => Some(value.str_value().into_owned()),
                };
                table.text(name, rows.clone().map(text))
            }
        };
    }
    table.finish().ok()
}

/// From the earliest start to the latest end. A point in time if no row has a duration.
fn place(rows: &Table) -> Option<Place> {
    let (start, dur) = (rows.i64("start_ns").ok()?, rows.i64("dur_ns").ok()?);
    let spans = || (0..rows.rows()).filter_map(|row| Some((start.get(row)?, dur.get(row)?)));
    let from_ns = spans().map(|(start, _)| start).min()?;
    let ends = spans().map(|(start, dur)| start.saturating_add(dur.max(0)));
    let until_ns = ends.max()?;
    Some(Place { from_ns, until_ns })
}

/// The interval of the first row's id.
fn place_of_id(database: &Database, rows: &Table) -> Option<Place> {
    let column = rows.column("id").ok()?;
    let id = match trueno_model::Cell::at(column, 0) {
        trueno_model::Cell::U64(id) => id,
        trueno_model::Cell::I64(id) => id as u64,
        _ => return None,
    };
    let frame = intervals(database, &[id]).ok()??;
    place(&first_rows(&frame)?)
}

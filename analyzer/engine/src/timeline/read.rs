//! The intervals of a run by lane, read column by column.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use polars::prelude::{DataFrame, DataType, PolarsError};
use trueno_format::schema::{self, LaneRule, Table};

use crate::frame::{i64_at, text_at, u64_at};
use crate::lane::{Lane, is_of_thread_first};
use crate::query::{Database, QueryError, collect, collect_in_order};

struct IntervalTable {
    table: &'static str,
    /// The text column that names a row, and the fallback if it is null.
    text: &'static str,
    or: Option<&'static str>,
    place: &'static [&'static str],
    which: String,
}

impl IntervalTable {
    fn new(table: &'static Table) -> Option<Self> {
        let has = |column: &str| table.column(column).is_some();
        let conditions = [("valid", "valid"), ("timing", "timing <> 'bound'")];
        let conditions = conditions.into_iter().filter(|(column, _)| has(column));
        let conditions: Vec<&str> = conditions.map(|(_, condition)| condition).collect();
        let mut labels = table.labels.iter().copied();
        Some(Self {
            table: table.name,
            text: labels.next()?,
            or: labels.next(),
            place: match table.lane? {
                LaneRule::Thread => &["thread"],
                LaneRule::StreamElseThread | LaneRule::ThreadElseStream => {
                    &["thread", "device", "stream"]
                }
            },
            which: if conditions.is_empty() {
                String::new()
            } else {
                format!(" WHERE {}", conditions.join(" AND "))
            },
        })
    }
}

/// Rows in any order. The streaming engine fails on some queries that it can only answer in order.
pub(super) fn ask(database: &Database, sql: &str) -> Result<DataFrame, QueryError> {
    collect(database, sql).or_else(|_| collect_in_order(database, sql))
}

#[derive(Clone, Copy, Debug)]
pub struct Interval {
    pub start_ns: i64,
    /// Not before the start.
    pub end_ns: i64,
    /// Row id; the bits of an unsigned number.
    pub id: i64,
    /// Index into [`RunIntervals::names`](super::RunIntervals::names).
    pub name: u32,
    /// Index into [`RunIntervals::tables`](super::RunIntervals::tables).
    pub table: u8,
}

pub(super) struct OfLane {
    pub(super) name: String,
    pub(super) is_device: bool,
    /// Name of the pool whose threads share it.
    pub(super) pool: Option<String>,
    pub(super) intervals: Vec<Interval>,
}

impl OfLane {
    /// Enclosing intervals precede what they contain.
    pub(super) fn sort(&mut self) {
        self.intervals
            .sort_by_key(|i| (i.start_ns, Reverse(i.end_ns), i.id));
    }
}

#[derive(Default)]
pub(super) struct Lanes {
    pub(super) lanes: Vec<OfLane>,
    pub(super) names: Vec<String>,
    pub(super) tables: Vec<&'static str>,
}

#[derive(Default)]
struct Names {
    numbers: HashMap<String, u32>,
    names: Vec<String>,
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    fn number_column(
        &mut self,
        database: &Database,
        table: &str,
        column: &str,
    ) -> Result<HashMap<i64, u32>, QueryError> {
        let sql = format!(
            "SELECT DISTINCT {column}_id AS number, {column} AS name FROM {table} ORDER BY name"
        );
        let frame = ask(database, &sql)?;
        let each = (0..frame.height()).filter_map(|row| {
            let name = text_at(&frame, "name", row)?;
            Some((i64_at(&frame, "number", row)?, self.number(name)))
        });
        Ok(each.collect())
    }
}

/// Rows between two progress reports.
const TOLD_ROWS: u64 = 1 << 18;

/// Reads all lanes and reports the number of rows read so far.
pub(super) fn lanes(
    database: &Database,
    of_ranks: bool,
    tell: &mut dyn FnMut(u64),
) -> Result<Lanes, QueryError> {
    let mut rows_read = 0_u64;
    let mut tables = Vec::new();
    let mut names = Names::default();
    let unnamed = names.number("?");
    let mut found: BTreeMap<Lane, Vec<Interval>> = BTreeMap::new();
    for intervals in schema::interval_tables().filter_map(IntervalTable::new) {
        let IntervalTable { table, text, .. } = intervals;
        let table_number = tables.len() as u8;
        tables.push(table);
        let first = names.number_column(database, table, text)?;
        let second = match intervals.or {
            Some(column) => names.number_column(database, table, column)?,
            None => HashMap::new(),
        };
        let or_id = intervals.or.map(|column| format!("{column}_id AS or_id"));
        let rank = of_ranks.then(|| "rank".to_owned());
        let place = intervals.place.iter().map(|column| (*column).to_owned());
        let more: String = (or_id.into_iter().chain(place).chain(rank))
            .map(|column| format!(", {column}"))
            .collect();
        let which = &intervals.which;
        let sql =
            format!("SELECT id, start_ns, dur_ns, {text}_id AS name_id{more} FROM {table}{which}");
        let frame = ask(database, &sql)?;
        let column = |name: &str| numbers(&frame, name);
        let (id, start, dur) = (column("id")?, column("start_ns")?, column("dur_ns")?);
        let (name, or) = (column("name_id")?, column("or_id")?);
        let (thread, device) = (column("thread")?, column("device")?);
        let (stream, rank) = (column("stream")?, column("rank")?);
        let mut rest = id.zip(or).zip(thread).zip(device);
        let mut more = stream.zip(rank);
        // The same lane as the row before, most often.
        let mut last: Option<([Option<i64>; 4], Vec<Interval>, Lane)> = None;
        for ((start, dur), name) in start.zip(dur).zip(name) {
            let Some((((id, or), thread), device)) = rest.next() else {
                break;
            };
            let Some((stream, rank)) = more.next() else {
                break;
            };
            rows_read += 1;
            if rows_read.is_multiple_of(TOLD_ROWS) {
                tell(rows_read);
            }
            let (Some(start_ns), Some(dur_ns)) = (start, dur.filter(|dur| *dur >= 0)) else {
                continue;
            };
            let Some(end_ns) = start_ns.checked_add(dur_ns) else {
                continue;
            };
            let named = name
                .and_then(|n| first.get(&n))
                .or(or.and_then(|n| second.get(&n)));
            let interval = Interval {
                start_ns,
                end_ns,
                id: id.unwrap_or(0),
                name: named.copied().unwrap_or(unnamed),
                table: table_number,
            };
            let place = [thread, device, stream, rank];
            match &mut last {
                Some((same, of, _)) if *same == place => of.push(interval),
                _ => {
                    if let Some((_, of, lane)) = last.take() {
                        found.insert(lane, of);
                    }
                    let lane = lane(table, place);
                    let mut of = found.remove(&lane).unwrap_or_default();
                    of.push(interval);
                    last = Some((place, of, lane));
                }
            }
        }
        if let Some((_, of, lane)) = last {
            found.insert(lane, of);
        }
    }
    tell(rows_read);
    let threads = ask(database, "SELECT thread, name FROM threads")?;
    let threads: BTreeMap<u64, String> = (0..threads.height())
        .filter_map(|row| {
            let name = text_at(&threads, "name", row)?.to_owned();
            Some((u64_at(&threads, "thread", row)?, name))
        })
        .collect();
    let lanes = found.into_iter().map(|(lane, intervals)| OfLane {
        name: lane.name(&threads, of_ranks),
        is_device: matches!(lane, Lane::Stream(..)),
        pool: None,
        intervals,
    });
    Ok(Lanes {
        lanes: lanes.collect(),
        names: names.names,
        tables,
    })
}

/// A row with a device is on its stream, a wait on the thread that waited.
fn lane(table: &str, [thread, device, stream, rank]: [Option<i64>; 4]) -> Lane {
    let number = |value: Option<i64>| value.map(|value| value as u64);
    match (device, thread) {
        (Some(device), thread) if !is_of_thread_first(table) || thread.is_none() => {
            Lane::Stream(device as u64, number(stream))
        }
        (_, None) if rank.is_some() => Lane::ThreadOfRank(rank.unwrap_or(0) as u64),
        (_, thread) => Lane::Thread(number(thread)),
    }
}

/// The values of an integer column; nulls if the column does not exist.
fn numbers<'f>(
    frame: &'f DataFrame,
    column: &str,
) -> Result<Box<dyn Iterator<Item = Option<i64>> + 'f>, QueryError> {
    let Ok(column) = frame.column(column) else {
        return Ok(Box::new(std::iter::repeat_n(None, frame.height())));
    };
    let failed = |error: PolarsError| QueryError::Failed(error.to_string());
    let series = column.as_materialized_series();
    Ok(match series.dtype() {
        DataType::Int64 => Box::new(series.i64().map_err(failed)?.iter()),
        DataType::UInt64 => {
            let values = series.u64().map_err(failed)?.iter();
            Box::new(values.map(|value| value.map(|value| value as i64)))
        }
        DataType::UInt32 => {
            let values = series.u32().map_err(failed)?.iter();
            Box::new(values.map(|value| value.map(i64::from)))
        }
        _ => Box::new((0..series.len()).map(|row| series.get(row).ok()?.extract())),
    })
}

//! The rows of tables in order, with memory for a window of them.

mod shape;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use polars::prelude::DataFrame;
use trueno_engine::attributes::{AttributeValue, Attributes};
use trueno_engine::catalog;
use trueno_engine::frame::{i64_at, text_at, u64_at};
use trueno_engine::query::{
    ColumnKind, Database, OrderedRow, OrderedTable, Planned, QueryError, RowOrder, RowWindow,
    Texts, collect,
};
use trueno_engine::run::Run;
use trueno_engine::{Lane, is_of_thread_first};
use trueno_format::schema::{TableId, interval_tables};
use trueno_plugin::Batch;

use crate::error::ExportError;

pub(super) use shape::{Piece, Shape, WindowShapes};

pub(super) struct Source<'a> {
    pub(super) run: &'a Run,
    database: Database,
}

#[derive(Clone)]
pub(super) struct Stored {
    pub(super) name: String,
    /// Without the columns of text ids.
    pub(super) columns: Vec<String>,
    pub(super) rows: u64,
}

pub(super) struct OpenTable {
    pub(super) name: String,
    pub(super) columns: Vec<String>,
    /// For each column, the beginning of a JSON member, with a comma before it.
    pub(super) members: Vec<String>,
    kinds: Vec<ColumnKind>,
    texts: Texts,
    places: Places,
    is_of_thread_first: bool,
}

struct Places {
    id: Option<usize>,
    start_ns: Option<usize>,
    dur_ns: Option<usize>,
    time_ns: Option<usize>,
    thread: Option<usize>,
    device: Option<usize>,
    stream: Option<usize>,
    rank: Option<usize>,
    timing: Option<usize>,
    valid: Option<usize>,
    name: Option<usize>,
    /// Columns whose text may name a row.
    labels: Vec<usize>,
}

#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    pub(super) table: &'a OpenTable,
    pub(super) of: OrderedRow<'a>,
}

impl<'a> Source<'a> {
    pub(super) fn open(run: &'a Run) -> Result<Self, ExportError> {
        let database = run.sql_context()?;
        Ok(Self { run, database })
    }

    pub(super) fn attributes(&self) -> Result<Attributes, ExportError> {
        Attributes::read(&self.database).map_err(|source| failed("attributes", source))
    }

    pub(super) fn is_of_ranks(&self) -> bool {
        !self.run.facts().ranks.is_empty()
    }

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

    /// Interval tables, the outermost first.
    pub(super) fn interval_tables(&self) -> impl Iterator<Item = Stored> {
        interval_tables().filter_map(|table| self.table(table.name))
    }

    pub(super) fn table(&self, name: &str) -> Option<Stored> {
        self.tables().into_iter().find(|table| table.name == name)
    }

    pub(super) fn ask(&self, table: &str, sql: &str) -> Result<DataFrame, ExportError> {
        collect(&self.database, sql).map_err(|source| failed(table, source))
    }

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

    /// Reads the rows of a query in their stored order, batch by batch.
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

    /// Reads the rows of `table` sorted by start or time, or else as they were written.
    pub(super) fn each(
        &self,
        table: &Stored,
        mut take: impl FnMut(Row<'_>) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        self.each_window(std::slice::from_ref(table), |tables, window| {
            let mut rows = window.tables[0].rows();
            rows.try_for_each(|of| {
                take(Row {
                    table: &tables[0],
                    of,
                })
            })
        })
    }

    /// Reads tables in windows of time. Rows of one table are sorted by start or time, or else as they were
    /// written.
    pub(super) fn each_window(
        &self,
        tables: &[Stored],
        mut take: impl FnMut(&[OpenTable], &RowWindow) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        let name = tables.first().map_or("?", |table| table.name.as_str());
        let no_texts = || QueryError::Failed("the run has no dictionary".to_owned());
        let texts = self.database.texts();
        let texts = texts.ok_or_else(|| failed(name, no_texts()))?;
        let wanted = tables.iter().map(|table| OrderedTable {
            name: &table.name,
            columns: &table.columns,
            order: table.order(),
        });
        let wanted: Vec<OrderedTable<'_>> = wanted.collect();
        let windows = self.database.ordered_rows(&wanted);
        let windows = windows.map_err(|source| failed(name, source))?;
        let opened = tables.iter().zip(windows.kinds());
        let opened = opened.map(|(table, kinds)| OpenTable::new(table, kinds, texts.clone()));
        let opened: Vec<OpenTable> = opened.collect();
        for window in windows {
            take(&opened, &window.map_err(|source| failed(name, source))?)?;
        }
        Ok(())
    }

    pub(super) fn span_tables(&self) -> Vec<Stored> {
        let tables = self.interval_tables();
        tables.filter(|table| table.rows > 0).collect()
    }
}

/// Merges intervals of a window by start. If equal, longer ones come first, then those of outer tables, so an
/// interval follows those that contain it.
pub(super) fn merged<'a>(
    tables: &'a [OpenTable],
    window: &'a RowWindow,
) -> impl Iterator<Item = (usize, Row<'a>)> {
    let mut waiting: Vec<_> = tables
        .iter()
        .zip(&window.tables)
        .map(|(table, window)| {
            let rows = window.rows().map(move |of| Row { table, of });
            let mut rows = rows.map(|row| (row.key(), row));
            (rows.next(), rows)
        })
        .collect();
    std::iter::from_fn(move || {
        // Few tables: the first of them with the least key is the next.
        let keys = waiting.iter().enumerate();
        let keys = keys.filter_map(|(at, (next, _))| Some((next.as_ref()?.0, at)));
        let (_, at) = keys.min()?;
        let (next, rows) = &mut waiting[at];
        let (_, row) = std::mem::replace(next, rows.next())?;
        Some((at, row))
    })
}

impl Stored {
    fn order(&self) -> RowOrder {
        let has = |name: &str| self.columns.iter().any(|column| column == name);
        match (has("start_ns") && has("dur_ns"), has("time_ns")) {
            (true, _) => RowOrder::Start,
            (_, true) => RowOrder::Time,
            _ => RowOrder::AsStored,
        }
    }
}

impl OpenTable {
    fn new(table: &Stored, kinds: &[ColumnKind], texts: Texts) -> Self {
        let place = |name: &str| table.columns.iter().position(|column| column == name);
        let labels = TableId::from_name(&table.name).map_or(&[][..], |id| id.schema().labels);
        let places = Places {
            id: place("id"),
            start_ns: place("start_ns"),
            dur_ns: place("dur_ns"),
            time_ns: place("time_ns"),
            thread: place("thread"),
            device: place("device"),
            stream: place("stream"),
            rank: place("rank"),
            timing: place("timing"),
            valid: place("valid"),
            name: place("name"),
            labels: labels.iter().filter_map(|label| place(label)).collect(),
        };
        Self {
            name: table.name.clone(),
            members: (table.columns.iter())
                .map(|name| format!(",{}:", serde_json::Value::from(name.as_str())))
                .collect(),
            columns: table.columns.clone(),
            kinds: kinds.to_vec(),
            texts,
            places,
            is_of_thread_first: is_of_thread_first(&table.name),
        }
    }

    pub(super) fn value(&self, column: usize, bits: u64) -> Option<AttributeValue<'_>> {
        Some(match self.kinds[column] {
            ColumnKind::I64 => AttributeValue::Integer(bits.cast_signed()),
            ColumnKind::U64 | ColumnKind::U32 => AttributeValue::Unsigned(bits),
            ColumnKind::F64 => AttributeValue::Number(f64::from_bits(bits)),
            ColumnKind::Bool => AttributeValue::Truth(bits != 0),
            ColumnKind::Text => AttributeValue::Text(self.texts.get(bits)?),
        })
    }

    pub(super) fn is_text(&self, column: usize) -> bool {
        self.kinds[column] == ColumnKind::Text
    }

    pub(super) fn text(&self, number: u64) -> Option<&str> {
        self.texts.get(number)
    }
}

impl<'a> Row<'a> {
    pub(super) fn value(&self, column: usize) -> Option<AttributeValue<'a>> {
        self.table.value(column, self.of.bits(column)?)
    }

    fn i64(&self, column: Option<usize>) -> Option<i64> {
        match self.value(column?)? {
            AttributeValue::Integer(value) => Some(value),
            AttributeValue::Unsigned(value) => i64::try_from(value).ok(),
            _ => None,
        }
    }

    fn u64(&self, column: Option<usize>) -> Option<u64> {
        match self.value(column?)? {
            AttributeValue::Integer(value) => u64::try_from(value).ok(),
            AttributeValue::Unsigned(value) => Some(value),
            _ => None,
        }
    }

    fn text(&self, column: Option<usize>) -> Option<&'a str> {
        match self.value(column?)? {
            AttributeValue::Text(text) => Some(text),
            _ => None,
        }
    }

    fn place(&self, column: &str) -> Option<usize> {
        self.table.columns.iter().position(|name| name == column)
    }

    pub(super) fn value_of(&self, column: &str) -> Option<AttributeValue<'a>> {
        self.value(self.place(column)?)
    }

    pub(super) fn u64_of(&self, column: &str) -> Option<u64> {
        self.u64(self.place(column))
    }

    pub(super) fn text_of(&self, column: &str) -> Option<&'a str> {
        self.text(self.place(column))
    }

    pub(super) fn f64_of(&self, column: &str) -> Option<f64> {
        match self.value_of(column)? {
            AttributeValue::Number(value) => Some(value),
            AttributeValue::Integer(value) => Some(value as f64),
            AttributeValue::Unsigned(value) => Some(value as f64),
            _ => None,
        }
    }

    pub(super) fn id(&self) -> u64 {
        self.u64(self.table.places.id).unwrap_or(0)
    }

    pub(super) fn start_ns(&self) -> Option<i64> {
        self.i64(self.table.places.start_ns)
    }

    pub(super) fn dur_ns(&self) -> Option<i64> {
        self.i64(self.table.places.dur_ns)
    }

    pub(super) fn time_ns(&self) -> Option<i64> {
        self.i64(self.table.places.time_ns)
    }

    pub(super) fn thread(&self) -> Option<u64> {
        self.u64(self.table.places.thread)
    }

    pub(super) fn device(&self) -> Option<u64> {
        self.u64(self.table.places.device)
    }

    pub(super) fn rank(&self) -> Option<u64> {
        self.u64(self.table.places.rank)
    }

    pub(super) fn name(&self) -> Option<&'a str> {
        self.text(self.table.places.name)
    }

    pub(super) fn lane(&self) -> Lane {
        let places = &self.table.places;
        let device = self.device();
        let stream = device.and_then(|_| self.u64(places.stream));
        Lane::of_row(
            self.table.is_of_thread_first,
            self.thread(),
            (device, stream),
            self.rank(),
        )
    }

    pub(super) fn span_name_number(&self) -> Option<u64> {
        let mut labels = self.table.places.labels.iter();
        let label = labels.find(|label| self.of.bits(**label).is_some())?;
        self.of.bits(*label).filter(|_| self.table.is_text(*label))
    }

    pub(super) fn span_name(&self) -> &'a str {
        let number = self.span_name_number();
        number
            .and_then(|number| self.table.text(number))
            .unwrap_or("?")
    }

    /// Why the times of a row are not those of its work: `bound`, `invalid`, or an impossible duration.
    pub(super) fn untimed(&self) -> Option<&'static str> {
        let places = &self.table.places;
        if self.text(places.timing) == Some("bound") {
            return Some("bound");
        }
        if places.valid.and_then(|valid| self.of.bits(valid)) == Some(0) {
            return Some("invalid");
        }
        let (start_ns, dur_ns) = (self.start_ns(), self.dur_ns());
        let end_ns = start_ns
            .zip(dur_ns)
            .and_then(|(start, dur)| start.checked_add(dur));
        (end_ns.is_none() || dur_ns.is_none_or(|dur| dur < 0)).then_some("impossible")
    }

    /// Sort key: start, then the latest end first, then id.
    fn key(&self) -> (i64, Reverse<i64>, u64) {
        let start_ns = self.start_ns().unwrap_or(0);
        let end_ns = start_ns.saturating_add(self.dur_ns().unwrap_or(0));
        (start_ns, Reverse(end_ns), self.id())
    }
}

fn failed(table: &str, source: QueryError) -> ExportError {
    ExportError::Table {
        table: table.to_owned(),
        source,
    }
}

/// Title of the memory counter that a row of `allocations` changes, and the change in bytes. A sample counts with
/// its weight. `device` is the number shown to users.
pub(super) fn bytes_in_use(row: Row<'_>, device: Option<u64>) -> (String, i64) {
    let bytes = row.i64(row.place("bytes")).unwrap_or(0);
    let weight = row.f64_of("weight");
    let title = match (device, weight, row.u64_of("sample_bytes")) {
        (Some(device), ..) => format!("gpu{device} bytes in use"),
        (None, None, _) => "host bytes in use".to_owned(),
        (None, Some(_), None) => "heap bytes in use".to_owned(),
        (None, Some(_), Some(_)) => "heap bytes in use (estimated)".to_owned(),
    };
    // A cast of a float saturates.
    let scaled = |weight: f64| (bytes as f64 * weight).round() as i64;
    (title, weight.map_or(bytes, scaled))
}

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

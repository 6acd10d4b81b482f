//! Rows of tables in the order of their times, from the columns as they are kept.
//!
//! The times are read twice, batch by batch. A sample of them says where windows of about as many rows each begin, then
//! it is noted which batches have rows in which window. A window's batches are read in its turn, and its rows sorted
//! alone. Memory grows with the rows that have the same time, or none, and not with the tables.

use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use polars::prelude::{
    AnyValue, CategoricalMapping, Column, DataFrame, DataType, NamedFrom, PolarsResult, Series,
};

use super::{Database, QueryError, collect};
use crate::columns::{self, Kind, Packed, ReadBatches, StoredTable};

const WINDOW_ROWS: usize = 1 << 17;
const SAMPLES_OF_A_WINDOW: usize = 256;

#[derive(Clone, Copy, Debug)]
pub struct OrderedTable<'a> {
    pub name: &'a str,
    pub columns: &'a [String],
    pub order: RowOrder,
}

/// Order of the rows of a table. The sort is stable; missing values come last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOrder {
    AsStored,
    /// By `time_ns`, then by all columns from left to right.
    Time,
    /// By `start_ns`, then longer first, then lower id.
    Start,
}

pub struct RowWindow {
    pub tables: Vec<TableWindow>,
}

#[derive(Default)]
pub struct TableWindow {
    batches: Vec<Arc<RowBatch>>,
    rows: WindowRows,
}

enum WindowRows {
    OfBatch,
    InOrder(Vec<Key>),
}

impl Default for WindowRows {
    fn default() -> Self {
        Self::InOrder(Vec::new())
    }
}

/// Columns of neighbouring rows, indexed as [`OrderedTable::columns`].
pub struct RowBatch {
    columns: Vec<Packed>,
}

#[derive(Clone, Copy)]
pub struct OrderedRow<'a> {
    pub batch: &'a RowBatch,
    pub batch_number: usize,
    row: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchValues {
    Missing,
    Same(u64),
    Several,
}

#[derive(Clone, Copy)]
struct Key {
    time_ns: i64,
    /// Longer first.
    dur_ns: i64,
    id: u64,
    batch: u32,
    row: u32,
}

#[derive(Clone)]
pub struct Texts(Arc<CategoricalMapping>);

pub struct OrderedRows {
    tables: Vec<Table>,
    waiting: VecDeque<Window>,
}

struct Table {
    order: RowOrder,
    kinds: Vec<Kind>,
    texts: Option<Texts>,
    /// Indices of the columns for time, duration and id.
    keys: [Option<usize>; 3],
    batches: Box<dyn ReadBatches>,
    /// Batches of the last window, because the next window often has their remaining rows.
    kept: BTreeMap<usize, Arc<RowBatch>>,
}

/// Rows with times from `from_ns` to before `until_ns`. `None` is the end, and includes rows without a time.
struct Window {
    from_ns: i64,
    until_ns: Option<i64>,
    batches: Vec<Vec<usize>>,
}

impl Database {
    /// Rows of some tables in common windows of time. If there are several tables, their order must be by time.
    ///
    /// # Errors
    /// A table cannot be read.
    pub fn ordered_rows(&self, tables: &[OrderedTable<'_>]) -> Result<OrderedRows, QueryError> {
        self.ordered_windows(tables, WINDOW_ROWS)
    }

    fn ordered_windows(
        &self,
        tables: &[OrderedTable<'_>],
        window_rows: usize,
    ) -> Result<OrderedRows, QueryError> {
        self.ordered_over(tables, window_rows, Database::stored_columns)
            .or_else(|_| self.ordered_over(tables, window_rows, Database::engine_columns))
    }

    fn ordered_over(
        &self,
        tables: &[OrderedTable<'_>],
        window_rows: usize,
        columns_of: impl Fn(&Self, &str, &[String]) -> Result<Arc<StoredTable>, QueryError>,
    ) -> Result<OrderedRows, QueryError> {
        let mut opened = Vec::new();
        let mut times = Vec::new();
        for table in tables {
            let stored = columns_of(self, table.name, table.columns)?;
            let place = |name: &str| table.columns.iter().position(|column| column == name);
            let keys = match table.order {
                RowOrder::AsStored => [None; 3],
                RowOrder::Time => [place("time_ns"), None, None],
                RowOrder::Start => [place("start_ns"), place("dur_ns"), place("id")],
            };
            let open = |columns: &[String]| {
                let places = columns.iter().map(|name| stored.column(name));
                let places: Option<Vec<(usize, Kind)>> = places.collect();
                let places = places.ok_or_else(|| failed("a column is not there"))?;
                let (places, kinds): (Vec<usize>, Vec<Kind>) = places.into_iter().unzip();
                let batches = StoredTable::open(&stored, &places).map_err(failed)?;
                Ok::<_, QueryError>((batches, kinds))
            };
            let (batches, kinds) = open(table.columns)?;
            times.push(match keys[0] {
                Some(time) => Some(open(&table.columns[time..=time])?.0),
                None => None,
            });
            opened.push(Table {
                order: table.order,
                kinds,
                texts: self.texts(),
                keys,
                batches,
                kept: BTreeMap::new(),
            });
        }
        let waiting = windows(&opened, &times, window_rows).map_err(failed)?;
        Ok(OrderedRows {
            tables: opened,
            waiting,
        })
    }

    pub fn texts(&self) -> Option<Texts> {
        self.numbers.clone().map(Texts)
    }

    fn stored_columns(
        &self,
        name: &str,
        columns: &[String],
    ) -> Result<Arc<StoredTable>, QueryError> {
        match self.stored.get(name) {
            Some(stored) if columns.iter().all(|column| stored.column(column).is_some()) => {
                Ok(Arc::clone(stored))
            }
            _ => self.engine_columns(name, columns),
        }
    }

    fn engine_columns(
        &self,
        name: &str,
        columns: &[String],
    ) -> Result<Arc<StoredTable>, QueryError> {
        let numbers = self.numbers.as_ref();
        let numbers = numbers.ok_or_else(|| failed("the run has no dictionary"))?;
        let quoted = columns.iter().map(|column| format!("\"{column}\""));
        let quoted: Vec<String> = quoted.collect();
        let sql = format!("SELECT {} FROM \"{name}\"", quoted.join(", "));
        let frame = collect(self, &sql)?;
        let known = frame.columns().iter().map(known_type);
        let known = known.collect::<PolarsResult<Vec<Column>>>();
        let frame = known.and_then(|known| DataFrame::new(frame.height(), known));
        let frame = frame.map_err(|error| failed(error.to_string()))?;
        Ok(Arc::new(columns::of_frame(&frame, numbers)))
    }
}

fn failed(why: impl Into<String>) -> QueryError {
    QueryError::Failed(why.into())
}

/// Converts a column to one of the stored types. Values other than numbers become text as displayed.
fn known_type(column: &Column) -> PolarsResult<Column> {
    match column.dtype() {
        dtype if columns::kind(dtype).is_some() => Ok(column.clone()),
        dtype if dtype.is_unsigned_integer() => column.cast(&DataType::UInt64),
        dtype if dtype.is_integer() => column.cast(&DataType::Int64),
        _ => {
            let texts = (0..column.len()).map(|row| match column.get(row) {
                Err(_) | Ok(AnyValue::Null) => None,
                Ok(value) => Some(match value.get_str() {
                    Some(text) => text.to_owned(),
                    None => value.to_string(),
                }),
            });
            let texts: Vec<Option<String>> = texts.collect();
            Ok(Series::new(column.name().clone(), texts).into())
        }
    }
}

fn windows(
    tables: &[Table],
    times: &[Option<Box<dyn ReadBatches>>],
    window_rows: usize,
) -> Result<VecDeque<Window>, String> {
    if let [table] = tables
        && table.keys[0].is_none()
    {
        // As stored: a batch is a window.
        return Ok((0..table.batches.count())
            .map(|batch| Window {
                from_ns: i64::MIN,
                until_ns: None,
                batches: vec![vec![batch]],
            })
            .collect());
    }
    let step = (window_rows / SAMPLES_OF_A_WINDOW).max(1);
    let mut sample = Vec::new();
    let mut values: Vec<i64> = Vec::new();
    for times in times.iter().flatten() {
        for batch in 0..times.count() {
            let packed = times.batch(batch)?;
            let Some(packed) = packed.first() else {
                continue;
            };
            values.clear();
            packed.unpack(&mut values);
            sample.extend(values.iter().step_by(step));
        }
    }
    sample.sort_unstable();
    let samples = window_rows.div_ceil(step);
    let mut edges: Vec<i64> = sample.iter().copied().step_by(samples).collect();
    edges.dedup();
    // The first window has whatever lies before the first sample.
    if let Some(first) = edges.first_mut() {
        *first = i64::MIN;
    } else {
        edges.push(i64::MIN);
    }
    let mut windows: VecDeque<Window> = (0..edges.len())
        .map(|at| Window {
            from_ns: edges[at],
            until_ns: edges.get(at + 1).copied(),
            batches: vec![Vec::new(); tables.len()],
        })
        .collect();
    let mut has_rows = vec![false; windows.len()];
    for (table, times) in times.iter().enumerate() {
        let Some(times) = times else {
            return Err("a table without times has no place among those with some".to_owned());
        };
        for batch in 0..times.count() {
            let packed = times.batch(batch)?;
            let Some(packed) = packed.first() else {
                continue;
            };
            values.clear();
            packed.unpack(&mut values);
            has_rows.fill(false);
            let mut last = 0;
            for (row, time_ns) in values.iter().enumerate() {
                if packed.has_missing() && packed.get(row).is_none() {
                    last = edges.len() - 1;
                } else if *time_ns < edges[last]
                    || edges.get(last + 1).is_some_and(|edge| time_ns >= edge)
                {
                    last = edges.partition_point(|edge| edge <= time_ns) - 1;
                }
                has_rows[last] = true;
            }
            for (window, _) in has_rows
                .iter()
                .enumerate()
                .filter(|(_, has_rows)| **has_rows)
            {
                windows[window].batches[table].push(batch);
            }
        }
    }
    Ok(windows)
}

impl OrderedRows {
    pub fn kinds(&self) -> impl Iterator<Item = &[Kind]> {
        self.tables.iter().map(|table| table.kinds.as_slice())
    }
}

impl Iterator for OrderedRows {
    type Item = Result<RowWindow, QueryError>;

    fn next(&mut self) -> Option<Self::Item> {
        let window = self.waiting.pop_front()?;
        let tables = self.tables.iter_mut().zip(&window.batches);
        let tables = tables.map(|(table, batches)| table.window(&window, batches));
        let tables: Result<Vec<TableWindow>, String> = tables.collect();
        if tables.is_err() {
            self.waiting.clear();
        }
        Some(tables.map(|tables| RowWindow { tables }).map_err(failed))
    }
}

impl Table {
    fn window(&mut self, window: &Window, batches: &[usize]) -> Result<TableWindow, String> {
        if let ([number], RowOrder::AsStored, None) = (batches, self.order, self.keys[0]) {
            let columns = self.batches.batch(*number)?;
            return Ok(TableWindow {
                batches: vec![Arc::new(RowBatch { columns })],
                rows: WindowRows::OfBatch,
            });
        }
        let mut kept = std::mem::take(&mut self.kept);
        let mut read = Vec::new();
        let mut keys = Vec::new();
        for &number in batches {
            let batch = match kept.remove(&number) {
                Some(batch) => batch,
                None => Arc::new(RowBatch {
                    columns: self.batches.batch(number)?,
                }),
            };
            self.keys_of(&batch, window, read.len() as u32, &mut keys);
            if self.keys[0].is_some() {
                self.kept.insert(number, Arc::clone(&batch));
            }
            read.push(batch);
        }
        if self.order != RowOrder::AsStored {
            // Rows of one thread and of one kind lie in order: a merge of what is sorted finds that.
            keys.sort_by(Key::cmp);
        }
        if self.order == RowOrder::Time {
            for same in keys.chunk_by_mut(|a, b| a.time_ns == b.time_ns) {
                if same.len() > 1 {
                    same.sort_by(|a, b| self.compare(&read, a, b));
                }
            }
        }
        Ok(TableWindow {
            batches: read,
            rows: WindowRows::InOrder(keys),
        })
    }

    fn compare(&self, batches: &[Arc<RowBatch>], a: &Key, b: &Key) -> Ordering {
        let value = |key: &Key, column: usize| {
            batches[key.batch as usize].columns[column].get(key.row as usize)
        };
        let of_column = |(column, kind): (usize, &Kind)| {
            let (a, b) = match (value(a, column), value(b, column)) {
                (Some(a), Some(b)) => (a, b),
                (a, b) => return a.is_none().cmp(&b.is_none()),
            };
            match kind {
                _ if a == b => Ordering::Equal,
                Kind::I64 => a.cast_signed().cmp(&b.cast_signed()),
                Kind::U64 | Kind::U32 | Kind::Bool => a.cmp(&b),
                Kind::F64 => {
                    let (a, b) = (f64::from_bits(a), f64::from_bits(b));
                    let by_nan = a.is_nan().cmp(&b.is_nan());
                    a.partial_cmp(&b).unwrap_or(by_nan)
                }
                Kind::Text => {
                    let text = |number| self.texts.as_ref().and_then(|texts| texts.get(number));
                    text(a).cmp(&text(b))
                }
            }
        };
        let mut columns = self.kinds.iter().enumerate().map(of_column);
        columns
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    fn keys_of(&self, batch: &RowBatch, window: &Window, number: u32, keys: &mut Vec<Key>) {
        let rows = batch.rows();
        let [time, dur, id] = self.keys.map(|at| at.map(|at| &batch.columns[at]));
        for row in 0..rows {
            let value = |column: Option<&Packed>| column.and_then(|column| column.get(row));
            let found = value(time).map(u64::cast_signed);
            let is_here = match (found, window.until_ns) {
                (None, until_ns) => until_ns.is_none(),
                (Some(ns), None) => ns >= window.from_ns,
                (Some(ns), Some(until_ns)) => ns >= window.from_ns && ns < until_ns,
            };
            if is_here {
                keys.push(Key {
                    time_ns: found.unwrap_or(i64::MAX),
                    // Without a duration first, without an id last: as SQL orders them.
                    dur_ns: value(dur).map_or(i64::MAX, u64::cast_signed),
                    id: value(id).unwrap_or(u64::MAX),
                    batch: number,
                    row: row as u32,
                });
            }
        }
    }
}

impl Key {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.time_ns.cmp(&other.time_ns))
            .then_with(|| other.dur_ns.cmp(&self.dur_ns))
            .then_with(|| self.id.cmp(&other.id))
    }
}

impl TableWindow {
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn len(&self) -> usize {
        match &self.rows {
            WindowRows::OfBatch => self.batches.iter().map(|batch| batch.rows()).sum(),
            WindowRows::InOrder(keys) => keys.len(),
        }
    }

    /// The batches that contain its rows, in the order of their numbers.
    pub fn batches(&self) -> impl Iterator<Item = &RowBatch> {
        self.batches.iter().map(|batch| &**batch)
    }

    pub fn rows(&self) -> impl Iterator<Item = OrderedRow<'_>> {
        (0..self.len()).map(|at| {
            let (batch, row) = match &self.rows {
                WindowRows::OfBatch => (0, at),
                WindowRows::InOrder(keys) => (keys[at].batch as usize, keys[at].row as usize),
            };
            OrderedRow {
                batch: &self.batches[batch],
                batch_number: batch,
                row,
            }
        })
    }
}

impl RowBatch {
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, Packed::rows)
    }

    /// The bits of a value, or the number of a text. `None` if the row has no value.
    #[inline]
    pub fn bits(&self, column: usize, row: usize) -> Option<u64> {
        self.columns[column].get(row)
    }

    pub fn has_missing(&self, column: usize) -> bool {
        self.columns[column].has_missing()
    }

    /// Writes the bits of all values of a column into `values`; arbitrary for missing ones.
    pub fn unpack(&self, column: usize, values: &mut Vec<u64>) {
        values.clear();
        self.columns[column].unpack(values);
    }

    pub fn values(&self, column: usize) -> BatchValues {
        let packed = &self.columns[column];
        match packed.one_value() {
            _ if packed.is_missing() => BatchValues::Missing,
            Some(value) if !packed.has_missing() => BatchValues::Same(value),
            _ => BatchValues::Several,
        }
    }
}

impl OrderedRow<'_> {
    /// The bits of a value, or the number of a text. `None` if the row has no value.
    #[inline]
    pub fn bits(&self, column: usize) -> Option<u64> {
        self.batch.columns[column].get(self.row)
    }
}

impl Texts {
    /// The number of a text; `None` if no opened column contains it.
    pub fn number(&self, text: &str) -> Option<u64> {
        self.0.get_cat(text).map(u64::from)
    }

    pub fn get(&self, number: u64) -> Option<&str> {
        self.0.cat_to_str(u32::try_from(number).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::run::Run;

    fn rows(
        database: &Database,
        tables: &[OrderedTable<'_>],
        window_rows: usize,
    ) -> (usize, Vec<Vec<Vec<Option<u64>>>>) {
        let windows = database.ordered_windows(tables, window_rows).unwrap();
        let mut all = vec![Vec::new(); tables.len()];
        let mut count = 0;
        for window in windows {
            count += 1;
            let of_tables = window.unwrap().tables;
            for ((table, window), all) in tables.iter().zip(&of_tables).zip(&mut all) {
                let columns = 0..table.columns.len();
                let values = |row: OrderedRow<'_>| columns.clone().map(|at| row.bits(at)).collect();
                all.extend(window.rows().map(values));
            }
        }
        (count, all)
    }

    #[test]
    fn windows_hand_out_the_same_rows_in_the_same_order() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets/decode/simd.run");
        let run = Run::open(&path).unwrap();
        let database = run.sql_context().unwrap();
        let columns = |names: &[&str]| -> Vec<String> {
            names.iter().map(|name| (*name).to_owned()).collect()
        };
        let spans = columns(&["id", "start_ns", "dur_ns", "name", "thread"]);
        let points = columns(&["time_ns", "name", "hash"]);
        let edges = columns(&["from", "to", "kind"]);
        let table = |name, columns, order| OrderedTable {
            name,
            columns,
            order,
        };
        let both = [
            table("bricks", &spans[..], RowOrder::Start),
            table("kernels", &spans[..], RowOrder::Start),
        ];
        let points = [table("checksums", &points[..], RowOrder::Time)];
        let edges = [table("edges", &edges[..], RowOrder::AsStored)];
        for tables in [&both[..], &both[1..], &points, &edges] {
            let (_, whole) = rows(&database, tables, usize::MAX);
            let (count, small) = rows(&database, tables, 100);
            assert!(count > 1 || tables[0].order == RowOrder::AsStored);
            assert!(whole == small, "windows change the rows or their order");
            for (table, rows) in tables.iter().zip(&whole) {
                let stored = database.stored.get(table.name).map(|table| table.rows());
                assert_eq!(Some(rows.len() as u64), stored, "{}", table.name);
                if table.order == RowOrder::Start {
                    let key = |row: &Vec<Option<u64>>| {
                        let ns = |at: usize| row[at].map(u64::cast_signed);
                        (ns(1), std::cmp::Reverse(ns(2)), row[0])
                    };
                    assert!(rows.is_sorted_by_key(key), "{}", table.name);
                }
            }
        }
    }

    #[test]
    fn the_engine_gives_the_same_rows() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets/decode/simd.run");
        let run = Run::open(&path).unwrap();
        let database = run.sql_context().unwrap();
        let columns = ["id", "start_ns", "dur_ns", "name", "bytes_read"].map(str::to_owned);
        let columns: Vec<String> = columns
            .into_iter()
            .filter(|name| database.stored["kernels"].column(name).is_some())
            .collect();
        let tables = [OrderedTable {
            name: "kernels",
            columns: &columns,
            order: RowOrder::Start,
        }];
        let all = |rows: OrderedRows| -> Vec<Vec<Option<u64>>> {
            let windows = rows.map(|window| window.unwrap().tables.remove(0));
            let of_window = |window: TableWindow| -> Vec<Vec<Option<u64>>> {
                let values = |row: OrderedRow<'_>| {
                    (0..columns.len())
                        .map(|at| row.bits(at))
                        .collect::<Vec<_>>()
                };
                window.rows().map(values).collect()
            };
            windows.flat_map(of_window).collect()
        };
        let kept = database.ordered_over(&tables, 500, Database::stored_columns);
        let by_engine = database.ordered_over(&tables, 500, Database::engine_columns);
        assert!(all(kept.unwrap()) == all(by_engine.unwrap()));
    }
}

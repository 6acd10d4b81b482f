//! A rolling window: the rows of its last part. The rest is discarded, and counted.
//!
//! Rows stay in the memory in which they waited ([`crate::waiting_rows`]): one file of `live/` for each full batch, so that
//! they outlive the process. Only when the window is written do they become segments, with times that count from its
//! beginning. A row belongs to the window if it began in it.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use crate::columns::Columns;
use crate::error::Error;
use crate::folder::Folder;
use crate::live::{LiveCounts, kept_rows_name, rows_name};
use crate::mapping::Mapping;
use crate::row_counters::RowCounters;
use crate::run_files::RunFiles;
use crate::run_json::Kept;
use crate::schema::{CellSink, Scope, TABLES, Table, TableId};
use crate::segment::BatchEncoder;
use crate::table_writer::TableWriter;
use crate::text::Texts;
use crate::waiting_rows::WaitingRows;

/// How much a rolling window holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepLast {
    /// Its length.
    pub last_ns: i64,
    /// Memory for its full batches, on disk where possible. Older rows are discarded earlier if that is not enough.
    pub max_bytes: u64,
}

/// Columns that refer to a row by its id, where there may be none.
const REFERENCES: [&str; 4] = ["parent", "brick", "span", "kernel"];

/// What decides whether a row of a table belongs to a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Membership {
    /// Rows of other tables may refer to it at any time.
    Always,
    /// The time in this column.
    Since(usize),
    /// The rows whose ids these columns hold.
    WithRows(usize, usize),
}

impl Membership {
    fn of(table: &'static Table) -> Self {
        match table.name {
            "edges" => Self::WithRows(table.position("from"), table.position("to")),
            "attributes" => Self::WithRows(table.position("span"), table.position("span")),
            "threads" | "diagnostics" => Self::Always,
            _ => match table.time_column() {
                Some(time) => Self::Since(table.position(time)),
                None => Self::Always,
            },
        }
    }
}

/// The full batches of a rolling window, table by table, oldest first.
pub struct KeptRows {
    limits: KeepLast,
    /// `live/` of the run; `None`: nothing is kept on disk.
    live: Option<Arc<Folder>>,
    tables: Vec<KeptTable>,
    discarded: RowCounters,
    bytes: u64,
    from_ns: i64,
    lacked_memory: bool,
}

#[derive(Default)]
struct KeptTable {
    batches: VecDeque<KeptBatch>,
    next_number: u32,
    /// Of all batches so far.
    rows: u64,
    /// A batch was in no file: a kill loses it.
    was_in_memory: bool,
}

struct KeptBatch {
    columns: Columns,
    /// Beginning of its latest row. `None`: it never leaves.
    latest_ns: Option<i64>,
    file: Option<String>,
}

impl KeptRows {
    /// A window without rows.
    pub fn new(limits: KeepLast, live: Option<Arc<Folder>>) -> Self {
        Self {
            limits,
            live,
            tables: TABLES.iter().map(|_| KeptTable::default()).collect(),
            discarded: RowCounters::default(),
            bytes: 0,
            from_ns: 0,
            lacked_memory: false,
        }
    }

    /// What it was made with.
    pub fn limits(&self) -> KeepLast {
        self.limits
    }

    /// Its beginning.
    pub fn from_ns(&self) -> i64 {
        self.from_ns
    }

    /// True if rows left it early, because there was no memory for them.
    pub fn lacked_memory(&self) -> bool {
        self.lacked_memory
    }

    /// What a run of it says, that ends at `end_ns`.
    pub fn describe(&self, end_ns: i64, discarded: u64) -> Kept {
        Kept {
            last_ns: self.limits.last_ns,
            from_ns: self.from_ns,
            recorded_ns: end_ns,
            discarded,
            max_bytes: self.lacked_memory.then_some(self.limits.max_bytes),
        }
    }

    /// Rows of a table that have left it.
    pub fn discarded(&self, table: usize) -> u64 {
        self.discarded.get(table)
    }

    /// Rows of a table in its full batches.
    pub fn rows(&self, table: usize) -> u64 {
        let batches = self.tables[table].batches.iter();
        batches.map(|batch| batch.columns.rows() as u64).sum()
    }

    /// The full batches of a table.
    pub fn batches(&self, table: usize) -> impl Iterator<Item = &Columns> {
        self.tables[table]
            .batches
            .iter()
            .map(|batch| &batch.columns)
    }

    /// Takes a full batch of a table over. Its file gets another name, so that the next batch can have that.
    pub fn add(
        &mut self,
        table: usize,
        columns: Columns,
        now_ns: i64,
        counts: Option<&LiveCounts>,
    ) {
        let schema = &TABLES[table];
        let kept = &mut self.tables[table];
        if columns.is_in_file() && !kept.was_in_memory {
            columns.set_rows_before(kept.rows);
        }
        kept.rows += columns.rows() as u64;
        let name = kept_rows_name(schema.name, kept.next_number);
        if let Some(counts) = counts {
            counts.files().remove_rows(table);
        }
        let renamed = |live: &Arc<Folder>| live.rename(&rows_name(schema.name), &name).is_ok();
        let file = columns.is_in_file() && self.live.as_ref().is_some_and(renamed);
        kept.next_number += u32::from(file);
        kept.was_in_memory |= !file;
        let latest_ns = match Membership::of(schema) {
            Membership::Always => None,
            Membership::Since(column) => columns.times(column).max().or(Some(now_ns)),
            Membership::WithRows(..) => Some(now_ns),
        };
        if latest_ns.is_some() {
            self.bytes += WaitingRows::bytes(schema) as u64;
        }
        kept.batches.push_back(KeptBatch {
            columns,
            latest_ns,
            file: file.then_some(name),
        });
        self.keep_to_memory(counts);
    }

    /// Time has come to `now_ns`: rows that are too old leave.
    pub fn advance(&mut self, now_ns: i64, counts: Option<&LiveCounts>) {
        self.begin_at(now_ns.saturating_sub(self.limits.last_ns), counts);
        for table in 0..self.tables.len() {
            while self
                .oldest_ns(table)
                .is_some_and(|latest_ns| latest_ns < self.from_ns)
            {
                self.let_oldest_go(table, counts);
            }
        }
    }

    fn keep_to_memory(&mut self, counts: Option<&LiveCounts>) {
        while self.bytes > self.limits.max_bytes {
            let oldest =
                (0..self.tables.len()).filter_map(|table| Some((self.oldest_ns(table)?, table)));
            let Some((latest_ns, table)) = oldest.min() else {
                return;
            };
            self.lacked_memory = true;
            self.begin_at(latest_ns.saturating_add(1), counts);
            self.let_oldest_go(table, counts);
        }
    }

    fn oldest_ns(&self, table: usize) -> Option<i64> {
        self.tables[table].batches.front()?.latest_ns
    }

    /// Said before the rows are gone: what is read of a killed process must not be more than it held.
    fn begin_at(&mut self, from_ns: i64, counts: Option<&LiveCounts>) {
        self.from_ns = self.from_ns.max(from_ns);
        if let Some(counts) = counts {
            counts.keep_from(self.from_ns);
        }
    }

    fn let_oldest_go(&mut self, table: usize, counts: Option<&LiveCounts>) {
        let Some(batch) = self.tables[table].batches.pop_front() else {
            return;
        };
        let rows = batch.columns.rows() as u64;
        self.bytes -= WaitingRows::bytes(&TABLES[table]) as u64;
        self.discarded.add(table, rows);
        // Counted before its file is gone: if a kill comes between, the file knows how many rows left before it.
        if let Some(counts) = counts {
            counts.discarded().add(table, rows);
        }
        if let (Some(name), Some(live)) = (&batch.file, &self.live) {
            // If it stays: its rows are older than the window.
            let _ = live.remove_file(name);
        }
    }
}

/// What becomes of the window when it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowUse {
    /// The recording goes on. Rows that are open now are in it later.
    Cut,
    /// The recording ends, and its own run gets the rows.
    End,
}

/// A window that was written.
#[derive(Default)]
pub struct WrittenWindow {
    /// A writer for each table, which has no row waiting.
    pub tables: Vec<TableWriter>,
    /// Rows that are not in it because they are older, of all tables.
    pub discarded: u64,
}

impl KeptRows {
    /// Writes the window: full batches, the rows in `waiting`, and facts that were made for it.
    ///
    /// # Errors
    /// No memory is left, or the files cannot be written.
    pub fn write(
        &self,
        waiting: &[TableWriter],
        facts: &[(TableId, Columns)],
        window_use: WindowUse,
        files: &mut RunFiles,
        encoder: &mut BatchEncoder,
        texts: &mut dyn Texts,
    ) -> Result<WrittenWindow, Error> {
        let batches = |table: usize| {
            let facts = facts.iter().filter(move |(id, _)| *id as usize == table);
            let waiting = waiting[table].waiting_columns();
            self.batches(table)
                .chain(waiting)
                .chain(facts.map(|(_, columns)| columns))
        };
        let window = match (window_use, self.from_ns) {
            (WindowUse::End, ..=0) => WindowRows::all(),
            (_, from_ns) => {
                let tables = 0..TABLES.len();
                let all = tables.flat_map(|table| batches(table).map(move |batch| (table, batch)));
                WindowRows::new(from_ns, all)
            }
        };
        if window_use == WindowUse::End {
            (0..TABLES.len()).for_each(|table| window.number(table, batches(table)));
        }
        let mut written = WrittenWindow {
            tables: Vec::new(),
            discarded: 0,
        };
        for (table, schema) in TABLES.iter().enumerate() {
            let mut writer = TableWriter::new(schema);
            let left_out = window.write(batches(table), &mut writer, files, encoder, texts)?;
            if !schema.is_own {
                writer.written.discarded = self.discarded(table) + left_out;
                written.discarded += writer.written.discarded;
            }
            written.tables.push(writer);
        }
        Ok(written)
    }
}

/// The rows of a window, to be written.
pub(crate) struct WindowRows {
    from_ns: i64,
    /// Of the rows in it, sorted. `None`: all rows belong to it.
    ids: Option<Vec<u64>>,
}

impl WindowRows {
    /// All rows, as they are.
    pub fn all() -> Self {
        Self {
            from_ns: 0,
            ids: None,
        }
    }

    /// The window from `from_ns` on over these batches, each with its table.
    pub fn new<'a>(from_ns: i64, batches: impl Iterator<Item = (usize, &'a Columns)>) -> Self {
        let mut ids = Vec::new();
        for (table, columns) in batches {
            let table = &TABLES[table];
            let Membership::Since(time) = Membership::of(table) else {
                continue;
            };
            if table.column("id").is_none() {
                continue;
            }
            let id = table.position("id");
            let rows = (0..columns.rows()).filter(|row| is_since(columns, time, *row, from_ns));
            ids.extend(rows.map(|row| columns.word(id, row)));
        }
        ids.sort_unstable();
        Self {
            from_ns,
            ids: Some(ids),
        }
    }

    /// Says of each batch of a table how many are written before it. Call it before the first is: a kill while they are written
    /// finds each row in one place.
    fn number<'a>(&self, table: usize, batches: impl Iterator<Item = &'a Columns>) {
        let membership = Membership::of(&TABLES[table]);
        let mut number = 0;
        for batch in batches {
            batch.set_batches(number);
            let is_written = (0..batch.rows()).any(|row| self.has(membership, batch, row));
            number += u64::from(is_written);
        }
    }

    /// Writes the rows of these batches that belong to the window, in order. Returns how many were left out.
    fn write<'a>(
        &self,
        batches: impl Iterator<Item = &'a Columns>,
        to: &mut TableWriter,
        files: &mut RunFiles,
        encoder: &mut BatchEncoder,
        texts: &mut dyn Texts,
    ) -> Result<u64, Error> {
        let name = to.table.name;
        let table = TableId::from_name(name).map_or(TABLES.len(), |id| id as usize);
        let mut left_out = 0;
        for batch in batches {
            let columns = to.columns(|bytes| Mapping::unpopulated(bytes).ok());
            let columns = columns.ok_or_else(|| Error::Row {
                table: name,
                problem: "no memory for its rows".to_owned(),
            })?;
            left_out += self.copy(table, batch, columns);
            to.flush(files, encoder, texts)?;
        }
        Ok(left_out)
    }

    /// Copies those rows of a batch that belong to the window, with times from its beginning on. `to` is without rows.
    /// Returns how many were left out.
    pub fn copy(&self, table: usize, batch: &Columns, to: &mut Columns) -> u64 {
        let table = &TABLES[table];
        let membership = Membership::of(table);
        let mut left_out = 0;
        for row in 0..batch.rows() {
            if !self.has(membership, batch, row) {
                left_out += 1;
                continue;
            }
            to.fill_own_row(|cells| {
                for (at, column) in table.columns.iter().enumerate() {
                    let word = batch.is_there(at, row).then(|| batch.word(at, row));
                    let cell = word.and_then(|word| match column.scope() {
                        Scope::Time => {
                            let ns = word.cast_signed() - self.from_ns;
                            (ns >= 0 || !column.nullable).then_some(ns.cast_unsigned())
                        }
                        Scope::Key if REFERENCES.contains(&column.name) => {
                            (self.has_id(word) || !column.nullable).then_some(word)
                        }
                        _ => Some(word),
                    });
                    if column.nullable {
                        cells.optional(cell);
                    } else {
                        cells.value(cell.unwrap_or_default());
                    }
                }
            });
        }
        left_out
    }

    fn has(&self, membership: Membership, batch: &Columns, row: usize) -> bool {
        match membership {
            _ if self.ids.is_none() => true,
            Membership::Always => true,
            Membership::Since(column) => is_since(batch, column, row, self.from_ns),
            Membership::WithRows(from, to) => [from, to]
                .iter()
                .all(|column| self.has_id(batch.word(*column, row))),
        }
    }

    fn has_id(&self, id: u64) -> bool {
        self.ids
            .as_ref()
            .is_none_or(|ids| ids.binary_search(&id).is_ok())
    }
}

/// True also for a row without a time.
fn is_since(columns: &Columns, time: usize, row: usize, from_ns: i64) -> bool {
    !columns.is_there(time, row) || columns.word(time, row).cast_signed() >= from_ns
}

/// The files of full batches of a table in `live/`, oldest first, and whether one between them is missing.
pub(crate) fn kept_files(
    live: &std::path::Path,
    table: &str,
) -> io::Result<(Vec<std::path::PathBuf>, bool)> {
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(live)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| {
            let number = name
                .strip_prefix(table)?
                .strip_prefix('.')?
                .strip_suffix(".rows")?;
            number.parse::<u32>().ok()
        });
        numbers.extend(number);
    }
    numbers.sort_unstable();
    let is_torn = numbers.windows(2).any(|two| two[1] != two[0] + 1);
    let path = |number: &u32| live.join(kept_rows_name(table, *number));
    Ok((numbers.iter().map(path).collect(), is_torn))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{AttributeRow, BrickRow, EdgeRow, TableId, ThreadRow};

    const BRICKS: usize = TableId::Bricks as usize;
    const LIMITS: KeepLast = KeepLast {
        last_ns: 100,
        max_bytes: u64::MAX,
    };

    fn columns(table: TableId) -> Columns {
        Columns::anonymous(table.schema()).unwrap()
    }

    fn bricks(rows: impl IntoIterator<Item = (u64, i64, Option<u64>)>) -> Columns {
        let mut columns = columns(TableId::Bricks);
        for (id, start_ns, parent) in rows {
            columns.push_own(&BrickRow {
                id,
                start_ns,
                parent,
                ..BrickRow::default()
            });
        }
        columns
    }

    #[test]
    fn rows_that_began_before_the_window_leave_it_and_are_counted() {
        let mut kept = KeptRows::new(LIMITS, None);
        kept.add(BRICKS, bricks([(1, 0, None), (2, 40, None)]), 50, None);
        kept.add(BRICKS, bricks([(3, 60, None), (4, 90, None)]), 100, None);
        kept.advance(140, None);
        assert_eq!(
            (kept.rows(BRICKS), kept.discarded(BRICKS)),
            (4, 0),
            "a row of the first batch stays"
        );
        kept.advance(165, None);
        assert_eq!(
            (kept.from_ns(), kept.rows(BRICKS), kept.discarded(BRICKS)),
            (65, 2, 2)
        );
        let rows = WindowRows::new(
            kept.from_ns(),
            kept.batches(BRICKS).map(|batch| (BRICKS, batch)),
        );
        let mut written = columns(TableId::Bricks);
        let batch = kept.batches(BRICKS).next().unwrap();
        assert_eq!(rows.copy(BRICKS, batch, &mut written), 1);
        let start = TABLES[BRICKS].position("start_ns");
        assert_eq!((written.rows(), written.word(start, 0)), (1, 90 - 65));
        assert!(!kept.lacked_memory());
    }

    #[test]
    fn memory_is_bounded_and_the_window_shrinks_for_it() {
        let bytes = WaitingRows::bytes(&TABLES[BRICKS]) as u64;
        let mut kept = KeptRows::new(
            KeepLast {
                last_ns: i64::MAX,
                max_bytes: 2 * bytes,
            },
            None,
        );
        for at in 0..5 {
            kept.add(BRICKS, bricks([(at as u64, at, None)]), at, None);
        }
        assert_eq!(
            (kept.rows(BRICKS), kept.discarded(BRICKS), kept.from_ns()),
            (2, 3, 3)
        );
        assert!(kept.lacked_memory());
    }

    #[test]
    fn what_refers_to_rows_that_left_goes_with_them_or_refers_to_nothing() {
        let batch = bricks([(1, 0, None), (2, 50, Some(1)), (3, 60, Some(2))]);
        let rows = WindowRows::new(10, [(BRICKS, &batch)].into_iter());
        let mut written = columns(TableId::Bricks);
        assert_eq!(rows.copy(BRICKS, &batch, &mut written), 1);
        let parent = TABLES[BRICKS].position("parent");
        assert!(!written.is_there(parent, 0));
        assert_eq!(
            (written.is_there(parent, 1), written.word(parent, 1)),
            (true, 2)
        );

        let mut edges = columns(TableId::Edges);
        for (from, to) in [(1, 2), (2, 3)] {
            edges.push_own(&EdgeRow {
                from,
                to,
                ..EdgeRow::default()
            });
        }
        let mut written = columns(TableId::Edges);
        assert_eq!(rows.copy(TableId::Edges as usize, &edges, &mut written), 1);
        assert_eq!(written.word(0, 0), 2);

        let mut attributes = columns(TableId::Attributes);
        for span in [1, 3] {
            attributes.push_own(&AttributeRow {
                span,
                ..AttributeRow::default()
            });
        }
        let mut written = columns(TableId::Attributes);
        assert_eq!(
            rows.copy(TableId::Attributes as usize, &attributes, &mut written),
            1
        );
        assert_eq!(written.word(0, 0), 3);

        let mut threads = columns(TableId::Threads);
        threads.push_own(&ThreadRow {
            start_ns: Some(4),
            ..ThreadRow::default()
        });
        let mut written = columns(TableId::Threads);
        assert_eq!(
            rows.copy(TableId::Threads as usize, &threads, &mut written),
            0
        );
        let start = TABLES[TableId::Threads as usize].position("start_ns");
        assert!(!written.is_there(start, 0), "it began before time 0");
    }

    #[test]
    fn a_window_that_is_not_full_holds_every_row_as_it_is() {
        let batch = bricks([(2, 0, Some(1)), (3, 60, Some(2))]);
        let rows = WindowRows::all();
        let mut written = columns(TableId::Bricks);
        assert_eq!(rows.copy(BRICKS, &batch, &mut written), 0);
        let [parent, start] = ["parent", "start_ns"].map(|name| TABLES[BRICKS].position(name));
        assert!(
            written.is_there(parent, 0),
            "that row is open, and may have left nothing"
        );
        assert_eq!(written.word(start, 1), 60);
    }
}

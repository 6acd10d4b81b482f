//! Writes a run whose rows come from elsewhere: another profiler's file, a test.
//!
//! The rows are written as the recorder writes them (segments, journal, `run.json`), in the
//! order in which they come, with memory for one batch a table.
//!
//! ```
//! use trueno_format::run_json::RunJson;
//! use trueno_format::run_writer::RunWriter;
//! use trueno_format::schema::EdgeRow;
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("imported.run");
//! let mut run = RunWriter::create(&path, RunJson::default())?;
//! let kind = run.text("depends_on");
//! run.add(&EdgeRow { from: 1, to: 2, kind })?;
//! let written = run.finish(Some(1_000))?;
//! assert_eq!(written.tables["edges"].rows, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use crate::cell::Cell;
pub use crate::schema::TableId;
pub use crate::text::Text;

use crate::ceiling::Ceiling;
use crate::cell;
use crate::columns::Columns;
use crate::devices::device_rows;
use crate::error::Error;
use crate::folder::Folder;
use crate::kept_rows::{KeepLast, KeptRows, WindowUse};
use crate::kernel_source::PtxHash;
use crate::live::{COUNTS, Entry, LIVE, LiveCounts, Log, rows_name};
use crate::mapped_file::HEADER_BYTES;
use crate::mapping::Mapping;
use crate::run_directory::{Destination, new_run_id};
use crate::run_files::RunFiles;
use crate::run_json::{Format, RunJson, State};
use crate::schema::{
    CellSink, FORMAT_MAJOR, FORMAT_MINOR, FORMAT_NAME, TABLES, TableRow, ThreadRow,
};
use crate::segment::{BATCH_ROWS, BatchEncoder};
use crate::table_writer::TableWriter;
use crate::text::{TextTable, Texts};

/// A run being written. Dropped without [`RunWriter::finish`], it stays unfinished.
pub struct RunWriter {
    files: RunFiles,
    run: RunJson,
    tables: Vec<TableWriter>,
    encoder: BatchEncoder,
    texts: TextTable,
    /// `None` if waiting rows are lost when the process dies.
    live: Option<Live>,
    /// `None`: every row is written.
    kept: Option<KeptRows>,
    now_ns: i64,
    cuts: Option<Box<dyn Cuts>>,
}

/// Asks for a rolling window to be written while the recording goes on.
pub trait Cuts: Send {
    /// Returns whether it is to be written now.
    fn is_due(&self) -> bool;

    /// The path of its run. `None`: not now.
    fn path(&mut self) -> Option<PathBuf>;

    /// It was written, or could not be.
    fn done(&mut self, path: &Path, cut: Result<&RunJson, &Error>);
}

impl RunWriter {
    /// Makes the run directory, which must not be there. `run` says whose run it is; format,
    /// state and tables are filled in here.
    ///
    /// # Errors
    /// The directory is there already, or cannot be made or written.
    pub fn create(path: &Path, mut run: RunJson) -> Result<Self, Error> {
        let new_run = Destination::check(path, false)?.make()?;
        run.format = Format {
            name: FORMAT_NAME.into(),
            major: FORMAT_MAJOR,
            minor: FORMAT_MINOR,
        };
        run.state = State::Recording;
        let files = RunFiles::create(new_run)?;
        files.run_json(&run)?;
        Ok(Self {
            files,
            run,
            tables: TABLES.iter().map(TableWriter::new).collect(),
            encoder: BatchEncoder::new(),
            texts: TextTable::default(),
            live: None,
            kept: None,
            now_ns: 0,
            cuts: None,
        })
    }

    /// As [`RunWriter::create`], and rows that wait survive the death of this process, in the folder
    /// [`live`](crate::live).
    ///
    /// # Errors
    /// As there.
    pub fn create_surviving(path: &Path, run: RunJson) -> Result<Self, Error> {
        let mut writer = Self::create(path, run)?;
        let live = Live::create(writer.files.folder());
        let live = live.map_err(|e| writer.files.error(LIVE, "make it", e))?;
        writer.live = Some(live);
        writer.files.unlock();
        Ok(writer)
    }

    /// Keeps the rows of its last part and lets older ones go. Call it before the first row, and
    /// [`RunWriter::advance`] as time passes.
    pub fn keep_last(&mut self, limits: KeepLast, cuts: Option<Box<dyn Cuts>>) {
        let live = self.live.as_ref().map(|live| live.folder.clone());
        self.kept = Some(KeptRows::new(limits, live));
        self.cuts = cuts;
        self.run.recorder.keep_last_ns = Some(limits.last_ns);
        // A reader of a killed process must know it; if this fails, so does what comes next.
        let _ = self.files.run_json(&self.run);
    }

    /// Returns whether older rows are discarded.
    pub fn keeps_last(&self) -> bool {
        self.kept.is_some()
    }

    /// Time of the run has come to `now_ns`. Rows that have left a rolling window are discarded when room is needed.
    pub fn advance(&mut self, now_ns: i64) {
        self.now_ns = self.now_ns.max(now_ns);
    }

    /// Returns whether the window may be cut, and whether it is to be now.
    pub fn cuts(&self) -> Option<bool> {
        self.cuts.as_ref().map(|cuts| cuts.is_due())
    }

    /// Writes the window until `end_ns` as a run of its own, with rows for threads that have not ended.
    pub fn cut(&mut self, end_ns: i64, threads: &[ThreadRow]) {
        let Some(mut cuts) = self.cuts.take() else {
            return;
        };
        if let Some(path) = cuts.path() {
            let cut = self.write_cut(&path, end_ns, threads);
            cuts.done(&path, cut.as_ref());
        }
        self.cuts = Some(cuts);
    }

    /// The run directory, where it is now.
    pub fn path(&self) -> PathBuf {
        self.files.folder().path()
    }

    /// The run directory, which stays the same when it is renamed.
    pub fn folder(&self) -> &Arc<Folder> {
        self.files.folder()
    }

    /// The table of that name.
    pub fn table(&self, name: &str) -> Option<TableId> {
        TableId::from_name(name)
    }

    /// Interns a text for this run.
    pub fn text(&mut self, text: &str) -> Text {
        let number = self.texts.intern(text);
        if let Some(live) = &mut self.live {
            live.know(number, text);
        }
        number
    }

    /// The text behind it.
    pub fn str(&mut self, text: Text) -> &str {
        self.texts.str(text)
    }

    /// The content of `run.json`; may be added to until the end.
    pub fn run(&mut self) -> &mut RunJson {
        &mut self.run
    }

    /// Adds a row.
    ///
    /// # Errors
    /// [`Error::Row`]: there is no memory for it. Or the disk is full.
    pub fn add<R: TableRow>(&mut self, row: &R) -> Result<(), Error> {
        self.room(R::TABLE)?.push_own(row);
        Ok(())
    }

    /// Adds a row of `ceilings`.
    ///
    /// # Errors
    /// As of [`RunWriter::add`].
    pub fn add_ceiling(&mut self, ceiling: &Ceiling) -> Result<(), Error> {
        let row = ceiling.row(&mut self.texts);
        self.add(&row)
    }

    /// Adds a row of a table that is known only when the program runs: a cell for each column of the schema, in order.
    ///
    /// # Errors
    /// [`Error::Row`]: too many or too few cells, a cell of another type, or a null where
    /// there can be none; the row is not written then. Or the disk is full.
    pub fn row(&mut self, table: TableId, cells: &[Cell]) -> Result<(), Error> {
        cell::check(table.schema(), cells)?;
        self.room(table)?.fill_own_row(|row| {
            for (cell, column) in cells.iter().zip(table.schema().columns) {
                match cell.word() {
                    Some(word) if !column.nullable => row.value(word),
                    word => row.optional(word),
                }
            }
        });
        Ok(())
    }

    fn room(&mut self, table: TableId) -> Result<&mut Columns, Error> {
        let writer = &mut self.tables[table as usize];
        if writer.room(1).is_none() {
            match &mut self.kept {
                Some(kept) => {
                    let counts = self.live.as_ref().map(Live::counts);
                    if let Some(full) = writer.take_columns() {
                        kept.add(table as usize, full, self.now_ns, counts);
                    }
                    kept.advance(self.now_ns, counts);
                }
                None => {
                    writer.flush(&mut self.files, &mut self.encoder, &mut self.texts)?;
                }
            }
        }
        let live = &self.live;
        let columns = writer.columns(|bytes| match live {
            Some(live) => live.rows(table as usize, bytes).ok(),
            None => Mapping::unpopulated(bytes).ok(),
        });
        columns.ok_or_else(|| Error::Row {
            table: table.schema().name,
            problem: "no memory for its rows".to_owned(),
        })
    }

    /// Says that rows of these tables are read from what is gone with this process, as the kernel's buffers are: if it dies,
    /// nobody knows how many it had not read yet.
    pub fn reads_from_kernel(&mut self, tables: &[TableId]) {
        if let Some(live) = &self.live {
            tables
                .iter()
                .for_each(|table| live.counts().add_unread(*table as usize));
        }
    }

    /// Counts rows of a table that could not be kept.
    pub fn drop_rows(&mut self, table: TableId, rows: u64) {
        if let Some(live) = &self.live {
            live.counts().unwritten().add(table as usize, rows);
        }
        let counted = &mut self.tables[table as usize].written.dropped;
        *counted = counted.saturating_add(rows);
        self.run.dropped = self.run.dropped.saturating_add(rows);
    }

    /// Rows of a table so far.
    pub fn rows(&self, table: TableId) -> u64 {
        let writer = &self.tables[table as usize];
        let kept = self
            .kept
            .as_ref()
            .map_or(0, |kept| kept.rows(table as usize));
        writer.written.rows + kept + writer.waiting() as u64
    }

    /// Keeps a kernel's source; its hash goes to columns named `ptx_hash`.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn source(&mut self, source: &str) -> Result<Text, Error> {
        let hash = PtxHash::from_source(source).to_string();
        self.files.ptx(&hash, source)?;
        Ok(self.text(&hash))
    }

    /// Seals the segments and writes `run.json`; `wall_ns` is the run's length, where it is known.
    ///
    /// # Errors
    /// Something cannot be written. The run stays unfinished then.
    pub fn finish(self, wall_ns: Option<i64>) -> Result<RunJson, Error> {
        self.end(State::Finished, wall_ns)
    }

    /// As [`RunWriter::finish`], of a process that ended before its recording was closed.
    ///
    /// # Errors
    /// As there.
    pub fn finish_recovered(self, wall_ns: Option<i64>) -> Result<RunJson, Error> {
        self.end(State::Recovered, wall_ns)
    }

    fn end(mut self, state: State, mut wall_ns: Option<i64>) -> Result<RunJson, Error> {
        if self.rows(TableId::Devices) == 0 {
            for row in device_rows(&self.run.values, &mut self.texts) {
                self.add(&row)?;
            }
        }
        if let Some(mut kept) = self.kept.take() {
            kept.advance(
                wall_ns.unwrap_or(self.now_ns),
                self.live.as_ref().map(Live::counts),
            );
            wall_ns = Some(self.write_window(&kept, wall_ns.unwrap_or(self.now_ns))?);
        }
        for table in &mut self.tables {
            table.flush(&mut self.files, &mut self.encoder, &mut self.texts)?;
            table.seal(&mut self.files, &mut self.texts)?;
            let written = &table.written;
            if written.rows + written.dropped + written.discarded > 0 {
                let name = table.table.name.to_owned();
                self.run.tables.insert(name, table.written.clone());
            }
        }
        self.run.wall_ns = wall_ns;
        self.run.state = state;
        self.files.run_json(&self.run)?;
        if let Some(live) = self.live.take() {
            // If it stays: run.json says that the run has ended.
            let _ = self.files.folder().remove_folder(LIVE, &live.folder);
        }
        Ok(self.run)
    }
}

impl RunWriter {
    fn write_cut(
        &mut self,
        path: &Path,
        end_ns: i64,
        threads: &[ThreadRow],
    ) -> Result<RunJson, Error> {
        let mut files = RunFiles::create(Destination::check(path, false)?.make()?)?;
        let cut = self.write_cut_to(&mut files, end_ns, threads);
        if cut.is_err() {
            // Half a run is of no use to anyone.
            let _ = files.folder().remove(None);
        }
        cut
    }

    fn write_cut_to(
        &mut self,
        files: &mut RunFiles,
        end_ns: i64,
        threads: &[ThreadRow],
    ) -> Result<RunJson, Error> {
        let counts = self.live.as_ref().map(Live::counts);
        let Some(kept) = &mut self.kept else {
            return Ok(self.run.clone());
        };
        kept.advance(end_ns, counts);
        let mut facts = Vec::new();
        for threads in threads.chunks(BATCH_ROWS) {
            if let Some(mut columns) = Columns::anonymous(TableId::Threads.schema()) {
                threads.iter().for_each(|thread| columns.push_own(thread));
                facts.push((TableId::Threads, columns));
            }
        }
        let (encoder, texts) = (&mut self.encoder, &mut self.texts);
        let mut written =
            kept.write(&self.tables, &facts, WindowUse::Cut, files, encoder, texts)?;
        let mut run = self.run.clone();
        for (table, own) in written.tables.iter_mut().zip(&self.tables) {
            table.seal(files, texts)?;
            table.written.dropped = own.written.dropped;
            let written = &table.written;
            if written.rows + written.dropped + written.discarded > 0 {
                run.tables
                    .insert(table.table.name.to_owned(), written.clone());
            }
        }
        let described = kept.describe(end_ns, written.discarded);
        run.run_id = new_run_id();
        run.clock.origin_realtime_ns += described.from_ns;
        run.wall_ns = Some(end_ns - described.from_ns);
        run.kept = Some(described);
        run.state = State::Finished;
        files.run_json(&run)?;
        Ok(run)
    }

    /// Writes the rolling window, and says in the run what it is. Returns its length.
    fn write_window(&mut self, kept: &KeptRows, end_ns: i64) -> Result<i64, Error> {
        let mut written = kept.write(
            &self.tables,
            &[],
            WindowUse::End,
            &mut self.files,
            &mut self.encoder,
            &mut self.texts,
        )?;
        for (to, from) in written.tables.iter_mut().zip(&self.tables) {
            to.written.dropped = from.written.dropped;
        }
        self.tables = written.tables;
        let described = kept.describe(end_ns, written.discarded);
        self.run.clock.origin_realtime_ns += described.from_ns;
        let wall_ns = end_ns - described.from_ns;
        self.run.kept = Some(described);
        Ok(wall_ns)
    }
}

struct Live {
    folder: Arc<Folder>,
    log: Log,
    counts: Mapping,
    /// Texts from this number on are not in the log yet.
    next_text: u32,
}

impl Live {
    fn create(run: &Folder) -> io::Result<Self> {
        let folder = Arc::new(run.create_folder(LIVE)?);
        Ok(Self {
            log: Log::create(&folder)?,
            counts: Mapping::create(&folder, COUNTS, HEADER_BYTES)?,
            folder,
            next_text: 0,
        })
    }

    /// Logs a new text before a row uses it. If the log cannot grow, rows with this text are lost when the
    /// process dies, as without a log.
    fn know(&mut self, text: Text, is: &str) {
        if text.number() >= self.next_text {
            self.next_text = text.number() + 1;
            let _ = self
                .log
                .append(&[Entry::Name(text.number(), is.to_owned())]);
        }
    }

    fn rows(&self, table: usize, bytes: usize) -> io::Result<Mapping> {
        let memory = Mapping::create(&self.folder, &rows_name(TABLES[table].name), bytes)?;
        self.counts().files().add_rows(table);
        Ok(memory)
    }

    fn counts(&self) -> &LiveCounts {
        // SAFETY: a page of zeros is a valid state of the counts, and it lives as long as self.
        unsafe { self.counts.base().cast().as_ref() }
    }
}

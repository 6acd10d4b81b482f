//! The writer thread: rings to rows to segments.

mod cut;
mod end;
mod lanes;
mod session;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub(crate) use session::{Session, start};

use trueno_format::columns::Columns;
use trueno_format::kept_rows::KeptRows;
use trueno_format::live::{Entry, LoggedThread};
use trueno_format::record::Record;
use trueno_format::record_rows::Rows;
use trueno_format::ring::Origin;
use trueno_format::run_files::RunFiles;
use trueno_format::run_json::{RunJson, State};
use trueno_format::schema::{TABLES, TableId};
use trueno_format::segment::BatchEncoder;
use trueno_format::table_writer::TableWriter;
use trueno_format::timeline::ClockReading;
use trueno_format::waiting_rows::RowOrigin;

use crate::error::Error;
use crate::lock::lock;
use crate::mailbox::Request;
use crate::names::ProcessTexts;
use crate::open_rows::OfThread;
use crate::session_state::SessionState;
use lanes::LaneReader;

const POLL: Duration = Duration::from_millis(20);
const REST: Duration = Duration::from_secs(1);
/// The first pairs are taken early, while the rate is only roughly known; after that, one per second.
const PAIR_TIMES: [Duration; 3] = [
    Duration::from_millis(20),
    Duration::from_millis(200),
    Duration::from_secs(1),
];

#[derive(Default)]
pub(super) struct Ending {
    pub asked: AtomicBool,
    /// The clock when it was asked.
    pub ticks: AtomicU64,
    /// Open rows of the thread that asked.
    pub by: Mutex<Option<OfThread>>,
    /// The wall time of the run, once it has ended.
    pub wall_ns: AtomicU64,
    /// Rows that were still open, once it has ended.
    pub open: AtomicU64,
    /// Rows that had left a rolling window, once it has ended.
    pub discarded: AtomicU64,
    /// Rows of segments that somebody has removed, once it has ended.
    pub gone: AtomicU64,
}

pub(super) struct Writer {
    shared: Arc<SessionState>,
    ending: Arc<Ending>,
    files: RunFiles,
    run: RunJson,
    lanes: Vec<LaneReader>,
    tables: Tables,
    rows: Rows,
    pairs: Vec<ClockReading>,
    next_pair: Instant,
    ended: Vec<EndedThread>,
    sources: HashSet<(u64, String)>,
    /// Rows of the writer's own for a window that is being written.
    facts: Option<Vec<(TableId, Columns)>>,
}

struct EndedThread {
    thread: LoggedThread,
    ended_ns: i64,
}

struct Tables {
    tables: Vec<TableWriter>,
    encoder: BatchEncoder,
    texts: ProcessTexts,
    shared: Arc<SessionState>,
    /// `None`: everything is written.
    kept: Option<KeptRows>,
    now_ns: i64,
    failure: Option<Error>,
    /// True if a segment was sealed since `run.json` was last written.
    sealed: bool,
}

impl Writer {
    /// Runs until the end is requested. Then reads the rings once more and closes the run.
    fn work(&mut self) {
        self.write_run_json();
        loop {
            let ending = self.ending.asked.load(Ordering::Acquire);
            self.take_pair(ending);
            if !ending {
                // First: a thread may be waiting for the longer ring, and has less and less room in its own.
                self.shared.rings.stock();
            }
            self.read_rings();
            self.take_requests();
            self.take_cuts();
            if ending {
                return self.end();
            }
            self.discard_old();
            self.tables.flush_rests(&mut self.files);
            let trouble =
                self.run.recorder.crash_safe == Some(true) && self.shared.live.trouble().is_some();
            if std::mem::take(&mut self.tables.sealed) || trouble {
                self.write_run_json();
            }
            std::thread::park_timeout(POLL);
        }
    }

    fn take_pair(&mut self, now: bool) {
        if !now && Instant::now() < self.next_pair {
            return;
        }
        let pair = self.shared.clock.read_pair();
        let knot = self.rows.timeline.add(pair);
        // Known to the log before any time is converted so.
        self.shared.live.log(&[Entry::Clock { pair, knot }]);
        self.pairs.push(pair);
        let step = PAIR_TIMES
            .get(self.pairs.len() - 1)
            .copied()
            .unwrap_or(Duration::from_secs(1));
        self.next_pair = Instant::now() + step;
    }

    fn read_rings(&mut self) {
        let arrivals = std::mem::take(&mut *lock(&self.shared.threads.arrivals));
        self.lanes.extend(arrivals.into_iter().map(LaneReader::new));
        let (rows, tables, files) = (&mut self.rows, &mut self.tables, &mut self.files);
        let shared = &self.shared;
        shared.rings.look_for_ended();
        let mut ended_lanes = Vec::new();
        let mut at = 0;
        while at < self.lanes.len() {
            let take = |origin: &Origin, place: RowOrigin, records: &[Record]| {
                let left_out = 1 + records[0].extensions();
                let Some(number) = records[0].table() else {
                    return left_out;
                };
                // The whole group at once: a batch on disk never holds part of one.
                let Some((columns, texts)) = tables.room(number, records[0].rows(), files) else {
                    return left_out;
                };
                columns.set_origin(place);
                rows.add(number, origin, records, columns, texts)
            };
            let ended = self.lanes[at].drain(take, |ring| shared.rings.give_back(ring));
            if ended {
                ended_lanes.push(self.lanes.swap_remove(at));
            } else {
                at += 1;
            }
        }
        tables.count();
        self.retire(ended_lanes);
    }

    /// Releases the rings of threads that have ended and been read completely.
    fn retire(&mut self, lanes: Vec<LaneReader>) {
        if lanes.is_empty() {
            return;
        }
        let shared = &self.shared;
        let threads: Vec<_> = lanes.iter().map(|lane| lane.thread.logged()).collect();
        // One write for all of them.
        let entries: Vec<_> = threads.iter().cloned().map(Entry::Thread).collect();
        shared.live.log(&entries);
        let ended_ns = self.tables.now_ns;
        self.ended.extend(
            threads
                .into_iter()
                .map(|thread| EndedThread { thread, ended_ns }),
        );
        shared.threads.retire(lanes.iter().map(|lane| &lane.thread));
        for lane in lanes {
            shared.rings.give_back(lane.into_ring());
        }
    }

    fn take_cuts(&mut self) {
        let cuts = std::mem::take(&mut *lock(&self.shared.mailbox.cuts));
        for cut in cuts {
            // The caller waits for it.
            let _ = cut.done.send(self.cut(&cut.path));
        }
    }

    fn take_requests(&mut self) {
        // Not in the loop's head: that would hold the lock all through it.
        let requests = std::mem::take(&mut *lock(&self.shared.mailbox.requests));
        for request in requests {
            match request {
                Request::Ptx { hash, name, source } => self.keep_ptx(hash, &name, &source),
                Request::Ceiling(ceiling) => self.keep_ceiling(&ceiling),
                Request::Collective(of) => self.keep_collective(&of),
                Request::Signature { id, text } => self.keep_signature(id, text),
                Request::DevicePair {
                    pair,
                    device,
                    device_ns,
                } => self.keep_device_pair(pair, device, device_ns),
            }
        }
    }

    /// If `run.json` cannot be replaced, the run directory is gone or the disk is full: that is a failure.
    fn write_run_json(&mut self) {
        self.run.state = if self.tables.failure.is_some() {
            State::Failed
        } else {
            State::Recording
        };
        self.describe();
        if let Err(error) = self.files.run_json(&self.run) {
            self.tables.fail(error.into());
        }
    }
}

impl Tables {
    fn new(shared: Arc<SessionState>, kept: Option<KeptRows>) -> Self {
        Self {
            kept,
            now_ns: 0,
            tables: TABLES.iter().map(TableWriter::new).collect(),
            encoder: BatchEncoder::new(),
            texts: ProcessTexts::default(),
            shared,
            failure: None,
            sealed: false,
        }
    }

    /// The waiting rows of a table, with room for `rows` more. `None` if there is no memory; the rows are then
    /// counted as lost.
    #[inline(always)]
    fn room(
        &mut self,
        number: TableId,
        rows: usize,
        files: &mut RunFiles,
    ) -> Option<(&mut Columns, &mut ProcessTexts)> {
        let number = number as usize;
        if self.tables[number].room(rows).is_none() {
            self.make_room(number, rows, files);
        }
        let columns = self.tables[number].room(rows)?;
        Some((columns, &mut self.texts))
    }

    #[cold]
    fn make_room(&mut self, number: usize, rows: usize, files: &mut RunFiles) {
        let table = &mut self.tables[number];
        match &mut self.kept {
            Some(kept) => {
                let counts = self.shared.live.counts();
                if let Some(full) = table.take_columns() {
                    kept.add(number, full, self.now_ns, counts);
                }
            }
            None => self.flush(number, files),
        }
        let live = &self.shared.live;
        let table = &mut self.tables[number];
        if table.columns(|bytes| live.rows(number, bytes)).is_none() {
            self.shared.counts.lose(number, rows as u64);
        }
    }

    fn flush(&mut self, number: usize, files: &mut RunFiles) {
        if self.failure.is_none() {
            match self.tables[number].flush(files, &mut self.encoder, &mut self.texts) {
                Ok(sealed) => self.sealed |= sealed,
                Err(error) => self.fail(error.into()),
            }
        }
        self.shared
            .counts
            .lose(number, self.tables[number].give_up());
    }

    /// Writes rows that have waited long enough. After a failure, drops them at once.
    fn flush_rests(&mut self, files: &mut RunFiles) {
        if self.kept.is_some() {
            return self.count();
        }
        for number in 0..self.tables.len() {
            let table = &self.tables[number];
            if table.waiting() > 0
                && (self.failure.is_some() || table.waiting_since.elapsed() >= REST)
            {
                self.flush(number, files);
            }
        }
        self.count();
    }

    fn count(&self) {
        for (number, table) in self.tables.iter().enumerate() {
            let kept = self.kept.as_ref().map_or(0, |kept| kept.rows(number));
            let rows = table.written.rows + kept + table.waiting() as u64;
            self.shared.counts.rows.set(number, rows);
        }
    }

    /// Stops writing; from here on rows are only counted. The first reason is kept.
    fn fail(&mut self, error: Error) {
        lock(&self.shared.mailbox.problems).push(error.to_string());
        self.failure.get_or_insert(error);
    }
}

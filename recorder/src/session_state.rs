//! State that the recording threads, the writer and the handles of one recorder share.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::Thread;

use crate::checksum::sampling::Sampling;
use crate::clock::Clock;
use crate::lane::Lane;
use crate::live::Live;
use crate::lock::lock;
use crate::open_stack;
use crate::overflow::Overflow;
use crate::perf::PerfShared;
use crate::tile_sampling;
use trueno_format::dropped_names::{DroppedNames, NamedRows};
use trueno_format::live::Entry;
use trueno_format::ring::Identity;
use trueno_format::ring::Ring;
use trueno_format::row_counters::RowCounters;
use trueno_format::schema::{TABLES, TableId};
use trueno_format::timeline::ClockReading;
use trueno_format::{Ceiling, Collective};

/// Bit beside those of tables: bricks may give work to a device.
pub(crate) const HAS_DEVICE: u32 = 1 << 31;
/// Bit beside those of tables: counters of the CPU are read around bricks.
pub(crate) const HAS_PERF: u32 = 1 << 30;

/// Bit beside those of tables: not every tile is recorded.
pub(crate) const SAMPLES_TILES: u32 = 1 << 29;
/// Bit beside those of tables: reading the clock is a call ([`Clock::is_inline`] is false).
pub(crate) const CALLS_CLOCK: u32 = 1 << 28;

const _: () = assert!(TABLES.len() <= 28);

/// A ring that grows is followed by one twice as large, up to this many records.
const LARGEST_RING: u64 = 1 << 20;

/// Memory for rings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RingSizes {
    /// Records in a thread's first ring.
    pub records: usize,
    /// See [`SessionState::growth_bytes`].
    pub growth_bytes: u64,
}

/// Rings kept for the next threads when theirs have ended.
const SPARE_RINGS: usize = 4;
/// Records in the first ring of a thread whose rings may grow: threads of a scope or a pool often record a few rows.
const FIRST_RECORDS: usize = 1 << 10;
/// First rings that wait for another thread.
const SPARE_FIRST_RINGS: usize = 256;

/// One thread that records. The thread stores into it for every row: not beside what others use.
#[repr(align(64))]
pub(crate) struct ThreadInfo {
    pub index: u32,
    pub name: Option<String>,
    pub os_id: u64,
    pub start_ticks: u64,
    /// Rings it has taken.
    rings: AtomicU64,
    /// Set after the thread's last record.
    pub closed: AtomicBool,
    /// Rows that found the ring full, by table; only the thread itself adds.
    pub dropped: RowCounters,
    /// Those whose name is known.
    pub dropped_names: DroppedNames,
    /// Place of the innermost row whose end is yet to come; only the thread itself stores. See
    /// [`ThreadInfo::open_rows`].
    pub open: AtomicU64,
}

/// An entry that is too rare for a ring: the writer takes it from a list.
pub(crate) enum Request {
    Ptx {
        hash: u64,
        name: String,
        source: Arc<str>,
    },
    Ceiling(Ceiling),
    /// Boxed: it is far larger than the others.
    Collective(Box<Collective>),
    /// Shapes of an operator: the id of their row and the number of their text.
    Signature {
        id: u32,
        text: u32,
    },
    /// The clocks of host and device at one moment.
    DevicePair {
        pair: ClockReading,
        device: u32,
        device_ns: u64,
    },
}

/// A thread's ring on its way to the writer.
pub(crate) struct Arrival {
    pub thread: Arc<ThreadInfo>,
    pub ring: Arc<Ring>,
}

pub(crate) struct SessionState {
    /// Tells recorders of one process apart; never used twice.
    pub number: u64,
    pub clock: Clock,
    pub overflow: Overflow,
    /// Not set: every checksum, no samples.
    pub sampling: OnceLock<Sampling>,
    /// Not set: every tile.
    pub tiles_every: OnceLock<tile_sampling::Every>,
    /// Not set: no counters of the CPU.
    pub perf: OnceLock<PerfShared>,
    pub ring_records: usize,
    /// Records in a thread's first ring, which one of `ring_records` follows if it is shorter.
    first_records: usize,
    /// Most memory for rings that follow full ones, of all threads together.
    pub growth_bytes: u64,
    /// Bytes of it that they have.
    grown_bytes: AtomicU64,
    next_thread: AtomicU32,
    pub arrivals: Mutex<Vec<Arrival>>,
    spare: Mutex<Vec<Arc<Ring>>>,
    spare_first: Mutex<Vec<Arc<Ring>>>,
    /// First rings to have ready: more, once a thread had to make its own.
    first_rings: AtomicUsize,
    pub live: Arc<Live>,
    /// Threads that may still record.
    pub threads: Mutex<Vec<Arc<ThreadInfo>>>,
    /// Drops of threads that have ended.
    ended_dropped: RowCounters,
    ended_dropped_names: Mutex<NamedRows>,
    /// Events of threads that could not get a ring, and rows that could not be written. As in `live/counts`, which
    /// survives a kill and which others can write.
    without_ring: RowCounters,
    unwritten: RowCounters,
    /// Rows in segments or on their way into one.
    pub rows: RowCounters,
    /// Events after the end.
    pub late: AtomicU64,
    /// Detached intervals whose end is yet to come.
    pub detached: AtomicU64,
    /// Work of open bricks and launches that will have a row of its own.
    pub open_on_device: AtomicU64,
    /// No record will be read any more.
    pub stopped: AtomicBool,
    pub writer: OnceLock<Thread>,
    pub requests: Mutex<Vec<Request>>,
    /// Ids of signatures, whose rows were asked for, by the number of their text.
    pub signatures: Mutex<HashMap<u32, u32>>,
    pub values: Mutex<BTreeMap<String, String>>,
    pub problems: Mutex<Vec<String>>,
    /// Rings of threads that were still there when the run ended.
    left: Mutex<Vec<Arc<Ring>>>,
    abandoned: Mutex<Vec<AbandonedLane>>,
}

/// Events that were published and that nobody will read.
fn unread_events(ring: &Arc<Ring>) -> u64 {
    let mut ring = ring.clone();
    let mut count = 0;
    loop {
        let events = ring
            .unread_records()
            .filter(|record| record.table().is_some());
        count += events.map(|record| record.rows() as u64).sum::<u64>();
        match ring.next().cloned() {
            Some(next) => ring = next,
            None => return count,
        }
    }
}

/// The lane of a thread that has ended with guards open.
struct AbandonedLane(*mut Lane);

// SAFETY: only ever freed, and not before the last guard is gone (`SessionState::free_abandoned`).
unsafe impl Send for AbandonedLane {}

impl ThreadInfo {
    /// Rows whose end is yet to come.
    pub fn open_rows(&self) -> u64 {
        open_stack::rows_at(self.open.load(Ordering::Relaxed))
    }

    /// A thread that has recorded nothing yet.
    pub fn new(index: u32, name: Option<String>, os_id: u64, start_ticks: u64) -> Self {
        Self {
            index,
            name,
            os_id,
            start_ticks,
            rings: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            dropped: RowCounters::default(),
            dropped_names: DroppedNames::default(),
            open: AtomicU64::new(0),
        }
    }

    /// Gives the thread's identity for its next ring.
    pub fn identity(&self) -> Identity {
        Identity {
            thread: self.index,
            order: self.rings.fetch_add(1, Ordering::Relaxed),
            os_id: self.os_id,
            start_ticks: self.start_ticks,
            name: self.name.clone(),
        }
    }
}

impl SessionState {
    pub fn new(clock: Clock, overflow: Overflow, rings: RingSizes, live: Live) -> Arc<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        Arc::new(Self {
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            clock,
            overflow,
            sampling: OnceLock::new(),
            tiles_every: OnceLock::new(),
            perf: OnceLock::new(),
            ring_records: rings.records,
            first_records: match overflow {
                Overflow::Grow => rings.records.min(FIRST_RECORDS),
                Overflow::Drop | Overflow::Block => rings.records,
            },
            growth_bytes: rings.growth_bytes,
            grown_bytes: AtomicU64::new(0),
            next_thread: AtomicU32::new(0),
            arrivals: Mutex::default(),
            spare: Mutex::default(),
            spare_first: Mutex::default(),
            first_rings: AtomicUsize::new(1),
            live: Arc::new(live),
            threads: Mutex::default(),
            ended_dropped: RowCounters::default(),
            ended_dropped_names: Mutex::default(),
            without_ring: RowCounters::default(),
            unwritten: RowCounters::default(),
            rows: RowCounters::default(),
            late: AtomicU64::new(0),
            detached: AtomicU64::new(0),
            open_on_device: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            writer: OnceLock::new(),
            requests: Mutex::default(),
            signatures: Mutex::default(),
            values: Mutex::default(),
            problems: Mutex::default(),
            left: Mutex::default(),
            abandoned: Mutex::default(),
        })
    }

    /// A ring for a new thread: one that was given back, else a fresh one.
    pub fn ring(&self) -> Option<Arc<Ring>> {
        if !self.starts_small() {
            return self.full_ring();
        }
        let spare = lock(&self.spare_first).pop();
        if spare.is_none() {
            let wanted = self.first_rings.load(Ordering::Relaxed);
            let wanted = (2 * wanted).min(SPARE_FIRST_RINGS);
            self.first_rings.store(wanted, Ordering::Relaxed);
        }
        let spare = spare.filter(|ring| ring.is_fresh());
        spare.or_else(|| self.live.ring(self.first_records))
    }

    fn full_ring(&self) -> Option<Arc<Ring>> {
        // One that others have written to meanwhile is left alone.
        let spare = lock(&self.spare).pop().filter(|ring| ring.is_fresh());
        spare.or_else(|| self.live.ring(self.ring_records))
    }

    fn starts_small(&self) -> bool {
        self.first_records < self.ring_records
    }

    /// True if a ring of that many records is to be left once it is half full: the next one is longer, and the writer
    /// need not be woken so often.
    pub fn is_outgrown(&self, capacity: u64) -> bool {
        capacity < self.ring_records as u64 && self.starts_small()
    }

    /// A ring to follow a full one of `capacity` records: one of full length after a short one, else one twice as
    /// large, or as large as memory for growth is left.
    pub fn grown_ring(&self, capacity: u64) -> Option<Arc<Ring>> {
        if self.is_outgrown(capacity) {
            return self.full_ring();
        }
        let mut records = (capacity * 2).min(LARGEST_RING.max(capacity));
        loop {
            let bytes = Ring::bytes(records as usize)? as u64;
            if self.take_growth(bytes) {
                let ring = self.live.ring(records as usize);
                if ring.is_none() {
                    self.give_back_growth(bytes);
                }
                return ring;
            }
            if records <= self.ring_records as u64 {
                return None;
            }
            records /= 2;
        }
    }

    fn take_growth(&self, bytes: u64) -> bool {
        let more = |taken: u64| {
            let sum = taken.checked_add(bytes)?;
            (sum <= self.growth_bytes).then_some(sum)
        };
        let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
        self.grown_bytes.fetch_update(set, fetch, more).is_ok()
    }

    /// Saturating: the place of a ring lies in a file that others can write.
    fn give_back_growth(&self, bytes: u64) {
        let less = |taken: u64| Some(taken.saturating_sub(bytes));
        let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
        let _ = self.grown_bytes.fetch_update(set, fetch, less);
    }

    /// Has rings ready for the next new threads: making one of full length takes a millisecond.
    pub fn stock(&self) {
        let wanted = self.first_rings.load(Ordering::Relaxed);
        while self.starts_small() && lock(&self.spare_first).len() < wanted {
            let Some(ring) = self.live.ring(self.first_records) else {
                break;
            };
            lock(&self.spare_first).push(ring);
        }
        if lock(&self.spare).is_empty()
            && let Some(ring) = self.live.ring(self.ring_records)
        {
            lock(&self.spare).push(ring);
        }
    }

    /// Takes back a ring that was read to its end.
    pub fn give_back(&self, ring: Arc<Ring>) {
        self.keep_dropped(&ring);
        ring.header().in_use.store(0, Ordering::Release);
        // The ring of full length that follows a short one is not growth.
        let full_order = u64::from(self.starts_small());
        let order = ring.header().order.load(Ordering::Relaxed);
        if order > full_order {
            let bytes = Ring::bytes(ring.capacity() as usize).unwrap_or(0) as u64;
            self.give_back_growth(bytes);
            return self.live.remove_ring(&ring);
        }
        let (spare, most, records) = if order < full_order {
            (&self.spare_first, SPARE_FIRST_RINGS, self.first_records)
        } else {
            (&self.spare, SPARE_RINGS, self.ring_records)
        };
        let mut spare = lock(spare);
        let fits = ring.capacity() == records as u64 && ring.next().is_none();
        if !fits || spare.len() >= most {
            return self.live.remove_ring(&ring);
        }
        if let Some(ring) = ring.recycle() {
            spare.push(ring);
        }
    }

    /// Keeps the counts of drops for when the ring is used again and the process is killed then.
    fn keep_dropped(&self, ring: &Ring) {
        let header = ring.header();
        if header.dropped().sum() == 0 {
            return;
        }
        let rows = (0..TABLES.len()).map(|table| (table, header.dropped().get(table)));
        let mut names = NamedRows::new();
        header.dropped_names.add_to(&mut names);
        self.live.log(&[Entry::Dropped {
            ring: ring.number(),
            uses: header.uses.load(Ordering::Relaxed),
            rows: rows
                .filter(|(_, rows)| *rows > 0)
                .map(|(table, rows)| (TABLES[table].name.to_owned(), rows))
                .collect(),
            names: names
                .into_iter()
                .map(|((table, name), rows)| (TABLES[table].name.to_owned(), name, rows))
                .collect(),
        }]);
    }

    /// Hands something rare to the writer. It is kept from now on.
    pub fn request(&self, request: Request) {
        let entry = match &request {
            Request::Ceiling(ceiling) => Entry::Ceiling(ceiling.clone()),
            Request::Collective(of) => Entry::Collective((**of).clone()),
            Request::Signature { id, text } => Entry::Signature {
                id: *id,
                text: *text,
            },
            Request::Ptx { hash, name, source } => Entry::Ptx {
                hash: *hash,
                name: name.clone(),
                source: source.to_string(),
            },
            Request::DevicePair {
                pair,
                device,
                device_ns,
            } => Entry::DevicePair {
                pair: *pair,
                device: *device,
                device_ns: *device_ns,
            },
        };
        // Under the lock: the log has them in the order in which the writer takes them.
        let mut requests = lock(&self.requests);
        self.live.log(&[entry]);
        requests.push(request);
    }

    /// Keeps a fact about the run.
    pub fn keep_value(&self, key: String, value: String) {
        self.live.log(&[Entry::Value(key.clone(), value.clone())]);
        lock(&self.values).insert(key, value);
    }

    /// Counts events of threads that could not get a ring.
    pub fn no_ring(&self, table: TableId, events: u64) {
        self.without_ring.add(table as usize, events);
        if let Some(counts) = self.live.counts() {
            counts.no_ring().add(table as usize, events);
        }
    }

    /// Counts rows that could not be written.
    pub fn lose(&self, table: usize, rows: u64) {
        self.unwritten.add(table, rows);
        if let Some(counts) = self.live.counts() {
            counts.unwritten().add(table, rows);
        }
    }

    /// Rows that could not be written, all tables.
    pub fn lost(&self) -> u64 {
        self.unwritten.sum()
    }

    /// Makes the calling thread known to the writer.
    pub fn register(&self, ring: &Arc<Ring>) -> Arc<ThreadInfo> {
        // In a thread whose locals are being destroyed `current()` would panic.
        let name = std::panic::catch_unwind(|| std::thread::current().name().map(str::to_owned));
        // SAFETY: takes nothing, cannot fail.
        let os_id = unsafe { libc::syscall(libc::SYS_gettid) };
        let mut arrivals = lock(&self.arrivals);
        let thread = Arc::new(ThreadInfo::new(
            self.next_thread.fetch_add(1, Ordering::Relaxed),
            name.ok().flatten(),
            os_id as u64,
            self.clock.ticks(),
        ));
        ring.header().take(&thread.identity());
        lock(&self.threads).push(thread.clone());
        arrivals.push(Arrival {
            thread: thread.clone(),
            ring: ring.clone(),
        });
        thread
    }

    /// The writer has read the last record of this thread.
    pub fn retire(&self, thread: &Arc<ThreadInfo>) {
        let mut threads = lock(&self.threads);
        threads.retain(|other| !Arc::ptr_eq(other, thread));
        for table in 0..TABLES.len() {
            self.ended_dropped.add(table, thread.dropped.get(table));
        }
        thread
            .dropped_names
            .add_to(&mut lock(&self.ended_dropped_names));
    }

    /// Rows of a table that were not recorded, so far.
    pub fn dropped(&self, table: usize) -> u64 {
        let threads = lock(&self.threads);
        let lost = self.without_ring.get(table);
        let lost = lost.saturating_add(self.unwritten.get(table));
        let of_threads = threads.iter().map(|thread| thread.dropped.get(table));
        of_threads.fold(
            self.ended_dropped.get(table).saturating_add(lost),
            u64::saturating_add,
        )
    }

    /// Rows that were not recorded, so far, by table and name.
    pub fn dropped_names(&self) -> NamedRows {
        let threads = lock(&self.threads);
        let mut sums = lock(&self.ended_dropped_names).clone();
        for thread in threads.iter() {
            thread.dropped_names.add_to(&mut sums);
        }
        sums
    }

    /// Events after the end: those that met a closed recorder, and those published too late.
    pub fn late(&self) -> u64 {
        let met = self.late.load(Ordering::Relaxed);
        if !self.stopped.load(Ordering::Acquire) {
            return met;
        }
        let arrived = lock(&self.arrivals)
            .iter()
            .map(|arrival| arrival.ring.clone())
            .collect::<Vec<_>>();
        let left = lock(&self.left).clone();
        met + arrived.iter().chain(&left).map(unread_events).sum::<u64>()
    }

    /// The writer reads these rings no more.
    pub fn leave(&self, rings: impl IntoIterator<Item = Arc<Ring>>) {
        lock(&self.left).extend(rings);
    }

    /// Keeps a lane whose thread has ended while guards still point to it.
    pub fn abandon(&self, lane: *mut Lane) {
        lock(&self.abandoned).push(AbandonedLane(lane));
    }

    /// Frees abandoned lanes.
    ///
    /// # Safety
    /// No guard of this recorder may exist any more.
    pub unsafe fn free_abandoned(&self) {
        for AbandonedLane(lane) in std::mem::take(&mut *lock(&self.abandoned)) {
            // SAFETY: made by `Box::into_raw`, given up by its thread, used by no guard.
            drop(unsafe { Box::from_raw(lane) });
        }
    }

    /// Lets the writer run now.
    pub fn wake(&self) {
        if let Some(writer) = self.writer.get() {
            writer.unpark();
        }
    }
}

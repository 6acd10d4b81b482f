//! The handle of a recording.

use std::io;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, OnceLock};

use crate::at_exit;
use crate::builder::Builder;
use crate::clock::Clock;
use crate::control;
use crate::device::DeviceWork;
use crate::error::Error;
use crate::fork::{self, Switches, Watched};
use crate::live::Live;
use crate::lock::lock;
use crate::names::Name;
use crate::open_rows::OfThread;
use crate::overflow::Overflow;
use crate::pauses::PAUSED;
use crate::reentrancy::ReentrancyGuard;
use crate::ring_pool::RingSizes;
use crate::session_state::{CALLS_CLOCK, HAS_DEVICE, HAS_PERF, SAMPLES_TILES, SessionState};
use crate::status::{Status, Summary};
use crate::threads;
use crate::writer::Session;
use trueno_format::record::{Record, kind};
use trueno_format::schema::TableId;
use trueno_format::timeline::ClockReading;

/// With feature `off` every check below is decided at compile time, and guards compile to nothing.
const COMPILED_OUT: bool = cfg!(feature = "off");

/// Records one run. Cheap to clone; clones and threads share the run.
///
/// The run ends with [`Recorder::finish`], or when the last clone is dropped.
#[derive(Clone)]
pub struct Recorder {
    inner: Arc<Inner>,
}

/// Aligned, so that the reference counts, which every clone changes, are not on the cache line that every guard
/// reads.
#[repr(align(128))]
pub(crate) struct Inner {
    /// First, because every guard reads it.
    switches: Switches,
    number: u64,
    shared: Arc<SessionState>,
    /// `None` for a disabled recorder.
    session: Option<Session>,
    /// `None` if no device is used.
    device: Option<DeviceWork>,
    /// Turns the recorder off in forked processes. Set once, because it refers to `switches`.
    watched: OnceLock<Watched>,
}

impl Recorder {
    /// Starts a run at `path` with the default options.
    ///
    /// # Errors
    /// See [`Builder::create`].
    pub fn create(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::builder(path).create()
    }

    /// Sets options before the run starts.
    pub fn builder(path: impl AsRef<Path>) -> Builder {
        Builder::new(path.as_ref())
    }

    /// A recorder that records nothing: every call is one load and one branch, no clock is read.
    pub fn disabled() -> Self {
        Self::with(
            0,
            SessionState::new(
                Clock::Monotonic,
                Overflow::Drop,
                RingSizes {
                    records: 64,
                    growth_bytes: 0,
                },
                Live::none(),
            ),
            None,
        )
    }

    pub(crate) fn with(tables: u32, shared: Arc<SessionState>, session: Option<Session>) -> Self {
        let mut tables = tables;
        if tables != 0 && !shared.clock.is_inline() {
            tables |= CALLS_CLOCK;
        }
        if tables != 0 && shared.tiles_every.get().is_some() {
            tables |= SAMPLES_TILES;
        }
        let inner = Arc::new(Inner {
            switches: Switches {
                on: AtomicU64::new(Tables::new(tables).0),
                paused: AtomicU64::new(0),
            },
            number: shared.number,
            shared,
            session,
            device: None,
            watched: OnceLock::new(),
        });
        if inner.session.is_some() {
            let log = inner.shared.live.log_descriptor();
            // SAFETY: what an Arc holds does not move, and it drops `watched` with `switches`:
            // a destructor that runs field by field frees nothing before all have run.
            let watched = unsafe { fork::watch(&inner.switches, log) };
            // Set here only.
            let _ = inner.watched.set(watched);
        }
        Self { inner }
    }

    /// Adds the device of `builder`. Call before anything is recorded.
    pub(crate) fn attach(&mut self, builder: &Builder, earlier: ClockReading) {
        // Nobody else has the new recorder yet.
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            let tables = Tables(*inner.switches.on.get_mut()).all();
            inner.device = DeviceWork::new(builder, inner.shared.clone(), earlier, tables);
            if inner.device.is_some() && tables != 0 {
                *inner.switches.on.get_mut() = Tables::new(tables | HAS_DEVICE).0;
            }
        }
    }

    pub(crate) fn of(inner: Arc<Inner>) -> Self {
        Self { inner }
    }

    /// Takes requests from outside.
    pub(crate) fn listen(&self) {
        let recorder = Arc::downgrade(&self.inner);
        let listens = match self.shared().live.folder() {
            Some(live) => control::listen(live, recorder),
            None => Err(io::Error::other("its folder live/ could not be made")),
        };
        if let Err(problem) = listens {
            let problem = format!("it takes no requests from outside: {problem}");
            lock(&self.shared().mailbox.problems).push(problem);
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.shared().counts.stopped.load(Ordering::Acquire)
    }

    /// Ends the run with the program, if the recorder still exists then.
    pub(crate) fn finish_at_exit(&self) {
        at_exit::finish(Arc::downgrade(&self.inner));
    }

    /// The bits of what is recorded, to check several with one read.
    #[inline(always)]
    pub(crate) fn tables(&self) -> Tables {
        if COMPILED_OUT {
            return Tables(0);
        }
        Tables(self.inner.switches.on.load(Ordering::Relaxed))
    }

    /// Like [`Recorder::tables`], for rows that end now: a row that began before a pause is recorded whenever
    /// it ends.
    #[inline(always)]
    pub(crate) fn tables_at_end(&self) -> Tables {
        let on = self.tables();
        if on.0 == 0 { self.paused_tables() } else { on }
    }

    #[cold]
    fn paused_tables(&self) -> Tables {
        if COMPILED_OUT {
            return Tables(0);
        }
        // What was stored before the recorder was turned off is seen.
        fence(Ordering::Acquire);
        match self.inner.switches.paused.load(Ordering::Acquire) {
            // It may have been turned on again since.
            0 => self.tables(),
            paused => Tables(paused),
        }
    }

    #[cold]
    pub(crate) fn device(&self) -> Option<&DeviceWork> {
        self.inner.device.as_ref()
    }

    /// Returns whether anything is recorded: false for a disabled, a finished and a [paused](Recorder::pause) recorder.
    #[inline(always)]
    pub fn is_enabled(&self) -> bool {
        !self.is_off()
    }

    #[inline(always)]
    pub(crate) fn is_off(&self) -> bool {
        COMPILED_OUT || self.inner.switches.on.load(Ordering::Relaxed) == 0
    }

    #[inline(always)]
    pub(crate) fn records(&self, table: TableId) -> bool {
        self.tables().has(table)
    }

    #[inline(always)]
    pub(crate) fn number(&self) -> u64 {
        self.inner.number
    }

    #[inline(always)]
    pub(crate) fn shared(&self) -> &Arc<SessionState> {
        &self.inner.shared
    }

    #[cold]
    pub(crate) fn too_late(&self) {
        self.shared().counts.late.fetch_add(1, Ordering::Relaxed);
    }

    #[cold]
    pub(crate) fn no_ring(&self, table: TableId) {
        self.shared().counts.no_ring(table, 1);
    }

    /// Interns a name once, for use with any recorder; see [`Name`].
    pub fn name(&self, text: &str) -> Name {
        Name::new(text)
    }

    /// Stores a fact about the run in `run.json`; a later value of the same key replaces it.
    pub fn value(&self, key: impl Into<String>, value: impl ToString) {
        if self.is_enabled() || self.is_paused() {
            self.shared()
                .mailbox
                .keep_value(key.into(), value.to_string());
        }
    }

    /// Stops recording on all threads until [`Recorder::resume`]. Guards, checksums and other events then
    /// cost what they cost a [disabled](Recorder::disabled) recorder, and are not recorded. Rows that are
    /// open now are recorded when they end. A guard made while paused records nothing, even if it ends later.
    /// Facts of the run ([`Recorder::value`]) and samples of `alloc` are still recorded: live memory is known
    /// only if every block is seen.
    ///
    /// The pause is a row of `annotations` of kind `paused`. `run.json` has the total length of pauses. Does
    /// nothing if the recorder is paused, disabled or finished. Takes a lock: not for signal handlers.
    ///
    /// ```
    /// # let rec = trueno_recorder::Recorder::disabled();
    /// rec.pause();
    /// // ... warm up ...
    /// rec.resume();
    /// ```
    pub fn pause(&self) {
        self.inner.pause();
    }

    /// Continues after [`Recorder::pause`]. Does nothing if the recorder is not paused.
    pub fn resume(&self) {
        self.inner.resume(true);
    }

    /// Writes what a rolling window holds ([`Builder::keep_last`]) as a run at `path`, and goes on recording. Waits until it
    /// is written: some 0.3 s for a million rows.
    ///
    /// Rows that are open are not in it. The run is complete and can be read at once.
    ///
    /// # Errors
    /// The recorder keeps everything; the path is that of a run; the run cannot be written. The recording goes on.
    pub fn cut(&self, path: impl AsRef<Path>) -> Result<Summary, Error> {
        let Some(session) = &self.inner.session else {
            return Ok(Summary::default());
        };
        session.check_process()?;
        let _reentrancy = ReentrancyGuard::enter();
        session.cut(path.as_ref())
    }

    /// Writes the rolling window as a run at `path` when a thread panics: the first time only, as the path is taken then. The
    /// panic takes its course, and the recording goes on.
    ///
    /// Sets a panic hook, which calls the one that was there. Without an unwinding panic, as with `panic = "abort"`, it works
    /// as well.
    ///
    /// # Panics
    /// In a thread that is panicking.
    pub fn cut_on_panic(&self, path: impl Into<PathBuf>) {
        let (recorder, path) = (Arc::downgrade(&self.inner), path.into());
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            // A panic of the recorder itself may hold what a cut needs.
            if !ReentrancyGuard::is_held()
                && let Some(inner) = recorder.upgrade()
            {
                // A panic hook has no caller that could handle the error.
                let _ = Self::of(inner).cut(&path);
            }
            before(panic);
        }));
    }

    /// Returns whether the recorder is [paused](Recorder::pause).
    pub fn is_paused(&self) -> bool {
        !COMPILED_OUT && self.inner.switches.paused.load(Ordering::Relaxed) != 0
    }

    /// Live counts: rows, drops, problems. In a forked process only a problem that says so, because the
    /// counts are those of its parent.
    pub fn status(&self) -> Status {
        match self.inner.check_process() {
            Ok(()) => Status::read(self.shared()),
            Err(forked) => Status {
                problems: vec![forked.to_string()],
                ..Status::default()
            },
        }
    }

    /// Waits for the device and records the times of its work so far, in every
    /// [`SyncMode`](crate::SyncMode) but `None`; with that, or without a device, does nothing.
    ///
    /// # Errors
    /// [`Error::Device`], which is also counted and reported in `run.json`: the work that waited
    /// is not measurable, and its rows say so.
    pub fn synchronize(&self) -> Result<(), Error> {
        match &self.inner.device {
            Some(device) if self.tables_at_end().has_device() => device.synchronize(),
            _ => Ok(()),
        }
    }

    /// Ends the run: reads what all threads have published, closes the files, writes `run.json`.
    ///
    /// Rows that are still open are not part of the run, nor are later events of other threads: let guards go
    /// out of scope first. A run with open rows is incomplete. [`Summary::open`] counts them, and `problems`
    /// of `run.json` names their threads. [`Status::late`] counts the guards that are dropped afterwards. A
    /// second call, or one on another thread, waits and returns the same.
    ///
    /// # Errors
    /// [`Error::Writer`] if the writer had to stop early. The run then has what was written before, with the
    /// state `failed` if `run.json` could be written.
    /// [`Error::Forked`] in a process that was forked while the run was recorded.
    pub fn finish(&self) -> Result<Summary, Error> {
        self.inner.finish()
    }
}

/// Tables and features that are on; see [`Recorder::tables`].
///
/// The high half has a bit for each table and for other features ([`HAS_DEVICE`] and so on). The low half has a bit
/// for each table whose guards only have to make a record: most guards check only that one.
#[derive(Clone, Copy)]
pub(crate) struct Tables(u64);

impl Tables {
    fn new(all: u32) -> Self {
        let unless = |table: TableId, besides: u32| match all & (besides | CALLS_CLOCK) {
            0 => all & table.bit(),
            _ => 0,
        };
        let just = unless(TableId::Bricks, HAS_DEVICE | HAS_PERF)
            | unless(TableId::Kernels, 0)
            | unless(TableId::Tiles, SAMPLES_TILES);
        Self(u64::from(all) << 32 | u64::from(just))
    }

    fn all(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline(always)]
    pub fn has(self, table: TableId) -> bool {
        self.0 & u64::from(table.bit()) << 32 != 0
    }

    /// Returns whether rows of `table`, one of those with guards, are recorded, and nothing but their records is to be
    /// made.
    #[inline(always)]
    pub fn has_just(self, table: TableId) -> bool {
        self.0 & u64::from(table.bit()) != 0
    }

    #[inline(always)]
    pub fn has_device(self) -> bool {
        self.all() & HAS_DEVICE != 0
    }

    #[cfg(feature = "perf")]
    #[inline(always)]
    pub fn has_perf(self) -> bool {
        self.all() & HAS_PERF != 0
    }
}

impl Inner {
    fn pause(&self) {
        if self.session.is_none() || self.check_process().is_err() {
            return;
        }
        let _reentrancy = ReentrancyGuard::enter();
        let mut pauses = lock(&self.shared.pauses);
        let on = self.switches.on.load(Ordering::Relaxed);
        if on == 0 {
            return;
        }
        self.switches.paused.store(on, Ordering::Relaxed);
        self.switches.on.store(0, Ordering::Release);
        if pauses.begin(self.shared.clock.ticks()) {
            let text = "at times: rows of annotations of kind paused";
            let value = (PAUSED.to_owned(), text.to_owned());
            self.shared.mailbox.keep_value(value.0, value.1);
        }
    }

    /// Records the pause. With `goes_on`, also turns recording on again.
    fn resume(&self, goes_on: bool) {
        if self.session.is_none() || self.check_process().is_err() {
            return;
        }
        let _reentrancy = ReentrancyGuard::enter();
        let mut pauses = lock(&self.shared.pauses);
        let paused = self.switches.paused.load(Ordering::Relaxed);
        let end = self.shared.clock.ticks();
        let Some(start) = pauses.end(end).filter(|_| paused != 0) else {
            return;
        };
        if Tables(paused).has(TableId::Annotations) {
            let record = Record {
                start,
                end: end.max(start),
                name: Name::new("recorder paused").number(),
                kind: kind::PAUSE,
                ..Record::default()
            };
            let lane = threads::lane(&self.shared);
            // SAFETY: null or the calling thread's own lane, valid until the thread ends; no other reference to it
            // exists now.
            match unsafe { lane.as_mut() } {
                Some(lane) => lane.push(TableId::Annotations, record),
                None => self.shared.counts.no_ring(TableId::Annotations, 1),
            }
        }
        if goes_on {
            self.switches.on.store(paused, Ordering::Relaxed);
            self.switches.paused.store(0, Ordering::Release);
        }
    }

    /// The run ends: nothing is recorded any more, and nothing turns recording on again.
    fn pauses_end(&self) {
        let _pauses = lock(&self.shared.pauses);
        self.switches.turn_off();
    }

    /// # Errors
    /// [`Error::Forked`]: data under a lock of the parent may be inconsistent, and the lock may be held by a
    /// thread that does not exist here.
    fn check_process(&self) -> Result<(), Error> {
        self.session.as_ref().map_or(Ok(()), Session::check_process)
    }

    pub(crate) fn finish(&self) -> Result<Summary, Error> {
        let Some(session) = &self.session else {
            return Ok(Summary::default());
        };
        session.check_process()?;
        // Its row is one of this thread, which is asked for below.
        self.resume(false);
        let _reentrancy = ReentrancyGuard::enter();
        #[cfg(feature = "alloc")]
        crate::alloc::stop(&self.shared);
        if let Some(device) = &self.device {
            device.end();
        }
        if let Some(watched) = self.watched.get() {
            watched.forget_log();
        }
        let open = threads::ask_lane(&self.shared, |lane| {
            OfThread::new(lane.thread().index, lane.open_kinds())
        });
        let result = session.finish(open, || self.pauses_end());
        #[cfg(feature = "perf")]
        if self.shared.perf.get().is_some() {
            threads::forget_finished();
        }
        result
    }
}

// A panic leaves nothing of it half done: records are published whole, locks do not stay
// poisoned, and a device that panics is caught where it is asked.
impl UnwindSafe for Recorder {}
impl RefUnwindSafe for Recorder {}

impl Drop for Inner {
    fn drop(&mut self) {
        let _reentrancy = ReentrancyGuard::enter();
        if self.check_process().is_err() {
            return;
        }
        // The error stands in run.json, where that can be written; a destructor has no caller to tell.
        let _ = self.finish();
        // SAFETY: guards borrow the recorder and detached intervals hold it, so none is left.
        unsafe { self.shared.free_abandoned() };
    }
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder")
            .field("enabled", &self.is_enabled())
            .finish_non_exhaustive()
    }
}

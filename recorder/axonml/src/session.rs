//! The run that profilers record to, and the operations that are open in it.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use trueno_recorder::finished::{Brick, BrickPlace, Enclosing, Moment, Site};
use trueno_recorder::{Error, Name, Recorder, Summary};

/// Environment variable with the directory of the run that profilers of `new` record to.
const RUN_VARIABLE: &str = "TRUENO_RUN";

/// Number of the calling thread, from 1 in the order of first calls.
pub fn thread_number() -> u64 {
    static THREADS: AtomicU64 = AtomicU64::new(0);
    thread_local! {
        static NUMBER: Cell<u64> = const { Cell::new(0) };
    }
    if NUMBER.get() == 0 {
        NUMBER.set(THREADS.fetch_add(1, Ordering::Relaxed) + 1);
    }
    NUMBER.get()
}

/// Open rows by thread, the innermost last.
type OpenRows = HashMap<u64, Vec<(BrickPlace, Name)>>;

#[derive(Debug)]
struct Shared {
    rec: Recorder,
    process: u32,
    open: Mutex<OpenRows>,
    stops_without_start: AtomicU64,
    unmatched_free_bytes: AtomicU64,
    /// Operations whose FLOPs are not a count.
    refused: Mutex<BTreeSet<String>>,
}

/// A run and its open rows, shared by all profilers of the run.
#[derive(Clone, Debug)]
pub struct Session(Arc<Shared>);

/// An operation that has begun.
#[derive(Debug)]
pub struct Interval {
    pub thread: u64,
    pub start: Moment,
    name: Name,
    location: &'static Location<'static>,
    /// `None` without a run.
    pub place: Option<BrickPlace>,
}

/// Declared work of an operation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    pub flops: Option<f64>,
    pub bytes: Option<usize>,
}

impl Session {
    pub fn new(rec: Recorder) -> Self {
        Self(Arc::new(Shared {
            rec,
            process: std::process::id(),
            open: Mutex::default(),
            stops_without_start: AtomicU64::new(0),
            unmatched_free_bytes: AtomicU64::new(0),
            refused: Mutex::default(),
        }))
    }

    /// The session of the process. Its run ends with the process, because profilers in statics are never
    /// dropped.
    pub fn of_process() -> Self {
        let make = || match std::env::var_os(RUN_VARIABLE).filter(|path| !path.is_empty()) {
            None => Self::new(Recorder::disabled()),
            Some(path) => match Recorder::create(path) {
                Ok(rec) => {
                    // SAFETY: a function that takes nothing and does not unwind.
                    unsafe { libc::atexit(at_exit) };
                    Self::new(rec)
                }
                Err(error) => {
                    eprintln!("trueno-recorder: {RUN_VARIABLE}: {error}");
                    Self::new(Recorder::disabled())
                }
            },
        };
        PROCESS.get_or_init(make).clone()
    }

    pub fn rec(&self) -> &Recorder {
        &self.0.rec
    }

    pub fn now(&self) -> Moment {
        Moment::now(&self.0.rec)
    }

    pub fn begin(&self, name: &str, location: &'static Location<'static>) -> Interval {
        let (thread, name) = (thread_number(), Name::new(name));
        let place = BrickPlace::take(&self.0.rec);
        if let Some(place) = place {
            let mut open = self.0.open.lock();
            open.entry(thread).or_default().push((place, name));
        }
        Interval {
            thread,
            start: self.now(),
            name,
            location,
            place,
        }
    }

    /// Ends an operation, on any thread, and records it. Its parent is the operation that is still open around
    /// it.
    pub fn end(&self, interval: &Interval, work: Work) -> Moment {
        let end = self.now();
        let parent = self.forget(interval);
        let rec = &self.0.rec;
        if let Some(place) = interval.place {
            let site = Site::at(interval.name, interval.location);
            let brick = Brick {
                enclosing: Enclosing {
                    parent,
                    layer: None,
                },
                flops: work.flops.map(|flops| flops.round() as u64),
                ..Brick::new(site, interval.start, end)
            };
            if let Some(bytes) = work.bytes {
                rec.attribute(place.span(), "bytes_processed", bytes);
            }
            rec.finished_brick(place, &brick);
        }
        end
    }

    /// Removes an open operation. Returns the id of the row around it, 0 for none.
    pub fn forget(&self, interval: &Interval) -> u64 {
        let Some(place) = interval.place else {
            return 0;
        };
        let mut open = self.0.open.lock();
        let Some(rows) = open.get_mut(&interval.thread) else {
            return 0;
        };
        let at = rows.iter().rposition(|(row, _)| row.id() == place.id());
        let around = at.and_then(|at| {
            rows.remove(at);
            Some(rows[at.checked_sub(1)?].0.id())
        });
        if rows.is_empty() {
            open.remove(&interval.thread);
        }
        around.unwrap_or(0)
    }

    /// Records with the calling thread's open operation as parent.
    pub fn record(&self, record: impl FnOnce(&Recorder)) {
        let rec = &self.0.rec;
        let innermost = || {
            let open = self.0.open.lock();
            open.get(&thread_number())?.last().map(|(place, _)| *place)
        };
        match innermost() {
            _ if !rec.is_enabled() => {}
            Some(place) => rec.within(place, record),
            None => record(rec),
        }
    }

    /// FLOPs as an integer. `None`, and a line in `run.json`, if they are not a count.
    pub fn counted_flops(&self, name: &str, flops: f64) -> Option<f64> {
        let counts = flops >= 0.0 && flops < u64::MAX as f64;
        if !counts && self.0.refused.lock().insert(name.to_owned()) {
            let problem = format!("{name}: {flops} FLOPs is not a valid count, and was left out");
            self.0.rec.problem(problem);
        }
        counts.then_some(flops)
    }

    pub fn stop_without_start(&self) {
        let count = &self.0.stops_without_start;
        let stops = count.fetch_add(1, Ordering::Relaxed) + 1;
        self.0.rec.value("compat.stops_without_start", stops);
    }

    pub fn unmatched_free(&self, bytes: usize) {
        let count = &self.0.unmatched_free_bytes;
        let sum = count.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        self.0.rec.value("compat.unmatched_free_bytes", sum);
    }

    pub fn finish(&self) -> Result<Summary, Error> {
        self.0.name_open();
        self.0.rec.finish()
    }
}

impl Shared {
    /// Lists in `run.json` the operations that are still open: they will not be recorded.
    fn name_open(&self) {
        let mut open = self.open.lock();
        let rows: Vec<_> = open.drain().flat_map(|(_, rows)| rows).collect();
        if let Some((_, name)) = rows.iter().min_by_key(|(place, _)| place.id()) {
            let others = match rows.len() - 1 {
                0 => String::new(),
                others => format!(" and {others} more"),
            };
            let name = name.as_str();
            let problem = format!("{name}{others}: started, and not stopped: not recorded");
            self.rec.problem(problem);
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.name_open();
    }
}

static PROCESS: OnceLock<Session> = OnceLock::new();

extern "C" fn at_exit() {
    // A forked child has no part in the run, and what another thread had locked stays so in it.
    let mine = |session: &&Session| session.0.process == std::process::id();
    if let Some(Err(error)) = PROCESS.get().filter(mine).map(Session::finish) {
        eprintln!("trueno-recorder: {error}");
    }
}

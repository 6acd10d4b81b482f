//! The one recording of this process.

use std::collections::HashSet;
use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use trueno_cupti::kind;
use trueno_cupti::library::Cupti;
use trueno_cupti::spool::{Chunk, Facts, Note, RangeEvent, Severity, Writer};
use trueno_cupti::walk::Sizes;

use crate::buffers::Pool;
use crate::contexts::Contexts;
use crate::graphs::Graphs;
use crate::names::Names;
use crate::settings::Settings;
use crate::{clock, entry, pump, shutdown, threads};

/// The recording of this process; null if there is none or this is a forked child. It is never freed, because
/// threads of the program may be using it.
static SESSION: AtomicPtr<Session> = AtomicPtr::new(ptr::null_mut());

pub struct Session {
    pub pid: u32,
    pub settings: Settings,
    pub facts: Mutex<Facts>,
    pub cupti: OnceLock<Cupti>,
    pub sizes: OnceLock<Sizes>,
    pub contexts: Contexts,
    pub pool: Pool,
    pub ranges: Mutex<Vec<u8>>,
    pub names: Mutex<Names>,
    pub named: Mutex<HashSet<u32>>,
    pub graphs: Graphs,
    pub instantiations: OnceLock<Vec<u32>>,
    pub known: Mutex<pump::Known>,
    pub spool: Mutex<Spool>,
    /// True after a fault of the device: waiting for it could take forever.
    pub device_failed: AtomicBool,
    /// True if most kernels have no valid times: the device's buffers are lost.
    pub times_lost: AtomicBool,
    /// True if recording was stopped for that reason.
    pub stopped: AtomicBool,
    /// Thread id of the thread that waits for devices at the end.
    pub own_thread: AtomicU32,
    /// True once a call of that thread was seen as a record.
    pub own_call_seen: AtomicBool,
    /// True once the program has a context.
    pub has_device: AtomicBool,
    /// True once the program's end has been handled.
    pub ended: AtomicBool,
    pub next_range: AtomicU64,
    pub phase: Mutex<Phase>,
    pub changed: Condvar,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Recording,
    /// The program ends, and the remaining data is to be written.
    Closing,
    Closed,
}

pub struct Spool {
    writer: Writer,
    /// True after a failed write: nothing is written any more.
    pub failed: bool,
}

/// Locks a mutex and ignores poisoning.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn current() -> Option<&'static Session> {
    // SAFETY: null, or a leaked box.
    unsafe { SESSION.load(Ordering::Acquire).as_ref() }
}

/// The recording of this process; starts one if the environment requests it. `None` if it does not or if that
/// fails, which is then printed.
pub fn current_or_new() -> Option<&'static Session> {
    if let Some(session) = current() {
        return Some(session);
    }
    let _one_at_a_time = Starting::alone();
    if let Some(session) = current() {
        return Some(session);
    }
    let settings = Settings::here()?;
    match Session::create(settings) {
        Ok(session) => {
            let session: &'static Session = Box::leak(Box::new(session));
            SESSION.store(ptr::from_ref(session).cast_mut(), Ordering::Release);
            session.begin();
            Some(session)
        }
        Err(problem) => {
            entry::say(&format!("nothing is recorded: {problem}"));
            None
        }
    }
}

/// Lets one thread at a time start a recording. Not a `Mutex`: in a forked child, a thread of the parent could hold
/// it for ever.
struct Starting(&'static AtomicU32);

impl Starting {
    fn alone() -> Self {
        /// The process whose thread holds it; 0 if it is free.
        static HOLDER: AtomicU32 = AtomicU32::new(0);
        let me = std::process::id();
        loop {
            let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
            let holder = match HOLDER.load(Ordering::Relaxed) {
                mine if mine == me => {
                    std::thread::sleep(Duration::from_micros(100));
                    continue;
                }
                other => other,
            };
            if HOLDER
                .compare_exchange(holder, me, success, failure)
                .is_ok()
            {
                return Self(&HOLDER);
            }
        }
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Release);
    }
}

/// Called in a forked child, which must not touch its parent's recording.
pub extern "C" fn forked() {
    SESSION.store(ptr::null_mut(), Ordering::Release);
    threads::forget_number();
}

impl Session {
    fn create(settings: Settings) -> Result<Self, String> {
        let reading = clock::reading();
        let pid = std::process::id();
        let facts = Facts {
            pid,
            ppid: std::os::unix::process::parent_id(),
            argv: std::env::args_os()
                .map(|arg| arg.to_string_lossy().into_owned())
                .collect(),
            rank: settings.rank,
            recorder_version: env!("CARGO_PKG_VERSION").to_owned(),
            start_realtime_ns: reading.realtime_ns,
            start_monotonic_ns: reading.monotonic_ns,
            level: settings.level.name().to_owned(),
            cupti: None,
        };
        let name = format!(
            "{pid}-{}.{}",
            reading.realtime_ns,
            trueno_cupti::spool::EXTENSION
        );
        let path: PathBuf = settings.folder.join(name);
        let writer = Writer::create(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Self {
            pid,
            settings,
            facts: Mutex::new(facts),
            cupti: OnceLock::new(),
            sizes: OnceLock::new(),
            contexts: Contexts::default(),
            pool: Pool::default(),
            ranges: Mutex::default(),
            names: Mutex::default(),
            named: Mutex::default(),
            graphs: Graphs::default(),
            instantiations: OnceLock::new(),
            known: Mutex::default(),
            spool: Mutex::new(Spool {
                writer,
                failed: false,
            }),
            device_failed: AtomicBool::new(false),
            times_lost: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            own_thread: AtomicU32::new(0),
            own_call_seen: AtomicBool::new(false),
            has_device: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            next_range: AtomicU64::new(1),
            phase: Mutex::new(Phase::Recording),
            changed: Condvar::new(),
        })
    }

    fn begin(&'static self) {
        self.write_facts();
        self.write(Chunk::Clock, &[&clock::reading().bytes()]);
        shutdown::at_exit();
        if let Err(error) = threads::spawn("trueno-pump", move || pump::run(self)) {
            self.note(
                Severity::Error,
                "no_thread",
                &format!("cannot start a thread: {error}"),
            );
        }
    }

    pub fn write(&self, kind: Chunk, parts: &[&[u8]]) {
        let mut spool = lock(&self.spool);
        if spool.failed {
            return;
        }
        if let Err(error) = spool.writer.chunk(kind, parts) {
            spool.failed = true;
            let note = Note {
                realtime_ns: clock::realtime_ns(),
                severity: Severity::Error,
                code: "not_written".to_owned(),
                text: format!(
                    "recording stopped before the program's end: its file cannot be written: {error}"
                ),
            };
            // Short, so there may be room for it.
            if let Ok(json) = serde_json::to_vec(&note) {
                let _ = spool.writer.chunk(Chunk::Note, &[&json]);
            }
            drop(spool);
            entry::say(&format!("recording stops: {error}"));
        }
    }

    pub fn write_facts(&self) {
        if let Ok(json) = serde_json::to_vec(&*lock(&self.facts)) {
            self.write(Chunk::Facts, &[&json]);
        }
    }

    pub fn note(&self, severity: Severity, code: &str, text: &str) {
        let note = Note {
            realtime_ns: clock::realtime_ns(),
            severity,
            code: code.to_owned(),
            text: text.to_owned(),
        };
        if let Ok(json) = serde_json::to_vec(&note) {
            self.write(Chunk::Note, &[&json]);
        }
    }

    pub fn name(&self, text: &[u8]) -> u32 {
        if text.is_empty() {
            return 0;
        }
        lock(&self.names).number(text)
    }

    pub fn range(&self, event: &RangeEvent) {
        event.write(&mut lock(&self.ranges));
    }

    pub fn instantiates(&self, number: u32) -> bool {
        let known = self.instantiations.get();
        known.is_some_and(|known| known.contains(&number))
    }

    /// True if calls of the driver that this library makes get records with its thread.
    pub fn is_own_call_recorded(&self) -> bool {
        let facts = lock(&self.facts);
        let cupti = facts.cupti.as_ref();
        let driver = kind::name(kind::DRIVER);
        let is_recorded =
            cupti.is_some_and(|cupti| cupti.system_threads && cupti.enabled.contains(&driver));
        is_recorded && !self.stopped.load(Ordering::Acquire)
    }

    pub fn phase(&self) -> Phase {
        *lock(&self.phase)
    }

    pub fn enter(&self, phase: Phase) {
        *lock(&self.phase) = phase;
        self.changed.notify_all();
    }

    /// The program has a context.
    pub fn got_device(&self) {
        let _guard = lock(&self.phase);
        self.has_device.store(true, Ordering::Release);
        self.changed.notify_all();
    }

    /// Waits at most this long for a phase. Returns whether it was reached.
    pub fn wait_for(&self, phase: Phase, at_most: Duration) -> bool {
        self.wait_until(at_most, |now| now >= phase);
        self.phase() >= phase
    }

    /// Waits at most this long for the end, and for a device where none is known yet. Returns whether the program ends.
    pub fn wait_for_next(&self, at_most: Duration, knows_device: bool) -> bool {
        let is_new = || !knows_device && self.has_device.load(Ordering::Acquire);
        self.wait_until(at_most, |now| now >= Phase::Closing || is_new());
        self.phase() >= Phase::Closing
    }

    fn wait_until(&self, at_most: Duration, is_so: impl Fn(Phase) -> bool) {
        let guard = lock(&self.phase);
        let waiting = |now: &mut Phase| !is_so(*now);
        let waited = self.changed.wait_timeout_while(guard, at_most, waiting);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

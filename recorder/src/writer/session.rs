//! Starting the writer, and asking it to end.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{Ending, POLL, Tables, Writer};
use crate::builder::Builder;
use crate::checksum::baseline::Baseline;
use crate::checksum::sampling::Sampling;
use crate::clock::Clock;
use crate::error::Error;
use crate::live::Live;
use crate::lock::lock;
use crate::mailbox::Cut;
use crate::names;
use crate::open_rows::OfThread;
use crate::overflow::Overflow;
use crate::overhead;
use crate::perf::PerfShared;
use crate::reentrancy::ReentrancyGuard;
use crate::ring_pool::RingSizes;
use crate::session_state::{HAS_PERF, SessionState};
use crate::status::{self, Summary};
use trueno_format::folder::Folder;
use trueno_format::host;
use trueno_format::live::Entry;
use trueno_format::record_rows::Rows;
use trueno_format::run_directory::{NewRun, new_run_id};
use trueno_format::run_files::RunFiles;
use trueno_format::run_json::{self, Format, Options, Producer, Program, RunJson};
use trueno_format::schema::{FORMAT_MAJOR, FORMAT_MINOR, FORMAT_NAME, TABLES};
use trueno_format::timeline::ClockReading;
use trueno_format::timeline::Timeline;

/// Time between the first two readings of the clocks.
const CALIBRATION: Duration = Duration::from_millis(3);

pub(crate) struct Session {
    folder: Arc<Folder>,
    /// The process that records; a fork is another one.
    process: u32,
    shared: Arc<SessionState>,
    ending: Arc<Ending>,
    running: Mutex<Running>,
}

enum Running {
    Yes(JoinHandle<Option<Error>>),
    Ended(Result<Summary, Error>),
}

/// Starts recording into an empty folder. `make` creates the recorder from enabled tables, state and session,
/// before time 0.
pub(crate) fn start<T>(
    builder: &Builder,
    new_run: NewRun,
    baseline: Option<Baseline>,
    make: impl FnOnce(u32, Arc<SessionState>, Session) -> T,
) -> Result<T, Error> {
    let clock = Clock::detect();
    let earlier = (Instant::now(), clock.read_pair());
    let mut run = describe(builder, clock);
    let mut files = RunFiles::create(new_run)?;
    let folder = files.folder().clone();
    // Before run.json: a run that is being recorded has its locked log from the beginning.
    let live = Live::create(&folder);
    run.recorder.checksum_baseline = baseline.as_ref().map(|baseline| baseline.tensors);
    run.recorder.crash_safe = Some(live.trouble().is_none());
    let perf = (!builder.perf.is_empty()).then(|| PerfShared::new(&builder.perf));
    run.recorder.perf = perf.as_ref().map(PerfShared::describe);
    files.run_json(&run)?;
    if live.log_descriptor().is_some() {
        files.unlock();
    }
    run.recorder.cost_ns_per_span = overhead::per_span_ns(clock);
    let resolution_ticks = clock.resolution_ticks();
    let shared = SessionState::new(
        clock,
        builder.overflow,
        RingSizes {
            records: builder.ring_records,
            growth_bytes: builder.growth_bytes,
        },
        live,
    );
    let kept = builder.limits().map(|keep| shared.live.kept_rows(keep));
    if builder.checksum_every > 1 || builder.checksum_samples > 0 || baseline.is_some() {
        // Set here only.
        let _ = shared.sampling.set(Sampling::new(
            builder.checksum_every,
            builder.checksum_samples,
            baseline,
        ));
    }
    if builder.tiles_every.iter().any(|every| *every > 1) {
        let _ = shared.tiles_every.set(builder.tiles_every);
    }
    let mut bits = 0;
    if let Some(perf) = perf {
        if perf.counts() {
            bits = HAS_PERF;
        }
        let _ = shared.perf.set(perf);
    }
    // For the first thread that records, most often this one.
    shared.rings.stock();
    names::attach(&shared.live);
    let ending = Arc::new(Ending::default());

    // Everything is ready before time 0: the thread waits for the first pair.
    let (started, has_started) = mpsc::sync_channel::<()>(1);
    let (send, receive) = mpsc::sync_channel::<(Timeline, ClockReading)>(1);
    let (for_writer, its_ending) = (shared.clone(), ending.clone());
    let thread = std::thread::Builder::new()
        .name("trueno-writer".into())
        .spawn(move || {
            ReentrancyGuard::hold_forever();
            // If nobody waits for it, the recorder could not be made.
            let _ = started.send(());
            let (timeline, origin) = receive.recv().ok()?;
            run.clock.origin_realtime_ns = origin.realtime_ns;
            let ticks = resolution_ticks.zip(timeline.ticks_per_second());
            run.clock.resolution_ns =
                ticks.map(|(step, per_second)| step as f64 * 1e9 / per_second);
            let mut tables = Tables::new(for_writer.clone(), kept);
            let mut writer = Writer {
                rows: Rows::new(timeline, &mut tables.texts),
                tables,
                shared: for_writer,
                ending: its_ending,
                files,
                run,
                lanes: Vec::new(),
                pairs: vec![origin],
                next_pair: Instant::now() + super::PAIR_TIMES[0],
                ended: Vec::new(),
                sources: Default::default(),
                facts: None,
            };
            writer.work_or_fail()
        })
        .map_err(|e| {
            names::detach(&shared.live);
            Error::io(&folder.path(), "start the writer thread", e)
        })?;
    // Its first allocations are the recorder's as well, and it cannot say so before.
    let _ = has_started.recv();
    // Cannot be set yet: it is new.
    let _ = shared.mailbox.writer.set(thread.thread().clone());
    let session = Session {
        folder,
        process: std::process::id(),
        shared: shared.clone(),
        ending,
        running: Mutex::new(Running::Yes(thread)),
    };
    let off = |name: &str| builder.tables_off.contains(&name);
    let tables = TABLES
        .iter()
        .enumerate()
        .filter(|(_, table)| !off(table.name));
    let tables = tables.fold(bits, |bits, (at, _)| bits | 1 << at);
    let recorder = make(tables, shared.clone(), session);
    std::thread::sleep(CALIBRATION.saturating_sub(earlier.0.elapsed()));
    let origin = clock.read_pair();
    let timeline = Timeline::new(clock == Clock::Monotonic, earlier.1, origin);
    // Before any event: without it the times of a run whose process was killed mean nothing.
    let clocks = [(earlier.1, None), (origin, Some(timeline.first_knot()))];
    shared
        .live
        .log(&clocks.map(|(pair, knot)| Entry::Clock { pair, knot }));
    // The thread is waiting for it.
    let _ = send.send((timeline, origin));
    Ok(recorder)
}

fn describe(builder: &Builder, clock: Clock) -> RunJson {
    RunJson {
        format: Format {
            name: FORMAT_NAME.into(),
            major: FORMAT_MAJOR,
            minor: FORMAT_MINOR,
        },
        producer: Producer {
            name: env!("CARGO_PKG_NAME").into(),
            version: env!("CARGO_PKG_VERSION").into(),
        },
        run_id: new_run_id(),
        label: builder.label.clone(),
        program: Program {
            argv: std::env::args_os()
                .map(|arg| arg.to_string_lossy().into_owned())
                .collect(),
            pid: Some(std::process::id()),
        },
        host: host::facts(),
        clock: run_json::Clock {
            source: clock.name().into(),
            ticks_per_second: None,
            origin_realtime_ns: crate::clock::realtime_ns(),
            resolution_ns: None,
        },
        recorder: Options {
            ring_records: builder.ring_records as u64,
            overflow: builder.overflow.name().into(),
            growth_bytes: (builder.overflow == Overflow::Grow).then_some(builder.growth_bytes),
            sync_mode: builder.sync_mode.name().into(),
            checksum_baseline: None,
            checksum_every: (builder.checksum_every > 1).then_some(builder.checksum_every),
            #[cfg(feature = "alloc")]
            allocations: builder.allocations.map(crate::alloc::Allocations::describe),
            #[cfg(not(feature = "alloc"))]
            allocations: None,
            perf: None,
            tables_off: builder
                .tables_off
                .iter()
                .map(|name| (*name).to_owned())
                .collect(),
            cost_ns_per_span: None,
            own_time: None,
            crash_safe: None,
            keep_last_ns: builder.limits().map(|keep| keep.last_ns),
        },
        ..RunJson::default()
    }
}

impl Writer {
    /// Catches panics, because a fault of the writer must not become one of the program.
    fn work_or_fail(&mut self) -> Option<Error> {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.work()));
        if result.is_err() {
            let problem = "the writer thread panicked (hint: please report it with its message)";
            let error = std::io::Error::other(problem);
            self.tables.fail(Error::io(
                &self.files.folder().path(),
                "go on writing",
                error,
            ));
            self.shared.counts.stopped.store(true, Ordering::Release);
            self.write_run_json();
        }
        self.tables.failure.clone()
    }
}

impl Session {
    /// Refuses processes that were forked from the one that records.
    pub fn check_process(&self) -> Result<(), Error> {
        if std::process::id() == self.process {
            return Ok(());
        }
        Err(Error::Forked {
            path: self.folder.path(),
            recording: self.process,
        })
    }

    /// Ends the run once; `turn_off` keeps new events out, and `open` is what is open on this thread.
    pub fn finish(
        &self,
        open: Option<OfThread>,
        turn_off: impl FnOnce(),
    ) -> Result<Summary, Error> {
        let mut running = lock(&self.running);
        if let Running::Ended(result) = &*running {
            return result.clone();
        }
        self.ending
            .ticks
            .store(self.shared.clock.ticks(), Ordering::Relaxed);
        *lock(&self.ending.by) = open;
        turn_off();
        self.ending.asked.store(true, Ordering::Release);
        self.shared.mailbox.wake();
        let ended = std::mem::replace(&mut *running, Running::Ended(Ok(Summary::default())));
        let failure = match ended {
            Running::Yes(thread) => thread.join().unwrap_or(None),
            Running::Ended(_) => None,
        };
        names::detach(&self.shared.live);
        let result = match failure {
            None => Ok(self.summary()),
            Some(error) => Err(Error::Writer {
                path: self.folder.path(),
                lost: self
                    .shared
                    .counts
                    .lost()
                    .saturating_add(self.ending.gone.load(Ordering::Acquire)),
                problem: error.to_string(),
            }),
        };
        *running = Running::Ended(result.clone());
        result
    }

    /// Writes the rolling window as a run at `path`.
    pub fn cut(&self, path: &Path) -> Result<Summary, Error> {
        let (done, cut) = mpsc::sync_channel(1);
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        lock(&self.shared.mailbox.cuts).push(Cut { path, done });
        self.shared.mailbox.wake();
        loop {
            let has_ended = self.shared.counts.stopped.load(Ordering::Acquire);
            match cut.recv_timeout(POLL) {
                Ok(cut) => return cut,
                Err(_) if has_ended => {
                    return Err(Error::Option {
                        option: "cut",
                        problem: "the recording has ended".to_owned(),
                    });
                }
                Err(_) => {}
            }
        }
    }

    /// Forgets the writer thread. In a forked process it does not exist, and can be neither joined nor
    /// detached.
    fn forget(&mut self) {
        let running = self
            .running
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        let ended = std::mem::replace(running, Running::Ended(Ok(Summary::default())));
        std::mem::forget(ended);
    }

    fn summary(&self) -> Summary {
        let (tables, rows, dropped) = status::tables(&self.shared);
        let wall_ns = self.ending.wall_ns.load(Ordering::Acquire);
        Summary {
            path: self.folder.path(),
            wall_ns,
            tables,
            rows,
            dropped,
            open: self.ending.open.load(Ordering::Acquire),
            discarded: self.ending.discarded.load(Ordering::Acquire),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if std::process::id() != self.process {
            self.forget();
        }
    }
}

//! The profiler that has all three in one, a guard, and the one of the process.

use std::panic::Location;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::RwLock;
use trueno_recorder::{Error, Recorder, Summary};

use crate::bottleneck::{Bottleneck, BottleneckAnalyzer};
use crate::compute::ComputeProfiler;
use crate::memory::MemoryProfiler;
use crate::report::ProfileReport;
use crate::session::{Session, Work};
use crate::timeline::{EventType, TimelineProfiler};

/// Tracks operations and memory under the original's names, and records them; see the [crate documentation](crate).
#[derive(Debug)]
pub struct Profiler {
    /// Memory.
    pub memory: Arc<RwLock<MemoryProfiler>>,
    /// Operations.
    pub compute: Arc<RwLock<ComputeProfiler>>,
    /// Events.
    pub timeline: Arc<RwLock<TimelineProfiler>>,
    enabled: AtomicBool,
    session: Session,
}

impl Default for Profiler {
    fn default() -> Self {
        Self::new()
    }
}

impl Profiler {
    /// Records to the run of the process, in the directory that the environment variable `TRUENO_RUN` names.
    /// The run ends with the process. Without the variable there are only sums. The same holds if the run
    /// cannot be created: a line on standard error says why, where [`Profiler::create`] returns an error.
    pub fn new() -> Self {
        Self::in_session(Session::of_process())
    }

    /// Records to a new run at `path`, which ends with [`Profiler::finish`] or the last handle of its recorder.
    ///
    /// # Errors
    /// See [`Builder::create`](trueno_recorder::Builder::create).
    pub fn create(path: impl AsRef<Path>) -> Result<Self, Error> {
        Recorder::create(path).map(Self::with_recorder)
    }

    /// Records to the run of `rec`, which others may record to as well.
    pub fn with_recorder(rec: Recorder) -> Self {
        Self::in_session(Session::new(rec))
    }

    fn in_session(session: Session) -> Self {
        let memory = MemoryProfiler::in_session(session.clone());
        let compute = ComputeProfiler::in_session(session.clone());
        let timeline = TimelineProfiler::in_session(session.clone());
        Self {
            memory: Arc::new(RwLock::new(memory)),
            compute: Arc::new(RwLock::new(compute)),
            timeline: Arc::new(RwLock::new(timeline)),
            enabled: AtomicBool::new(true),
            session,
        }
    }

    /// The recorder behind it: for guards, checksums, attributes.
    pub fn recorder(&self) -> &Recorder {
        self.session.rec()
    }

    /// Ends the run. Operations that are still open are not in it, and `run.json` says so.
    ///
    /// # Errors
    /// See [`Recorder::finish`].
    pub fn finish(&self) -> Result<Summary, Error> {
        self.session.finish()
    }

    /// Turns profiling on or off. Operations that are open when it is turned off are not recorded.
    pub fn set_enabled(&self, enabled: bool) {
        let was = self.enabled.swap(enabled, Ordering::Relaxed);
        if was && !enabled {
            self.compute.write().forget_open();
            self.timeline.write().forget_open();
        }
    }

    /// Returns whether profiling is on.
    pub fn is_enabled(&self) -> bool {
        self.enabled.load(Ordering::Relaxed)
    }

    /// Begins an operation.
    #[track_caller]
    pub fn start(&self, name: &str) {
        if self.is_enabled() {
            let location = Location::caller();
            let start = self.compute.write().begin(name, Work::default(), location);
            let mut timeline = self.timeline.write();
            timeline.keep(name, EventType::Start, None, start);
        }
    }

    /// Ends an operation; see [`ComputeProfiler::stop`].
    pub fn stop(&self, name: &str) {
        if self.is_enabled() {
            let end = self.compute.write().end(name);
            let end = end.unwrap_or_else(|| self.session.now());
            let mut timeline = self.timeline.write();
            timeline.keep(name, EventType::End, None, end);
        }
    }

    /// Records an allocation.
    pub fn record_alloc(&self, name: &str, bytes: usize) {
        if self.is_enabled() {
            self.memory.write().record_alloc(name, bytes);
        }
    }

    /// Records a free; see [`MemoryProfiler::record_free`].
    pub fn record_free(&self, name: &str, bytes: usize) {
        if self.is_enabled() {
            self.memory.write().record_free(name, bytes);
        }
    }

    /// Most bytes allocated at one time.
    pub fn peak_memory(&self) -> usize {
        self.memory.read().peak_usage()
    }

    /// Bytes allocated now.
    pub fn current_memory(&self) -> usize {
        self.memory.read().current_usage()
    }

    /// Sum of an operation's durations.
    pub fn total_time(&self, name: &str) -> Duration {
        self.compute.read().total_time(name)
    }

    /// Mean duration of an operation.
    pub fn avg_time(&self, name: &str) -> Duration {
        self.compute.read().avg_time(name)
    }

    /// Drops everything; the run keeps its rows.
    pub fn reset(&self) {
        self.memory.write().reset();
        self.compute.write().reset();
        self.timeline.write().reset();
    }

    /// The report as it is now.
    pub fn summary(&self) -> ProfileReport {
        ProfileReport::generate(self)
    }

    /// Prints the report to standard output.
    pub fn print_summary(&self) {
        println!("{}", self.summary());
    }

    /// Bottlenecks by the default thresholds, the worst first. Shares are of the time in which any operation was open.
    pub fn analyze_bottlenecks(&self) -> Vec<Bottleneck> {
        let memory = self.memory.read().stats();
        let compute = self.compute.read();
        let shares = compute.shares();
        let named = shares
            .iter()
            .map(|(stats, share)| (stats.name.as_str(), *stats, *share));
        BottleneckAnalyzer::new().find(named, &memory)
    }
}

impl ProfileReport {
    /// The report of a profiler as it is now.
    pub fn generate(profiler: &Profiler) -> Self {
        let memory = profiler.memory.read().stats();
        let duration = profiler.timeline.read().total_duration();
        Self::of(&memory, &profiler.compute.read(), duration)
    }
}

/// An operation that ends when it is dropped.
pub struct ProfileGuard<'a> {
    profiler: &'a Profiler,
    name: String,
}

impl<'a> ProfileGuard<'a> {
    /// Begins an operation.
    #[track_caller]
    pub fn new(profiler: &'a Profiler, name: &str) -> Self {
        profiler.start(name);
        Self {
            profiler,
            name: name.to_owned(),
        }
    }
}

impl Drop for ProfileGuard<'_> {
    fn drop(&mut self) {
        self.profiler.stop(&self.name);
    }
}

/// Makes the rest of the scope an operation.
#[macro_export]
macro_rules! profile_scope {
    ($profiler:expr, $name:expr) => {
        let _guard = $crate::ProfileGuard::new($profiler, $name);
    };
}

/// The profiler of the process.
pub fn global_profiler() -> &'static Profiler {
    static GLOBAL: OnceLock<Profiler> = OnceLock::new();
    GLOBAL.get_or_init(Profiler::new)
}

/// [`Profiler::start`] of [`global_profiler`].
#[track_caller]
pub fn start(name: &str) {
    global_profiler().start(name);
}

/// [`Profiler::stop`] of [`global_profiler`].
pub fn stop(name: &str) {
    global_profiler().stop(name);
}

/// [`Profiler::record_alloc`] of [`global_profiler`].
pub fn record_alloc(name: &str, bytes: usize) {
    global_profiler().record_alloc(name, bytes);
}

/// [`Profiler::record_free`] of [`global_profiler`].
pub fn record_free(name: &str, bytes: usize) {
    global_profiler().record_free(name, bytes);
}

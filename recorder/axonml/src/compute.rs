//! Operations: times, FLOPs and bytes.

mod stats;

use std::collections::{BTreeMap, HashMap};
use std::panic::Location;
use std::time::{Duration, Instant};

use trueno_recorder::finished::Moment;

use crate::session::{Interval, Session, Work, thread_number};
use stats::Operation;
pub use stats::OperationStats;

/// A running operation, as in the original. Nothing in this crate constructs it.
#[derive(Clone, Debug)]
pub struct ProfiledOp {
    /// The operation.
    pub name: String,
    /// When it began.
    pub start: Instant,
    /// Declared floating-point operations.
    pub flops: Option<f64>,
    /// Declared bytes.
    pub bytes: Option<usize>,
}

#[derive(Debug)]
struct Active {
    name: String,
    interval: Interval,
    work: Work,
}

/// Open operations of a thread, the innermost last.
#[derive(Debug)]
struct Thread {
    active: Vec<Active>,
    /// Start of the period in which at least one operation is open.
    busy_since: Moment,
}

/// Times operations by name; each call is a row of `bricks`.
#[derive(Debug)]
pub struct ComputeProfiler {
    session: Session,
    operations: BTreeMap<String, Operation>,
    threads: HashMap<u64, Thread>,
    /// Time with an operation open, summed over threads, without periods that have not ended.
    busy_ns: u64,
}

impl Default for ComputeProfiler {
    fn default() -> Self {
        Self::new()
    }
}

impl ComputeProfiler {
    /// Records to the run of the process; see the [crate documentation](crate).
    pub fn new() -> Self {
        Self::in_session(Session::of_process())
    }

    pub(crate) fn in_session(session: Session) -> Self {
        Self {
            session,
            operations: BTreeMap::new(),
            threads: HashMap::new(),
            busy_ns: 0,
        }
    }

    /// Begins an operation.
    #[track_caller]
    pub fn start(&mut self, name: &str) {
        self.begin(name, Work::default(), Location::caller());
    }

    /// Begins an operation with this number of floating-point operations, column `flops` of its row.
    #[track_caller]
    pub fn start_with_flops(&mut self, name: &str, flops: f64) {
        let work = Work {
            flops: self.session.counted_flops(name, flops),
            bytes: None,
        };
        self.begin(name, work, Location::caller());
    }

    /// Begins an operation that reads or writes this number of bytes, attribute `bytes_processed` of its row.
    #[track_caller]
    pub fn start_with_bytes(&mut self, name: &str, bytes: usize) {
        let work = Work {
            flops: None,
            bytes: Some(bytes),
        };
        self.begin(name, work, Location::caller());
    }

    pub(crate) fn begin(
        &mut self,
        name: &str,
        work: Work,
        location: &'static Location<'static>,
    ) -> Moment {
        let interval = self.session.begin(name, location);
        let start = interval.start;
        let new = || Thread {
            active: Vec::new(),
            busy_since: start,
        };
        let thread = self.threads.entry(interval.thread).or_insert_with(new);
        thread.active.push(Active {
            name: name.to_owned(),
            interval,
            work,
        });
        start
    }

    /// Ends the operation of that name that began last on this thread, or else on another thread. A stop
    /// without a start is counted in the run's values.
    pub fn stop(&mut self, name: &str) {
        self.end(name);
    }

    pub(crate) fn end(&mut self, name: &str) -> Option<Moment> {
        let Some((number, at)) = self.find(name) else {
            self.session.stop_without_start();
            return None;
        };
        let thread = self.threads.get_mut(&number)?;
        let Active { interval, work, .. } = thread.active.remove(at);
        let end = self.session.end(&interval, work);
        let nested = thread.active.iter().any(|active| active.name == name);
        if thread.active.is_empty() {
            self.busy_ns += end.ns_since(thread.busy_since);
            self.threads.remove(&number);
        }
        let operation = self.operations.entry(name.to_owned());
        let operation = operation.or_insert_with(|| Operation::new(name));
        operation.add(end.ns_since(interval.start), work, !nested);
        Some(end)
    }

    fn find(&self, name: &str) -> Option<(u64, usize)> {
        let last = |thread: &Thread| thread.active.iter().rposition(|active| active.name == name);
        let own = thread_number();
        if let Some(at) = self.threads.get(&own).and_then(last) {
            return Some((own, at));
        }
        let others = self.threads.iter();
        let began = others.filter_map(|(number, thread)| {
            let at = last(thread)?;
            Some((thread.active[at].interval.start.monotonic_ns(), *number, at))
        });
        began.max().map(|(_, number, at)| (number, at))
    }

    /// Drops open operations without recording them.
    pub(crate) fn forget_open(&mut self) {
        self.busy_ns = self.busy_ns();
        for (_, thread) in self.threads.drain() {
            for active in thread.active {
                self.session.forget(&active.interval);
            }
        }
    }

    /// Sums of an operation that ended at least once.
    pub fn get_stats(&self, name: &str) -> Option<&OperationStats> {
        self.operations.get(name).map(|operation| &operation.stats)
    }

    /// Sums of all operations.
    pub fn all_stats(&self) -> HashMap<String, OperationStats> {
        let operations = self.operations.iter();
        operations
            .map(|(name, operation)| (name.clone(), operation.stats.clone()))
            .collect()
    }

    /// Sum of an operation's durations.
    pub fn total_time(&self, name: &str) -> Duration {
        self.get_stats(name)
            .map_or(Duration::ZERO, OperationStats::total_time)
    }

    /// Mean duration of an operation.
    pub fn avg_time(&self, name: &str) -> Duration {
        self.get_stats(name)
            .map_or(Duration::ZERO, OperationStats::avg_time)
    }

    /// The `n` operations with the most time; ties are sorted by name.
    pub fn top_by_time(&self, n: usize) -> Vec<&OperationStats> {
        self.top(n, |stats| stats.total_time_ns)
    }

    /// The `n` operations with the most calls; ties are sorted by name.
    pub fn top_by_calls(&self, n: usize) -> Vec<&OperationStats> {
        self.top(n, |stats| stats.call_count as u64)
    }

    fn top(&self, n: usize, key: fn(&OperationStats) -> u64) -> Vec<&OperationStats> {
        let operations = self.operations.values();
        let mut stats: Vec<_> = operations.map(|operation| &operation.stats).collect();
        stats.sort_by_key(|stats| std::cmp::Reverse(key(stats)));
        stats.truncate(n);
        stats
    }

    /// Time with at least one operation open, until now, summed over threads.
    pub(crate) fn busy_ns(&self) -> u64 {
        let now = self.session.now();
        let open = self.threads.values();
        self.busy_ns
            + open
                .map(|thread| now.ns_since(thread.busy_since))
                .sum::<u64>()
    }

    /// All operations by name, each with its percentage of the time in which any was open.
    pub(crate) fn shares(&self) -> Vec<(&OperationStats, f64)> {
        let busy_ns = self.busy_ns();
        let share = |operation| Operation::share_percent(operation, busy_ns);
        self.operations
            .values()
            .map(|operation| (&operation.stats, share(operation)))
            .collect()
    }

    /// Drops the sums and open operations; the run keeps its rows.
    pub fn reset(&mut self) {
        self.forget_open();
        self.operations.clear();
        self.busy_ns = 0;
    }

    /// Formats a duration in ns, us, ms or s.
    pub fn format_duration(d: Duration) -> String {
        let ns = d.as_nanos();
        let (unit_ns, unit) = match ns {
            0..1_000 => return format!("{ns} ns"),
            1_000..1_000_000 => (1e3, "us"),
            1_000_000..1_000_000_000 => (1e6, "ms"),
            _ => (1e9, "s"),
        };
        format!("{:.3} {unit}", ns as f64 / unit_ns)
    }
}

/// Times an operation until it is dropped.
pub struct TimingGuard<'a> {
    profiler: &'a mut ComputeProfiler,
    name: String,
}

impl<'a> TimingGuard<'a> {
    /// Begins an operation.
    #[track_caller]
    pub fn new(profiler: &'a mut ComputeProfiler, name: &str) -> Self {
        profiler.start(name);
        Self {
            profiler,
            name: name.to_owned(),
        }
    }
}

impl Drop for TimingGuard<'_> {
    fn drop(&mut self) {
        self.profiler.stop(&self.name);
    }
}

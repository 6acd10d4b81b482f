//! The profiler: where its run goes, switches and totals.

use std::collections::HashMap;
use std::path::Path;

use trueno_recorder::finished::Moment;
use trueno_recorder::{BrickCategory, BrickId, Error, Recorder, Source, Summary, SyncMode};

use crate::checksums::Checksums;
use crate::clock;
use crate::deferred::Deferred;
use crate::graph::ExecutionGraph;
use crate::shared_run::{self, Membership};
use crate::stats::{BrickBottleneck, BrickStats, CategoryStats, ratio};
use crate::tiles::Tiles;

/// Times bricks under the original's names, and records them; see the [crate documentation](crate).
#[derive(Debug)]
pub struct BrickProfiler {
    pub(super) rec: Recorder,
    pub(super) bricks: [BrickStats; BrickId::COUNT],
    pub(super) dynamic: HashMap<String, BrickStats>,
    pub(super) deferred: Deferred,
    pub(super) graph: ExecutionGraph,
    pub(super) graph_enabled: bool,
    pub(super) checksums: Checksums,
    pub(super) tiles: Tiles,
    /// Time of creation. Together with the current time it gives the rate of the clocks.
    pub(super) made: Moment,
    pub(super) epoch: Moment,
    enabled: bool,
    sync_mode: SyncMode,
    l2_cache_hit_rate: Option<f32>,
    is_zero_copy: bool,
    /// The run that the environment names. Must be the last field: fields dropped before it still record.
    membership: Option<Membership>,
}

impl Default for BrickProfiler {
    fn default() -> Self {
        Self::new()
    }
}

impl BrickProfiler {
    /// Not enabled yet. Records to the directory that the environment variable `TRUENO_RUN`
    /// names, together with the other profilers of the process that are alive; without it there is
    /// no run, only sums. Where the run cannot be made (one is there already) there is none either,
    /// and a line on standard error says why; [`BrickProfiler::create`] gives that as an error.
    pub fn new() -> Self {
        let (rec, membership) = shared_run::join();
        let mut profiler = Self::with_recorder(rec);
        profiler.membership = membership;
        profiler
    }

    /// [`BrickProfiler::new`], enabled.
    pub fn enabled() -> Self {
        let mut profiler = Self::new();
        profiler.enable();
        profiler
    }

    /// Not enabled yet; records to a new run at `path`.
    ///
    /// # Errors
    /// See [`Builder::create`](trueno_recorder::Builder::create).
    pub fn create(path: impl AsRef<Path>) -> Result<Self, Error> {
        Recorder::create(path).map(Self::with_recorder)
    }

    /// Not enabled yet; records to the run of `rec`, beside whatever else does.
    pub fn with_recorder(rec: Recorder) -> Self {
        let made = clock::now(&rec);
        let mut bricks = BrickId::all().map(|brick| BrickStats::new(brick.name()));
        Self {
            graph: ExecutionGraph::of_run(rec.clone()),
            graph_enabled: false,
            checksums: Checksums::default(),
            rec,
            bricks: std::array::from_fn(|_| bricks.next().unwrap_or_default()),
            dynamic: HashMap::new(),
            deferred: Deferred::default(),
            tiles: Tiles::default(),
            made,
            epoch: made,
            enabled: false,
            sync_mode: SyncMode::Deferred,
            l2_cache_hit_rate: None,
            is_zero_copy: false,
            membership: None,
        }
    }

    /// The recorder behind it: for guards, checksums of any type, devices.
    pub fn recorder(&self) -> &Recorder {
        &self.rec
    }

    /// Ends the run, as dropping the last handle of the recorder would.
    ///
    /// # Errors
    /// See [`Recorder::finish`].
    pub fn finish(&self) -> Result<Summary, Error> {
        self.graph.sources.keep_missing(&self.rec);
        if let Some(membership) = &self.membership {
            membership.end();
        }
        self.rec.finish()
    }

    /// Enables the timing of bricks.
    pub fn enable(&mut self) {
        self.enabled = true;
    }

    /// From now on bricks are not timed: no clock is read, nothing is recorded.
    pub fn disable(&mut self) {
        self.enabled = false;
    }

    /// Returns whether bricks are timed.
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Notes a mode, in the run under `compat.sync_mode`. It makes nobody wait; see the
    /// [crate documentation](crate).
    pub fn set_sync_mode(&mut self, mode: SyncMode) {
        self.sync_mode = mode;
        self.rec.value("compat.sync_mode", mode.name());
    }

    /// The mode noted last; at first [`SyncMode::Deferred`].
    pub fn sync_mode(&self) -> SyncMode {
        self.sync_mode
    }

    /// Time 0 of [`BrickProfiler::elapsed_ns`] is now. What is pending keeps its start.
    pub fn reset_epoch(&mut self) {
        self.epoch = clock::now(&self.rec);
    }

    /// Nanoseconds since the profiler was made or its epoch reset.
    pub fn elapsed_ns(&self) -> u64 {
        clock::now(&self.rec).ns_since(self.epoch)
    }

    /// Sums of a known brick.
    pub fn brick_stats(&self, brick: BrickId) -> &BrickStats {
        &self.bricks[brick as usize]
    }

    /// Sums of a known brick, to change them.
    pub fn brick_stats_mut(&mut self, brick: BrickId) -> &mut BrickStats {
        &mut self.bricks[brick as usize]
    }

    /// Sums of a brick by name, known or not.
    pub fn stats(&self, name: &str) -> Option<&BrickStats> {
        match BrickId::from_name(name) {
            Some(brick) => Some(self.brick_stats(brick)).filter(|stats| stats.count > 0),
            None => self.dynamic.get(name),
        }
    }

    /// Sums of all bricks that have samples: the known ones by number, then others by name.
    pub fn all_brick_stats(&self) -> impl Iterator<Item = &BrickStats> {
        let known = self.bricks.iter().filter(|stats| stats.count > 0);
        let mut others: Vec<&BrickStats> = self.dynamic.values().collect();
        others.sort_by(|a, b| a.name.cmp(&b.name));
        known.chain(others)
    }

    /// Sums of the bricks of other names.
    #[deprecated(note = "`all_brick_stats` has the known ones as well")]
    pub fn all_stats(&self) -> &HashMap<String, BrickStats> {
        &self.dynamic
    }

    /// The same as [`BrickProfiler::brick_stats`].
    pub fn stats_for(&self, brick: BrickId) -> &BrickStats {
        self.brick_stats(brick)
    }

    /// Names of all bricks that have samples.
    pub fn brick_names(&self) -> Vec<String> {
        let names = self.all_brick_stats().map(|stats| stats.name.clone());
        names.collect()
    }

    /// Sums by category, by its number. Bricks of other names are in `Other`, as they were in
    /// the original; in the run they have no category.
    pub fn category_stats(&self) -> [CategoryStats; BrickCategory::COUNT] {
        let mut sums = [CategoryStats::default(); BrickCategory::COUNT];
        for (brick, stats) in BrickId::all().zip(&self.bricks) {
            sums[brick.category() as usize].add(stats);
        }
        for stats in self.dynamic.values() {
            sums[BrickCategory::Other as usize].add(stats);
        }
        sums
    }

    /// Sum of the durations of all bricks: more than passed where bricks nest or threads overlap.
    pub fn total_ns(&self) -> u64 {
        self.all_brick_stats().map(|stats| stats.total_ns).sum()
    }

    /// Sum of the elements of all bricks, whatever they count.
    pub fn total_tokens(&self) -> u64 {
        let elements = self.all_brick_stats().map(|stats| stats.total_elements);
        elements.sum()
    }

    /// Elements a second of summed durations, for samples that have one; 0: none.
    pub fn total_throughput(&self) -> f64 {
        let timed: u64 = self.all_brick_stats().map(|s| s.timed_elements).sum();
        ratio(timed as f64, self.total_ns() as f64 / 1e9)
    }

    /// Forgets sums of bricks, what is pending and what the program had set; the run keeps its rows. Tiles, graph and
    /// checksums have resets of their own.
    pub fn reset(&mut self) {
        for stats in &mut self.bricks {
            *stats = BrickStats::new(&stats.name);
        }
        self.dynamic.clear();
        self.deferred = Deferred::default();
        self.l2_cache_hit_rate = None;
        self.is_zero_copy = false;
    }

    /// Notes what limits a brick; one without samples is not made by it.
    pub fn set_brick_bottleneck(&mut self, name: &str, bottleneck: BrickBottleneck) {
        let stats = match BrickId::from_name(name) {
            Some(brick) => Some(self.brick_stats_mut(brick)),
            None => self.dynamic.get_mut(name),
        };
        if let Some(stats) = stats {
            stats.bottleneck = bottleneck;
        }
    }

    /// Records a cache hit rate (0 to 1) that the program states: a row of `counters`.
    pub fn set_l2_cache_hit_rate(&mut self, rate: f32) {
        self.l2_cache_hit_rate = Some(rate);
        let name = "l2_cache_hit_rate";
        self.rec
            .counter(name, f64::from(rate), "", Source::Declared);
    }

    /// The rate stated last.
    pub fn l2_cache_hit_rate(&self) -> Option<f32> {
        self.l2_cache_hit_rate
    }

    /// Notes whether memory is shared without copies: in the run under `zero_copy`, and as a row of `counters`, 1 or 0,
    /// whose mean is the share of what was noted so.
    pub fn set_zero_copy(&mut self, zero_copy: bool) {
        self.is_zero_copy = zero_copy;
        self.rec.value("zero_copy", zero_copy);
        let value = f64::from(u8::from(zero_copy));
        self.rec.counter("zero_copy", value, "", Source::Declared);
    }

    /// The value noted last.
    pub fn is_zero_copy(&self) -> bool {
        self.is_zero_copy
    }
}

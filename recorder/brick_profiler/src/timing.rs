//! Bricks that are timed by the host.

use std::panic::Location;
use std::time::Duration;

use trueno_recorder::finished::{Brick, BrickPlace, Moment, Site};
use trueno_recorder::{BrickId, Name};

use crate::clock;
use crate::graph::StoppedBrick;
use crate::profiler::BrickProfiler;
use crate::stats::BrickStats;

/// A known brick that has begun. Dropping it leaves nothing behind.
#[derive(Debug)]
#[must_use = "a brick is recorded when it is stopped"]
pub struct BrickIdTimer {
    brick: BrickId,
    start: Moment,
    place: &'static Location<'static>,
}

/// A brick of any name that has begun. Dropping it leaves nothing behind.
#[derive(Debug)]
#[must_use = "a brick is recorded when it is stopped"]
pub struct BrickTimer {
    name: Name,
    start: Moment,
    place: &'static Location<'static>,
}

impl BrickProfiler {
    fn begin(&self) -> Moment {
        if self.is_enabled() {
            clock::now(&self.rec)
        } else {
            Moment::default()
        }
    }

    /// Begins a known brick.
    #[inline]
    #[track_caller]
    pub fn start_brick(&self, brick: BrickId) -> BrickIdTimer {
        BrickIdTimer {
            brick,
            start: self.begin(),
            place: Location::caller(),
        }
    }

    /// Ends a brick. One that began or ends while the profiler is disabled is not recorded.
    pub fn stop_brick(&mut self, timer: BrickIdTimer, elements: u64) {
        let known = Some(timer.brick);
        let name = timer.brick.into();
        self.end(known, name, (timer.start, timer.place), elements);
    }

    /// Begins a brick of any name.
    #[track_caller]
    pub fn start(&self, name: &str) -> BrickTimer {
        let start = self.begin();
        let name = if start.is_read() { name } else { "" };
        BrickTimer {
            name: Name::new(name),
            start,
            place: Location::caller(),
        }
    }

    /// Ends a brick; see [`BrickProfiler::stop_brick`].
    pub fn stop(&mut self, timer: BrickTimer, elements: u64) {
        if timer.start.is_read() {
            let known = BrickId::from_name(timer.name.as_str());
            self.end(known, timer.name, (timer.start, timer.place), elements);
        }
    }

    fn end(
        &mut self,
        known: Option<BrickId>,
        name: Name,
        (start, place): (Moment, &'static Location<'static>),
        elements: u64,
    ) {
        if !self.is_enabled() || !start.is_read() {
            return;
        }
        let end = clock::now(&self.rec);
        self.record_brick((name, place), (start, end), elements, None);
        let stats = self.stats_of(known, name);
        stats.add_sample(end.ns_since(start), elements);
    }

    /// Records a brick that the program has timed and that ends now.
    #[track_caller]
    pub fn record_elapsed(&mut self, name: &str, elapsed: Duration, elements: u64) {
        if let Some((known, name, elapsed_ns)) = self.ended_now(name, elapsed, elements, None) {
            let stats = self.stats_of(known, name);
            stats.add_sample(elapsed_ns, elements);
        }
    }

    /// Likewise, with the bytes it read and wrote.
    #[track_caller]
    pub fn record_elapsed_with_bytes(
        &mut self,
        name: &str,
        elapsed: Duration,
        elements: u64,
        input_bytes: u64,
        output_bytes: u64,
    ) {
        let bytes = Some((input_bytes, output_bytes));
        if let Some((known, name, elapsed_ns)) = self.ended_now(name, elapsed, elements, bytes) {
            let stats = self.stats_of(known, name);
            stats.add_sample_with_bytes(elapsed_ns, elements, input_bytes, output_bytes);
        }
    }

    #[track_caller]
    fn ended_now(
        &mut self,
        name: &str,
        elapsed: Duration,
        elements: u64,
        bytes: Option<(u64, u64)>,
    ) -> Option<(Option<BrickId>, Name, u64)> {
        if !self.is_enabled() {
            return None;
        }
        let elapsed_ns = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        let (known, name) = (BrickId::from_name(name), Name::new(name));
        let times = self.last(elapsed_ns);
        self.record_brick((name, Location::caller()), times, elements, bytes);
        Some((known, name, elapsed_ns))
    }

    pub(super) fn last(&self, ns: u64) -> (Moment, Moment) {
        let end = clock::now(&self.rec);
        let start = end.at(end.monotonic_ns().saturating_sub(ns), self.made);
        (start, end)
    }

    /// Writes a row of `bricks` in the open scope. Returns its id, 0 without a run.
    pub(super) fn record_brick(
        &mut self,
        (name, place): (Name, &'static Location<'static>),
        (start, end): (Moment, Moment),
        elements: u64,
        bytes: Option<(u64, u64)>,
    ) -> u64 {
        let row = BrickPlace::take(&self.rec);
        self.graph.note_work();
        if let Some(row) = row {
            let brick = Brick {
                enclosing: self.graph.enclosing(),
                elements: Some(elements),
                read_bytes: bytes.map(|(read, _)| read),
                written_bytes: bytes.map(|(_, written)| written),
                ..Brick::new(Site::at(name, place), start, end)
            };
            self.rec.finished_brick(row, &brick);
        }
        self.graph.stopped(StoppedBrick {
            name,
            place: row,
            start,
            took_ns: Some(end.ns_since(start)),
        });
        row.map_or(0, BrickPlace::id)
    }

    pub(super) fn stats_of(&mut self, known: Option<BrickId>, name: Name) -> &mut BrickStats {
        match known {
            Some(brick) => &mut self.bricks[brick as usize],
            None => {
                let name = name.as_str();
                let new = || BrickStats::new(name);
                self.dynamic.entry(name.to_owned()).or_insert_with(new)
            }
        }
    }
}

/// Runs a block as a brick of a profiler and returns its value. Device work must end within the block.
///
/// ```
/// use trueno_brick_profiler::{BrickProfiler, time_brick};
///
/// let mut profiler = BrickProfiler::enabled();
/// let sum: f32 = time_brick!(profiler, "sum", 4, { [1.0f32; 4].iter().sum() });
/// assert_eq!((sum, profiler.stats("sum").unwrap().count), (4.0, 1));
/// ```
#[macro_export]
macro_rules! time_brick {
    ($profiler:expr, $name:expr, $elements:expr, $body:block) => {{
        let timer = $profiler.start($name);
        let result = $body;
        $profiler.stop(timer, $elements);
        result
    }};
}

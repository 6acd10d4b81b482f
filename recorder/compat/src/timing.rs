//! Bricks that are timed by the host.

use std::time::Duration;

use trueno_recorder::finished::{Brick, BrickPlace, Moment};
use trueno_recorder::{BrickId, Name};

use crate::clock;
use crate::profiler::BrickProfiler;
use crate::stats::BrickStats;

/// A known brick that has begun. Dropping it leaves nothing behind.
#[derive(Debug)]
#[must_use = "a brick is recorded when it is stopped"]
pub struct BrickIdTimer {
    brick: BrickId,
    start: Moment,
}

/// A brick of any name that has begun. Dropping it leaves nothing behind.
#[derive(Debug)]
#[must_use = "a brick is recorded when it is stopped"]
pub struct BrickTimer {
    name: Name,
    start: Moment,
}

impl BrickProfiler {
    /// The clocks, if bricks are timed.
    fn begin(&self) -> Moment {
        if self.is_enabled() {
            clock::now(&self.rec)
        } else {
            Moment::default()
        }
    }

    /// Begins a known brick.
    #[inline]
    pub fn start_brick(&self, brick: BrickId) -> BrickIdTimer {
        BrickIdTimer {
            brick,
            start: self.begin(),
        }
    }

    /// Ends a brick. One that began or ends while the profiler is disabled is not recorded.
    pub fn stop_brick(&mut self, timer: BrickIdTimer, elements: u64) {
        let known = Some(timer.brick);
        self.end(known, timer.brick.into(), timer.start, elements);
    }

    /// Begins a brick of any name.
    pub fn start(&self, name: &str) -> BrickTimer {
        let start = self.begin();
        let name = if start.is_read() { name } else { "" };
        BrickTimer {
            name: Name::new(name),
            start,
        }
    }

    /// Ends a brick; see [`BrickProfiler::stop_brick`].
    pub fn stop(&mut self, timer: BrickTimer, elements: u64) {
        if timer.start.is_read() {
            let known = BrickId::from_name(timer.name.as_str());
            self.end(known, timer.name, timer.start, elements);
        }
    }

    fn end(&mut self, known: Option<BrickId>, name: Name, start: Moment, elements: u64) {
        if !self.is_enabled() || !start.is_read() {
            return;
        }
        let end = clock::now(&self.rec);
        self.record_brick(name, (start, end), elements, None);
        let stats = self.stats_of(known, name);
        stats.add_sample(end.ns_since(start), elements);
    }

    /// Records a brick that the program has timed and that ends now.
    pub fn record_elapsed(&mut self, name: &str, elapsed: Duration, elements: u64) {
        if let Some((known, name, elapsed_ns)) = self.ended_now(name, elapsed, elements, None) {
            let stats = self.stats_of(known, name);
            stats.add_sample(elapsed_ns, elements);
        }
    }

    /// Likewise, with the bytes it read and wrote.
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
        self.record_brick(name, self.last(elapsed_ns), elements, bytes);
        Some((known, name, elapsed_ns))
    }

    /// The last `ns` nanoseconds.
    pub(super) fn last(&self, ns: u64) -> (Moment, Moment) {
        let end = clock::now(&self.rec);
        let start = end.at(end.monotonic_ns().saturating_sub(ns), self.made);
        (start, end)
    }

    /// Writes a row of `bricks` in the scope that is open; its id, 0 without a run.
    pub(super) fn record_brick(
        &mut self,
        name: Name,
        (start, end): (Moment, Moment),
        elements: u64,
        bytes: Option<(u64, u64)>,
    ) -> u64 {
        let place = BrickPlace::take(&self.rec);
        if let Some(place) = place {
            let brick = Brick {
                enclosing: self.graph.enclosing(),
                elements: Some(elements),
                read_bytes: bytes.map(|(read, _)| read),
                written_bytes: bytes.map(|(_, written)| written),
                ..Brick::new(name, start, end)
            };
            self.rec.finished_brick(place, &brick);
        }
        self.graph.stopped = Some((name, place));
        place.map_or(0, BrickPlace::id)
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

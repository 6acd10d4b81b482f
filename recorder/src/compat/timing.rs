//! Bricks that are timed by the host.

use std::time::Duration;

use super::profiler::BrickProfiler;
use super::rows::{self, Moment};
use super::stats::BrickStats;
use crate::BrickId;
use crate::names::Name;
use crate::record::{TableNumber, kind};
use crate::span::Work;

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
            Moment::now(&self.rec)
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
        let end = Moment::now(&self.rec);
        let mut work = Work::default();
        work.set(0, elements);
        self.record(name, (start, end), work);
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
        let mut work = Work::default();
        work.set(0, elements);
        if let Some((read, written)) = bytes {
            work.set(2, read);
            work.set(3, written);
        }
        let (known, name) = (BrickId::from_name(name), Name::new(name));
        self.record(name, self.last(elapsed_ns), work);
        Some((known, name, elapsed_ns))
    }

    /// The last so many nanoseconds.
    pub(super) fn last(&self, ns: u64) -> (Moment, Moment) {
        let end = Moment::now(&self.rec);
        let start = end.at(end.monotonic_ns.saturating_sub(ns), self.made);
        (start, end)
    }

    /// Writes a row of `bricks` in the scope that is open; its id, 0 without a run.
    pub(super) fn record(&mut self, name: Name, times: (Moment, Moment), work: Work) -> u64 {
        let place = rows::place(&self.rec, TableNumber::Bricks);
        let around = self.graph.around();
        if let Some(place) = place {
            let of = (kind::BRICK, name);
            rows::brick(&self.rec, place, of, times, around, work);
        }
        self.graph.stopped = Some((name, place));
        place.map_or(0, rows::Place::id)
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

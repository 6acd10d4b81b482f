//! The host's part: ranges become bricks, calls find the range they lie in.

use std::collections::BTreeMap;

use trueno_format::schema::{BrickRow, CallRow, CounterRow};

use super::build::{Build, Interval};
use super::inferred::{Orphan, OwnRange, sequence};
use super::range_pairs::{Range, pair};
use crate::Error;
use crate::cuda::annotation::Annotation;
use crate::cuda::call_kind::CallKind;
use crate::cuda::cupti_enums::overhead_kind;
use crate::cuda::iterations::{self, Candidates, Iterations};
use crate::cuda::launches::Launch;
use crate::cuda::open_ranges::OpenRanges;

enum Event {
    Range(Range),
    Call(usize),
}

impl Build {
    pub fn host_rows(&mut self) -> Result<(), Error> {
        let events = std::mem::take(&mut self.from.ranges);
        let ranges = pair(&events);
        for (count, what) in [
            (ranges.open, "NVTX range: never ended"),
            (ranges.stray, "NVTX range: an end without a beginning"),
        ] {
            if count > 0 {
                self.invalid.insert(what.to_owned(), count);
            }
        }
        let iterations = self.find_iterations(&ranges.ranges);
        // By thread, start, and what encloses first.
        let mut order: Vec<((u32, i64, i64, u8), Event)> = Vec::new();
        for range in ranges.ranges {
            let key = (range.thread, range.start, range.end.saturating_neg(), 0);
            order.push((key, Event::Range(range)));
        }
        for (at, (_, call)) in self.from.calls.iter().enumerate() {
            let [start, end] = [call.start, call.end].map(|t| i64::try_from(t).unwrap_or(i64::MAX));
            order.push(((call.thread, start, -end, 1), Event::Call(at)));
        }
        order.sort_by_key(|(key, _)| *key);
        let mut open: BTreeMap<u32, OpenRanges> = BTreeMap::new();
        let (mut own, mut orphans) = (Vec::new(), Vec::new());
        for ((thread, ..), event) in order {
            let open = open.entry(thread).or_default();
            match event {
                Event::Range(range) => {
                    own.push(self.range(range, &ranges.categories, &iterations, open)?);
                }
                Event::Call(at) => orphans.extend(self.call(at, open)?),
            }
        }
        self.launches.sort();
        self.infer_ranges(&own, orphans, &iterations)?;
        self.jits()?;
        self.host_functions()?;
        self.externals()?;
        self.overheads()
    }

    fn find_iterations(&mut self, ranges: &[Range]) -> Iterations {
        let mut candidates = Candidates::default();
        // A mark ends when it begins.
        for range in ranges.iter().filter(|range| range.start < range.end) {
            if let Some(name) = self.from.name(range.message.into()) {
                candidates.add(range.thread.into(), range.start, range.end, name);
            }
        }
        let Some(found) = candidates.choose() else {
            return Iterations::default();
        };
        if let Some(text) = iterations::text([&found]) {
            let values = &mut self.into.run().values;
            values.insert(iterations::VALUE.to_owned(), text);
        }
        found
    }

    fn range(
        &mut self,
        range: Range,
        categories: &BTreeMap<(u32, u32), u32>,
        iterations: &Iterations,
        open: &mut OpenRanges,
    ) -> Result<OwnRange, Error> {
        if let Some(number) = iterations.of_range(range.thread.into(), range.start, range.end) {
            self.iteration(range, number, open)?;
        }
        let id = self.id();
        let parent = open.around(range.start, range.end);
        open.push(id, range.end);
        let category = (range.category != 0)
            .then(|| categories.get(&(range.domain, range.category)))
            .flatten()
            .and_then(|number| self.from.name((*number).into()))
            .map(str::to_owned);
        let name = self
            .from
            .name(range.message.into())
            .unwrap_or("range without a name")
            .to_owned();
        let annotation = Annotation::parse(&name);
        let shown = annotation.as_ref().map_or(&name, |parsed| &parsed.name);
        let shown = match self.from.name(range.domain.into()) {
            Some(domain) => format!("{domain}::{shown}"),
            None => shown.clone(),
        };
        let interval = Interval {
            start: self.own_time(range.start),
            dur: range.end.saturating_sub(range.start),
        };
        let row = BrickRow {
            id,
            parent,
            kind: self.text("function"),
            name: self.text(&shown),
            category: self.maybe(category.as_deref()),
            thread: self.thread(range.thread),
            iteration: iterations.number(range.start, range.end),
            start_ns: interval.start,
            dur_ns: interval.dur,
            timing: self.text("host"),
            ..BrickRow::default()
        };
        self.reach(interval);
        self.add(&row)?;
        for (key, value) in annotation.iter().flat_map(|parsed| &parsed.values) {
            self.attribute(id, key, value)?;
        }
        Ok(OwnRange {
            thread: range.thread,
            start: range.start,
            end: range.end,
            id,
            sequence: sequence(&name),
        })
    }

    /// Writes a row around a range that is one of an iteration. The range keeps its own row: what it does is work of the
    /// host, while an iteration only frames.
    fn iteration(&mut self, range: Range, number: u64, open: &mut OpenRanges) -> Result<(), Error> {
        let id = self.id();
        let parent = open.around(range.start, range.end);
        open.push(id, range.end);
        let row = BrickRow {
            id,
            parent,
            kind: self.text("iteration"),
            name: self.text("iteration"),
            thread: self.thread(range.thread),
            start_ns: self.own_time(range.start),
            dur_ns: range.end.saturating_sub(range.start),
            timing: self.text("host"),
            iteration: Some(number),
            ..BrickRow::default()
        };
        self.add(&row)
    }

    /// Writes a call; returns it if it lies in no range.
    fn call(&mut self, at: usize, open: &mut OpenRanges) -> Result<Option<Orphan>, Error> {
        let (domain, call) = self.from.calls[at];
        let interval = match self.interval(call.start, call.end) {
            Ok(interval) => interval,
            Err(reason) => {
                self.not_sound("call", reason);
                return Ok(None);
            }
        };
        let id = self.id();
        let realtime = |time: u64| i64::try_from(time).unwrap_or(i64::MAX);
        let (start, end) = (realtime(call.start), realtime(call.end));
        let brick = open.around(start, end);
        let thread = self.thread(call.thread);
        let name = self.function(domain, &call);
        if call.correlation != 0 {
            self.launches.push(Launch {
                key: call.correlation.into(),
                call: id,
                brick: brick.unwrap_or(0),
                start_ns: interval.start,
                end_ns: interval.start + interval.dur,
                thread,
                kind: CallKind::from_name(self.into.str(name)),
            });
        }
        self.reach(interval);
        self.add(&CallRow {
            id,
            brick,
            name,
            thread,
            start_ns: interval.start,
            dur_ns: interval.dur,
            correlation: correlation(call.correlation),
            status: Some(call.status.into()),
            ..CallRow::default()
        })?;
        let is_orphan = brick.is_none() && call.correlation != 0;
        Ok(is_orphan.then_some(Orphan {
            thread: call.thread,
            start,
            end,
            correlation: call.correlation,
        }))
    }

    /// Writes what the driver compiled, inside the calls that made it compile.
    fn jits(&mut self) -> Result<(), Error> {
        for jit in std::mem::take(&mut self.from.jits) {
            let Some(interval) = self.sound("jit", jit.start, jit.end) else {
                continue;
            };
            let stated = jit.thread.filter(|thread| *thread != 0);
            let stated = stated.and_then(|thread| self.known_thread(thread));
            let launch = self.launch(jit.correlation);
            let Some(thread) = stated.or(launch.map(|launch| launch.thread)) else {
                self.not_sound("jit", "no call that made the driver compile");
                continue;
            };
            let name = match (jit.operation, jit.entry) {
                (1, _) => "JIT: load from the cache",
                (2, _) => "JIT: store in the cache",
                (3, 2) => "JIT: compile NVVM IR",
                (3, _) => "JIT: compile PTX",
                _ => "JIT",
            };
            let id = self.id();
            let row = CallRow {
                id,
                brick: launch.and_then(|launch| launch.brick()),
                name: self.text(name),
                thread,
                start_ns: interval.start,
                dur_ns: interval.dur,
                ..CallRow::default()
            };
            self.reach(interval);
            self.add(&row)?;
        }
        Ok(())
    }

    /// Writes functions of the host that streams and graphs called, on the driver's threads.
    fn host_functions(&mut self) -> Result<(), Error> {
        for of in std::mem::take(&mut self.from.host_functions) {
            let Some(interval) = self.sound("host function", of.start, of.end) else {
                continue;
            };
            let id = self.id();
            let name = if of.is_node {
                "host function of a graph"
            } else {
                "host function"
            };
            let row = CallRow {
                id,
                name: self.text(name),
                thread: self.thread(of.thread),
                start_ns: interval.start,
                dur_ns: interval.dur,
                ..CallRow::default()
            };
            self.reach(interval);
            self.add(&row)?;
            if let Some(launch) = self.launch(of.correlation) {
                self.edge(launch.call, id, "launches")?;
            }
        }
        Ok(())
    }

    fn overheads(&mut self) -> Result<(), Error> {
        for overhead in std::mem::take(&mut self.from.overheads) {
            let Some(interval) = self.sound("overhead", overhead.start, overhead.end) else {
                continue;
            };
            let what = overhead_kind(overhead.what);
            let thread = (overhead.object == 2).then(|| self.thread(overhead.thread));
            let row = CounterRow {
                time_ns: interval.start,
                thread,
                name: self.text(&format!("cupti_overhead: {what}")),
                value: interval.dur as f64,
                unit: Some(self.text("ns")),
                source: self.text("measured"),
                ..CounterRow::default()
            };
            *self.overhead_ns.entry(what).or_default() += interval.dur as u64;
            self.add(&row)?;
        }
        Ok(())
    }
}

pub fn correlation(number: u32) -> Option<u64> {
    (number != 0).then_some(u64::from(number))
}

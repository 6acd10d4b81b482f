//! One process becomes one run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use trueno_cupti::record::Api;
use trueno_format::run_json::RunJson;
use trueno_format::run_writer::{RunWriter, Text};
use trueno_format::schema::{AttributeRow, TableRow, ThreadRow};

use super::ceilings::CeilingsOfDevice;
use super::clocks;
use super::facts;
use super::graph_edges::Node;
use super::inferred::Inferred;
use super::spool_reader::{Domain, Spool};
use crate::Error;
use crate::cuda::call_kind::without_version;
use crate::cuda::launches::{Launch, Launches, Link};
use crate::cuda::streams::{Stream, Streams};

#[derive(Clone, Debug)]
pub struct Collected {
    pub path: PathBuf,
    pub run: RunJson,
}

pub struct Build {
    pub into: RunWriter,
    pub from: Spool,
    /// Time 0 of the run, by `CLOCK_REALTIME`.
    origin: i64,
    pub launches: Launches,
    streams: Streams,
    /// Ranges of other threads that calls are counted to.
    pub(super) inferred: Inferred,
    pub(super) inferred_rows: u64,
    /// Rows that nodes of replayed graphs became.
    pub nodes: Vec<Node>,
    /// Rows of `threads` by OS thread id, in order of their first event.
    threads: BTreeMap<u32, Thread>,
    last_id: u64,
    last: i64,
    /// Records that could not become a valid row, by kind and reason.
    pub invalid: BTreeMap<String, u64>,
    pub overhead_ns: BTreeMap<String, u64>,
    pub problems: Vec<String>,
}

#[derive(Clone, Copy, Debug)]
struct Thread {
    number: u32,
    start: i64,
}

/// CUPTI's number where no stream is meant, and the version since which it is 0.
const NO_STREAM: u32 = u32::MAX;
const ZERO_IS_NO_STREAM: u32 = 130_200;

#[derive(Clone, Copy, Debug)]
pub struct Interval {
    pub start: i64,
    pub dur: i64,
}

pub fn build(
    from: Spool,
    path: &Path,
    here: bool,
    ceilings: CeilingsOfDevice<'_>,
) -> Result<Collected, Error> {
    let into = RunWriter::create(path, facts::run_json(&from, here))?;
    let mut build = Build {
        into,
        origin: from.facts.start_realtime_ns,
        from,
        launches: Launches::default(),
        streams: Streams::default(),
        inferred: Inferred::default(),
        inferred_rows: 0,
        nodes: Vec::new(),
        threads: BTreeMap::new(),
        last_id: 0,
        last: 0,
        invalid: BTreeMap::new(),
        overhead_ns: BTreeMap::new(),
        problems: Vec::new(),
    };
    build.number_threads();
    build.host_rows()?;
    build.device_rows()?;
    build.say_inferred();
    clocks::write(&mut build)?;
    facts::write(&mut build)?;
    super::ceilings::write(&mut build, ceilings)?;
    build.thread_rows()?;
    let wall = clocks::wall(&build);
    let clean = build.from.end.is_some();
    let run = if clean {
        build.into.finish(wall)?
    } else {
        build.into.finish_recovered(wall)?
    };
    Ok(Collected {
        path: path.to_owned(),
        run,
    })
}

impl Build {
    pub fn add<R: TableRow>(&mut self, row: &R) -> Result<(), Error> {
        Ok(self.into.add(row)?)
    }

    pub fn text(&mut self, text: &str) -> Text {
        self.into.text(text)
    }

    pub fn maybe(&mut self, text: Option<&str>) -> Option<Text> {
        text.map(|text| self.text(text))
    }

    pub fn id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Converts a time to the run's timeline. `None` if CUPTI did not collect it.
    pub fn time(&self, realtime: u64) -> Option<i64> {
        (realtime != 0).then(|| i64::try_from(realtime).ok()?.checked_sub(self.origin))?
    }

    /// Converts a time of this process's own clock to the run's timeline.
    pub fn own_time(&self, realtime: i64) -> i64 {
        realtime.saturating_sub(self.origin)
    }

    /// A valid interval, or the reason why it is not.
    pub fn interval(&self, start: u64, end: u64) -> Result<Interval, &'static str> {
        match (self.time(start), self.time(end)) {
            (None, None) => Err("CUPTI gave no times"),
            (Some(_), None) => Err("it was not over when it was recorded"),
            (None, Some(_)) => Err("CUPTI gave no start"),
            (Some(start), Some(end)) if end < start => Err("end before start"),
            (Some(start), Some(_)) if start < 0 => Err("before the recording"),
            (Some(start), Some(end)) => Ok(Interval {
                start,
                dur: end - start,
            }),
        }
    }

    /// A valid interval of a record. Others are counted by their kind.
    pub fn sound(&mut self, kind: &str, start: u64, end: u64) -> Option<Interval> {
        let interval = self.interval(start, end);
        interval.map_err(|reason| self.not_sound(kind, reason)).ok()
    }

    pub fn reach(&mut self, interval: Interval) {
        self.last = self.last.max(interval.start.saturating_add(interval.dur));
    }

    pub fn last(&self) -> i64 {
        self.last
    }

    pub fn not_sound(&mut self, kind: &str, reason: &str) {
        *self.invalid.entry(format!("{kind}: {reason}")).or_default() += 1;
    }

    /// The stream's number in the run; `None` for no stream.
    pub fn stream(&mut self, device: Option<u32>, context: u32, stream: u32) -> Option<u32> {
        let stream = Stream {
            process: 0,
            context: Some(context.into()),
            device,
            stream,
        };
        let cupti = self.from.facts.cupti.as_ref();
        let is_zero_none = cupti.is_some_and(|cupti| cupti.version >= ZERO_IS_NO_STREAM);
        let is_none = stream.stream == NO_STREAM || (is_zero_none && stream.stream == 0);
        (!is_none).then(|| self.streams.number(stream))
    }

    pub fn device_of(&self, context: u32) -> Option<u32> {
        let known = self
            .from
            .contexts
            .get(&context)
            .map(|context| context.device);
        // A process with one device has its contexts there.
        known.or_else(|| match self.from.devices.len() {
            1 => self.from.devices.keys().next().copied(),
            _ => None,
        })
    }

    /// The row of a thread that calls or ranges are of.
    pub fn known_thread(&self, os: u32) -> Option<u32> {
        self.threads.get(&os).map(|row| row.number)
    }

    /// Writes a text that belongs to a row.
    pub fn attribute(&mut self, row: u64, name: &str, text: &str) -> Result<(), Error> {
        let attribute = AttributeRow {
            span: row,
            name: self.text(name),
            text: Some(self.text(text)),
            ..AttributeRow::default()
        };
        self.add(&attribute)
    }

    pub fn thread(&self, os: u32) -> u32 {
        self.threads.get(&os).map_or(0, |row| row.number)
    }

    pub fn launch(&self, correlation: u32) -> Option<Launch> {
        match self.launches.get(correlation.into()) {
            Link::To(launch) => Some(*launch),
            Link::None | Link::Ambiguous => None,
        }
    }

    pub fn function(&mut self, domain: Domain, call: &Api) -> Text {
        let (number, what) = match domain {
            Domain::Driver => (1, "driver"),
            Domain::Runtime => (2, "runtime"),
            Domain::Internal => (1, "internal launch"),
        };
        match self.from.callbacks.get(&(number, call.callback)) {
            Some(name) => self.into.text(without_version(name)),
            None => self.into.text(&format!("{what} call {}", call.callback)),
        }
    }

    fn number_threads(&mut self) {
        let mut first: BTreeMap<u32, i64> = BTreeMap::new();
        let calls = self.from.calls.iter().map(|(_, call)| {
            let start = i64::try_from(call.start).unwrap_or(i64::MAX);
            (call.thread, start)
        });
        let ranges = self
            .from
            .ranges
            .iter()
            .map(|event| (event.thread, event.realtime_ns));
        let time = |time: u64| i64::try_from(time).unwrap_or(i64::MAX);
        let functions = self.from.host_functions.iter();
        let functions = functions.map(|of| (of.thread, time(of.start)));
        for (thread, at) in calls.chain(ranges).chain(functions) {
            let known = first.entry(thread).or_insert(at);
            *known = at.min(*known);
        }
        let mut order: Vec<(i64, u32)> = first.into_iter().map(|(os, at)| (at, os)).collect();
        order.sort_unstable();
        for (number, (at, os)) in order.into_iter().enumerate() {
            let row = Thread {
                number: number as u32,
                start: at.saturating_sub(self.origin),
            };
            self.threads.insert(os, row);
        }
    }

    fn thread_rows(&mut self) -> Result<(), Error> {
        let mut rows: Vec<(u32, Thread)> =
            self.threads.iter().map(|(os, row)| (*os, *row)).collect();
        rows.sort_by_key(|(_, row)| row.number);
        // Without the operating system's numbers they are some of pthread's own.
        let cupti = self.from.facts.cupti.as_ref();
        let system = cupti.is_none_or(|cupti| cupti.system_threads);
        for (os, row) in rows {
            let name = self.from.threads.get(&os).cloned();
            let row = ThreadRow {
                thread: row.number,
                name: self.maybe(name.as_deref()),
                os_id: system.then_some(u64::from(os)),
                start_ns: Some(row.start),
                ..ThreadRow::default()
            };
            self.add(&row)?;
        }
        Ok(())
    }
}

//! Rows of what was sampled.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::RwLock;
use std::time::{SystemTime, UNIX_EPOCH};

use trueno_format::run_json::Kept;
use trueno_format::run_writer::{RunWriter, Text};
use trueno_format::schema::{CallRow, CounterRow, EdgeRow, SampleRow, SyncRow, TableId, ThreadRow};
use trueno_format::stacks::{Frame, Stacks};
use trueno_processes::note_that_it_went_on;

use crate::Error;
use crate::counters::now_ns;
use crate::event::ThreadOf;
use crate::modules::Modules;
use crate::place::{Place, Stack};
use crate::sample::{OF_PACKETS, read};
use crate::symbols::{Named, Symbols, system_call};
use crate::waits::{Cause, CpuTime, Stretch, Wait};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub samples: u64,
    pub threads: u64,
    pub processes: u64,
    /// Samples that were lost because the kernel's buffer was full.
    pub lost: u64,
    pub throttled: u64,
    /// Samples whose outermost callers are unknown.
    pub cut: u64,
    pub unnamed: u64,
    /// Files whose functions have no names because other files are at their paths.
    pub replaced: Vec<OsString>,
    /// Intervals in which a thread did not run.
    pub waits: u64,
    /// Switches that were lost: what threads did around them is unknown.
    pub lost_switches: u64,
    /// Waits for which the waking thread is known.
    pub wakers: u64,
    /// Wakeups that were lost: who ended some waits is unknown.
    pub lost_wakings: u64,
    /// True if wakers over the loopback device are known for only part of the time.
    pub are_packets_cut: bool,
    /// The rolling window that the run is.
    pub kept: Option<Kept>,
}

pub(crate) struct Sampled {
    pub time_ns: u64,
    pub of: ThreadOf,
    pub cpu: Option<u32>,
    pub period: u64,
    pub stack: Stack,
}

struct Thread {
    number: u32,
    of: ThreadOf,
    name: Option<Text>,
    start_ns: u64,
}

struct Words {
    event: Text,
    kernel: Text,
    off_cpu: Text,
    runnable: Text,
    on_cpu: Text,
    running: Text,
    wakes: Text,
    joins: Text,
    cpu_time: Text,
    ns: Text,
    measured: Text,
}

impl Words {
    fn new(run: &mut RunWriter) -> Self {
        let mut text = |text| run.text(text);
        Self {
            event: text("cpu-clock"),
            kernel: text("[kernel]"),
            off_cpu: text("off_cpu"),
            runnable: text("runnable"),
            on_cpu: text("on_cpu"),
            running: text("running"),
            wakes: text("wakes"),
            joins: text("joins"),
            cpu_time: text("cpu_time"),
            ns: text("ns"),
            measured: text("measured"),
        }
    }
}

pub(crate) struct Rows {
    run: RunWriter,
    words: Words,
    symbols: Symbols,
    stacks: Stacks,
    /// Rows of `stacks` by caller and place; true if the function has a name.
    known: HashMap<(Option<u64>, Place), (u64, bool)>,
    named: HashMap<Place, Vec<Frame>>,
    calls: HashMap<Place, Text>,
    threads: HashMap<u32, Thread>,
    processes: HashSet<u32>,
    replaced: BTreeSet<OsString>,
    next_thread: u32,
    origin_ns: Option<u64>,
    /// Time of the request for a rolling window.
    cut_at_ns: Option<u64>,
    pub counts: Counts,
}

impl Rows {
    pub fn new(mut run: RunWriter) -> Self {
        let words = Words::new(&mut run);
        Self {
            run,
            words,
            symbols: Symbols::new(),
            stacks: Stacks::default(),
            known: HashMap::new(),
            named: HashMap::new(),
            calls: HashMap::new(),
            threads: HashMap::new(),
            processes: HashSet::new(),
            replaced: BTreeSet::new(),
            next_thread: 0,
            origin_ns: None,
            cut_at_ns: None,
            counts: Counts::default(),
        }
    }

    pub fn begin(&mut self, at_ns: u64) {
        self.origin_ns = Some(at_ns);
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let realtime_ns = since.map_or(0, |since| since.as_nanos() as i64);
        let ago_ns = now_ns().saturating_sub(at_ns) as i64;
        self.run.run().clock.origin_realtime_ns = realtime_ns - ago_ns;
    }

    pub fn program_goes_on(&mut self) {
        note_that_it_went_on(&mut self.run.run().values);
    }

    /// A thread was seen, perhaps for the first time. If its number was in use before, it is a new thread.
    pub fn thread_begins(&mut self, of: ThreadOf, at_ns: u64, by: u32) -> Result<(), Error> {
        let name = self.threads.get(&by).and_then(|thread| thread.name);
        if self.threads.contains_key(&of.thread) {
            self.thread_ends(of)?;
        }
        self.know(of, at_ns).name = name;
        Ok(())
    }

    /// The thread has a new name. The run contains the last one.
    pub fn name(&mut self, of: ThreadOf, at_ns: u64, name: &OsStr) {
        let name = self.run.text(&name.to_string_lossy());
        self.know(of, at_ns).name = Some(name);
    }

    fn know(&mut self, of: ThreadOf, at_ns: u64) -> &mut Thread {
        let (counts, next) = (&mut self.counts, &mut self.next_thread);
        let processes = &mut self.processes;
        self.threads.entry(of.thread).or_insert_with(|| {
            counts.threads += 1;
            counts.processes += u64::from(processes.insert(of.process));
            *next += 1;
            Thread {
                number: *next - 1,
                of,
                name: None,
                start_ns: at_ns,
            }
        })
    }

    pub fn thread_ends(&mut self, of: ThreadOf) -> Result<(), Error> {
        if of.process == of.thread {
            self.processes.remove(&of.process);
        }
        match self.threads.remove(&of.thread) {
            Some(thread) => self.thread_row(&thread),
            None => Ok(()),
        }
    }

    fn thread_row(&mut self, thread: &Thread) -> Result<(), Error> {
        let row = self.described(thread);
        Ok(self.run.add(&row)?)
    }

    fn described(&self, thread: &Thread) -> ThreadRow {
        ThreadRow {
            thread: thread.number,
            name: thread.name,
            os_id: Some(u64::from(thread.of.thread)),
            start_ns: Some(self.time(thread.start_ns)),
            process: Some(u64::from(thread.of.process)),
            ..ThreadRow::default()
        }
    }

    /// Everything until this time is known. If it is asked for, writes what a rolling window holds.
    pub fn reaches(&mut self, at_ns: u64) {
        if self.origin_ns.is_none_or(|origin_ns| at_ns < origin_ns) {
            return;
        }
        self.run.advance(self.time(at_ns));
        if self.run.cuts() != Some(true) {
            return;
        }
        // What the program did until then is in it.
        let cut_at_ns = *self.cut_at_ns.get_or_insert_with(now_ns);
        if at_ns >= cut_at_ns {
            self.cut_at_ns = None;
            let mut alive: Vec<&Thread> = self.threads.values().collect();
            alive.sort_by_key(|thread| thread.number);
            let alive: Vec<ThreadRow> = alive.iter().map(|thread| self.described(thread)).collect();
            self.run.cut(self.time(at_ns), &alive);
        }
    }

    pub fn sample(&mut self, sampled: &Sampled, modules: &RwLock<Modules>) -> Result<(), Error> {
        let thread = self.know(sampled.of, sampled.time_ns).number;
        let (stack, has_name) = self.stack(&sampled.stack, modules)?;
        self.counts.samples += 1;
        self.counts.cut += u64::from(!sampled.stack.is_whole);
        self.counts.unnamed += u64::from(!has_name);
        let row = SampleRow {
            time_ns: self.time(sampled.time_ns),
            thread,
            stack,
            event: self.words.event,
            period: Some(sampled.period),
            cpu: sampled.cpu,
        };
        Ok(self.run.add(&row)?)
    }

    pub fn wait(&mut self, wait: &Wait, modules: &RwLock<Modules>) -> Result<(), Error> {
        let thread = self.know(wait.of, wait.start_ns).number;
        let (mut stack, mut call) = (None, None);
        if let Some(at) = &wait.stack {
            (stack, _) = self.stack(at, modules)?;
            call = at.places.iter().find_map(|place| self.calls.get(place));
        }
        self.counts.waits += 1;
        let row = SyncRow {
            id: wait.id,
            kind: if wait.is_runnable {
                self.words.runnable
            } else {
                self.words.off_cpu
            },
            name: call.copied(),
            thread: Some(thread),
            start_ns: self.time(wait.start_ns),
            dur_ns: wait.end_ns.saturating_sub(wait.start_ns) as i64,
            stack,
            ..SyncRow::default()
        };
        Ok(self.run.add(&row)?)
    }

    pub fn stretch(&mut self, stretch: &Stretch) -> Result<(), Error> {
        let row = CallRow {
            id: stretch.id,
            name: self.words.running,
            thread: self.know(stretch.of, stretch.start_ns).number,
            start_ns: self.time(stretch.start_ns),
            dur_ns: stretch.end_ns.saturating_sub(stretch.start_ns) as i64,
            kind: Some(self.words.on_cpu),
            ..CallRow::default()
        };
        Ok(self.run.add(&row)?)
    }

    pub fn cause(&mut self, cause: &Cause) -> Result<(), Error> {
        self.counts.wakers += 1;
        let row = EdgeRow {
            from: cause.from,
            to: cause.to,
            kind: if cause.by_end {
                self.words.joins
            } else {
                self.words.wakes
            },
        };
        Ok(self.run.add(&row)?)
    }

    pub fn packets_end(&mut self, at_ns: u64) {
        if std::mem::replace(&mut self.counts.are_packets_cut, true) {
            return;
        }
        let until_ms = self.time(at_ns) / 1_000_000;
        let text = format!(
            "recorded until {until_ms} ms: the program sends more packets than there are waits for them"
        );
        self.run.run().values.insert(OF_PACKETS.to_owned(), text);
    }

    /// Counts lost samples. Written at once, because this process may be killed.
    pub fn lost(&mut self, samples: u64) {
        self.counts.lost += samples;
        self.run.drop_rows(TableId::Samples, samples);
    }

    pub fn lost_switches(&mut self, switches: u64) {
        let before = self.counts.lost_switches.div_ceil(2);
        self.counts.lost_switches += switches;
        // A wait lies between two.
        let waits = self.counts.lost_switches.div_ceil(2) - before;
        self.run.drop_rows(TableId::Syncs, waits);
    }

    pub fn cpu_time(&mut self, time: &CpuTime) -> Result<(), Error> {
        if self.run.keeps_last() {
            // It is that of the thread's whole life.
            return Ok(());
        }
        let thread = self.know(time.of, time.until_ns).number;
        let row = CounterRow {
            time_ns: self.time(time.until_ns),
            thread: Some(thread),
            name: self.words.cpu_time,
            value: time.cpu_ns as f64,
            unit: Some(self.words.ns),
            source: self.words.measured,
            ..CounterRow::default()
        };
        Ok(self.run.add(&row)?)
    }

    /// Row of the innermost function, and whether it has a name. Writes missing rows.
    fn stack(
        &mut self,
        stack: &Stack,
        modules: &RwLock<Modules>,
    ) -> Result<(Option<u64>, bool), Error> {
        let (mut row, mut has_name) = (None, false);
        for place in &stack.places {
            let made = match self.known.get(&(row, *place)) {
                Some(known) => *known,
                None => {
                    let made = self.add(row, *place, modules)?;
                    self.known.insert((row, *place), made);
                    made
                }
            };
            (row, has_name) = (Some(made.0), made.1);
        }
        Ok((row, has_name))
    }

    /// Writes rows for a place: one for each function that was inlined there.
    fn add(
        &mut self,
        caller: Option<u64>,
        place: Place,
        modules: &RwLock<Modules>,
    ) -> Result<(u64, bool), Error> {
        if !self.named.contains_key(&place) {
            let frames = self.frames(place, modules);
            self.named.insert(place, frames);
        }
        let frames = self.named[&place].iter().copied();
        let mut row = caller;
        let mut has_name = false;
        for frame in frames {
            has_name = frame.function.is_some();
            row = Some(self.stacks.row(&mut self.run, row, frame)?);
        }
        Ok((row.unwrap_or_default(), has_name))
    }

    fn frames(&mut self, place: Place, modules: &RwLock<Modules>) -> Vec<Frame> {
        let (named, module, address) = match place {
            Place::File(id, offset) => {
                let modules = read(modules);
                let path = modules.path(id);
                let text = self.run.text(&path.to_string_lossy());
                let known = modules.module(id);
                let address = known.and_then(|module| module.address_of(offset));
                let named = match known.and_then(|_| modules.source(id)) {
                    Some(source) => self.symbols.of_file(&source, offset),
                    None => vec![Named::default()],
                };
                if modules.is_replaced(id) {
                    self.replaced.insert(path.to_owned());
                }
                (named, Some(text), address.unwrap_or(offset))
            }
            Place::Memory(process, address) => {
                let named = self.symbols.of_memory(process, address);
                (vec![named], None, address)
            }
            Place::Kernel(address) => {
                let named = self.symbols.of_kernel(address);
                if let Some(call) = named.function.as_deref().and_then(system_call) {
                    self.calls.insert(place, self.run.text(call));
                }
                (vec![named], Some(self.words.kernel), address)
            }
        };
        let run = &mut self.run;
        let frame = |named: &Named| Frame {
            function: named.function.as_ref().map(|name| run.text(name)),
            module,
            address: named.function.is_none().then_some(address),
            file: named.file.as_ref().map(|file| run.text(file)),
            line: named.line,
            inlined: named.inlined,
        };
        named.iter().map(frame).collect()
    }

    pub fn finish(mut self, at_ns: u64) -> Result<Counts, Error> {
        let mut left: Vec<Thread> = self.threads.drain().map(|(_, thread)| thread).collect();
        left.sort_by_key(|thread| thread.number);
        for thread in &left {
            self.thread_row(thread)?;
        }
        let Counts {
            throttled,
            lost_wakings,
            ..
        } = self.counts;
        if lost_wakings > 0 {
            let text = format!(
                "the kernel lost {lost_wakings} wakeups for lack of buffer space: who ended some waits is not known"
            );
            self.run.run().problems.push(text);
        }
        self.counts.replaced = self.replaced.iter().cloned().collect();
        for path in &self.replaced {
            let text = format!(
                "{}: names of its functions are not known: the file on disk is not the one that the program ran",
                Path::new(path).display()
            );
            self.run.run().problems.push(text);
        }
        if throttled > 0 {
            let text =
                format!("the kernel paused sampling {throttled} times, because it took too long");
            self.run.run().problems.push(text);
        }
        let wall_ns = self
            .origin_ns
            .map(|origin_ns| at_ns.saturating_sub(origin_ns) as i64);
        debug_assert!(
            self.run.keeps_last() || self.run.rows(TableId::Samples) == self.counts.samples
        );
        self.counts.kept = self.run.finish(wall_ns)?.kept;
        Ok(self.counts)
    }

    fn time(&self, at_ns: u64) -> i64 {
        at_ns as i64 - self.origin_ns.unwrap_or(at_ns) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueno_format::run_json::RunJson;

    #[test]
    fn samples_without_room_are_counted_as_dropped_rows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("it.run");
        let run = RunWriter::create(&path, RunJson::default()).unwrap();
        let mut rows = Rows::new(run);
        rows.begin(5);
        rows.lost(7);
        rows.finish(20).unwrap();
        let run = trueno_testing::run_json(&path);
        assert_eq!((run.dropped, run.tables["samples"].dropped), (7, 7));
        assert_eq!(run.wall_ns, Some(15));
    }
}

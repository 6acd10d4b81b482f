//! A program sampled from its start, or from when it was attached to, to its end or that of the recording: one thread reads what the kernel tells and finds callers, another looks
//! names up and writes.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{self, JoinHandle};

use trueno_format::run_writer::{RunWriter, TableId};

use trueno_processes::{Ended, ProcessEnd, Selection};

use crate::address_space::AddressSpaces;
use crate::attach::{Running, attach_to};
use crate::counters::{Counters, now_ns};
use crate::event::{Event, ThreadOf};
use crate::modules::Modules;
use crate::opening::Subject;
use crate::program;
use crate::rows::{Counts, Rows, Sampled as Sample};
use crate::selected::{Change, Selected};
use crate::waits::{Known, Waits};
use crate::{Error, Sampling};

const ROUND_MS: i32 = 100;
/// Limit on messages that wait for the writer, because reading the symbols of a large program takes seconds. Beyond
/// it, the kernel's buffers fill up.
const MAX_WAITING: usize = 1 << 16;

const NO_KERNEL: &str = "the kernel's work for the program, and where it waited, were not sampled, because this user may not see them";
/// Key of `values`: whether wakeups by received packets were attributed to the sender.
pub(crate) const OF_PACKETS: &str = "wakers_over_loopback";
const NO_MEMORY: &str = "the kernel's work for the program, and where it waited, were not sampled, because `ulimit -l` allows too little locked memory for it";
const NO_WAITS: &str =
    "where the program waited is not known, because the kernel's buffer was full";

#[derive(Clone, Copy)]
pub struct Part<'a> {
    pub processes: &'a Selection,
    /// Returns true once the recording should end before the program.
    pub end: Option<&'a dyn Fn() -> bool>,
}

/// The program, after it or its recording has ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct Sampled {
    /// Exit status of the program. `None` if it is still running or was attached to.
    pub status: Option<ExitStatus>,
    pub goes_on: bool,
    pub counts: Counts,
    /// Why recording stopped while the program continued.
    pub failure: Option<Error>,
    /// False if only user code was sampled, without the kernel.
    pub sees_kernel: bool,
    /// True if that is because `ulimit -l` allows too little locked memory, and not because of permissions.
    pub lacks_memory: bool,
    pub no_wakers: Option<String>,
    /// Number of processes that could not be attached to.
    pub left_out: u64,
}

enum WriterMessage {
    Begin(u64),
    ThreadBegan(ThreadOf, u64, u32),
    ThreadNamed(ThreadOf, u64, OsString),
    ThreadEnded(ThreadOf),
    Sample(Sample),
    Known(Known),
    Lost(u64),
    LostSwitches(u64),
    LostWakings(u64),
    PacketsEnd(u64),
    Throttled,
    /// All that happened until then is known.
    Reached(u64),
    /// The recording ends before the program.
    GoesOn,
    End(u64),
}

/// Written to the reader's pipe if the recording ends before the program.
const GOES_ON: [u8; 1] = [1];

/// Runs a program and writes samples of it to the run that `create` makes for its process id. `watch` gets that id.
/// Ends with the program or the recording: what its children do after that is not sampled.
///
/// # Errors
/// The program did not start. Later failures are in [`Sampled::failure`], and the program continues.
pub fn sample(
    command: Command,
    sampling: Sampling,
    part: Part<'_>,
    create: impl FnOnce(i32) -> Result<RunWriter, Error>,
    watch: &mut dyn FnMut(i32),
) -> Result<Sampled, Error> {
    let program = command.get_program().to_owned();
    let waiting = program::prepare(command)?;
    let process = waiting.process;
    let counters = Counters::open(Subject::Starting(process), 1, sampling);
    let opened = counters.and_then(|counters| Ok((counters, create(process)?)));
    let (counters, run) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            waiting.cancel();
            return Err(error);
        }
    };
    let seen = Seen::of(&counters);
    let mut reads = Reads::new(process, part.processes.clone());
    reads.left_out = sampling.leaves_out_first.then_some(process.unsigned_abs());
    let collector = Collector::start(counters, reads, run)?;
    watch(process);
    let mut child = match waiting.run() {
        Ok(child) => child,
        Err(error) => {
            let _ = collector.end();
            return Err(Error::NotStarted { program, error });
        }
    };
    let ended = match part.end {
        Some(end) => ProcessEnd::of(process).map(|process| process.wait(Some(end))),
        None => Ok(Ended::Process),
    };
    let status = match ended {
        Ok(Ended::Asked) => Ok(None),
        _ => child.wait().map(Some),
    };
    if !matches!(status, Ok(None)) {
        watch(0);
    }
    let goes_on = matches!(status, Ok(None));
    let (counts, failure) = collector.end_with(goes_on);
    let status = status.map_err(Error::Sample)?;
    Ok(seen.sampled(status, goes_on, counts, failure))
}

/// Samples a running process with its threads and all descendants from now on, and writes the samples to a run.
/// Calls `begun` once sampling has started. Ends with the process or the recording.
///
/// # Errors
/// The process cannot be sampled.
pub fn attach(
    process: i32,
    sampling: Sampling,
    part: Part<'_>,
    create: impl FnOnce() -> Result<RunWriter, Error>,
    begun: impl FnOnce(),
) -> Result<Sampled, Error> {
    let not_attached = |error| Error::NotAttached { process, error };
    let end = ProcessEnd::of(process).map_err(not_attached)?;
    let (counters, running) = attach_to(process, sampling, part.processes)?;
    let run = create()?;
    let seen = Seen::of(&counters);
    let left_out = running.left_out;
    let mut reads = Reads::new(process, part.processes.clone());
    reads.running = Some(running);
    let collector = Collector::start(counters, reads, run)?;
    begun();
    let goes_on = end.wait(part.end) == Ended::Asked;
    let (counts, failure) = collector.end_with(goes_on);
    let mut sampled = seen.sampled(None, goes_on, counts, failure);
    sampled.left_out = left_out;
    Ok(sampled)
}

struct Seen {
    kernel: bool,
    waits: bool,
    lacks_memory: bool,
    no_wakers: Option<String>,
    no_packets: Option<String>,
}

impl Seen {
    fn of(counters: &Counters) -> Self {
        Self {
            kernel: counters.sees_kernel,
            waits: counters.sees_waits(),
            lacks_memory: counters.lacks_memory,
            no_wakers: counters.no_wakers.clone(),
            no_packets: counters.no_packets.clone(),
        }
    }

    fn describe(&self, run: &mut RunWriter) {
        run.reads_from_kernel(&[
            TableId::Samples,
            TableId::Syncs,
            TableId::Calls,
            TableId::Edges,
            TableId::Counters,
            TableId::Threads,
        ]);
        if !self.kernel {
            let reason = if self.lacks_memory {
                NO_MEMORY
            } else {
                NO_KERNEL
            };
            run.run().problems.push(reason.to_owned());
        } else if !self.waits {
            run.run().problems.push(NO_WAITS.to_owned());
        }
        let wakers = match &self.no_wakers {
            Some(reason) => format!("not recorded: {reason}"),
            None => "sched:sched_waking".to_owned(),
        };
        run.run().values.insert("wakers".to_owned(), wakers);
        if self.no_wakers.is_none() {
            let packets = match &self.no_packets {
                Some(reason) => format!("not recorded: {reason}"),
                None => "net:net_dev_queue, net:netif_receive_skb, napi:napi_poll".to_owned(),
            };
            run.run().values.insert(OF_PACKETS.to_owned(), packets);
        }
    }

    fn sampled(
        self,
        status: Option<ExitStatus>,
        goes_on: bool,
        counts: Counts,
        failure: Option<Error>,
    ) -> Sampled {
        Sampled {
            status,
            goes_on,
            counts,
            failure,
            sees_kernel: self.kernel,
            lacks_memory: self.lacks_memory,
            no_wakers: self.no_wakers,
            left_out: 0,
        }
    }
}

struct Reads {
    process: i32,
    processes: Selection,
    left_out: Option<u32>,
    running: Option<Running>,
}

impl Reads {
    fn new(process: i32, processes: Selection) -> Self {
        Self {
            process,
            processes,
            left_out: None,
            running: None,
        }
    }
}

struct Collector {
    /// Closing it ends the threads.
    ends: PipeWriter,
    reader: JoinHandle<()>,
    writer: JoinHandle<Result<Counts, Error>>,
}

impl Collector {
    fn start(counters: Counters, reads: Reads, mut run: RunWriter) -> Result<Self, Error> {
        Seen::of(&counters).describe(&mut run);
        let (ended, ends) = io::pipe().map_err(Error::Sample)?;
        let modules = Arc::new(RwLock::new(Modules::default()));
        let (to, told) = sync_channel(MAX_WAITING);
        let sees_wakers = counters.no_wakers.is_none();
        let process = reads.process.unsigned_abs();
        let mut reader = Reader {
            spaces: AddressSpaces::new(Arc::clone(&modules)),
            waits: Waits::default(),
            counters,
            process,
            left_out: reads.left_out,
            selected: Selected::new(reads.processes, process),
            since_ns: 0,
            met: HashSet::new(),
            has_begun: false,
            to,
        };
        Ok(Self {
            reader: thread::spawn(move || {
                if let Some(running) = reads.running {
                    reader.meet(running);
                }
                reader.read(&ended);
            }),
            writer: thread::spawn(move || write(run, &told, &modules, sees_wakers)),
            ends,
        })
    }

    fn end(self) -> Result<Counts, Error> {
        self.finish(false)
    }

    /// Ends the recording; true if the program continues.
    fn end_with(self, goes_on: bool) -> (Counts, Option<Error>) {
        match self.finish(goes_on) {
            Ok(counts) => (counts, None),
            Err(error) => (Counts::default(), Some(error)),
        }
    }

    fn finish(self, goes_on: bool) -> Result<Counts, Error> {
        let mut ends = self.ends;
        if goes_on {
            let _ = ends.write_all(&GOES_ON);
        }
        drop(ends);
        let failed = || Error::Sample(io::ErrorKind::Other.into());
        let read = self.reader.join();
        let written = self.writer.join().map_err(|_| failed())?;
        read.map_err(|_| failed())?;
        written
    }
}

struct Reader {
    counters: Counters,
    spaces: AddressSpaces,
    waits: Waits,
    process: u32,
    left_out: Option<u32>,
    selected: Selected,
    since_ns: u64,
    met: HashSet<u32>,
    has_begun: bool,
    to: SyncSender<WriterMessage>,
}

impl Reader {
    fn meet(&mut self, running: Running) {
        self.since_ns = running.since_ns;
        self.has_begun = true;
        let mut all = vec![WriterMessage::Begin(running.since_ns)];
        for (process, mapped) in running.mapped {
            self.spaces.map_at(process, &mapped, None);
        }
        for thread in running.threads {
            let of = thread.of;
            self.met.insert(of.thread);
            self.selected.meets(of.process);
            if self.selected.takes(of.process) {
                self.waits.meets(of, thread.met_ns, thread.waits);
                all.push(WriterMessage::ThreadNamed(
                    of,
                    running.since_ns,
                    thread.name,
                ));
            }
        }
        for message in all {
            let _ = self.to.send(message);
        }
    }

    fn read(mut self, mut ended: &PipeReader) {
        loop {
            let is_end = self.counters.wait(ended, ROUND_MS);
            let mut goes_on = [0];
            if is_end && ended.read(&mut goes_on).is_ok_and(|bytes| bytes > 0) {
                self.counters.stop();
                let _ = self.to.send(WriterMessage::GoesOn);
            }
            let at_ns = now_ns();
            let known_ns = self.counters.settled_ns();
            for (time_ns, event) in self.counters.take(is_end) {
                // Nobody takes it where writing has failed. Reading goes on, so that the program does.
                for told in self.tell(time_ns, event) {
                    let _ = self.to.send(told);
                }
            }
            let _ = self.to.send(WriterMessage::Reached(known_ns));
            if is_end {
                for known in self.waits.end(at_ns) {
                    let _ = self.to.send(WriterMessage::Known(known));
                }
                let _ = self.to.send(WriterMessage::End(at_ns));
                return;
            }
        }
    }

    fn tell(&mut self, time_ns: u64, event: Event) -> Vec<WriterMessage> {
        if time_ns < self.since_ns {
            return self.tell_earlier(event);
        }
        match event {
            Event::Sample(raw) | Event::Leaves(raw) if !self.selected.takes(raw.of.process) => {
                self.counters.take_back(raw.stack);
                Vec::new()
            }
            Event::Sample(raw) if self.left_out == Some(raw.of.process) => {
                self.counters.take_back(raw.stack);
                Vec::new()
            }
            Event::Sample(raw) => {
                self.waits.seen_running(raw.of);
                let sample = Sample {
                    time_ns,
                    of: raw.of,
                    cpu: raw.cpu,
                    period: raw.period,
                    stack: self.spaces.stack(&raw),
                };
                self.counters.take_back(raw.stack);
                vec![WriterMessage::Sample(sample)]
            }
            Event::Leaves(raw) => {
                self.waits.leaves(raw);
                Vec::new()
            }
            Event::Off(of, is_runnable) => {
                let left = self.waits.left(of).filter(|_| !is_runnable);
                let stack = left.map(|raw| {
                    let stack = self.spaces.stack(&raw);
                    self.counters.take_back(raw.stack);
                    stack
                });
                known_messages(self.waits.off(of, time_ns, is_runnable, stack))
            }
            Event::On(of) => known_messages(self.waits.on(of, time_ns)),
            Event::Wakes(waking) => {
                self.waits.woken(&waking, time_ns);
                Vec::new()
            }
            Event::Packet(packet) => {
                self.waits.packet(&packet, time_ns);
                Vec::new()
            }
            Event::Mapped(process, mapped) => {
                self.spaces.map_at(process, &mapped, Some(time_ns));
                match self.selected.runs(process, &mapped.file) {
                    Some(change) => self.changed(change, time_ns),
                    None => Vec::new(),
                }
            }
            Event::Named(of, ..) | Event::Ended(of) if self.left_out == Some(of.process) => {
                Vec::new()
            }
            Event::Began { of, .. } if self.left_out == Some(of.process) => Vec::new(),
            Event::Named(of, name, is_exec) => {
                let mut all = Vec::new();
                if is_exec {
                    self.selected.execs(of, &name);
                    self.spaces.exec(of.process);
                    if of.process == self.process && !self.has_begun && self.left_out.is_none() {
                        self.has_begun = true;
                        if self.selected.takes(of.process) {
                            self.waits.begins(of, time_ns, true);
                        }
                        all.push(WriterMessage::Begin(time_ns));
                    }
                }
                if self.selected.takes(of.process) {
                    all.push(WriterMessage::ThreadNamed(of, time_ns, name));
                }
                all
            }
            Event::Began { of, by } => {
                self.spaces.fork(of.process, by.process);
                self.selected.begins(of.process, by.process);
                if !self.selected.takes(of.process) {
                    return Vec::new();
                }
                self.waits.begins(of, time_ns, false);
                let mut all = Vec::new();
                if self.left_out == Some(by.process) && !self.has_begun {
                    self.has_begun = true;
                    all.push(WriterMessage::Begin(time_ns));
                }
                all.push(WriterMessage::ThreadBegan(of, time_ns, by.thread));
                all
            }
            Event::Ended(of) => {
                if of.process == of.thread {
                    self.spaces.end(of.process);
                    self.selected.ends(of.process);
                }
                let mut all = known_messages(self.waits.ends(of, time_ns));
                all.push(WriterMessage::ThreadEnded(of));
                all
            }
            Event::Lost(count) => {
                self.waits.lost();
                vec![WriterMessage::Lost(count)]
            }
            Event::LostSwitches(count) => {
                self.waits.lost();
                vec![WriterMessage::LostSwitches(count)]
            }
            // Waits are known without.
            Event::LostWakings(count) => vec![WriterMessage::LostWakings(count)],
            Event::PacketsEnd => {
                self.waits.packets_end();
                vec![WriterMessage::PacketsEnd(time_ns)]
            }
            Event::Throttled => vec![WriterMessage::Throttled],
            Event::Other => Vec::new(),
        }
    }
}

impl Reader {
    /// Handles an event between the first look at the program and the beginning of the recording.
    fn tell_earlier(&mut self, event: Event) -> Vec<WriterMessage> {
        let since_ns = self.since_ns;
        match event {
            Event::Sample(raw) | Event::Leaves(raw) => self.counters.take_back(raw.stack),
            Event::Began { of, .. } if self.met.contains(&of.thread) => {}
            Event::Mapped(..) | Event::Named(..) | Event::Began { .. } | Event::Ended(_) => {
                return self.tell(since_ns, event);
            }
            _ => {}
        }
        Vec::new()
    }

    /// A process runs another program and is recorded from now on, or no longer.
    fn changed(&mut self, change: Change, at_ns: u64) -> Vec<WriterMessage> {
        let of = change.of;
        if change.is_taken {
            self.waits.begins(of, at_ns, true);
            return vec![WriterMessage::ThreadNamed(of, at_ns, change.name)];
        }
        let mut all = known_messages(self.waits.ends(of, at_ns));
        all.push(WriterMessage::ThreadEnded(of));
        all
    }
}

fn known_messages(known: Vec<Known>) -> Vec<WriterMessage> {
    known.into_iter().map(WriterMessage::Known).collect()
}

fn write(
    run: RunWriter,
    told: &Receiver<WriterMessage>,
    modules: &RwLock<Modules>,
    sees_wakers: bool,
) -> Result<Counts, Error> {
    // Names are looked up when nobody else wants the processor.
    // SAFETY: takes numbers: of this thread alone.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) };
    let mut rows = Rows::new(run);
    let mut end_ns = 0;
    for told in told {
        match told {
            WriterMessage::Begin(at_ns) => rows.begin(at_ns),
            WriterMessage::ThreadBegan(of, at_ns, by) => rows.thread_begins(of, at_ns, by)?,
            WriterMessage::ThreadNamed(of, at_ns, name) => rows.name(of, at_ns, &name),
            WriterMessage::ThreadEnded(of) => rows.thread_ends(of)?,
            WriterMessage::Sample(sample) => rows.sample(&sample, modules)?,
            WriterMessage::Known(Known::Wait(wait)) => rows.wait(&wait, modules)?,
            WriterMessage::Known(Known::Ran(stretch)) if sees_wakers => rows.stretch(&stretch)?,
            // Nothing leads to them.
            WriterMessage::Known(Known::Ran(_)) => {}
            WriterMessage::Known(Known::Caused(cause)) => rows.cause(&cause)?,
            WriterMessage::Known(Known::Time(time)) => rows.cpu_time(&time)?,
            WriterMessage::Lost(count) => rows.lost(count),
            WriterMessage::LostSwitches(count) => rows.lost_switches(count),
            WriterMessage::LostWakings(count) => rows.counts.lost_wakings += count,
            WriterMessage::PacketsEnd(at_ns) => rows.packets_end(at_ns),
            WriterMessage::Throttled => rows.counts.throttled += 1,
            WriterMessage::Reached(at_ns) => rows.reaches(at_ns),
            WriterMessage::GoesOn => rows.program_goes_on(),
            WriterMessage::End(at_ns) => end_ns = at_ns,
        }
    }
    rows.finish(end_ns)
}

/// Locks for reading and ignores poisoning by other threads.
pub(crate) fn read(modules: &RwLock<Modules>) -> std::sync::RwLockReadGuard<'_, Modules> {
    modules.read().unwrap_or_else(PoisonError::into_inner)
}

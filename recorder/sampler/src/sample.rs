//! A program sampled from its start to its end: one thread reads what the kernel tells and finds callers, another looks
//! names up and writes.

use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter};
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{self, JoinHandle};

use trueno_format::run_writer::{RunWriter, TableId};

use crate::address_space::AddressSpaces;
use crate::counters::{Counters, now_ns};
use crate::event::{Event, ThreadOf};
use crate::modules::Modules;
use crate::program;
use crate::rows::{Counts, Rows, Sampled as Sample};
use crate::waits::{Known, Waits};
use crate::{Error, Sampling};

/// Between two looks, unless there is much to read before.
const ROUND_MS: i32 = 100;
/// Messages that may wait to be written: the names of a big program take seconds to be read. Beyond, the kernel's room fills up.
const MAX_WAITING: usize = 1 << 16;

const NO_KERNEL: &str = "the kernel's work for the program, and where it waited, were not sampled, because this user may not see them";
/// Fact of a run: whether wakings at the receipt of packets were connected to who sent them.
pub(crate) const OF_PACKETS: &str = "wakers_over_loopback";
const NO_MEMORY: &str = "the kernel's work for the program, and where it waited, were not sampled, because `ulimit -l` allows too little locked memory for it";
const NO_WAITS: &str =
    "where the program waited is not known, because the kernel's buffer was full";

/// Sampled program, when it has ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct Sampled {
    /// End of the program itself.
    pub status: ExitStatus,
    /// Rows of the run.
    pub counts: Counts,
    /// Reason why nothing is recorded from some time on, while the program went on.
    pub failure: Option<Error>,
    /// False where only the program's own code was sampled, and not the kernel's for it.
    pub sees_kernel: bool,
    /// Reason for that: `ulimit -l` allows too little locked memory, and not who may see it.
    pub lacks_memory: bool,
    /// Reason why it was not recorded who ended waits.
    pub no_wakers: Option<String>,
}

/// WriterMessage from the thread that reads to the one that writes.
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
    End(u64),
}

/// Runs a program and writes samples of it to the run that `create` makes for its process number. `watch` is told that number. Ends with the program: what its children still do then is not
/// sampled.
///
/// # Errors
/// The program did not begin. What fails later is in [`Sampled::failure`]: the program goes on.
pub fn sample(
    command: Command,
    sampling: Sampling,
    create: impl FnOnce(i32) -> Result<RunWriter, Error>,
    watch: &mut dyn FnMut(i32),
) -> Result<Sampled, Error> {
    let program = command.get_program().to_owned();
    let waiting = program::prepare(command)?;
    let process = waiting.process;
    let counters = Counters::open(process, sampling);
    let opened = counters.and_then(|counters| Ok((counters, create(process)?)));
    let (counters, mut run) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            waiting.cancel();
            return Err(error);
        }
    };
    let (sees_kernel, sees_waits) = (counters.sees_kernel, counters.sees_waits());
    let lacks_memory = counters.lacks_memory;
    let no_wakers = counters.no_wakers.clone();
    run.reads_from_kernel(&[
        TableId::Samples,
        TableId::Syncs,
        TableId::Calls,
        TableId::Edges,
        TableId::Counters,
        TableId::Threads,
    ]);
    if !sees_kernel {
        let reason = if lacks_memory { NO_MEMORY } else { NO_KERNEL };
        run.run().problems.push(reason.to_owned());
    } else if !sees_waits {
        run.run().problems.push(NO_WAITS.to_owned());
    }
    let wakers = match &no_wakers {
        Some(reason) => format!("not recorded: {reason}"),
        None => "sched:sched_waking".to_owned(),
    };
    run.run().values.insert("wakers".to_owned(), wakers);
    if no_wakers.is_none() {
        let packets = match &counters.no_packets {
            Some(reason) => format!("not recorded: {reason}"),
            None => "net:net_dev_queue, net:netif_receive_skb, napi:napi_poll".to_owned(),
        };
        run.run().values.insert(OF_PACKETS.to_owned(), packets);
    }
    let (ended, ends) = io::pipe().map_err(Error::Sample)?;
    let left_out = sampling.leaves_out_first.then_some(process.unsigned_abs());
    let collector = Collector::start(counters, process, left_out, run, (ended, ends));
    watch(process);
    let mut child = match waiting.run() {
        Ok(child) => child,
        Err(error) => {
            let _ = collector.end();
            return Err(Error::NotStarted { program, error });
        }
    };
    let status = child.wait();
    watch(0);
    let (counts, failure) = match collector.end() {
        Ok(counts) => (counts, None),
        Err(error) => (Counts::default(), Some(error)),
    };
    Ok(Sampled {
        status: status.map_err(Error::Sample)?,
        counts,
        failure,
        sees_kernel,
        lacks_memory,
        no_wakers,
    })
}

struct Collector {
    /// Closed, it ends them.
    ends: PipeWriter,
    reader: JoinHandle<()>,
    writer: JoinHandle<Result<Counts, Error>>,
}

impl Collector {
    fn start(
        counters: Counters,
        process: i32,
        left_out: Option<u32>,
        run: RunWriter,
        (ended, ends): (PipeReader, PipeWriter),
    ) -> Self {
        let modules = Arc::new(RwLock::new(Modules::default()));
        let (to, told) = sync_channel(MAX_WAITING);
        let sees_wakers = counters.no_wakers.is_none();
        let reader = Reader {
            spaces: AddressSpaces::new(Arc::clone(&modules)),
            waits: Waits::default(),
            counters,
            process: process.unsigned_abs(),
            left_out,
            has_begun: false,
            to,
        };
        Self {
            reader: thread::spawn(move || reader.read(&ended)),
            writer: thread::spawn(move || write(run, &told, &modules, sees_wakers)),
            ends,
        }
    }

    fn end(self) -> Result<Counts, Error> {
        drop(self.ends);
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
    /// Process of which nothing is told.
    left_out: Option<u32>,
    has_begun: bool,
    to: SyncSender<WriterMessage>,
}

impl Reader {
    fn read(mut self, ended: &PipeReader) {
        loop {
            let is_end = self.counters.wait(ended, ROUND_MS);
            let at_ns = now_ns();
            for (time_ns, event) in self.counters.take(is_end) {
                // Nobody takes it where writing has failed. Reading goes on, so that the program does.
                for told in self.tell(time_ns, event) {
                    let _ = self.to.send(told);
                }
            }
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
        match event {
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
                Vec::new()
            }
            Event::Named(of, ..) | Event::Ended(of) if self.left_out == Some(of.process) => {
                Vec::new()
            }
            Event::Began { of, .. } if self.left_out == Some(of.process) => Vec::new(),
            Event::Named(of, name, is_exec) => {
                let mut all = Vec::new();
                if is_exec {
                    self.spaces.exec(of.process);
                    if of.process == self.process && !self.has_begun && self.left_out.is_none() {
                        self.has_begun = true;
                        self.waits.begins(of, time_ns, true);
                        all.push(WriterMessage::Begin(time_ns));
                    }
                }
                all.push(WriterMessage::ThreadNamed(of, time_ns, name));
                all
            }
            Event::Began { of, by } => {
                self.spaces.fork(of.process, by.process);
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
            WriterMessage::End(at_ns) => end_ns = at_ns,
        }
    }
    rows.finish(end_ns)
}

/// The files, whatever happened to another thread.
pub(crate) fn read(modules: &RwLock<Modules>) -> std::sync::RwLockReadGuard<'_, Modules> {
    modules.read().unwrap_or_else(PoisonError::into_inner)
}

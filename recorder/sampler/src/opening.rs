//! The kernel's events of a process, opened for each processor.

use std::io;

use std::os::fd::AsRawFd;

use libc::pid_t;
use perf_event::data::endian::Native;
use perf_event::data::parse::ParseConfig;
use perf_event::events::{Software, Tracepoint};
use perf_event::{Builder, Clock, Counter, SampleFlag, Sampler};

use crate::packets::Stage;
use crate::{Error, registers, tracepoint};

/// Buffer sizes for the samples of a processor, each with its limit on the copied part of a stack. The first
/// permitted size is used. Unprivileged users get about half a MiB.
const ROOMS_BYTES: [(usize, u32); 7] = [
    (16 << 20, MAX_STACK_BYTES),
    (4 << 20, MAX_STACK_BYTES),
    (2 << 20, 32 << 10),
    (1 << 20, 32 << 10),
    (512 << 10, 16 << 10),
    (256 << 10, 8 << 10),
    (128 << 10, 4 << 10),
];
/// A record is at most 64 KiB.
pub(crate) const MAX_STACK_BYTES: u32 = 60 << 10;
/// Stacks of at least this size need the first buffer size.
const LARGE_STACK_BYTES: u32 = 32 << 10;
/// Limit on processors with that size, because the memory is locked.
const MAX_LARGE: usize = 8;

/// The same for threads that leave their processor, which may happen many thousand times per second.
const WAITING_ROOMS_BYTES: [(usize, u32); 2] = [(4 << 20, 16 << 10), (1 << 20, 8 << 10)];

/// Buffer sizes for switches, whose records are short.
const SWITCHES_ROOMS_BYTES: [(usize, u32); 2] = [(4 << 20, 0), (1 << 20, 0)];

/// Buffer sizes for wakeups and packets, whose records are short too.
const WAKES_ROOMS_BYTES: [(usize, u32); 2] = [(1 << 20, 0), (256 << 10, 0)];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Occasion {
    /// This often per second of CPU time. These counters also report mappings and threads.
    Runs(u32),
    /// The same, and also reports switches. For users who may not have buffers for more counters.
    RunsAndSwitches(u32),
    /// Each time a thread leaves its processor.
    Leaves,
    /// Never: these counters only report switches.
    Switches,
    /// Each time a thread makes another one runnable.
    Wakes(tracepoint::Tracepoint),
    /// Each time a packet is sent or received while a thread runs.
    Packets(Stage),
}

impl Occasion {
    fn has_stack(self) -> bool {
        !matches!(self, Self::Switches | Self::Wakes(_) | Self::Packets(_))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A process that is about to run another program: counting starts then.
    Starting(pid_t),
    /// A thread: counting starts at once.
    Running(pid_t),
}

pub(crate) struct Opened {
    pub samplers: Vec<Sampler>,
    pub config: ParseConfig<Native>,
    builders: Vec<Builder<'static>>,
    /// Counters of further threads. They write into the samplers' buffers.
    others: Vec<Counter>,
}

impl Opened {
    /// Adds a thread from now on. It is no error if the thread has ended.
    pub fn add(&mut self, thread: pid_t) -> io::Result<()> {
        for (builder, sampler) in self.builders.iter_mut().zip(&self.samplers) {
            let counter = match builder.observe_pid(thread).build() {
                Ok(counter) => counter,
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(()),
                Err(error) => return Err(error),
            };
            let (one, other) = (counter.as_raw_fd(), sampler.as_raw_fd());
            // SAFETY: takes numbers of open files.
            if unsafe { libc::ioctl(one, SET_OUTPUT, other) } != 0 {
                return Err(io::Error::last_os_error());
            }
            self.others.push(counter);
        }
        Ok(())
    }

    /// Stops counting. Recorded events can still be read.
    pub fn stop(&self) {
        let others = self.others.iter().map(AsRawFd::as_raw_fd);
        for file in self.samplers.iter().map(AsRawFd::as_raw_fd).chain(others) {
            // SAFETY: takes numbers; the file is open.
            unsafe { libc::ioctl(file, DISABLE, 0) };
        }
    }
}

const DISABLE: libc::Ioctl = 0x2401;
const SET_OUTPUT: libc::Ioctl = 0x2405;

/// Opens the counters of a process or thread. At most this much of a stack is copied; callers beyond are unknown.
pub(crate) fn open(
    subject: Subject,
    occasion: Occasion,
    with_kernel: bool,
    stack_bytes: u32,
) -> io::Result<Opened> {
    let (mut samplers, mut builders) = (Vec::new(), Vec::new());
    let mut config = None;
    let processors = processors()?;
    let rooms_bytes = match occasion {
        Occasion::Runs(_) | Occasion::RunsAndSwitches(_) => {
            let is_large = stack_bytes > LARGE_STACK_BYTES && processors.len() <= MAX_LARGE;
            &ROOMS_BYTES[usize::from(!is_large)..]
        }
        Occasion::Switches => &SWITCHES_ROOMS_BYTES[..],
        Occasion::Leaves => &WAITING_ROOMS_BYTES[..],
        Occasion::Wakes(_) | Occasion::Packets(_) => &WAKES_ROOMS_BYTES[..],
    };
    'processors: for processor in processors {
        let mut builder = builder(subject, processor, occasion, with_kernel);
        let mut opened = Err(io::ErrorKind::OutOfMemory.into());
        for (room_bytes, most_bytes) in rooms_bytes {
            // Each time that the reader runs it takes a processor from the program.
            builder.wakeup_watermark(room_bytes / 2);
            if occasion.has_stack() {
                builder.sample_stack_user(stack_bytes.min(*most_bytes));
            }
            let counter = match builder.build() {
                Ok(counter) => counter,
                // A processor that is switched off.
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => continue 'processors,
                Err(error) => return Err(error),
            };
            opened = counter.sampled(*room_bytes);
            if opened.is_ok() {
                break;
            }
        }
        config.get_or_insert_with(|| ParseConfig::from(*builder.attrs()));
        samplers.push(opened.map_err(no_room)?);
        builders.push(builder);
    }
    let config = config.ok_or(io::ErrorKind::NotFound)?;
    Ok(Opened {
        samplers,
        config,
        builders,
        others: Vec::new(),
    })
}

fn builder(
    subject: Subject,
    processor: usize,
    occasion: Occasion,
    with_kernel: bool,
) -> Builder<'static> {
    let (mut builder, period) = match occasion {
        Occasion::Runs(hz) | Occasion::RunsAndSwitches(hz) => {
            let period_ns = u64::from(1_000_000_000 / hz);
            (Builder::new(Software::CPU_CLOCK), period_ns)
        }
        Occasion::Leaves => (Builder::new(Software::CONTEXT_SWITCHES), 1),
        Occasion::Switches => (Builder::new(Software::DUMMY), 1),
        Occasion::Wakes(of) => (Builder::new(Tracepoint::with_id(of.id)), 1),
        Occasion::Packets(of) => (Builder::new(Tracepoint::with_id(of.tracepoint.id)), 1),
    };
    let tells_threads = matches!(occasion, Occasion::Runs(_) | Occasion::RunsAndSwitches(_));
    let tells_switches = matches!(occasion, Occasion::RunsAndSwitches(_) | Occasion::Switches);
    let mut fields = SampleFlag::TID | SampleFlag::TIME | SampleFlag::CPU;
    // As `raw_sample` and `tracepoint` read them.
    if occasion.has_stack() {
        fields |= SampleFlag::PERIOD
            | SampleFlag::REGS_USER
            | SampleFlag::STACK_USER
            | SampleFlag::CALLCHAIN;
        builder.sample_regs_user(registers::MASK);
    }
    if matches!(occasion, Occasion::Wakes(_) | Occasion::Packets(_)) {
        fields |= SampleFlag::RAW;
    }
    let (observed, is_running) = match subject {
        Subject::Starting(process) => (process, false),
        Subject::Running(thread) => (thread, true),
    };
    builder
        .observe_pid(observed)
        .one_cpu(processor)
        .inherit(true)
        .enabled(is_running)
        .enable_on_exec(!is_running)
        .exclude_kernel(!with_kernel)
        .exclude_callchain_user(true)
        .exclude_callchain_kernel(!with_kernel)
        .sample_period(period)
        .sample(fields)
        .sample_id_all(true)
        .mmap(tells_threads)
        .mmap2(tells_threads)
        .comm(tells_threads)
        .comm_exec(tells_threads)
        .task(tells_threads)
        .context_switch(tells_switches)
        .clockid(Clock::MONOTONIC);
    // Totals are not read, and are not to be had of inherited counters on some kernels.
    builder.attrs_mut().read_format = 0;
    builder
}

pub(crate) fn processors() -> io::Result<Vec<usize>> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online")
        .or_else(|_| std::fs::read_to_string("/sys/devices/system/cpu/possible"));
    let Ok(text) = text else {
        let count = std::thread::available_parallelism()?;
        return Ok((0..count.get()).collect());
    };
    ranges(text.trim()).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Parses `0-3,8`.
fn ranges(text: &str) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        all.extend(first..=last);
    }
    Some(all)
}

/// The kernel permits the events, but not the memory for them.
#[derive(Debug, thiserror::Error)]
#[error("no memory for samples: {0}")]
struct NoRoom(io::Error);

fn no_room(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::EPERM) => io::Error::new(error.kind(), NoRoom(error)),
        _ => error,
    }
}

pub(crate) fn is_no_room(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<NoRoom>())
}

pub(crate) fn is_forbidden(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM)) || is_no_room(error)
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        let hint = match error.raw_os_error() {
            _ if is_no_room(&error) => {
                "`ulimit -l` allows too little locked memory: 64 KiB and more for each processor are needed beyond \
                 /proc/sys/kernel/perf_event_mlock_kb"
            }
            Some(libc::EACCES | libc::EPERM) => {
                "/proc/sys/kernel/perf_event_paranoid of 2 or less allows it; a container also needs \
                 `--cap-add PERFMON`, or a seccomp profile that lets perf_event_open pass"
            }
            Some(libc::ENOSYS | libc::ENOENT | libc::EOPNOTSUPP) => {
                "this kernel has no perf events"
            }
            Some(libc::EMFILE) => {
                "`ulimit -n` allows too few open files: one is needed for each processor"
            }
            _ => "`perf record -e cpu-clock -- true` may say more",
        };
        Self::Forbidden { error, hint }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors_are_read() {
        assert_eq!(ranges("0-1"), Some(vec![0, 1]));
        assert_eq!(ranges("0,4-6,9"), Some(vec![0, 4, 5, 6, 9]));
        assert_eq!(ranges("x"), None);
    }
}

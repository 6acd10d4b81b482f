//! The events of the kernel, one for each processor, and what they have to tell in order of time.

use std::collections::BTreeMap;
use std::io::{self, PipeReader};
use std::os::fd::{AsRawFd, RawFd};

use libc::pid_t;
use perf_event::data::endian::Native;
use perf_event::data::parse::ParseConfig;
use perf_event::events::Software;
use perf_event::{Builder, Clock, SampleFlag, Sampler};

use crate::Error;
use crate::event::{Event, Timed, parse};
use crate::registers;

/// Room for the samples of a processor and what is copied of each stack, in bytes: the most that is allowed. Users
/// without privileges get about half a MiB. A record is at most 64 KiB long; callers beyond the copy are not known.
const ROOMS_BYTES: [(usize, u32); 6] = [
    (4 << 20, 60 << 10),
    (2 << 20, 32 << 10),
    (1 << 20, 32 << 10),
    (512 << 10, 16 << 10),
    (256 << 10, 8 << 10),
    (128 << 10, 4 << 10),
];

/// Samples of a process, of its threads and of all that it begins.
pub(crate) struct Counters {
    samplers: Vec<Sampler>,
    config: ParseConfig<Native>,
    /// False where only the program's own code may be sampled, and not the kernel's for it.
    pub sees_kernel: bool,
    /// Told, and perhaps after others that are still to be told.
    waiting: BTreeMap<(u64, u64), Event>,
    told: u64,
    /// Beginning of the round before: nothing older will come.
    settled_ns: u64,
    last_ns: u64,
}

impl Counters {
    /// Begins to count when the process runs another program.
    pub fn open(process: pid_t, hz: u32) -> Result<Self, Error> {
        let (counters, sees_kernel) = match open(process, hz, true) {
            Ok(opened) => (opened, true),
            Err(error) if is_forbidden(&error) => (open(process, hz, false)?, false),
            Err(error) => return Err(error.into()),
        };
        let (samplers, config) = counters;
        Ok(Self {
            samplers,
            config,
            sees_kernel,
            waiting: BTreeMap::new(),
            told: 0,
            settled_ns: 0,
            last_ns: 0,
        })
    }

    /// Waits until there is much to read, for some time, or until a pipe is closed: then it gives true.
    pub fn wait(&self, ended: &PipeReader, milliseconds: i32) -> bool {
        let poll = |fd: RawFd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        };
        let mut all = vec![poll(ended.as_raw_fd())];
        all.extend(
            self.samplers
                .iter()
                .map(|sampler| poll(sampler.as_raw_fd())),
        );
        let ready = |all: &mut [libc::pollfd]| {
            // SAFETY: the list is valid for the call, and as long as is said.
            unsafe { libc::poll(all.as_mut_ptr(), all.len() as libc::nfds_t, milliseconds) };
            all[0].revents != 0
        };
        // Those of a process that has ended are ready all the time: then the pipe alone is waited for.
        let is_end = ready(&mut all);
        let has_ended = all[1..].iter().any(|of| of.revents & libc::POLLHUP != 0);
        is_end || (has_ended && ready(&mut all[..1]))
    }

    /// Reads all there is, and takes what is known to be in order: all of before the last call, at the end everything.
    pub fn take(&mut self, is_end: bool) -> Vec<(u64, Event)> {
        let now_ns = now_ns();
        for sampler in &mut self.samplers {
            while let Some(record) = sampler.next_record() {
                let Some(Timed { time_ns, event }) = parse(&record, &self.config) else {
                    continue;
                };
                if matches!(event, Event::Other) {
                    continue;
                }
                self.last_ns = time_ns.unwrap_or(self.last_ns);
                self.waiting.insert((self.last_ns, self.told), event);
                self.told += 1;
            }
        }
        let later = match is_end {
            true => BTreeMap::new(),
            false => self.waiting.split_off(&(self.settled_ns, 0)),
        };
        self.settled_ns = now_ns;
        let in_order = std::mem::replace(&mut self.waiting, later);
        in_order
            .into_iter()
            .map(|((time, _), event)| (time, event))
            .collect()
    }
}

/// Finds out if a process can be sampled, with this one.
pub(crate) fn check(hz: u32) -> Result<(), Error> {
    Counters::open(0, hz).map(drop)
}

fn open(
    process: pid_t,
    hz: u32,
    with_kernel: bool,
) -> io::Result<(Vec<Sampler>, ParseConfig<Native>)> {
    let mut samplers = Vec::new();
    let mut config = None;
    'processors: for processor in processors()? {
        let mut builder = Builder::new(Software::CPU_CLOCK);
        let fields = SampleFlag::TID
            | SampleFlag::TIME
            | SampleFlag::CPU
            | SampleFlag::PERIOD
            | SampleFlag::REGS_USER
            | SampleFlag::STACK_USER
            | SampleFlag::CALLCHAIN;
        builder
            .observe_pid(process)
            .one_cpu(processor)
            .inherit(true)
            .enable_on_exec(true)
            .exclude_kernel(!with_kernel)
            .exclude_callchain_user(true)
            .exclude_callchain_kernel(!with_kernel)
            .sample_period(u64::from(1_000_000_000 / hz))
            .sample(fields)
            .sample_id_all(true)
            .sample_regs_user(registers::MASK)
            .mmap(true)
            .mmap2(true)
            .comm(true)
            .comm_exec(true)
            .task(true)
            .clockid(Clock::MONOTONIC);
        // Totals are not read, and are not to be had of inherited counters on some kernels.
        builder.attrs_mut().read_format = 0;
        let mut opened = Err(io::ErrorKind::OutOfMemory.into());
        for (room_bytes, stack_bytes) in ROOMS_BYTES {
            builder.wakeup_watermark(room_bytes / 4);
            builder.sample_stack_user(stack_bytes);
            let counter = match builder.build() {
                Ok(counter) => counter,
                // A processor that is switched off.
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => continue 'processors,
                Err(error) => return Err(error),
            };
            opened = counter.sampled(room_bytes);
            if opened.is_ok() {
                break;
            }
        }
        config.get_or_insert_with(|| ParseConfig::from(*builder.attrs()));
        samplers.push(opened?);
    }
    let config = config.ok_or(io::ErrorKind::NotFound)?;
    Ok((samplers, config))
}

/// Numbers of the processors.
fn processors() -> io::Result<Vec<usize>> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online")
        .or_else(|_| std::fs::read_to_string("/sys/devices/system/cpu/possible"));
    let Ok(text) = text else {
        let count = std::thread::available_parallelism()?;
        return Ok((0..count.get()).collect());
    };
    ranges(text.trim()).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// `0-3,8` as numbers.
fn ranges(text: &str) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        all.extend(first..=last);
    }
    Some(all)
}

fn is_forbidden(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM))
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        let hint = match error.raw_os_error() {
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

/// The clock that samples have their times from.
pub(crate) fn now_ns() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the struct is valid for the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
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

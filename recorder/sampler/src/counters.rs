//! Records of the kernel's events, in order of time.

use std::collections::BTreeMap;
use std::io::{self, PipeReader};
use std::os::fd::{AsRawFd, RawFd};

use libc::pid_t;

use crate::event::{Event, Timed, parse};
use crate::opening::{Occasion, Opened, Subject, is_forbidden, is_no_room, open, processors};
use crate::packets::Worth;
use crate::{Error, Sampling, packets, waking};

pub(crate) struct Counters {
    /// In this order, because a sample of a thread precedes its switch at the same time.
    opened: Vec<(Occasion, Opened)>,
    /// False if only user code may be sampled, without the kernel.
    pub sees_kernel: bool,
    /// True if that is because of `ulimit -l` and not because of permissions.
    pub lacks_memory: bool,
    pub no_wakers: Option<String>,
    /// Why it is unknown whose packet caused a wakeup.
    pub no_packets: Option<String>,
    worth: Worth,
    /// Events that were read; earlier ones may still follow.
    waiting: BTreeMap<(u64, u64), Event>,
    told: u64,
    /// Start of the previous round: no older events will follow.
    settled_ns: u64,
    last_ns: u64,
    free: Vec<Vec<u8>>,
}

/// With more processors, the files for packets could leave none for the rest.
const MAX_PROCESSORS_OF_PACKETS: usize = 96;
const OTHER_FILES: usize = 256;
const TOO_MANY: &str = "a file for each thread and processor would be too many (hint: `ulimit -n`)";
const MAX_FREE: usize = 1024;

impl Counters {
    /// Opens the counters for this many threads; all but one are added later.
    pub fn open(subject: Subject, threads: usize, sampling: Sampling) -> Result<Self, Error> {
        let Sampling {
            hz, stack_bytes, ..
        } = sampling;
        let max_occasions = max_occasions(threads);
        let with_kernel = || -> io::Result<Vec<(Occasion, Opened)>> {
            let mut all = Vec::new();
            for occasion in [Occasion::Runs(hz), Occasion::Switches] {
                all.push((occasion, open(subject, occasion, true, stack_bytes)?));
            }
            if max_occasions > all.len()
                && let Ok(leaves) = open(subject, Occasion::Leaves, true, stack_bytes)
            {
                all.insert(0, (Occasion::Leaves, leaves));
            }
            Ok(all)
        };
        let mut lacks_memory = false;
        let (opened, sees_kernel) = match with_kernel() {
            Ok(opened) => (opened, true),
            Err(error) if is_forbidden(&error) => {
                lacks_memory = is_no_room(&error);
                let occasion = Occasion::RunsAndSwitches(hz);
                (
                    vec![(occasion, open(subject, occasion, false, stack_bytes)?)],
                    false,
                )
            }
            Err(error) => return Err(error.into()),
        };
        let mut opened = opened;
        let has_room_for = |more: usize, opened: &[_]| {
            let fits = opened.len() + more <= max_occasions;
            fits.then_some(()).ok_or_else(|| TOO_MANY.to_owned())
        };
        let no_wakers = has_room_for(1, &opened)
            .and_then(|()| wakes(subject))
            .map(|wakes| opened.push(wakes))
            .err();
        let no_packets = match &no_wakers {
            None => has_room_for(packets::STAGES, &opened)
                .and_then(|()| packets(subject))
                .map(|all| opened.extend(all))
                .err(),
            Some(reason) => Some(reason.clone()),
        };
        Ok(Self {
            opened,
            sees_kernel,
            lacks_memory,
            no_wakers,
            no_packets,
            worth: Worth::default(),
            waiting: BTreeMap::new(),
            told: 0,
            settled_ns: 0,
            last_ns: 0,
            free: Vec::new(),
        })
    }

    pub fn add(&mut self, thread: pid_t) -> Result<(), Error> {
        for (_, opened) in &mut self.opened {
            opened.add(thread)?;
        }
        Ok(())
    }

    /// True if a running thread was started by a counted one, and so inherits its counters.
    pub fn has_inherited(&mut self, thread: u32) -> bool {
        self.read();
        let mut all = self.waiting.values();
        all.any(|event| matches!(event, Event::Began { of, .. } if of.thread == thread))
    }

    pub fn stop(&self) {
        self.opened.iter().for_each(|(_, opened)| opened.stop());
    }

    pub fn take_back(&mut self, stack: Vec<u8>) {
        if self.free.len() < MAX_FREE {
            self.free.push(stack);
        }
    }

    /// True if it is known in which call and function a thread waited.
    pub fn sees_waits(&self) -> bool {
        let mut all = self.opened.iter();
        all.any(|(occasion, _)| *occasion == Occasion::Leaves)
    }

    /// Waits until there is much to read, a timeout passes, or the pipe is closed; only the last gives true.
    pub fn wait(&self, ended: &PipeReader, milliseconds: i32) -> bool {
        let poll = |fd: RawFd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        };
        let mut all = vec![poll(ended.as_raw_fd())];
        let samplers = self.opened.iter().flat_map(|(_, opened)| &opened.samplers);
        all.extend(samplers.map(|sampler| poll(sampler.as_raw_fd())));
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

    /// Reads everything available. Returns the events that are known to be in order: those before the previous
    /// call, at the end all.
    pub fn take(&mut self, is_end: bool) -> Vec<(u64, Event)> {
        let now_ns = now_ns();
        self.read();
        self.forget_packets_if_worthless();
        let later = if is_end {
            BTreeMap::new()
        } else {
            self.waiting.split_off(&(self.settled_ns, 0))
        };
        self.settled_ns = now_ns;
        let in_order = std::mem::replace(&mut self.waiting, later);
        in_order
            .into_iter()
            .map(|((time, _), event)| (time, event))
            .collect()
    }

    /// The next call of [`Self::take`] returns all events until this time.
    pub fn settled_ns(&self) -> u64 {
        self.settled_ns
    }

    fn read(&mut self) {
        for (occasion, opened) in &mut self.opened {
            for sampler in &mut opened.samplers {
                while let Some(record) = sampler.next_record() {
                    let read = parse(&record, *occasion, &opened.config, &mut self.free);
                    let Some(Timed { time_ns, event }) = read else {
                        continue;
                    };
                    let event = match (*occasion, event) {
                        (_, Event::Other) => continue,
                        // Without it a wait has no stack.
                        (Occasion::Leaves, event @ Event::Leaves(_)) => event,
                        (Occasion::Leaves, _) => continue,
                        (Occasion::Switches, Event::Lost(count)) => Event::LostSwitches(count),
                        (Occasion::Wakes(_), Event::Lost(count)) => Event::LostWakings(count),
                        (Occasion::Packets(_), Event::Lost(_)) => Event::PacketsEnd,
                        (_, event) => event,
                    };
                    self.worth.count(&event);
                    self.last_ns = time_ns.unwrap_or(self.last_ns);
                    self.waiting.insert((self.last_ns, self.told), event);
                    self.told += 1;
                }
            }
        }
    }

    fn forget_packets_if_worthless(&mut self) {
        let is_of_packets = |of: &(Occasion, Opened)| matches!(of.0, Occasion::Packets(_));
        if self.worth.is_too_little() && self.opened.iter().any(is_of_packets) {
            self.opened.retain(|of| !is_of_packets(of));
            self.waiting
                .insert((self.last_ns, self.told), Event::PacketsEnd);
            self.told += 1;
        }
    }
}

/// How many occasions can have counters for this many threads, given the limit on open files.
fn max_occasions(threads: usize) -> usize {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the struct is valid for both calls. Each thread needs a file for each processor and occasion.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        if threads > 1 && limit.rlim_cur < limit.rlim_max {
            let raised = libc::rlimit {
                rlim_cur: limit.rlim_max,
                ..limit
            };
            if libc::setrlimit(libc::RLIMIT_NOFILE, &raised) == 0 {
                limit = raised;
            }
        }
    }
    if threads <= 1 {
        return usize::MAX;
    }
    let each = threads * processors().map_or(1, |processors| processors.len());
    usize::try_from(limit.rlim_cur)
        .unwrap_or(usize::MAX)
        .saturating_sub(OTHER_FILES)
        / each.max(1)
}

/// Counters for wakeups. The error is the end of a sentence.
fn wakes(subject: Subject) -> Result<(Occasion, Opened), String> {
    let occasion = Occasion::Wakes(waking::find()?);
    let opened = open(subject, occasion, true, 0);
    opened.map(|opened| (occasion, opened)).map_err(|error| {
        format!("{error} (hint: as root, or /proc/sys/kernel/perf_event_paranoid of -1)")
    })
}

/// Counters for packets. The error is the end of a sentence.
fn packets(subject: Subject) -> Result<Vec<(Occasion, Opened)>, String> {
    let mut all = Vec::new();
    for stage in packets::find()? {
        let occasion = Occasion::Packets(stage);
        let opened = open(subject, occasion, true, 0).map_err(|error| error.to_string())?;
        if opened.samplers.len() > MAX_PROCESSORS_OF_PACKETS {
            return Err("a file for each processor would be too many".to_owned());
        }
        all.push((occasion, opened));
    }
    Ok(all)
}

/// Checks whether a process can be sampled, using this one. Returns why it would be unknown who ends waits.
pub(crate) fn check() -> Result<Option<String>, Error> {
    Counters::open(Subject::Starting(0), 1, Sampling::default()).map(|counters| counters.no_wakers)
}

pub(crate) fn now_ns() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the struct is valid for the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

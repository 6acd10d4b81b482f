//! Records of the kernel, as far as they are used.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use perf_event::data::parse::{ParseConfig, Parser};
use perf_event::data::{
    Comm, Exit, Fork, Lost, LostSamples, Mmap, Mmap2, RecordMetadata, SwitchCpuWide, Throttle,
    Visitor,
};

use crate::opening::Occasion;
use crate::packets::Packet;
use crate::raw_sample::{Pieces, with_stack};
use crate::registers::Registers;
use crate::waking::{self, Waking};

/// Size of a record's header: kind, flags and length.
const HEADER_BYTES: usize = 8;
/// Flag of a record: the thread's new name comes from an exec.
const COMM_EXEC: u16 = 1 << 13;
/// Kinds of records: a sample, a switch of one thread, and a switch between two threads, which has two more
/// numbers.
const SAMPLE: u32 = 9;
const SWITCH: u32 = 14;
const SWITCH_CPU_WIDE: u32 = 15;
const OTHER_THREAD: [u8; 8] = [0; 8];
/// Flags of a switch: the thread leaves its processor, and is still runnable.
const SWITCH_OUT: u16 = 1 << 13;
const SWITCH_OUT_PREEMPT: u16 = 1 << 14;
/// Protection bit of mappings that can be run.
const PROT_EXEC: u32 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadOf {
    pub process: u32,
    pub thread: u32,
}

#[derive(Debug)]
pub(crate) struct Raw {
    pub of: ThreadOf,
    pub cpu: Option<u32>,
    pub period: u64,
    /// Innermost first.
    pub kernel: Vec<u64>,
    /// User registers; `None` for threads of the kernel, which have none.
    pub registers: Option<Registers>,
    /// Copy of the stack from the stack pointer on.
    pub stack: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapped {
    pub start: u64,
    pub end: u64,
    pub offset: u64,
    pub file: OsString,
}

#[derive(Debug)]
pub(crate) enum Event {
    Sample(Box<Raw>),
    /// Sample of a thread just before it leaves its processor.
    Leaves(Box<Raw>),
    Wakes(Waking),
    /// A packet is sent or received while a thread runs.
    Packet(Packet),
    /// A thread stops running: it waits, or (true) is runnable but has no processor.
    Off(ThreadOf, bool),
    On(ThreadOf),
    Mapped(u32, Mapped),
    /// A thread has a new name. With `true`, by an exec, so its process has a new program.
    Named(ThreadOf, OsString, bool),
    Began {
        of: ThreadOf,
        by: ThreadOf,
    },
    Ended(ThreadOf),
    Lost(u64),
    LostSwitches(u64),
    LostWakings(u64),
    /// There are no events of packets from here on.
    PacketsEnd,
    /// The kernel paused sampling because it takes too much time.
    Throttled,
    Other,
}

/// An event; its time is `None` if the kernel gave none.
pub(crate) struct Timed {
    pub time_ns: Option<u64>,
    pub event: Event,
}

/// Parses a record of this occasion. Its stack reuses a free buffer.
pub(crate) fn parse(
    record: &perf_event::Record<'_>,
    occasion: Occasion,
    config: &ParseConfig<perf_event::data::endian::Native>,
    free: &mut Vec<Vec<u8>>,
) -> Option<Timed> {
    if record.ty() == SAMPLE {
        return sample(Pieces::new(record.data()), occasion, free);
    }
    // The parser fails at a record with nothing of its own, as a switch of one thread is: it is read as one of two.
    let (kind, added) = match record.ty() {
        SWITCH => (SWITCH_CPU_WIDE, &OTHER_THREAD[..]),
        kind => (kind, &[][..]),
    };
    let length = u16::try_from(HEADER_BYTES + added.len() + record.len()).ok()?;
    let mut bytes = Vec::with_capacity(length.into());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(record.misc().to_ne_bytes());
    bytes.extend(length.to_ne_bytes());
    bytes.extend(added);
    record.data().iter().for_each(|part| bytes.extend(*part));
    Parser::new(bytes.as_slice(), config.clone())
        .parse_record(Reader)
        .ok()
}

fn sample(from: Pieces<'_>, occasion: Occasion, free: &mut Vec<Vec<u8>>) -> Option<Timed> {
    let (time_ns, event) = match occasion {
        Occasion::Wakes(tracepoint) => {
            let (time_ns, waking) = waking::read(&tracepoint, from)?;
            (time_ns, Event::Wakes(waking))
        }
        Occasion::Packets(stage) => {
            let (time_ns, packet) = stage.read(from)?;
            (time_ns, Event::Packet(packet))
        }
        Occasion::Leaves => {
            let (time_ns, raw) = with_stack(from, free.pop().unwrap_or_default())?;
            (time_ns, Event::Leaves(Box::new(raw)))
        }
        _ => {
            let (time_ns, raw) = with_stack(from, free.pop().unwrap_or_default())?;
            (time_ns, Event::Sample(Box::new(raw)))
        }
    };
    Some(Timed {
        time_ns: Some(time_ns),
        event,
    })
}

struct Reader;

impl<'a> Visitor<'a> for Reader {
    type Output = Timed;

    fn visit_unimplemented(self, metadata: RecordMetadata) -> Timed {
        timed(&metadata, Event::Other)
    }

    fn visit_mmap(self, _: Mmap<'a>, metadata: RecordMetadata) -> Timed {
        timed(&metadata, Event::Other)
    }

    fn visit_mmap2(self, record: Mmap2<'a>, metadata: RecordMetadata) -> Timed {
        if record.prot & PROT_EXEC == 0 {
            return timed(&metadata, Event::Other);
        }
        let mapped = Mapped {
            start: record.addr,
            end: record.addr.saturating_add(record.len),
            offset: record.pgoff,
            file: OsString::from_vec(record.filename.to_vec()),
        };
        timed(&metadata, Event::Mapped(record.pid, mapped))
    }

    fn visit_comm(self, record: Comm<'a>, metadata: RecordMetadata) -> Timed {
        let of = ThreadOf {
            process: record.pid,
            thread: record.tid,
        };
        let is_exec = metadata.misc() & COMM_EXEC != 0;
        let name = OsString::from_vec(record.comm.to_vec());
        timed(&metadata, Event::Named(of, name, is_exec))
    }

    fn visit_fork(self, record: Fork, metadata: RecordMetadata) -> Timed {
        let event = Event::Began {
            of: ThreadOf {
                process: record.pid,
                thread: record.tid,
            },
            by: ThreadOf {
                process: record.ppid,
                thread: record.ptid,
            },
        };
        timed(&metadata, event)
    }

    fn visit_exit(self, record: Exit, metadata: RecordMetadata) -> Timed {
        let of = ThreadOf {
            process: record.pid,
            thread: record.tid,
        };
        timed(&metadata, Event::Ended(of))
    }

    fn visit_lost(self, record: Lost, metadata: RecordMetadata) -> Timed {
        timed(&metadata, Event::Lost(record.lost))
    }

    fn visit_lost_samples(self, record: LostSamples, metadata: RecordMetadata) -> Timed {
        timed(&metadata, Event::Lost(record.lost))
    }

    fn visit_switch_cpu_wide(self, _: SwitchCpuWide, metadata: RecordMetadata) -> Timed {
        let id = metadata.sample_id();
        let (Some(process), Some(thread)) = (id.pid(), id.tid()) else {
            return timed(&metadata, Event::Other);
        };
        let of = ThreadOf { process, thread };
        let event = if metadata.misc() & SWITCH_OUT != 0 {
            Event::Off(of, metadata.misc() & SWITCH_OUT_PREEMPT != 0)
        } else {
            Event::On(of)
        };
        timed(&metadata, event)
    }

    fn visit_throttle(self, _: Throttle, metadata: RecordMetadata) -> Timed {
        timed(&metadata, Event::Throttled)
    }

    fn visit_unthrottle(self, _: Throttle, metadata: RecordMetadata) -> Timed {
        timed(&metadata, Event::Other)
    }
}

fn timed(metadata: &RecordMetadata, event: Event) -> Timed {
    Timed {
        time_ns: metadata.sample_id().time(),
        event,
    }
}

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

/// Kind, flags and length of a record.
const HEADER_BYTES: usize = 8;
/// Bit of a record's flags: the new name of a thread comes from an exec.
const COMM_EXEC: u16 = 1 << 13;
/// Kinds of records: a sample, and those that tell of a switch: of one thread, and of one and the other, which has two numbers more.
const SAMPLE: u32 = 9;
const SWITCH: u32 = 14;
const SWITCH_CPU_WIDE: u32 = 15;
const OTHER_THREAD: [u8; 8] = [0; 8];
/// Bits of a switch: the thread gives its processor up, and could have gone on.
const SWITCH_OUT: u16 = 1 << 13;
const SWITCH_OUT_PREEMPT: u16 = 1 << 14;
/// Protection bit of mappings that can be run.
const PROT_EXEC: u32 = 4;

/// A thread and its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadOf {
    pub process: u32,
    pub thread: u32,
}

/// A sample as it comes.
#[derive(Debug)]
pub(crate) struct Raw {
    pub of: ThreadOf,
    pub cpu: Option<u32>,
    pub period: u64,
    /// Addresses in the kernel, innermost first.
    pub kernel: Vec<u64>,
    /// Those of the program; `None`: it has none, as threads of the kernel.
    pub registers: Option<Registers>,
    /// The stack from where the register points.
    pub stack: Vec<u8>,
}

/// Code that was mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapped {
    pub start: u64,
    pub end: u64,
    /// Its beginning in the file.
    pub offset: u64,
    pub file: OsString,
}

/// One thing that happened.
#[derive(Debug)]
pub(crate) enum Event {
    Sample(Box<Raw>),
    /// Place of a thread that gives its processor up next.
    Leaves(Box<Raw>),
    /// A thread makes another one ready to run.
    Wakes(Waking),
    /// A packet is sent or received on top of a thread.
    Packet(Packet),
    /// A thread runs no more: it waits, or (true) could run if a processor were free.
    Off(ThreadOf, bool),
    /// A thread runs.
    On(ThreadOf),
    Mapped(u32, Mapped),
    /// A thread has another name; with `true` by an exec, after which its process has another program.
    Named(ThreadOf, OsString, bool),
    Began {
        of: ThreadOf,
        by: ThreadOf,
    },
    Ended(ThreadOf),
    /// Samples and others that found no room.
    Lost(u64),
    /// Switches that found no room.
    LostSwitches(u64),
    /// Wakings that found no room.
    LostWakings(u64),
    /// From here on nothing is told of packets.
    PacketsEnd,
    /// The kernel paused sampling, as it takes too much of the machine.
    Throttled,
    Other,
}

/// With its time; `None` where the kernel gave none.
pub(crate) struct Timed {
    pub time_ns: Option<u64>,
    pub event: Event,
}

/// Reads a record of events of that occasion. Its stack gets the memory of one that is free.
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

//! Records of the kernel, as far as they are used.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use perf_event::data::parse::{ParseConfig, Parser};
use perf_event::data::{
    Comm, Exit, Fork, Lost, LostSamples, Mmap, Mmap2, RecordMetadata, Sample as Data,
    SwitchCpuWide, Throttle, Visitor,
};

use crate::registers::Registers;

/// Kind, flags and length of a record.
const HEADER_BYTES: usize = 8;
/// Bit of a record's flags: the new name of a thread comes from an exec.
const COMM_EXEC: u16 = 1 << 13;
/// Kinds of records that tell of a switch: of one thread, and of one and the other, which has two numbers more.
const SWITCH: u32 = 14;
const SWITCH_CPU_WIDE: u32 = 15;
const OTHER_THREAD: [u8; 8] = [0; 8];
/// Bits of a switch: the thread gives its processor up, and could have gone on.
const SWITCH_OUT: u16 = 1 << 13;
const SWITCH_OUT_PREEMPT: u16 = 1 << 14;
/// Protection bit of mappings that can be run.
const PROT_EXEC: u32 = 4;
/// Values from here on in chains are no addresses: they tell what follows.
const MAX_CONTEXT: u64 = -4095_i64 as u64;
const KERNEL_CONTEXT: u64 = -128_i64 as u64;

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
    /// The kernel paused sampling, as it takes too much of the machine.
    Throttled,
    Other,
}

/// With its time; `None` where the kernel gave none.
pub(crate) struct Timed {
    pub time_ns: Option<u64>,
    pub event: Event,
}

/// Reads a record.
pub(crate) fn parse(
    record: &perf_event::Record<'_>,
    config: &ParseConfig<perf_event::data::endian::Native>,
) -> Option<Timed> {
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
        let event = match metadata.misc() & SWITCH_OUT != 0 {
            true => Event::Off(of, metadata.misc() & SWITCH_OUT_PREEMPT != 0),
            false => Event::On(of),
        };
        timed(&metadata, event)
    }

    fn visit_throttle(self, _: Throttle, metadata: RecordMetadata) -> Timed {
        timed(&metadata, Event::Throttled)
    }

    fn visit_unthrottle(self, _: Throttle, metadata: RecordMetadata) -> Timed {
        timed(&metadata, Event::Other)
    }

    fn visit_sample(self, record: Data<'a>, metadata: RecordMetadata) -> Timed {
        let (Some(process), Some(thread)) = (record.pid(), record.tid()) else {
            return timed(&metadata, Event::Other);
        };
        let raw = Raw {
            of: ThreadOf { process, thread },
            cpu: record.cpu(),
            period: record.period().unwrap_or_default(),
            kernel: kernel_part(record.callchain().unwrap_or_default()),
            registers: record.regs_user().and_then(|r| Registers::new(&r.regs)),
            stack: record.stack_user().unwrap_or_default().to_vec(),
        };
        Timed {
            time_ns: record.time(),
            event: Event::Sample(Box::new(raw)),
        }
    }
}

fn timed(metadata: &RecordMetadata, event: Event) -> Timed {
    Timed {
        time_ns: metadata.sample_id().time(),
        event,
    }
}

/// The addresses of a chain that lie in the kernel.
fn kernel_part(chain: &[u64]) -> Vec<u64> {
    let begin = chain.iter().position(|address| *address == KERNEL_CONTEXT);
    let rest = begin.map_or(&[][..], |at| &chain[at + 1..]);
    let addresses = rest.iter().take_while(|address| **address < MAX_CONTEXT);
    addresses.copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_part_of_a_chain_ends_where_the_programs_begins() {
        let user = -512_i64 as u64;
        let chain = [KERNEL_CONTEXT, 7, 8, user, 9];
        assert_eq!(kernel_part(&chain), [7, 8]);
        assert!(kernel_part(&[user, 9]).is_empty());
        assert!(kernel_part(&[]).is_empty());
    }
}

//! The kernel's event of a thread that is woken, told by who wakes it: the tracepoint `sched:sched_waking`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::event::ThreadOf;
use crate::raw_sample::Pieces;

/// Places where the kernel describes its tracepoints.
const FOLDERS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// Number of the namespace of processes that is all of the machine.
const WHOLE_MACHINE: &str = "pid:[4026531836]";
/// Bits of an event's flags: an interrupt was being served, which interrupts whoever runs.
const IN_INTERRUPT: u8 = 0x08 | 0x10;

/// The tracepoint, as this kernel writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tracepoint {
    pub id: u64,
    flags_at: usize,
    thread_at: usize,
}

/// One thread makes another one ready to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waking {
    /// The one that ran when it happened.
    pub by: ThreadOf,
    /// Number of the one that is woken.
    pub woken: u32,
    /// The waking is an interrupt's, and not of the thread that it interrupted.
    pub in_interrupt: bool,
}

/// Finds the tracepoint. The reason, where it cannot be had, is a sentence's end.
pub(crate) fn find() -> Result<Tracepoint, String> {
    let own = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    if own != Path::new(WHOLE_MACHINE) {
        // The kernel tells numbers of the whole machine, which are other threads here.
        return Err(
            "this container has process numbers of its own (hint: `--pid=host`)".to_owned(),
        );
    }
    let mut reason = String::new();
    for folder in FOLDERS {
        let folder = PathBuf::from(folder).join("events/sched/sched_waking");
        let read = |file: &str| fs::read_to_string(folder.join(file));
        match read("id").and_then(|id| Ok((id, read("format")?))) {
            Ok((id, format)) => {
                return parse(&id, &format)
                    .ok_or_else(|| format!("{}: not understood", folder.display()));
            }
            Err(error) if reason.is_empty() => reason = explain(&error),
            Err(_) => {}
        }
    }
    Err(reason)
}

fn explain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => {
            "the kernel's tracepoints are not there (hint: `mount -t tracefs tracefs /sys/kernel/tracing`, \
             as root)"
        }
        _ => "this user may not read the kernel's tracepoints (hint: as root)",
    }
    .to_owned()
}

fn parse(id: &str, format: &str) -> Option<Tracepoint> {
    let at = |name: &str, bytes: usize| -> Option<usize> {
        let line = format.lines().find(|line| {
            let field = line
                .trim()
                .strip_prefix("field:")
                .and_then(|rest| rest.split_once(';'));
            field.is_some_and(|(field, _)| field.ends_with(name))
        })?;
        let number = |key: &str| -> Option<usize> {
            let (_, rest) = line.split_once(key)?;
            rest.split_once(';')?.0.parse().ok()
        };
        (number("size:")? == bytes).then(|| number("offset:"))?
    };
    Some(Tracepoint {
        id: id.trim().parse().ok()?,
        flags_at: at(" common_flags", 1)?,
        thread_at: at(" pid", 4)?,
    })
}

impl Tracepoint {
    /// Reads a sample of it, as [`crate::opening`] asks for it.
    pub fn read(&self, mut from: Pieces<'_>) -> Option<(u64, Waking)> {
        let by = ThreadOf {
            process: from.u32()?,
            thread: from.u32()?,
        };
        let time_ns = from.u64()?;
        from.u64()?;
        let bytes = from.u32()?;
        let mut own = Vec::new();
        from.copy(usize::try_from(bytes).ok()?, &mut own)?;
        let woken = own.get(self.thread_at..)?.first_chunk()?;
        let waking = Waking {
            by,
            woken: u32::from_ne_bytes(*woken),
            in_interrupt: own.get(self.flags_at)? & IN_INTERRUPT != 0,
        };
        Some((time_ns, waking))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: &str = "name: sched_waking\nID: 316\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
        \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\
        \tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n\
        \tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n";

    #[test]
    fn the_kernels_description_says_where_the_numbers_stand() {
        let tracepoint = parse("316\n", FORMAT).unwrap();
        let (flags_at, thread_at) = (2, 24);
        assert_eq!(
            tracepoint,
            Tracepoint {
                id: 316,
                flags_at,
                thread_at
            }
        );
        assert_eq!(
            parse("316", &FORMAT.replace("pid_t pid;", "pid_t other;")),
            None
        );
        assert_eq!(
            parse(
                "316",
                &FORMAT.replace("offset:24;\tsize:4", "offset:24;\tsize:8")
            ),
            None
        );
    }

    #[test]
    fn a_waking_in_an_interrupt_is_not_of_the_thread_that_it_interrupted() {
        let tracepoint = parse("316", FORMAT).unwrap();
        let read = |flags: u8| {
            let mut own = vec![0; 36];
            own[2] = flags;
            own[24..28].copy_from_slice(&9_u32.to_ne_bytes());
            let mut bytes = Vec::new();
            bytes.extend([7_u32, 8].map(u32::to_ne_bytes).as_flattened());
            bytes.extend([50_u64, 0].map(u64::to_ne_bytes).as_flattened());
            bytes.extend(36_u32.to_ne_bytes());
            bytes.extend(own);
            tracepoint.read(Pieces::new(&[&bytes])).unwrap()
        };
        let by = ThreadOf {
            process: 7,
            thread: 8,
        };
        // Interrupts that are only kept off are no interrupt that is served.
        for (flags, in_interrupt) in [(0x01, false), (0x08, true), (0x10, true), (0x19, true)] {
            let waking = Waking {
                by,
                woken: 9,
                in_interrupt,
            };
            assert_eq!(read(flags), (50, waking));
        }
    }
}

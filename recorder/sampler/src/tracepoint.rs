//! Tracepoints of the kernel, as it describes them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::event::ThreadOf;
use crate::raw_sample::Pieces;

const FOLDERS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// Link of the initial PID namespace.
const WHOLE_MACHINE: &str = "pid:[4026531836]";
/// Flags of an event: in a hardware interrupt, and in a software interrupt.
const IN_HARD_INTERRUPT: u8 = 0x08;
const IN_SOFT_INTERRUPT: u8 = 0x10;

/// A field of a tracepoint: name, preceded by a space, and size.
pub(crate) type Field = (&'static str, usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tracepoint {
    pub id: u64,
    flags_at: usize,
    pub fields_at: [usize; 2],
}

/// On whose behalf the processor was working when something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Context {
    Call,
    /// In a software interrupt, on top of any thread, including one whose call raised it.
    SoftInterrupt,
    /// In a hardware interrupt, on top of any thread.
    HardInterrupt,
}

pub(crate) struct Hit {
    pub time_ns: u64,
    pub by: ThreadOf,
    pub context: Context,
    own: Vec<u8>,
}

/// Finds a tracepoint by its folder, with two fields. The error is the end of a sentence.
pub(crate) fn find(name: &str, fields: [Field; 2]) -> Result<Tracepoint, String> {
    let own = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    if own != Path::new(WHOLE_MACHINE) {
        // The kernel tells numbers of the whole machine, which are other threads here.
        return Err("this container has its own PID namespace (hint: `--pid=host`)".to_owned());
    }
    let mut reason = String::new();
    for folder in FOLDERS {
        let folder = PathBuf::from(folder).join("events").join(name);
        let read = |file: &str| fs::read_to_string(folder.join(file));
        match read("id").and_then(|id| Ok((id, read("format")?))) {
            Ok((id, format)) => {
                return parse(&id, &format, fields)
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
            "the kernel's tracepoints are not mounted (hint: `mount -t tracefs tracefs /sys/kernel/tracing`, \
             as root)"
        }
        _ => "this user may not read the kernel's tracepoints (hint: as root)",
    }
    .to_owned()
}

pub(crate) fn parse(id: &str, format: &str, fields: [Field; 2]) -> Option<Tracepoint> {
    let at = |(name, bytes): Field| -> Option<usize> {
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
        flags_at: at((" common_flags", 1))?,
        fields_at: [at(fields[0])?, at(fields[1])?],
    })
}

impl Tracepoint {
    /// Parses a sample, in the form that [`crate::opening`] requests.
    pub fn read(&self, mut from: Pieces<'_>) -> Option<Hit> {
        let by = ThreadOf {
            process: from.u32()?,
            thread: from.u32()?,
        };
        let time_ns = from.u64()?;
        from.u64()?;
        let bytes = from.u32()?;
        let mut own = Vec::new();
        from.copy(usize::try_from(bytes).ok()?, &mut own)?;
        let flags = *own.get(self.flags_at)?;
        let context = match (flags & IN_HARD_INTERRUPT, flags & IN_SOFT_INTERRUPT) {
            (0, 0) => Context::Call,
            (0, _) => Context::SoftInterrupt,
            _ => Context::HardInterrupt,
        };
        Some(Hit {
            time_ns,
            by,
            context,
            own,
        })
    }
}

impl Hit {
    pub fn u32(&self, at: usize) -> Option<u32> {
        Some(u32::from_ne_bytes(*self.own.get(at..)?.first_chunk()?))
    }

    pub fn u64(&self, at: usize) -> Option<u64> {
        Some(u64::from_ne_bytes(*self.own.get(at..)?.first_chunk()?))
    }

    /// A text without its terminator. The number at this offset has its position and length.
    pub fn text(&self, at: usize) -> Option<&[u8]> {
        let place = self.u32(at)?;
        let (at, bytes) = (place & 0xffff, place >> 16);
        let text = self.own.get(at as usize..)?.get(..bytes as usize)?;
        Some(text.split(|byte| *byte == 0).next().unwrap_or_default())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub const FORMAT: &str = "name: sched_waking\nID: 316\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
        \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\
        \tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n\
        \tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n";
    const FIELDS: [Field; 2] = [(" pid", 4), (" prio", 4)];

    /// A sample of thread 8 of process 7 at 50 ns, with this content.
    pub fn sample(own: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend([7_u32, 8].map(u32::to_ne_bytes).as_flattened());
        bytes.extend([50_u64, 0].map(u64::to_ne_bytes).as_flattened());
        bytes.extend((own.len() as u32).to_ne_bytes());
        bytes.extend(own);
        bytes
    }

    #[test]
    fn the_kernels_description_says_where_the_numbers_stand() {
        let found = parse("316\n", FORMAT, FIELDS).unwrap();
        assert_eq!(
            found,
            Tracepoint {
                id: 316,
                flags_at: 2,
                fields_at: [24, 28]
            }
        );
        let other = |from: &str, to: &str| parse("316", &FORMAT.replace(from, to), FIELDS);
        assert_eq!(other("pid_t pid;", "pid_t other;"), None);
        assert_eq!(other("offset:24;\tsize:4", "offset:24;\tsize:8"), None);
    }

    #[test]
    fn what_is_cut_is_no_hit_and_texts_lie_within_it() {
        let found = parse("316", FORMAT, FIELDS).unwrap();
        let mut own = vec![0; 36];
        own[24..28].copy_from_slice(&(3_u32 << 16 | 33).to_ne_bytes());
        own[33..].copy_from_slice(b"lo\0");
        let bytes = sample(&own);
        let hit = found.read(Pieces::new(&[&bytes])).unwrap();
        assert_eq!(hit.text(24), Some(&b"lo"[..]));
        assert_eq!((hit.text(33), hit.u64(29), hit.u32(40)), (None, None, None));
        for length in 0..bytes.len() {
            assert!(found.read(Pieces::new(&[&bytes[..length]])).is_none());
        }
    }

    #[test]
    fn flags_tell_a_call_from_an_interrupt_and_from_what_one_left_for_later() {
        let found = parse("316", FORMAT, FIELDS).unwrap();
        // Interrupts that are only kept off are no interrupt that is served.
        for (flags, context) in [
            (0x01, Context::Call),
            (0x08, Context::HardInterrupt),
            (0x10, Context::SoftInterrupt),
            (0x19, Context::HardInterrupt),
        ] {
            let mut own = vec![0; 36];
            own[2] = flags;
            let hit = found.read(Pieces::new(&[&sample(&own)])).unwrap();
            assert_eq!((hit.time_ns, hit.context), (50, context));
            assert_eq!((hit.by.process, hit.by.thread), (7, 8));
        }
    }
}

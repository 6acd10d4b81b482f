//! Asking the kernel for events, and giving them back: at the end of their thread, and in a forked child.

use std::io;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use super::cpu::Part;
use super::group::{MAX, READ_FORMAT, Reading, WORDS};

/// The first version of `struct perf_event_attr`, which every kernel accepts.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
}

/// Excludes the kernel and the hypervisor, which needs no privilege up to `perf_event_paranoid` 2. Threads do not
/// inherit the event.
const EXCLUDE_KERNEL_AND_HYPERVISOR: u64 = 1 << 5 | 1 << 6;
const CLOSE_ON_EXEC: u64 = 1 << 3;
/// Does not count until it is enabled.
const DISABLED: u64 = 1;
const ENABLE: libc::c_ulong = 0x2400;

/// Open descriptors, plus one; 0 if free. A forked child closes them all, because they count its parent.
static OPEN: [AtomicI32; 4096] = [const { AtomicI32::new(0) }; 4096];
/// Number of forks between the first process and this one. Descriptors with another number are not ours to close.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// No group leader: the event is one itself.
const NONE: i32 = -1;

struct Event {
    descriptor: i32,
    slot: usize,
    forks: u32,
}

impl Event {
    fn open(part: Part, leader: i32) -> Result<Self, String> {
        let attributes = Attributes {
            kind: part.kind,
            size: size_of::<Attributes>() as u32,
            config: part.config,
            read_format: READ_FORMAT,
            flags: match leader {
                NONE => EXCLUDE_KERNEL_AND_HYPERVISOR | DISABLED,
                _ => EXCLUDE_KERNEL_AND_HYPERVISOR,
            },
            ..Attributes::default()
        };
        // SAFETY: the pointer is valid for as many bytes as `size` says; the call keeps none of it.
        let got = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                0,  // this thread
                -1, // on any CPU
                leader,
                CLOSE_ON_EXEC,
            )
        };
        if got < 0 {
            return Err(reason(&io::Error::last_os_error(), paranoid()));
        }
        let descriptor = got as i32;
        let taken = OPEN.iter().position(|slot| {
            slot.compare_exchange(0, descriptor + 1, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
        });
        let Some(slot) = taken else {
            // SAFETY: a descriptor of our own that nobody else knows.
            unsafe { libc::close(descriptor) };
            return Err(format!("{} events are open already", OPEN.len()));
        };
        Ok(Self {
            descriptor,
            slot,
            forks: FORKS.load(Ordering::Relaxed),
        })
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.forks == FORKS.load(Ordering::Relaxed) {
            // First: a child forked in between keeps a descriptor, instead of closing one of the program.
            OPEN[self.slot].store(0, Ordering::Release);
            // SAFETY: opened in `open`, and closed nowhere else but in a forked child.
            unsafe { libc::close(self.descriptor) };
        }
    }
}

/// Runs in a forked child, where only async-signal-safe functions may be called.
pub fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    for slot in &OPEN {
        let open = slot.swap(0, Ordering::Relaxed);
        if open > 0 {
            // SAFETY: a plain system call on a descriptor that the child has from its parent.
            unsafe { libc::close(open - 1) };
        }
    }
}

/// Events that are on the CPU's counters together. They are closed when it is dropped.
#[derive(Default)]
pub struct Group {
    /// The leader first.
    events: Vec<Event>,
}

impl Group {
    /// Adds events, all of them or none: the place of the first, or why not. They count from [`enable`](Self::enable)
    /// on: one that is added to a group that counts already stands still until its thread is next let run (Linux
    /// 6.18), and reads 0 as if it had counted.
    pub fn add(&mut self, parts: &[Part]) -> Result<usize, String> {
        let first = self.events.len();
        if first + parts.len() > MAX {
            return Err(format!("more than {MAX} events in a group"));
        }
        for part in parts {
            let leader = self.events.first().map_or(NONE, |leader| leader.descriptor);
            match Event::open(*part, leader) {
                Ok(event) => self.events.push(event),
                Err(why) => {
                    self.events.truncate(first);
                    return Err(why);
                }
            }
        }
        Ok(first)
    }

    /// Begins to count.
    pub fn enable(&self) -> Result<(), String> {
        let Some(leader) = self.events.first() else {
            return Ok(());
        };
        // SAFETY: a descriptor of our own, and a request without an argument.
        match unsafe { libc::ioctl(leader.descriptor, ENABLE as _, 0) } {
            0 => Ok(()),
            _ => Err(reason(&io::Error::last_os_error(), paranoid())),
        }
    }

    /// Reads all of them at once. `None`: the read failed.
    pub fn read(&self) -> Option<Reading> {
        let leader = self.events.first()?;
        let mut words = [0u64; WORDS];
        let bytes = size_of_val(&words);
        // SAFETY: `words` is valid for writes of that many bytes.
        let got = unsafe { libc::read(leader.descriptor, words.as_mut_ptr().cast(), bytes) };
        let got = usize::try_from(got).ok()? / size_of::<u64>();
        Reading::decode(&words[..got], self.events.len())
    }
}

fn paranoid() -> Option<i32> {
    let text = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?;
    text.trim().parse().ok()
}

fn reason(error: &io::Error, paranoid: Option<i32>) -> String {
    let refused = |name: &str| match paranoid {
        Some(level) if level > 2 => format!(
            "{name}: perf_event_paranoid is {level} (hint: sysctl kernel.perf_event_paranoid=2, or CAP_PERFMON)"
        ),
        _ => format!(
            "{name}: refused, though not by perf_event_paranoid (hint: a container's seccomp filter or a security module can forbid perf_event_open)"
        ),
    };
    match error.raw_os_error() {
        Some(libc::EACCES) => refused("EACCES"),
        Some(libc::EPERM) => refused("EPERM"),
        Some(libc::ENOENT) => {
            "ENOENT: not on this CPU, or in a virtual machine without a PMU".into()
        }
        Some(libc::EOPNOTSUPP) => "EOPNOTSUPP: this CPU cannot count it".into(),
        Some(libc::EINVAL) => {
            "EINVAL: this CPU cannot count it, or not together with the others of its group".into()
        }
        Some(libc::EBUSY) => "EBUSY: another program has exclusive use of the counters".into(),
        Some(libc::EMFILE) => "EMFILE: too many open files (hint: ulimit -n)".into(),
        Some(libc::ENOSYS) => "ENOSYS: this kernel has no perf events".into(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_say_what_to_do() {
        let text = |code, level| reason(&io::Error::from_raw_os_error(code), level);
        let text3 = text(libc::EACCES, Some(3));
        assert!(text3.starts_with("EACCES: perf_event_paranoid is 3 (hint: "));
        let other = text(libc::EPERM, Some(2));
        assert!(other.contains("seccomp"), "{other}");
        assert!(text(libc::EPERM, None).contains("seccomp"));
        assert!(text(libc::ENOENT, Some(2)).starts_with("ENOENT: not on this CPU"));
        assert!(!text(libc::ENODEV, None).is_empty());
    }

    #[test]
    fn an_event_that_no_kernel_has_is_refused_and_leaves_the_others() {
        let mut group = Group::default();
        let clock = Part {
            kind: 1,
            config: 1,
            weight: 1,
        };
        let none = Part {
            config: 999,
            ..clock
        };
        let Ok(first) = group.add(&[clock]) else {
            return; // perf is forbidden here altogether; tests/perf.rs looks at that
        };
        assert_eq!(first, 0);
        assert!(group.add(&[clock, none]).is_err());
        assert!(group.read().is_some(), "still a group of one");
        assert_eq!(group.add(&[clock]), Ok(1));
        assert!(group.read().is_some());
    }

    #[test]
    fn all_events_of_a_group_count_from_the_first_moment_on() {
        let part = |config| Part {
            kind: 1,
            config,
            weight: 1,
        };
        for _ in 0..50 {
            let mut group = Group::default();
            // Page faults, then the clock of the thread.
            if group.add(&[part(2), part(1)]).is_err() {
                return; // forbidden here
            }
            group.enable().unwrap();
            let [_, clock_ns, ..] = group.read().unwrap().values;
            assert!(clock_ns > 0);
        }
    }
}

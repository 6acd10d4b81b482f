//! Reasons for the child's end, in words.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use trueno_model::units;
use trueno_plugin::{Chart, abi};

use super::Limits;
use super::captured_output::CapturedOutput;

/// The last message of a child that ends normally.
#[derive(Debug, Serialize, Deserialize)]
pub struct End {
    pub status: abi::Status,
    pub charts: Vec<Chart>,
    pub error: Option<String>,
    pub rejected: Vec<String>,
}

/// Sent by the child when a fatal signal arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crash {
    pub signal: i32,
    pub address: u64,
    /// Address space that the plugin had used, in bytes.
    pub memory_bytes: u64,
}

impl Crash {
    pub const BYTES: usize = 24;

    /// Does not allocate.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&i64::from(self.signal).to_le_bytes());
        bytes[8..16].copy_from_slice(&self.address.to_le_bytes());
        bytes[16..].copy_from_slice(&self.memory_bytes.to_le_bytes());
        bytes
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<Crash> {
        let number = |at: usize| {
            let bytes = bytes.get(at..at + 8)?;
            Some(u64::from_le_bytes(bytes.try_into().ok()?))
        };
        Some(Crash {
            signal: i32::try_from(number(0)?).ok()?,
            address: number(8)?,
            memory_bytes: number(16)?,
        })
    }
}

#[derive(Debug, PartialEq, Eq)]
pub enum ExitReason {
    TooLong(Duration),
    TooMuchWork(Duration),
    TooManyThreads,
    /// A stop signal (such as SIGSTOP).
    Stopped,
    /// It sent more than [`Limits::results_bytes`].
    TooMuch,
    Garbled,
    Signal(i32),
    Exit(i32),
}

impl ExitReason {
    pub fn message(&self, crash: Option<Crash>, wrote: &CapturedOutput, limits: &Limits) -> String {
        let last = || match wrote.last_line() {
            Some(line) => format!("; the last it wrote was {line:?}"),
            None => String::new(),
        };
        let memory = || {
            format!(
                "it reached its memory limit of {} (hint: --plugin-memory SIZE)",
                units::scaled(limits.memory_bytes as f64, "B")
            )
        };
        match self {
            ExitReason::TooLong(time) => format!(
                "it was stopped after {}, its time limit (hint: --plugin-timeout TIME){}",
                units::duration(time.as_nanos() as f64),
                last()
            ),
            ExitReason::TooMuchWork(time) => format!(
                "it was stopped after {} of processor time, its limit (hint: --plugin-cpu-time TIME){}",
                units::duration(time.as_nanos() as f64),
                last()
            ),
            ExitReason::TooManyThreads => format!(
                "it had more than {} threads and was ended{}",
                super::sandbox::MAX_THREADS,
                last()
            ),
            ExitReason::Stopped => format!(
                "it stopped its own process, as SIGSTOP does, and was ended{}",
                last()
            ),
            ExitReason::TooMuch => format!(
                "its output is larger than {}, a quarter of its memory limit (hint: --plugin-memory SIZE)",
                units::scaled(limits.results_bytes() as f64, "B")
            ),
            ExitReason::Garbled => format!(
                "what its process sent back is damaged, so it has overwritten memory or files that are not its own{}",
                last()
            ),
            ExitReason::Signal(signal) => {
                let crash = crash.filter(|crash| crash.signal == *signal);
                let full =
                    crash.is_some_and(|crash| crash.memory_bytes > limits.memory_bytes / 10 * 9);
                if full || wrote.tells_of_memory() {
                    return format!("{}, and was ended by {}{}", memory(), name(*signal), last());
                }
                let meaning = if wrote.tells_of_the_stack() {
                    ": its stack was full (hint: a function that calls itself without end)".into()
                } else {
                    meaning(*signal, crash)
                };
                format!(
                    "it crashed: its process was ended by {}{meaning}{}",
                    name(*signal),
                    last()
                )
            }
            ExitReason::Exit(code) => format!(
                "it ended its process with exit code {code} instead of returning{}",
                last()
            ),
        }
    }
}

fn meaning(signal: i32, crash: Option<Crash>) -> String {
    match (name(signal).as_str(), crash) {
        ("SIGSEGV" | "SIGBUS", Some(crash)) if crash.address < 4096 => {
            format!(": it used a null pointer (address {:#x})", crash.address)
        }
        ("SIGSEGV" | "SIGBUS", Some(crash)) => {
            format!(
                ": it accessed unmapped memory (address {:#x})",
                crash.address
            )
        }
        ("SIGSEGV" | "SIGBUS", None) => ": it used memory that is not there".into(),
        ("SIGABRT", _) => ": it called abort, or a check of its own failed".into(),
        ("SIGILL" | "SIGTRAP", _) => {
            ": an instruction this processor does not have, or a check of its own failed".into()
        }
        ("SIGFPE", _) => ": a division by zero".into(),
        ("SIGKILL", _) => ", as the system does when memory runs out".into(),
        _ => String::new(),
    }
}

pub fn name(signal: i32) -> String {
    let names = [
        (1, "SIGHUP"),
        (2, "SIGINT"),
        (3, "SIGQUIT"),
        (4, "SIGILL"),
        (5, "SIGTRAP"),
        (6, "SIGABRT"),
        (7, "SIGBUS"),
        (8, "SIGFPE"),
        (9, "SIGKILL"),
        (11, "SIGSEGV"),
        (13, "SIGPIPE"),
        (14, "SIGALRM"),
        (15, "SIGTERM"),
        (24, "SIGXCPU"),
        (25, "SIGXFSZ"),
        (31, "SIGSYS"),
    ];
    names
        .iter()
        .find(|(number, _)| *number == signal)
        .map_or_else(
            || format!("signal {signal}"),
            |(_, name)| (*name).to_owned(),
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGV: i32 = 11;

    fn limits() -> Limits {
        Limits {
            program: "/none".into(),
            time: None,
            cpu_time: None,
            memory_bytes: 1_000_000_000,
        }
    }

    fn crash(signal: i32, address: u64, memory_bytes: u64) -> Option<Crash> {
        let crash = Crash {
            signal,
            address,
            memory_bytes,
        };
        assert_eq!(Crash::from_bytes(&crash.to_bytes()), Some(crash));
        Some(crash)
    }

    #[test]
    fn each_end_is_told_apart() {
        let nothing = CapturedOutput::default();
        let mut alloc = CapturedOutput::default();
        alloc.put(b"memory allocation of 77 bytes failed\n");
        let say = |ending: ExitReason, crash, wrote: &CapturedOutput| {
            ending.message(crash, wrote, &limits())
        };
        for (message, words) in [
            (
                say(
                    ExitReason::TooLong(Duration::from_millis(1500)),
                    None,
                    &nothing,
                ),
                "after 1.50 s, its time limit",
            ),
            (
                say(
                    ExitReason::TooMuchWork(Duration::from_secs(7)),
                    None,
                    &nothing,
                ),
                "after 7 s of processor time, its limit (hint: --plugin-cpu-time",
            ),
            (
                say(ExitReason::TooManyThreads, None, &nothing),
                "more than 4096 threads",
            ),
            (
                say(ExitReason::TooMuch, None, &nothing),
                "larger than 250 MB, a quarter of its memory limit",
            ),
            (say(ExitReason::Stopped, None, &nothing), "SIGSTOP"),
            (
                say(ExitReason::Signal(SEGV), crash(SEGV, 8, 0), &nothing),
                "SIGSEGV: it used a null pointer (address 0x8)",
            ),
            (
                say(ExitReason::Signal(SEGV), crash(SEGV, 1 << 40, 0), &nothing),
                "unmapped memory (address 0x10000000000)",
            ),
            (
                say(
                    ExitReason::Signal(SEGV),
                    crash(SEGV, 0, 950_000_000),
                    &nothing,
                ),
                "memory limit of 1 GB",
            ),
            (
                say(ExitReason::Signal(6), None, &alloc),
                "memory limit of 1 GB",
            ),
            (
                say(ExitReason::Signal(6), None, &alloc),
                "memory allocation of 77 bytes failed",
            ),
            (
                say(ExitReason::Signal(9), None, &nothing),
                "SIGKILL, as the system does when memory runs out",
            ),
            (say(ExitReason::Signal(63), None, &nothing), "signal 63"),
            (say(ExitReason::Exit(0), None, &nothing), "exit code 0"),
            (say(ExitReason::Garbled, None, &nothing), "damaged"),
        ] {
            assert!(
                message.contains(words),
                "{message:?} does not say {words:?}"
            );
        }
    }
}

//! Cases one after another, each under a limit of time and all under one of memory.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::random::Random;

/// Small files take milliseconds.
const MAX_TIME: Duration = Duration::from_secs(30);
const MAX_KIBIBYTES: u64 = 1 << 20;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .map_or(default, |text| text.parse().unwrap())
}

/// Runs cases until the time is over. `case` returns whether a run was written.
pub fn cases(what: &str, case: impl Fn(&Path, &mut Random) -> bool) {
    let seed = number("TRUENO_FUZZ_SEED", 1);
    let length = Duration::from_secs(number("TRUENO_FUZZ_SECONDS", 10));
    let only = std::env::var("TRUENO_FUZZ_CASE").is_ok();
    let first = number("TRUENO_FUZZ_CASE", 0);
    let folder = tempfile::tempdir().unwrap();
    let (begin, done) = (Instant::now(), AtomicU64::new(first));
    let (mut runs, mut slowest) = (0_u64, (Duration::ZERO, 0));
    std::thread::scope(|scope| {
        let (sender, ended) = std::sync::mpsc::channel::<()>();
        let done = &done;
        scope.spawn(move || {
            let mut last = first;
            // Ends when the sender is gone.
            while ended.recv_timeout(MAX_TIME) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                let now = done.load(Ordering::Relaxed);
                if now == last {
                    eprintln!("{what}: case {now} of seed {seed} does not end");
                    std::process::abort();
                }
                last = now;
            }
        });
        for at in first.. {
            if (only && at > first) || (!only && begin.elapsed() > length) {
                break;
            }
            let start = Instant::now();
            let result = catch_unwind(AssertUnwindSafe(|| {
                case(folder.path(), &mut Random::new(seed, at))
            }));
            match result {
                Ok(is_run) => runs += u64::from(is_run),
                Err(_) => panic!("{what}: case {at} of seed {seed} panicked"),
            }
            slowest = slowest.max((start.elapsed(), at));
            assert!(
                peak_kibibytes() < MAX_KIBIBYTES,
                "{what}: case {at} of seed {seed} needs too much memory"
            );
            done.store(at + 1, Ordering::Relaxed);
        }
        drop(sender);
    });
    let count = done.into_inner() - first;
    eprintln!(
        "{what}: {count} cases of seed {seed}, {runs} became runs; the slowest, {}, took {} ms; peak memory {} MiB",
        slowest.1,
        slowest.0.as_millis(),
        peak_kibibytes() >> 10
    );
}

/// On Linux; elsewhere memory is not checked.
fn peak_kibibytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

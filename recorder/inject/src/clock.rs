//! The system's clocks.

use trueno_cupti::spool::ClockReading;

fn read(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: valid for the write; the clocks used exist on every Linux.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

pub fn realtime_ns() -> i64 {
    read(libc::CLOCK_REALTIME)
}

/// The tightest of a few readings of all clocks.
pub fn reading() -> ClockReading {
    let once = || {
        let before = realtime_ns();
        let monotonic_ns = read(libc::CLOCK_MONOTONIC);
        let raw_ns = read(libc::CLOCK_MONOTONIC_RAW).max(0) as u64;
        let bracket = realtime_ns().saturating_sub(before).max(0);
        ClockReading {
            realtime_ns: before + bracket / 2,
            monotonic_ns,
            raw_ns,
            bracket_ns: bracket as u64,
        }
    };
    let mut best = once();
    for _ in 0..24 {
        let next = once();
        if next.bracket_ns < best.bracket_ns {
            best = next;
        }
    }
    best
}

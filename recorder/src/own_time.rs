//! Time that the recorder itself takes, beside that of spans.

use std::sync::atomic::{AtomicU64, Ordering};

use trueno_format::run_json;

use crate::clock::Clock;

/// What threads spent in the recorder, in ticks, of all together.
#[derive(Default)]
pub(crate) struct OwnTime {
    threads: AtomicU64,
    thread_ticks: AtomicU64,
    room_ticks: AtomicU64,
}

impl OwnTime {
    /// A thread began to record, since `from_ticks`.
    pub fn thread_began(&self, clock: Clock, from_ticks: u64) {
        self.threads.fetch_add(1, Ordering::Relaxed);
        self.thread_ended(clock, from_ticks);
    }

    /// What a thread had to give back, it did since `from_ticks`.
    pub fn thread_ended(&self, clock: Clock, from_ticks: u64) {
        add_since(&self.thread_ticks, clock, from_ticks);
    }

    /// A thread looked for room in its ring, since `from_ticks`.
    pub fn looked_for_room(&self, clock: Clock, from_ticks: u64) {
        add_since(&self.room_ticks, clock, from_ticks);
    }

    /// With the CPU time of the calling thread, which is the writer's.
    pub fn describe(&self, ticks_per_second: Option<f64>) -> Option<run_json::OwnTime> {
        let ns_per_tick = 1e9 / ticks_per_second?;
        let ns = |ticks: &AtomicU64| (ticks.load(Ordering::Relaxed) as f64 * ns_per_tick) as u64;
        Some(run_json::OwnTime {
            threads: self.threads.load(Ordering::Relaxed),
            threads_ns: ns(&self.thread_ticks),
            room_ns: ns(&self.room_ticks),
            writer_cpu_ns: cpu_ns(),
        })
    }
}

fn add_since(sum: &AtomicU64, clock: Clock, from_ticks: u64) {
    // Two processors' counters may differ by a little.
    let ticks = clock.ticks().saturating_sub(from_ticks);
    sum.fetch_add(ticks, Ordering::Relaxed);
}

fn cpu_ns() -> Option<u64> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the struct is valid for the call.
    let done = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    (done == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

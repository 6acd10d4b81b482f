//! Raw ticks: the cheapest steady counter of the machine.

pub(crate) mod pairs;

/// The counter that a recorder reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Clock {
    /// The time stamp counter of x86-64, if it is invariant.
    #[cfg(target_arch = "x86_64")]
    Tsc,
    /// The virtual counter of aarch64.
    #[cfg(target_arch = "aarch64")]
    Cntvct,
    /// `CLOCK_MONOTONIC` in nanoseconds.
    Monotonic,
}

impl Clock {
    /// The best counter that can be trusted here.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if tsc_is_invariant() && kernel_trusts_tsc() {
            return Self::Tsc;
        }
        #[cfg(target_arch = "aarch64")]
        return Self::Cntvct;
        #[cfg(not(target_arch = "aarch64"))]
        Self::Monotonic
    }

    /// Text in `run.json`.
    pub fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Tsc => "tsc",
            #[cfg(target_arch = "aarch64")]
            Self::Cntvct => "cntvct",
            Self::Monotonic => "monotonic",
        }
    }

    /// Returns whether [`inline_ticks`] reads it.
    pub fn is_inline(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Tsc => true,
            #[cfg(target_arch = "aarch64")]
            Self::Cntvct => true,
            Self::Monotonic => cfg!(not(any(target_arch = "x86_64", target_arch = "aarch64"))),
        }
    }

    /// The counter now.
    #[inline(always)]
    pub fn ticks(self) -> u64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Tsc => inline_ticks(),
            #[cfg(target_arch = "aarch64")]
            Self::Cntvct => inline_ticks(),
            Self::Monotonic => monotonic_ns(),
        }
    }

    /// The smallest step seen between readings one after the other: what the counter and its
    /// reading can tell apart. `None`: it did not move.
    pub fn resolution_ticks(self) -> Option<u64> {
        const READINGS: usize = 1000;
        let mut last = self.ticks();
        let steps = (0..READINGS).map(|_| {
            let now = self.ticks();
            now.saturating_sub(std::mem::replace(&mut last, now))
        });
        steps.filter(|step| *step > 0).min()
    }
}

/// Reads this architecture's counter with an instruction.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn inline_ticks() -> u64 {
    #[cfg(test)]
    tests::count_reading();
    // SAFETY: every x86-64 processor has the instruction, and Linux lets programs use it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Reads this architecture's counter with an instruction.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(crate) fn inline_ticks() -> u64 {
    #[cfg(test)]
    tests::count_reading();
    let ticks: u64;
    // SAFETY: reads a counter that Linux lets programs read; touches nothing else.
    unsafe {
        core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags));
    }
    ticks
}

/// This architecture has no counter that an instruction can read.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
pub(crate) fn inline_ticks() -> u64 {
    monotonic_ns()
}

/// Leaf 0x8000_0007, EDX bit 8: the counter runs at one rate in every power state.
#[cfg(target_arch = "x86_64")]
fn tsc_is_invariant() -> bool {
    use core::arch::x86_64::__cpuid;
    const ADVANCED_POWER: u32 = 0x8000_0007;
    // SAFETY: every x86-64 processor has the instruction. A safe function since Rust 1.94.
    #[allow(unused_unsafe)]
    let leaf = |number| unsafe { __cpuid(number) };
    leaf(0x8000_0000).eax >= ADVANCED_POWER && leaf(ADVANCED_POWER).edx & 1 << 8 != 0
}

/// The kernel compares the counters of all cores and drops the clock source if they disagree. Without the kernel's
/// answer, the processor's own claim counts.
#[cfg(target_arch = "x86_64")]
fn kernel_trusts_tsc() -> bool {
    std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource")
        .map_or(true, |source| source.trim() == "tsc")
}

fn read(clock: libc::clockid_t) -> i128 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid for the write; the clocks used exist on every Linux.
    unsafe { libc::clock_gettime(clock, &mut time) };
    i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
}

pub(crate) fn monotonic_ns() -> u64 {
    #[cfg(test)]
    tests::count_reading();
    read(libc::CLOCK_MONOTONIC) as u64
}

/// Nanoseconds since the Unix epoch.
pub(crate) fn realtime_ns() -> i64 {
    read(libc::CLOCK_REALTIME) as i64
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use crate::{BrickId, Recorder, Source, TileLevel};

    thread_local! {
        static READINGS: Cell<u64> = const { Cell::new(0) };
    }

    pub(super) fn count_reading() {
        READINGS.set(READINGS.get() + 1);
    }

    fn readings(work: impl FnOnce()) -> u64 {
        let before = READINGS.get();
        work();
        READINGS.get() - before
    }

    fn record(rec: &Recorder) {
        let _iteration = rec.iteration(0);
        let _layer = rec.layer(0);
        let _function = rec.function("load");
        let _wait = rec.wait("join", &[]);
        rec.brick(BrickId::LmHead).elements(1).stream(0);
        rec.brick("detached").detach().end();
        drop(rec.task("task", None));
        drop(rec.kernel("gemv"));
        drop(rec.tile(TileLevel::Macro, 0, 0));
        rec.checksum("out", None, &[1.0f32], &[1]);
        rec.allocation("cache", 1, None);
        rec.counter("depth", 1.0, "", Source::Measured);
        assert!(rec.synchronize().is_ok());
    }

    /// Claim F105: disabled costs nothing. The original read the clock all the same.
    #[test]
    fn f105_a_disabled_recorder_reads_no_clock() {
        let off = Recorder::disabled();
        assert_eq!(readings(|| record(&off)), 0);

        let folder = tempfile::tempdir().unwrap();
        let on = Recorder::create(folder.path().join("test.run")).unwrap();
        assert!(readings(|| record(&on)) >= 2 * 9, "readings are counted");
        on.finish().unwrap();
        assert_eq!(readings(|| record(&on)), 0, "finished");
    }
}

//! Readings of the counter beside the system's clocks.

use trueno_format::timeline::ClockReading;

use super::{Clock, monotonic_ns, realtime_ns};

impl Clock {
    /// The tightest of a few readings: the counter is read before and after the
    /// monotonic clock, and the reading with the smallest gap is kept.
    pub fn read_pair(self) -> ClockReading {
        let mut best: Option<(u64, ClockReading)> = None;
        for _ in 0..8 {
            let before = self.ticks();
            let monotonic_ns = monotonic_ns();
            let after = self.ticks();
            let gap = after.saturating_sub(before);
            let ticks = if self == Clock::Monotonic {
                monotonic_ns
            } else {
                before + gap / 2
            };
            if best.is_none_or(|(smallest, _)| gap < smallest) {
                best = Some((
                    gap,
                    ClockReading {
                        ticks,
                        monotonic_ns,
                        realtime_ns: realtime_ns(),
                    },
                ));
            }
        }
        best.expect("at least one reading").1
    }
}

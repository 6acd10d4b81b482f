//! Readings of the counter beside the system's clocks.

use serde::{Deserialize, Serialize};

use super::{Clock, monotonic_ns, realtime_ns};

/// One moment on three clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pair {
    pub ticks: u64,
    pub monotonic_ns: u64,
    pub realtime_ns: i64,
}

impl Pair {
    /// The tightest of a few readings: the counter is read before and after the
    /// monotonic clock, and the reading with the smallest gap is kept.
    pub fn read(clock: Clock) -> Self {
        let mut best: Option<(u64, Self)> = None;
        for _ in 0..8 {
            let before = clock.ticks();
            let monotonic_ns = monotonic_ns();
            let after = clock.ticks();
            let gap = after.saturating_sub(before);
            let ticks = if clock == Clock::Monotonic {
                monotonic_ns
            } else {
                before + gap / 2
            };
            if best.is_none_or(|(smallest, _)| gap < smallest) {
                best = Some((
                    gap,
                    Self {
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

//! Readings of the device's clock beside the host's.

use super::timeline::{DevicePair, DeviceTimeline};
use super::work::DeviceWork;
use crate::clock::Clock;
use crate::mailbox::Request;
use trueno_format::timeline::ClockReading;

/// Minimum interval between readings of the clocks of host and device.
const PAIR_EVERY_NS: f64 = 1e8;
/// Number of readings of a device's clock, of which the tightest is kept.
const READINGS: usize = 3;

impl DeviceWork {
    /// Reads the clocks of host and device together if it is time. The device may have no clock.
    pub(super) fn read_clocks(&self, now: bool) {
        let host = self.shared.clock.read_pair();
        let nominal = self.ticks_per_ns(host);
        let paired = self.pending().paired;
        let due = host.ticks.saturating_sub(paired) as f64 >= PAIR_EVERY_NS * nominal;
        if !now && !due {
            return;
        }
        let mut best: Option<(u64, DevicePair)> = None;
        for _ in 0..READINGS {
            let before = self.ticks();
            let Some(device_ns) = self.ask(|device| device.clock_ns()).flatten() else {
                break;
            };
            let gap = self.ticks().saturating_sub(before);
            let ticks = before + gap / 2;
            if best.is_none_or(|(smallest, _)| gap < smallest) {
                best = Some((gap, DevicePair { ticks, device_ns }));
            }
        }
        let Some((gap, read)) = best else { return };
        let mut pending = self.pending();
        pending.paired = read.ticks;
        // Taken for its middle, the reading is off by half of it at most.
        let error_ns = (gap as f64 / 2.0 / nominal).ceil() as u64;
        pending.clock_error_ns = pending.clock_error_ns.max(Some(error_ns));
        match &mut pending.timeline {
            Some(timeline) => timeline.add(read, nominal),
            none => *none = Some(DeviceTimeline::new(read, nominal)),
        }
        drop(pending);
        // The host's clocks at that tick.
        let since_ns = (read.ticks.saturating_sub(host.ticks) as f64 / nominal) as u64;
        self.shared.mailbox.request(Request::DevicePair {
            pair: ClockReading {
                ticks: read.ticks,
                monotonic_ns: host.monotonic_ns + since_ns,
                realtime_ns: host.realtime_ns + since_ns as i64,
            },
            device: self.number,
            device_ns: read.device_ns,
        });
    }

    fn ticks_per_ns(&self, now: ClockReading) -> f64 {
        let ns = now.monotonic_ns.saturating_sub(self.earlier.monotonic_ns);
        let ticks = now.ticks.saturating_sub(self.earlier.ticks);
        if self.shared.clock == Clock::Monotonic || ns == 0 {
            return 1.0;
        }
        ticks as f64 / ns as f64
    }
}

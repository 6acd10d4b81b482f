//! Device work and device waits as records.

use super::pending::Piece;
use crate::names::Name;
use crate::record::{Record, device_timing, kind, pair};

/// What is known about when a piece of work ran.
#[derive(Clone, Copy, Debug)]
pub(super) enum When {
    /// The device stamped both ends; ticks.
    Stamped { start: u64, end: u64 },
    /// It lies between these ticks.
    Within { start: u64, end: u64 },
    /// Nothing, for this reason; the row shows when it was launched.
    Unknown(&'static str),
}

impl Piece {
    /// A row of `kernels`.
    pub fn record(&self, seq: u32, device: u32, when: When) -> Record {
        let (start, end, timing, reason) = match when {
            When::Stamped { start, end } => (start, end, device_timing::STAMPED, 0),
            When::Within { start, end } => (start, end, device_timing::BOUND, 0),
            When::Unknown(reason) => (
                self.start,
                self.launched,
                device_timing::LAUNCH,
                Name::new(reason).number(),
            ),
        };
        Record {
            start,
            end: end.max(start),
            seq,
            parent: self.thread,
            name: self.name.number(),
            kind: kind::DEVICE_WORK,
            flags: timing | device_timing::ON_DEVICE,
            backend: self.backend,
            m: [self.brick, pair(device, self.stream), u64::from(reason), 0],
        }
    }
}

/// A row of `syncs`: the host waited for the whole device.
pub(super) fn wait(seq: u32, device: u32, start: u64, end: u64) -> Record {
    Record {
        start,
        end,
        seq,
        kind: kind::DEVICE_WAIT,
        m: [u64::from(device), 0, 0, 0],
        ..Record::default()
    }
}

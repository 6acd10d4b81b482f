//! Events of NVTX and readings of clocks, as bytes.

use crate::layout::Field;

/// An event that a program stated through NVTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum RangeKind {
    Push = 1,
    /// The innermost range of its thread and domain ends.
    Pop = 2,
    /// Begins a range that may end on any thread.
    Start = 3,
    End = 4,
    Mark = 5,
    /// `message` names category `category` of the domain.
    NameCategory = 6,
}

impl RangeKind {
    fn from_number(number: u32) -> Option<Self> {
        [
            Self::Push,
            Self::Pop,
            Self::Start,
            Self::End,
            Self::Mark,
            Self::NameCategory,
        ]
        .into_iter()
        .find(|kind| *kind as u32 == number)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeEvent {
    pub kind: RangeKind,
    /// Thread, by the operating system's number.
    pub thread: u32,
    /// `CLOCK_REALTIME`.
    pub realtime_ns: i64,
    /// Number of the domain's name; 0: the default domain.
    pub domain: u32,
    /// The program's number; 0: none.
    pub category: u32,
    /// Number of the message; 0: none.
    pub message: u32,
    /// Number of a range that is started and ended.
    pub range: u64,
}

impl RangeEvent {
    pub const BYTES: usize = 40;

    pub fn write(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&(self.kind as u32).to_le_bytes());
        to.extend_from_slice(&self.thread.to_le_bytes());
        to.extend_from_slice(&self.realtime_ns.to_le_bytes());
        to.extend_from_slice(&self.domain.to_le_bytes());
        to.extend_from_slice(&self.category.to_le_bytes());
        to.extend_from_slice(&self.message.to_le_bytes());
        to.extend_from_slice(&[0; 4]);
        to.extend_from_slice(&self.range.to_le_bytes());
    }

    /// Reads one; `None`: it is too short or of a kind that is not known.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            kind: RangeKind::from_number(u32::at(bytes, 0)?)?,
            thread: u32::at(bytes, 4)?,
            realtime_ns: u64::at(bytes, 8)? as i64,
            domain: u32::at(bytes, 16)?,
            category: u32::at(bytes, 20)?,
            message: u32::at(bytes, 24)?,
            range: u64::at(bytes, 32)?,
        })
    }
}

/// One moment on three clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockReading {
    /// `CLOCK_REALTIME`: what CUPTI and NVTX events go by.
    pub realtime_ns: i64,
    /// `CLOCK_MONOTONIC`.
    pub monotonic_ns: i64,
    /// `CLOCK_MONOTONIC_RAW`.
    pub raw_ns: u64,
    /// Largest distance of the readings.
    pub bracket_ns: u64,
}

impl ClockReading {
    pub const BYTES: usize = 32;

    /// The bytes of the reading.
    pub fn bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.realtime_ns.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.monotonic_ns.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.raw_ns.to_le_bytes());
        bytes[24..].copy_from_slice(&self.bracket_ns.to_le_bytes());
        bytes
    }

    /// Reads one; `None`: it is too short.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            realtime_ns: u64::at(bytes, 0)? as i64,
            monotonic_ns: u64::at(bytes, 8)? as i64,
            raw_ns: u64::at(bytes, 16)?,
            bracket_ns: u64::at(bytes, 24)?,
        })
    }
}

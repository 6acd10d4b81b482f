//! Rows that declare the same work under the same names.

use super::Row;
use crate::label::Source;

/// A power of two.
const SLOTS: usize = 1 << 12;

/// Everything that decides how a row with a duration and without counters is handled.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    source: Source,
    texts: u32,
    group: u32,
    device: Option<i64>,
    flops: Option<u64>,
    bytes: Option<u64>,
}

pub(super) struct AlikeCache {
    slots: Vec<Option<(Key, u32)>>,
}

impl Default for AlikeCache {
    fn default() -> Self {
        Self {
            slots: vec![None; SLOTS],
        }
    }
}

impl Key {
    fn of(row: &Row) -> Self {
        Self {
            source: row.source,
            texts: row.texts,
            group: row.group,
            device: row.device,
            flops: row.flops,
            bytes: row.bytes,
        }
    }

    fn slot(&self) -> usize {
        let words = [
            u64::from(self.texts) << 32 | u64::from(self.group),
            self.flops.unwrap_or(0),
            self.bytes.unwrap_or(0),
            self.device.unwrap_or(-1).cast_unsigned(),
        ];
        let mix = |hash: u64, word: u64| {
            (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        };
        (words.into_iter().fold(0_u64, mix) >> 32) as usize % SLOTS
    }
}

impl AlikeCache {
    /// Index of the declared work of an equal row, if cached.
    #[inline]
    pub(super) fn get(&self, row: &Row) -> Option<u32> {
        let key = Key::of(row);
        let (known, declared) = self.slots[key.slot()]?;
        (known == key).then_some(declared)
    }

    pub(super) fn put(&mut self, row: &Row, declared: u32) {
        let key = Key::of(row);
        self.slots[key.slot()] = Some((key, declared));
    }
}

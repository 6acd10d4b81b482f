//! Presence of cells in a batch, and bitmaps of it.

use super::BATCH_ROWS;
use super::batch::Cells;

/// A bitmap over the rows of a batch, with the first row in the lowest bit.
pub(super) type Bits = [u64; BATCH_ROWS / 64];

pub(super) fn words(rows: usize) -> usize {
    rows.div_ceil(64)
}

pub(super) enum Presence {
    All,
    None,
    /// Number of present cells; the bitmap has been filled.
    Some(usize),
}

/// For each column over the rows of a batch: whether any cell is present, and whether all are.
pub(super) struct Present<'a> {
    masks: Cells<'a>,
    all: u64,
    any: u64,
}

impl<'a> Present<'a> {
    /// `masks` has a bit for each column.
    pub fn new(masks: Cells<'a>) -> Self {
        let (all, any) = match masks {
            Cells::Same(mask) => (mask, mask),
            Cells::Each(masks) => masks
                .iter()
                .fold((u64::MAX, 0), |(all, any), mask| (all & mask, any | mask)),
        };
        Self { masks, all, any }
    }

    /// Finds which cells of a column are there; fills `bits` where that is a part.
    pub fn column(&self, column: usize, bits: &mut Bits) -> Presence {
        match self.masks {
            Cells::Each(masks) if (self.all ^ self.any) >> column & 1 == 1 => {
                collect(masks, bits, |mask| mask >> column & 1);
                Presence::Some(bits.iter().map(|word| word.count_ones() as usize).sum())
            }
            _ if self.any >> column & 1 == 1 => Presence::All,
            _ => Presence::None,
        }
    }
}

/// Fills a bitmap with one bit per value, and zeros after them.
pub(super) fn collect(values: &[u64], bits: &mut Bits, bit: impl Fn(u64) -> u64) {
    bits.fill(0);
    for (word, values) in bits.iter_mut().zip(values.chunks(64)) {
        for (at, value) in values.iter().enumerate() {
            *word |= bit(*value) << at;
        }
    }
}

pub(super) fn is_set(bits: &Bits, at: usize) -> bool {
    bits[at / 64] >> (at % 64) & 1 == 1
}

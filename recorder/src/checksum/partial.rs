//! Fingerprints from partial sums that another reader computed, such as a GPU.

use super::element::Element;
use super::statistics::{added, statistics};
use super::{FNV_ELEMENTS, Fingerprint, combine, fnv1a, sampling};

/// Contribution of neighbouring blocks of 8 KiB to a [`Fingerprint`]. 72 bytes, without padding.
///
/// Of one block: the two sums of the hash over its words, and the statistics of its elements. Of two
/// neighbours: [`Partial::joined`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Partial {
    /// Wrapping sum over the words of even number.
    pub even: u64,
    /// Wrapping sum over the words of odd number.
    pub odd: u64,
    /// Sum of the finite elements.
    pub sum: f64,
    /// Of the finite elements' squares, each rounded before it is added.
    pub squares: f64,
    /// Smallest finite element, or infinity.
    pub min: f64,
    /// Largest finite element, or minus infinity.
    pub max: f64,
    /// Elements that are not a number.
    pub nan: u64,
    /// Elements that are infinite.
    pub inf: u64,
    /// Elements that are zero.
    pub zero: u64,
}

impl Partial {
    /// Partial of no block.
    pub const NONE: Self = Self {
        even: 0,
        odd: 0,
        sum: 0.0,
        squares: 0.0,
        min: f64::INFINITY,
        max: f64::NEG_INFINITY,
        nan: 0,
        inf: 0,
        zero: 0,
    };

    /// The partial of these blocks and those that follow.
    #[must_use]
    pub fn joined(self, later: Self) -> Self {
        let [sum, squares] = added([self.sum, self.squares], [later.sum, later.squares]);
        Self {
            even: self.even.wrapping_add(later.even),
            odd: self.odd.wrapping_add(later.odd),
            sum,
            squares,
            min: self.min.min(later.min),
            max: self.max.max(later.max),
            nan: self.nan + later.nan,
            inf: self.inf + later.inf,
            zero: self.zero + later.zero,
        }
    }
}

impl Fingerprint {
    /// Number of a tensor's first elements that [`Fingerprint::from_partials`] needs.
    pub const FIRST_ELEMENTS: usize = FNV_ELEMENTS;

    /// Folds the partials of its blocks, in order: of each block, or of groups of 2^k neighbouring blocks, the last
    /// with those that are left. `first`: the bytes of its first [`Fingerprint::FIRST_ELEMENTS`], or of all.
    ///
    /// The same bits as [`fingerprint`](crate::fingerprint) gives for the same elements.
    pub fn from_partials<T: Element>(partials: &[Partial], elements: u64, first: &[u8]) -> Self {
        // As `statistics::Pass` adds blocks.
        let mut level = partials.to_vec();
        while level.len() > 1 {
            level = level
                .chunks(2)
                .map(|two| match two {
                    [earlier, later] => earlier.joined(*later),
                    rest => rest[0],
                })
                .collect();
        }
        let all = level.first().copied().unwrap_or(Partial::NONE);
        Self {
            elements,
            hash: combine([all.even, all.odd], elements * size_of::<T>() as u64),
            hash_fnv64: fnv1a(&first[..first.len().min(FNV_ELEMENTS * size_of::<T>())]),
            statistics: statistics(
                elements,
                [all.nan, all.inf, all.zero],
                [all.min, all.max],
                [all.sum, all.squares],
            ),
        }
    }

    /// Index of the element that is the `nth` sample of a tensor; `None` if it has fewer samples.
    pub fn sample_place(nth: usize, elements: u64) -> Option<u64> {
        sampling::place(nth, elements).filter(|_| nth < sampling::MAX_SAMPLES && elements > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BLOCK_BYTES, element::bytes, statistics::Pass};
    use super::*;
    use crate::fingerprint;
    use proptest::prelude::*;

    /// A straightforward implementation, block by block.
    fn partials(data: &[f32]) -> Vec<Partial> {
        let each = BLOCK_BYTES / 4;
        let of_block = |(nth, block): (usize, &[f32])| {
            let mut sums = [0; 2];
            super::super::add_words(bytes(block), (nth * BLOCK_BYTES / 8) as u64, &mut sums);
            let mut pass = Pass::default();
            pass.add(block);
            let ([nan, inf, zero], [min, max]) = pass.exact();
            let [sum, squares] = pass.block_sums();
            let [even, odd] = sums;
            Partial {
                even,
                odd,
                sum,
                squares,
                min,
                max,
                nan,
                inf,
                zero,
            }
        };
        data.chunks(each).enumerate().map(of_block).collect()
    }

    proptest! {
        #[test]
        fn blocks_read_apart_give_the_fingerprint(blocks in 0usize..40, rest in 0usize..2048, level in 0u32..4, seed in any::<u32>()) {
            let number = |i: u32| match (i ^ seed).wrapping_mul(0x9E37_79B9) {
                odd if odd % 101 == 0 => f32::NAN,
                odd if odd % 103 == 0 => f32::INFINITY,
                odd if odd % 107 == 0 => -0.0,
                other => other as f32 / 3e8 - 5.0,
            };
            let data: Vec<f32> = (0..(blocks * 2048 + rest) as u32).map(number).collect();
            let mut parts = partials(&data);
            for _ in 0..level {
                parts = parts.chunks(2).map(|two| two.iter().copied().reduce(Partial::joined).unwrap()).collect();
            }
            let found = Fingerprint::from_partials::<f32>(&parts, data.len() as u64, bytes(&data));
            prop_assert_eq!(found, fingerprint(&data));
        }
    }
}

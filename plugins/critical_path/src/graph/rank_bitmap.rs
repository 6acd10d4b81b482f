//! Ranks in a bitmap: some of the segments, numbered in their order.
//!
//! Most segments follow the one before on their lane and nothing else, and nothing but the next looks back at them. What
//! is only there for the others is stored by rank.

/// A bit per segment, with the number of set bits before each word (rank).
#[derive(Debug, Default)]
pub struct RankBitmap {
    words: Vec<u64>,
    before: Vec<u32>,
    len: usize,
}

impl RankBitmap {
    pub fn new(segments: usize, set: impl IntoIterator<Item = u32>) -> Self {
        let mut words = vec![0_u64; segments.div_ceil(64)];
        for segment in set {
            words[segment as usize / 64] |= 1 << (segment % 64);
        }
        let mut len = 0;
        let before = words.iter().map(|word| {
            let before = len;
            len += word.count_ones();
            before
        });
        Self {
            before: before.collect(),
            words,
            len: len as usize,
        }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub fn contains(&self, segment: u32) -> bool {
        self.words[segment as usize / 64] >> (segment % 64) & 1 == 1
    }

    /// Number of set bits before that of a segment; `None` if its own bit is not set.
    #[inline]
    pub fn rank(&self, segment: u32) -> Option<usize> {
        let (word, bit) = (segment as usize / 64, segment % 64);
        let bits = self.words[word];
        (bits >> bit & 1 == 1).then(|| {
            let below = bits & ((1 << bit) - 1);
            (self.before[word] + below.count_ones()) as usize
        })
    }

    pub fn iter(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.words).flat_map(|(word, bits)| {
            let mut bits = *bits;
            std::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros())?;
                bits &= bits - 1;
                Some(word * 64 + bit)
            })
        })
    }

    /// The first set bit in `segment..end`.
    #[inline]
    pub fn next(&self, segment: u32, end: u32) -> Option<u32> {
        let mut word = segment as usize / 64;
        let mut bits = self.words.get(word)? & (u64::MAX << (segment % 64));
        while bits == 0 {
            word += 1;
            if word * 64 >= end as usize {
                return None;
            }
            bits = *self.words.get(word)?;
        }
        Some(word as u32 * 64 + bits.trailing_zeros()).filter(|found| *found < end)
    }

    /// The last set bit in `begin..=segment`.
    #[inline]
    pub fn last(&self, segment: u32, begin: u32) -> Option<u32> {
        let mut word = segment as usize / 64;
        let mut bits = self.words.get(word)? & (u64::MAX >> (63 - segment % 64));
        while bits == 0 {
            if word * 64 <= begin as usize {
                return None;
            }
            word -= 1;
            bits = self.words[word];
        }
        Some(word as u32 * 64 + 63 - bits.leading_zeros()).filter(|found| *found >= begin)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::RankBitmap;

    proptest! {
        #[test]
        fn bits_are_found_and_counted(set in prop::collection::btree_set(0_u32..300, 0..60), begin in 0_u32..300, end in 0_u32..=300) {
            let bits = RankBitmap::new(300, set.iter().copied());
            prop_assert_eq!(bits.len(), set.len());
            prop_assert!(bits.iter().eq(set.iter().copied()));
            for segment in 0..300 {
                prop_assert_eq!(bits.contains(segment), set.contains(&segment));
                let rank = set.contains(&segment).then(|| set.range(..segment).count());
                prop_assert_eq!(bits.rank(segment), rank);
                let all: &BTreeSet<u32> = &set;
                let next = all.range(segment..).next().copied();
                prop_assert_eq!(bits.next(segment, end), next.filter(|found| *found < end));
                let last = all.range(..=segment).next_back().copied();
                prop_assert_eq!(bits.last(segment, begin), last.filter(|found| *found >= begin));
            }
        }
    }
}

//! Ranks in a bitmap: the segments that anything but the next of their lane looks back at, numbered in their order.
//!
//! A re-timing needs the release time of a segment for the segment after it, at once, and for those
//! that depend on it, later. In a large run few segments have dependents: only their times are kept.

use std::ops::Range;

/// A bit for each segment, set for sources of dependencies and ends of stretches, and how many are set before each
/// word of bits.
#[derive(Debug, Default)]
pub struct RankBitmap {
    words: Vec<u64>,
    before: Vec<u32>,
    len: usize,
}

impl RankBitmap {
    /// Marks, of `segments` segments, the `sources` and the last of each of the stretches.
    pub fn new(segments: usize, sources: &[u32], order: &[Range<u32>]) -> Self {
        let mut words = vec![0_u64; segments.div_ceil(64)];
        let ends = order.iter().filter_map(|stretch| stretch.clone().last());
        for segment in sources.iter().copied().chain(ends) {
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

    /// The number of bits set.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if none is set.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of a segment among those that are kept.
    #[inline]
    pub fn rank(&self, segment: u32) -> Option<usize> {
        let (word, bit) = (segment as usize / 64, segment % 64);
        let bits = self.words[word];
        let below = bits & ((1 << bit) - 1);
        (bits >> bit & 1 == 1).then(|| (self.before[word] + below.count_ones()) as usize)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::RankBitmap;

    proptest! {
        #[test]
        fn places_count_what_is_kept_before(
            sources in prop::collection::vec(0_u32..300, 0..60),
            cuts in prop::collection::btree_set(1_u32..300, 0..20),
        ) {
            let starts = std::iter::once(0).chain(cuts.iter().copied());
            let ends = cuts.iter().copied().chain([300]);
            let order: Vec<_> = starts.zip(ends.clone()).map(|(start, end)| start..end).collect();
            let kept = RankBitmap::new(300, &sources, &order);
            let all: BTreeSet<u32> = sources.into_iter().chain(ends.map(|end| end - 1)).collect();
            prop_assert_eq!(kept.len(), all.len());
            for segment in 0..300 {
                let place = all.contains(&segment).then(|| all.range(..segment).count());
                prop_assert_eq!(kept.rank(segment), place);
            }
        }
    }
}

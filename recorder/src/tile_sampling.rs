//! Sampling of tiles.
//!
//! The tiles of a level on a thread are taken in strata of N, and of each stratum one, wherever chance
//! puts it. So every tile has the same chance of 1/N, sums times N are not biased, and a blocked loop
//! whose length is a multiple of N does not show the same column for ever.

use trueno_format::TileLevel;

pub(crate) type Every = [u16; TileLevel::ALL.len()];

pub(crate) struct TileSampling {
    every: Every,
    /// For each level: position in the stratum, and the position that is recorded.
    strata: [(u16, u16); TileLevel::ALL.len()],
    random: u64,
}

impl TileSampling {
    /// `thread`: its number, so that threads draw differently and runs alike.
    pub fn new(every: Every, thread: u32) -> Self {
        let mut new = Self {
            every,
            strata: Default::default(),
            random: (u64::from(thread) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        };
        for level in 0..every.len() {
            new.strata[level] = (0, new.drawn(level));
        }
        new
    }

    /// Returns whether the next tile of a level is recorded.
    #[inline]
    pub fn takes(&mut self, level: TileLevel) -> bool {
        let level = level as usize;
        if self.every[level] <= 1 {
            return true;
        }
        let (at, taken) = self.strata[level];
        self.strata[level] = if at + 1 < self.every[level] {
            (at + 1, taken)
        } else {
            (0, self.drawn(level))
        };
        at == taken
    }

    fn drawn(&mut self, level: usize) -> u16 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let every = u64::from(self.every[level].max(1));
        (((self.random >> 32) * every) >> 32) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// One of every N in each stratum, and over many strata each position.
        #[test]
        fn of_each_stratum_one_is_taken(every in 1u16..40, thread in 0u32..9) {
            let mut sampling = TileSampling::new([1, 1, every, 1], thread);
            let mut places = vec![0; usize::from(every)];
            for _ in 0..2000 {
                let taken: Vec<usize> = (0..usize::from(every))
                    .filter(|_| sampling.takes(TileLevel::Micro))
                    .collect();
                prop_assert_eq!(taken.len(), 1);
                places[taken[0]] += 1;
            }
            prop_assert!(places.iter().all(|count| *count > 0), "{:?}", places);
            prop_assert!(sampling.takes(TileLevel::Macro));
        }
    }
}

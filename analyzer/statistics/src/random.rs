//! Numbers drawn from a seed: the same on every machine.

/// SplitMix64 (Steele, Lea, Flood 2014): one word of state, and any seed is a good one.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Derives the state from a seed and a purpose, so that results do not depend on the order of names.
    pub fn new(seed: u64, purpose: &str) -> Self {
        Self(xxhash_rust::xxh3::xxh3_64_with_seed(
            purpose.as_bytes(),
            seed,
        ))
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which must not be 0. The bias is below `end` / 2^64.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.bits()) * end as u128) >> 64) as usize
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn every_number_comes_up_about_as_often() {
        let mut random = Random::new(7, "test");
        let mut counts = [0_i32; 10];
        for _ in 0..100_000 {
            counts[random.below(10)] += 1;
        }
        assert!(
            counts.iter().all(|n| (n - 10_000).abs() < 500),
            "{counts:?}"
        );
        let mean = (0..100_000).map(|_| random.unit()).sum::<f64>() / 1e5;
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
    }

    #[test]
    fn another_purpose_has_other_numbers() {
        let (mut a, mut b) = (Random::new(1, "a"), Random::new(1, "b"));
        assert_ne!(a.bits(), b.bits());
    }
}

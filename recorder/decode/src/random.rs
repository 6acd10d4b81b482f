//! A seeded generator: the same seed gives the same numbers everywhere.

/// SplitMix64 (Steele, Lea, Flood 2014): one 64-bit state, one mix.
pub struct Random {
    state: u64,
}

impl Random {
    /// Starts the sequence of `seed`. Different values of `stream` give independent sequences for one seed.
    pub fn new(seed: u64, stream: u64) -> Random {
        let mut random = Random {
            state: seed ^ stream.wrapping_mul(0xD1B5_4A32_D192_ED03),
        };
        random.next_u64();
        random
    }

    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1), a multiple of 2^-24, so exact in `f32`.
    pub fn unit(&mut self) -> f32 {
        (self.next_u64() >> 40) as f32 / (1u32 << 24) as f32
    }

    /// Uniform with mean 0 and the given standard deviation.
    pub fn spread(&mut self, deviation: f32) -> f32 {
        (2.0 * self.unit() - 1.0) * deviation * 3f32.sqrt()
    }

    /// Uniform in `0..bound`. The modulo bias is far below what matters here.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next_u64() % bound.max(1) as u64) as usize
    }
}

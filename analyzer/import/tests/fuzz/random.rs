//! Numbers from a seed.

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64, case: u64) -> Self {
        let mut random = Self(seed);
        let seed = random.word();
        Self(seed ^ case.wrapping_mul(0xd134_2543_de82_ef95))
    }

    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    /// A number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.word() % end.max(1) as u64) as usize
    }

    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub fn choice<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// Often small, rarely large.
    pub fn count(&mut self, most: usize) -> usize {
        1 + self.below(most).min(self.below(most))
    }
}

/// Changes, removes and duplicates bytes, and truncates.
pub fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..random.count(16) {
        if bytes.is_empty() {
            return;
        }
        let at = random.below(bytes.len());
        let end = (at + random.count(64)).min(bytes.len());
        match random.below(8) {
            0..=2 => bytes[at] ^= 1 << random.below(8),
            3 => bytes[at] = random.word() as u8,
            4 => drop(bytes.drain(at..end)),
            5 => {
                let piece = bytes[at..end].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, piece);
            }
            6 => bytes[at..end].fill(*random.choice(&[0, 0xff, b'"', b'9'])),
            _ if random.one_in(8) => bytes.truncate(at),
            _ => {}
        }
    }
}

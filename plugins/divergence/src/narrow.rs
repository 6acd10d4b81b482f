//! Whole numbers of many rows, each block of them in as few bytes as its values need.
//!
//! Times, ids and numbers of descriptions of neighbouring rows are near each other: a row takes one to four bytes.

const BLOCK: usize = 1 << 13;

#[derive(Debug, Default)]
pub struct Narrow {
    blocks: Vec<Block>,
    /// Rows that do not fill a block yet.
    rest: Vec<u64>,
}

/// Differences to the first number.
#[derive(Debug)]
enum Block {
    Same(u64),
    Bytes(u64, Box<[u8]>),
    Halves(u64, Box<[u16]>),
    Words(u64, Box<[u32]>),
    Whole(Box<[u64]>),
}

impl Narrow {
    #[inline]
    pub fn push(&mut self, value: u64) {
        self.rest.push(value);
        if self.rest.len() == BLOCK {
            self.blocks.push(Block::of(&self.rest));
            self.rest.clear();
        }
    }

    fn len(&self) -> usize {
        self.blocks.len() * BLOCK + self.rest.len()
    }

    #[inline]
    pub fn get(&self, row: usize) -> u64 {
        let at = row % BLOCK;
        match self.blocks.get(row / BLOCK) {
            Some(Block::Same(value)) => *value,
            Some(Block::Bytes(least, all)) => least + u64::from(all[at]),
            Some(Block::Halves(least, all)) => least + u64::from(all[at]),
            Some(Block::Words(least, all)) => least + u64::from(all[at]),
            Some(Block::Whole(all)) => all[at],
            None => self.rest[at],
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.len()).map(|row| self.get(row))
    }
}

impl Block {
    fn of(values: &[u64]) -> Self {
        let least = values.iter().copied().min().unwrap_or(0);
        let most = values.iter().copied().max().unwrap_or(0);
        match most - least {
            0 => Self::Same(least),
            1..=0xff => Self::Bytes(least, values.iter().map(|v| (v - least) as u8).collect()),
            0x100..=0xffff => {
                Self::Halves(least, values.iter().map(|v| (v - least) as u16).collect())
            }
            0x1_0000..=0xffff_ffff => {
                Self::Words(least, values.iter().map(|v| (v - least) as u32).collect())
            }
            _ => Self::Whole(Box::from(values)),
        }
    }
}

/// Numbers that may be missing.
#[derive(Debug, Default)]
pub struct NarrowOptions {
    values: Narrow,
    present: Narrow,
}

impl NarrowOptions {
    #[inline]
    pub fn push(&mut self, value: Option<u64>) {
        self.present.push(u64::from(value.is_some()));
        self.values.push(value.unwrap_or(0));
    }

    #[inline]
    pub fn get(&self, row: usize) -> Option<u64> {
        (self.present.get(row) > 0).then(|| self.values.get(row))
    }
}

/// Truth values by row.
#[derive(Debug)]
pub struct Bits(Vec<u64>);

impl Bits {
    pub fn new(rows: usize) -> Self {
        Self(vec![0; rows.div_ceil(64)])
    }

    pub fn all(rows: usize) -> Self {
        Self(vec![u64::MAX; rows.div_ceil(64)])
    }

    #[inline]
    pub fn set(&mut self, row: usize) {
        self.0[row / 64] |= 1 << (row % 64);
    }

    #[inline]
    pub fn get(&self, row: usize) -> bool {
        self.0[row / 64] >> (row % 64) & 1 == 1
    }

    pub fn any(&self) -> bool {
        self.0.iter().any(|word| *word != 0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_are_those_that_were_pushed(
            base in any::<u64>(),
            width in prop_oneof![Just(0u32), Just(8), Just(16), Just(32), Just(64)],
            seed in any::<u64>(),
            rows in 0..3 * BLOCK,
        ) {
            let value = |row: usize| {
                let noise = (row as u64 ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                match width {
                    0 => base,
                    width => (base >> 1).saturating_add(noise >> (64 - width) >> 1),
                }
            };
            let mut numbers = Narrow::default();
            let mut options = NarrowOptions::default();
            for row in 0..rows {
                numbers.push(value(row));
                options.push((value(row) % 3 > 0).then(|| value(row)));
            }
            prop_assert_eq!(numbers.len(), rows);
            prop_assert!(numbers.iter().eq((0..rows).map(value)));
            let expected = |row| Some(value(row)).filter(|value| value % 3 > 0);
            prop_assert!((0..rows).all(|row| options.get(row) == expected(row)));
        }
    }
}

//! Levels of tiles, and how a record holds one.

/// The memory that a tile is held in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum TileLevel {
    /// Blocks for the last-level cache, or a device's global memory.
    #[default]
    Macro = 0,
    /// Blocks for L2, or a device's shared memory.
    Midi = 1,
    /// Blocks for registers.
    Micro = 2,
    /// Copying into the layout that the kernel wants.
    Pack = 3,
}

impl TileLevel {
    /// Every level, by number.
    pub const ALL: [Self; 4] = [Self::Macro, Self::Midi, Self::Micro, Self::Pack];

    /// Text in column `tiles.level`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Macro => "macro",
            Self::Midi => "midi",
            Self::Micro => "micro",
            Self::Pack => "pack",
        }
    }
}

/// Beside the level there are 14 bits for it in a record.
pub const MAX_SAMPLED_EVERY: u32 = (1 << 14) - 1;

/// Level and sampling (period N: one in N is recorded; 0: nobody asked) as they stand in a record.
#[inline]
pub fn pack(level: TileLevel, every: u16) -> u16 {
    level as u16 | (every << 2)
}

/// The number of the level, and the sampling.
#[inline]
pub fn unpack(word: u16) -> (usize, u16) {
    (usize::from(word & 3), word >> 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_unpacked_as_they_were_packed() {
        for level in TileLevel::ALL {
            for every in [0, 1, 64, MAX_SAMPLED_EVERY as u16] {
                assert_eq!(unpack(pack(level, every)), (level as usize, every));
            }
        }
    }
}

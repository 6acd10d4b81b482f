//! Sequences of a block: literals, then a match.

use super::{MATCH_BYTES, WORD_BYTES, same_high_bytes};

/// A block being written. It is separate from [`Compressor`](super::Compressor), so that its length stays in a
/// register.
pub(super) struct Block<'a> {
    bytes: &'a mut [u8],
    used: usize,
}

impl<'a> Block<'a> {
    /// An empty block. `bytes` has room for literals alone, a byte more for each 255 of them, and one wide store.
    pub fn new(bytes: &'a mut [u8]) -> Self {
        Self { bytes, used: 0 }
    }

    /// Its length.
    pub fn used(&self) -> usize {
        self.used
    }

    /// A sequence of the first `literals` bytes of `ahead` (5 at most) and a match of less than
    /// 19 bytes: all of it in one store.
    #[inline(always)]
    pub fn short_sequence(
        &mut self,
        ahead: [u8; 8],
        literals: usize,
        offset: usize,
        length: usize,
    ) {
        let token = (literals << 4 | (length - MATCH_BYTES)) as u64;
        let bits = 8 * literals;
        let kept = u64::from_le_bytes(ahead) & ((1 << bits) - 1);
        let word = token | kept << 8 | (offset as u64) << (8 + bits);
        self.bytes[self.used..self.used + 8].copy_from_slice(&word.to_le_bytes());
        self.used += 3 + literals;
    }

    /// Sequences of the words behind the first one, each of its low bytes and a match with the high bytes of the word
    /// before, as long as neighbours share enough. Gives how many words that are.
    #[inline(always)]
    pub fn neighbours(&mut self, words: &[u64]) -> usize {
        let mut before = 0;
        loop {
            while let Some(nine) = words[before..].first_chunk::<9>()
                && self.eight_neighbours(nine)
            {
                before += 8;
            }
            for _ in 0..8 {
                let Some([word, next]) = words[before..].first_chunk::<2>() else {
                    return before;
                };
                let length = same_high_bytes(*word, *next);
                if length < MATCH_BYTES {
                    return before;
                }
                self.short_sequence(next.to_le_bytes(), WORD_BYTES - length, WORD_BYTES, length);
                before += 1;
            }
        }
    }

    /// Writes eight sequences at once if the words differ only in their lowest byte, from each other and from
    /// the first. Four bytes each. Returns false if they differ otherwise.
    #[inline(always)]
    fn eight_neighbours(&mut self, words: &[u64; 9]) -> bool {
        let [before, words @ ..] = words;
        if words[7] ^ before > 0xff
            || words.iter().fold(0, |bits, word| bits | (word ^ before)) > 0xff
        {
            return false;
        }
        let token = (1 << 4 | (WORD_BYTES - 1 - MATCH_BYTES)) as u32;
        let sequence = token | (WORD_BYTES as u32) << 16;
        let bytes = &mut self.bytes[self.used..self.used + 32];
        for (bytes, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(words) {
            *bytes = (sequence | (*word as u32 & 0xff) << 8).to_le_bytes();
        }
        self.used += 32;
        true
    }

    /// Literals and a match of `length` bytes, `offset` back.
    #[inline(always)]
    pub fn sequence(&mut self, literals: &[u8], offset: usize, length: usize) {
        let more = length - MATCH_BYTES;
        self.token(literals, more.min(15) as u8);
        self.push(&(offset as u16).to_le_bytes());
        if more >= 15 {
            self.long(more - 15);
        }
    }

    /// The last sequence, which has no match.
    #[inline(always)]
    pub fn literals(&mut self, literals: &[u8]) {
        self.token(literals, 0);
    }

    #[inline(always)]
    fn token(&mut self, literals: &[u8], match_bits: u8) {
        let bits = literals.len().min(15) as u8;
        self.push(&[bits << 4 | match_bits]);
        if bits == 15 {
            self.long(literals.len() - 15);
        }
        self.push(literals);
    }

    /// Writes the part of a length that does not fit in its half of the token.
    #[inline(always)]
    fn long(&mut self, length: usize) {
        let end = self.used + length / 255;
        self.bytes[self.used..end].fill(255);
        self.used = end;
        self.push(&[(length % 255) as u8]);
    }

    #[inline(always)]
    fn push(&mut self, bytes: &[u8]) {
        let end = self.used + bytes.len();
        self.bytes[self.used..end].copy_from_slice(bytes);
        self.used = end;
    }
}

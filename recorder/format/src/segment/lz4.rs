//! LZ4 for columns: an encoder that knows where one value ends and the next begins.
//!
//! Any LZ4 decoder reads the result. A general encoder looks for matches at every byte; in a
//! column they begin at values, or inside one after its low bytes: neighbours that differ in
//! their low bytes only (ids, times) share the rest. So this one goes value by value and looks
//! at two candidates, the last place of the same two values and the value before.

mod block;

use block::Block;

/// Start of a frame: magic number, version 1 with independent blocks of at most 64 KiB and no options, and the
/// checksum of that.
const FRAME_HEAD: [u8; 7] = [0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82];
const FRAME_END: [u8; 4] = [0; 4];
const BLOCK_BYTES: usize = 64 << 10;
const WORD_BYTES: usize = size_of::<u64>();
const MATCH_BYTES: usize = 4;
/// Minimum number of literals at the end of a block.
const LAST_LITERALS: usize = 5;
/// Minimum number of bytes from the start of the last match to the end of its block.
const LAST_MATCH_START: usize = 12;
/// Below this a frame saves little or nothing.
const MIN_BYTES: usize = 64;
/// Marks an uncompressed buffer, in the length prefix of a compressed body.
const STORED: i64 = -1;
const HASH_BITS: u32 = 12;

/// A value of a column, 4 or 8 bytes.
pub(super) trait Value: Copy + Eq + Into<u64> {
    /// A hash of two neighbours, with [`HASH_BITS`] bits.
    fn hash_with(self, next: Self) -> usize {
        let sum = self
            .into()
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .wrapping_add(next.into().wrapping_mul(0xC2B2_AE3D_27D4_EB4F));
        (sum >> (64 - HASH_BITS)) as usize
    }

    /// The values if they are 64 bits wide. Narrower values that differ share fewer than [`MATCH_BYTES`] bytes
    /// with a neighbour.
    fn words(values: &[Self]) -> Option<&[u64]>;
}

impl Value for u32 {
    fn words(_: &[Self]) -> Option<&[u64]> {
        None
    }
}

impl Value for u64 {
    fn words(values: &[Self]) -> Option<&[u64]> {
        Some(values)
    }
}

fn bytes<V: Value>(values: &[V]) -> &[u8] {
    // SAFETY: values are `u32` or `u64`, without padding, so all their bytes are initialised; the length is that
    // of the slice, in bytes.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// Compresses buffers of up to 64 KiB, reusing its memory.
pub(super) struct Compressor {
    /// By the hash of two values: where they occurred last.
    places: Box<[u16; 1 << HASH_BITS]>,
    block: Box<[u8]>,
    used: usize,
}

impl Compressor {
    pub fn new() -> Self {
        Self {
            places: Box::new([0; 1 << HASH_BITS]),
            // Literals alone, a byte more for each 255 of them, and room for one wide store.
            block: vec![0; BLOCK_BYTES + BLOCK_BYTES / 255 + 32].into(),
            used: 0,
        }
    }

    /// Appends a buffer of an IPC body: its length, then a frame, or the bytes as they are
    /// where a frame is not smaller. At most 64 KiB.
    pub fn append<V: Value>(&mut self, values: &[V], body: &mut Vec<u8>) {
        match V::words(values) {
            _ if !is_rising(values) => self.append_by(values, body, |values, places, block| {
                compress(values, places, block);
            }),
            Some(words) => self.append_distinct(words, body),
            None => self.finish(bytes(values), body),
        }
    }

    /// As [`Compressor::append`], of words of which hardly any comes again but right after itself.
    pub fn append_distinct(&mut self, words: &[u64], body: &mut Vec<u8>) {
        self.append_by(words, body, |words, _, block| {
            compress_distinct(words, block)
        });
    }

    fn append_by<V: Value>(
        &mut self,
        values: &[V],
        body: &mut Vec<u8>,
        compress: impl FnOnce(&[V], &mut [u16; 1 << HASH_BITS], &mut Block<'_>),
    ) {
        let plain = bytes(values);
        if let Some(first) = values.first()
            && values.iter().all(|value| value == first)
        {
            return self.append_same(*first, values.len(), body);
        }
        debug_assert!(plain.len() <= BLOCK_BYTES);
        if plain.len() >= MIN_BYTES && plain.len() <= BLOCK_BYTES {
            let mut block = Block::new(&mut self.block);
            compress(values, &mut self.places, &mut block);
            self.used = block.used();
        }
        self.finish(plain, body);
    }

    /// The same for `count` equal values.
    pub fn append_same<V: Value>(&mut self, value: V, count: usize, body: &mut Vec<u8>) {
        let one = [value];
        let one = bytes(&one);
        let total = count * one.len();
        // A plain copy is made only where it is stored.
        if total < MIN_BYTES {
            let plain = one.repeat(count);
            return self.finish(&plain, body);
        }
        let mut block = Block::new(&mut self.block);
        block.sequence(one, one.len(), total - one.len() - LAST_LITERALS);
        let last = [value; LAST_LITERALS];
        let last = bytes(&last);
        block.literals(&last[last.len() - LAST_LITERALS..]);
        self.used = block.used();
        self.frame(total, body);
    }

    /// Appends `block`, or `plain` if there is none.
    fn finish(&mut self, plain: &[u8], body: &mut Vec<u8>) {
        let overhead = FRAME_HEAD.len() + size_of::<u32>() + FRAME_END.len();
        if self.used == 0 || self.used + overhead >= plain.len() {
            body.extend_from_slice(&STORED.to_le_bytes());
            body.extend_from_slice(plain);
            self.used = 0;
        } else {
            self.frame(plain.len(), body);
        }
    }

    fn frame(&mut self, plain_bytes: usize, body: &mut Vec<u8>) {
        body.extend_from_slice(&(plain_bytes as i64).to_le_bytes());
        body.extend_from_slice(&FRAME_HEAD);
        body.extend_from_slice(&(self.used as u32).to_le_bytes());
        body.extend_from_slice(&self.block[..self.used]);
        body.extend_from_slice(&FRAME_END);
        self.used = 0;
    }
}

fn compress<V: Value>(values: &[V], places: &mut [u16; 1 << HASH_BITS], block: &mut Block<'_>) {
    places.fill(0);
    let width = size_of::<V>();
    let plain = bytes(values);
    let end = first_of_last_literals(values);
    // First byte not written yet.
    let mut pending = 0;
    let mut at = 1;
    while at < end {
        let (value, before, next) = (values[at], values[at - 1], values[at + 1]);
        let place = &mut places[value.hash_with(next)];
        let earlier = usize::from(std::mem::replace(place, at as u16));
        let changed_bytes = width - same_high_bytes(value, before);
        let (mut from, mut start) = (at - 1, at * width + changed_bytes);
        let mut upto = at + 1;
        if values[earlier] == value && values[earlier + 1] == next {
            (from, start) = (earlier, at * width);
            upto = equal_until(values, earlier, at, end);
            if changed_bytes == 0 {
                let run = equal_until(values, at - 1, at, end);
                if run >= upto {
                    (from, upto) = (at - 1, run);
                }
            }
        } else if width - changed_bytes < MATCH_BYTES {
            at += 1;
            continue;
        } else if next == value {
            upto = equal_until(values, at, upto, end);
        }
        let (offset, length) = ((at - from) * width, upto * width - start);
        match plain.get(pending..).and_then(<[u8]>::first_chunk) {
            Some(ahead) if start - pending <= 5 && length < MATCH_BYTES + 15 => {
                block.short_sequence(*ahead, start - pending, offset, length);
            }
            _ => block.sequence(&plain[pending..start], offset, length),
        }
        pending = upto * width;
        at = upto;
    }
    block.literals(&plain[pending..]);
}

/// Like [`compress`], for words that are never repeated: ids, starts, numbers of a loop. Neighbours share only high
/// bytes, so nothing has to be looked up.
fn compress_distinct(words: &[u64], block: &mut Block<'_>) {
    let plain = bytes(words);
    let end = first_of_last_literals(words);
    let mut pending = 0;
    let mut at = 1;
    while at < end {
        let length = same_high_bytes(words[at], words[at - 1]);
        at += 1;
        if length >= MATCH_BYTES {
            let start = at * WORD_BYTES - length;
            block.sequence(&plain[pending..start], WORD_BYTES, length);
            at += block.neighbours(&words[at - 1..end]);
            pending = at * WORD_BYTES;
        }
    }
    block.literals(&plain[pending..]);
}

fn is_rising<V: Value>(values: &[V]) -> bool {
    // Without a way out of the inner loop, which so takes less for each of its values.
    let falls = |two: &[V]| u64::from(two[1].into() <= two[0].into());
    let mut blocks = values.windows(64 + 1).step_by(64);
    let rest = values.len().saturating_sub(1) / 64 * 64;
    blocks.all(|block| block.windows(2).map(falls).sum::<u64>() == 0)
        && values[rest..].windows(2).map(falls).sum::<u64>() == 0
}

/// Index from which all values stay literals, so that both rules for the end of a block hold.
fn first_of_last_literals<V: Value>(values: &[V]) -> usize {
    values.len() - (LAST_MATCH_START - MATCH_BYTES).div_ceil(size_of::<V>())
}

#[inline(always)]
fn same_high_bytes<V: Value>(a: V, b: V) -> usize {
    let unused = u64::BITS - 8 * size_of::<V>() as u32;
    let different: u64 = a.into() ^ b.into();
    ((different.leading_zeros() - unused) / 8) as usize
}

/// End of the stretch from `at` on that repeats the values from `from` on, at most `end`.
#[inline(always)]
fn equal_until<V: Value>(values: &[V], from: usize, at: usize, end: usize) -> usize {
    let same = values[at..end].iter().zip(&values[from..]);
    at + same.take_while(|(later, earlier)| later == earlier).count()
}

//! Fingerprints of tensors: an exact hash and statistics over all elements, in one pass.
//!
//! # The hash
//!
//! The elements' bytes, little-endian and in order, are cut into words `w_i` of 8 bytes
//! (the last one filled up with zero bytes). With wrapping 64-bit arithmetic and
//!
//! ```text
//! K      = 0x9E3779B97F4A7C15
//! mix(z) : z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
//!          z = (z ^ z>>27) * 0x94D049BB133111EB
//!          z ^ z>>31
//! E      = sum over even i of mix(w_i + (2i+1)*K)
//! O      = sum over odd  i of mix(w_i + (2i+1)*K)
//! hash   = mix(E + length in bytes) ^ rotate_left(mix(O), 32)
//! ```
//!
//! `mix` is the finaliser of SplitMix64 (Steele, Lea, Flood 2014, after Stafford's variant
//! 13), a bijection. The sums do not depend on the order of adding, so that a GPU gets the
//! same hash with any grid. A difference within one word is always seen; any other
//! difference is missed with a probability of about 2^-64. The hash is not cryptographic.
//!
//! # The statistics
//!
//! In f64 over the finite elements; 64-bit integers are rounded to f64 first. Squares are rounded
//! before they are added. The order of adding is part of the definition, so the same data give the
//! same bits everywhere, a GPU included: a block of 8 KiB has eight interleaved sums, one for each
//! element number modulo 8, each from the first element on; these are added as a tree,
//! `((0+1)+(2+3))+((4+5)+(6+7))`, and so are the sums of the blocks: neighbours, then neighbouring pairs, and
//! so on, what has no neighbour going on as it is. An extreme that is zero is `+0`.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub(crate) mod baseline;
mod deferred;
mod element;
mod half;
mod mix;
mod partial;
mod record;
pub(crate) mod sampling;
mod simd;
mod statistics;
mod strided;

pub use deferred::ChecksumPlace;
pub use element::Element;
pub use half::{Bf16, F16};
use mix::{K, mix};
pub use partial::Partial;
use simd::Width;
pub use statistics::Statistics;
pub use strided::Strided;

/// Block size: hash and statistics both read a block while it is in the L1 cache.
const BLOCK_BYTES: usize = 8192;
const FNV_ELEMENTS: usize = 64;

/// Identity of a tensor's content; one row of `checksums`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Fingerprint {
    /// Elements read.
    pub elements: u64,
    /// Hash over the bits of all elements; the module's text has the formula.
    pub hash: u64,
    /// 64-bit FNV-1a over the bytes of the first 64 elements.
    pub hash_fnv64: u64,
    /// Counts and moments.
    pub statistics: Statistics,
}

/// The fingerprint of a tensor, computed in one pass.
///
/// ```
/// use trueno_recorder::fingerprint;
/// let a = fingerprint(&[1.0f32, -2.0, f32::NAN]);
/// assert_eq!((a.elements, a.statistics.nan_count), (3, 1));
/// assert_eq!(a.statistics.absmax, Some(2.0));
/// assert_ne!(a.hash, fingerprint(&[-2.0f32, 1.0, f32::NAN]).hash);
/// ```
pub fn fingerprint<T: Element>(data: &[T]) -> Fingerprint {
    fingerprint_with(Width::best(), data)
}

/// Uses these instructions; the result does not depend on them.
fn fingerprint_with<T: Element>(width: Width, data: &[T]) -> Fingerprint {
    let mut reader = Reader::default();
    for elements in data.chunks(BLOCK_BYTES / size_of::<T>()) {
        reader.block(width, elements);
    }
    reader.end::<T>()
}

#[derive(Default)]
struct Reader {
    sums: [u64; 2],
    statistics: statistics::Pass,
    word: u64,
    elements: u64,
    fnv: Option<u64>,
}

impl Reader {
    /// Adds the next elements: a full block each time except the last.
    #[inline(always)]
    fn block<T: Element>(&mut self, width: Width, elements: &[T]) {
        let taken = T::simd_prefix(
            width,
            elements,
            self.word,
            &mut self.sums,
            &mut self.statistics,
        );
        let rest = &elements[taken..];
        let next = self.word + (size_of_val(&elements[..taken]) / 8) as u64;
        add_words(element::bytes(rest), next, &mut self.sums);
        self.statistics.add(rest);
        self.statistics.end_block();
        self.word += size_of_val(elements).div_ceil(8) as u64;
        self.elements += elements.len() as u64;
        self.fnv.get_or_insert_with(|| {
            fnv1a(element::bytes(
                &elements[..elements.len().min(FNV_ELEMENTS)],
            ))
        });
    }

    fn end<T: Element>(self) -> Fingerprint {
        Fingerprint {
            elements: self.elements,
            hash: combine(self.sums, self.elements * size_of::<T>() as u64),
            hash_fnv64: self.fnv.unwrap_or_else(|| fnv1a(&[])),
            statistics: self.statistics.result(),
        }
    }
}

/// Adds the words of `bytes`. The first word's number is `first`, which is even.
fn add_words(bytes: &[u8], first: u64, sums: &mut [u64; 2]) {
    let mut offset = first.wrapping_mul(2).wrapping_add(1).wrapping_mul(K);
    let step = K.wrapping_mul(2);
    let mut pairs = bytes.chunks_exact(16);
    for pair in &mut pairs {
        sums[0] = sums[0].wrapping_add(mix(word_of(&pair[..8]).wrapping_add(offset)));
        let odd = offset.wrapping_add(step);
        sums[1] = sums[1].wrapping_add(mix(word_of(&pair[8..]).wrapping_add(odd)));
        offset = odd.wrapping_add(step);
    }
    for (sum, tail) in sums.iter_mut().zip(pairs.remainder().chunks(8)) {
        *sum = sum.wrapping_add(mix(word_of(tail).wrapping_add(offset)));
        offset = offset.wrapping_add(step);
    }
}

#[inline(always)]
fn word_of(bytes: &[u8]) -> u64 {
    match <[u8; 8]>::try_from(bytes) {
        Ok(whole) => u64::from_le_bytes(whole),
        Err(_) => {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        }
    }
}

fn combine([even, odd]: [u64; 2], bytes: u64) -> u64 {
    mix(even.wrapping_add(bytes)) ^ mix(odd).rotate_left(32)
}

pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests;

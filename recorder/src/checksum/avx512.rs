//! Hash and statistics of floats, 64 bytes at a time.

use std::arch::x86_64::*;

use super::mix::{K, MIX_1, MIX_2};
use super::statistics::Pass;

// Classes of `vfpclass`.
const NAN: i32 = 0x81;
const ZERO: i32 = 0x06;
const INFINITE: i32 = 0x18;

/// Sum of the mixed words so far, even words in even lanes, and the increments for the next ones.
struct Hash {
    sum: __m512i,
    offset: __m512i,
}

impl Hash {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn starting_at(word: u64) -> Self {
        let offset = |lane: u64| (2 * (word + lane) + 1).wrapping_mul(K) as i64;
        Self {
            sum: _mm512_setzero_si512(),
            offset: _mm512_setr_epi64(
                offset(0),
                offset(1),
                offset(2),
                offset(3),
                offset(4),
                offset(5),
                offset(6),
                offset(7),
            ),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn add(&mut self, words: __m512i) {
        let mut z = _mm512_add_epi64(words, self.offset);
        self.offset = _mm512_add_epi64(self.offset, _mm512_set1_epi64(K.wrapping_mul(16) as i64));
        z = _mm512_xor_si512(z, _mm512_srli_epi64::<30>(z));
        z = _mm512_mullo_epi64(z, _mm512_set1_epi64(MIX_1 as i64));
        z = _mm512_xor_si512(z, _mm512_srli_epi64::<27>(z));
        z = _mm512_mullo_epi64(z, _mm512_set1_epi64(MIX_2 as i64));
        z = _mm512_xor_si512(z, _mm512_srli_epi64::<31>(z));
        self.sum = _mm512_add_epi64(self.sum, z);
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn end(&self, sums: &mut [u64; 2]) {
        let even = _mm512_mask_reduce_add_epi64(0b0101_0101, self.sum) as u64;
        let odd = _mm512_mask_reduce_add_epi64(0b1010_1010, self.sum) as u64;
        sums[0] = sums[0].wrapping_add(even);
        sums[1] = sums[1].wrapping_add(odd);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn load(lanes: &[f64; 8]) -> __m512d {
    // SAFETY: eight numbers are 64 bytes; the load needs no alignment.
    unsafe { _mm512_loadu_pd(lanes.as_ptr()) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn store(lanes: &mut [f64; 8], values: __m512d) {
    // SAFETY: eight numbers are 64 bytes; the store needs no alignment.
    unsafe { _mm512_storeu_pd(lanes.as_mut_ptr(), values) }
}

/// Processes all but the last few elements. Returns their number, a multiple of 16.
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) fn f32(data: &[f32], word: u64, sums: &mut [u64; 2], pass: &mut Pass) -> usize {
    let (groups, rest) = data.as_chunks::<16>();
    let mut hash = Hash::starting_at(word);
    let (mut sum, mut squares) = (load(&pass.sum), load(&pass.squares));
    // Exact: they came from f32.
    let mut min = _mm512_cvtpd_ps(load(&pass.min));
    let mut max = _mm512_cvtpd_ps(load(&pass.max));
    let infinity = _mm512_set1_ps(f32::INFINITY);
    let minus_infinity = _mm512_set1_ps(f32::NEG_INFINITY);
    let (mut nan, mut inf, mut zero) = (0, 0, 0);
    for group in groups {
        // SAFETY: sixteen numbers are 64 bytes; the load needs no alignment.
        let values = unsafe { _mm512_loadu_ps(group.as_ptr()) };
        hash.add(_mm512_castps_si512(values));
        let odd = _mm512_fpclass_ps_mask::<{ NAN | INFINITE }>(values);
        zero += _mm512_fpclass_ps_mask::<ZERO>(values).count_ones();
        if odd != 0 {
            nan += _mm512_fpclass_ps_mask::<NAN>(values).count_ones();
            inf += _mm512_fpclass_ps_mask::<INFINITE>(values).count_ones();
        }
        // Element 8 is of lane 0 again: the halves one after the other.
        let low = halves(_mm512_mask_mov_ps(values, odd, infinity));
        min = _mm256_min_ps(low[1], _mm256_min_ps(low[0], min));
        let high = halves(_mm512_mask_mov_ps(values, odd, minus_infinity));
        max = _mm256_max_ps(high[1], _mm256_max_ps(high[0], max));
        for half in halves(_mm512_maskz_mov_ps(!odd, values)) {
            let kept = _mm512_cvtps_pd(half);
            sum = _mm512_add_pd(sum, kept);
            // The square of an f32 is exact in f64, so it is rounded once either way.
            squares = _mm512_fmadd_pd(kept, kept, squares);
        }
    }
    hash.end(sums);
    store(&mut pass.sum, sum);
    store(&mut pass.squares, squares);
    store(&mut pass.min, _mm512_cvtps_pd(min));
    store(&mut pass.max, _mm512_cvtps_pd(max));
    let taken = data.len() - rest.len();
    pass.count(taken, nan, inf, zero);
    taken
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn halves(values: __m512) -> [__m256; 2] {
    [
        _mm512_castps512_ps256(values),
        _mm512_extractf32x8_ps::<1>(values),
    ]
}

/// Processes all but the last few elements. Returns their number, a multiple of 8.
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) fn f64(data: &[f64], word: u64, sums: &mut [u64; 2], pass: &mut Pass) -> usize {
    let (groups, rest) = data.as_chunks::<8>();
    let mut hash = Hash::starting_at(word);
    let (mut sum, mut squares) = (load(&pass.sum), load(&pass.squares));
    let (mut min, mut max) = (load(&pass.min), load(&pass.max));
    let infinity = _mm512_set1_pd(f64::INFINITY);
    let minus_infinity = _mm512_set1_pd(f64::NEG_INFINITY);
    let (mut nan, mut inf, mut zero) = (0, 0, 0);
    for group in groups {
        let values = load(group);
        hash.add(_mm512_castpd_si512(values));
        let odd = _mm512_fpclass_pd_mask::<{ NAN | INFINITE }>(values);
        zero += _mm512_fpclass_pd_mask::<ZERO>(values).count_ones();
        if odd != 0 {
            nan += _mm512_fpclass_pd_mask::<NAN>(values).count_ones();
            inf += _mm512_fpclass_pd_mask::<INFINITE>(values).count_ones();
        }
        min = _mm512_min_pd(_mm512_mask_mov_pd(values, odd, infinity), min);
        max = _mm512_max_pd(_mm512_mask_mov_pd(values, odd, minus_infinity), max);
        let kept = _mm512_maskz_mov_pd(!odd, values);
        sum = _mm512_add_pd(sum, kept);
        // Not fused: the square of an f64 is rounded on its own.
        squares = _mm512_add_pd(squares, _mm512_mul_pd(kept, kept));
    }
    hash.end(sums);
    store(&mut pass.sum, sum);
    store(&mut pass.squares, squares);
    store(&mut pass.min, min);
    store(&mut pass.max, max);
    let taken = data.len() - rest.len();
    pass.count(taken, nan, inf, zero);
    taken
}

//! Hash and statistics of floats, 32 bytes at a time.

use std::arch::x86_64::*;

use super::mix::{K, MIX_1, MIX_2};
use super::statistics::Pass;

/// Sum of the mixed words so far, even words in even lanes, and the increments for the next ones.
struct Hash {
    sum: __m256i,
    offset: __m256i,
}

impl Hash {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn starting_at(word: u64) -> Self {
        let offset = |lane: u64| (2 * (word + lane) + 1).wrapping_mul(K) as i64;
        Self {
            sum: _mm256_setzero_si256(),
            offset: _mm256_setr_epi64x(offset(0), offset(1), offset(2), offset(3)),
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn add(&mut self, words: __m256i) {
        let mut z = _mm256_add_epi64(words, self.offset);
        self.offset = _mm256_add_epi64(self.offset, _mm256_set1_epi64x(K.wrapping_mul(8) as i64));
        z = _mm256_xor_si256(z, _mm256_srli_epi64::<30>(z));
        z = multiply(z, MIX_1);
        z = _mm256_xor_si256(z, _mm256_srli_epi64::<27>(z));
        z = multiply(z, MIX_2);
        z = _mm256_xor_si256(z, _mm256_srli_epi64::<31>(z));
        self.sum = _mm256_add_epi64(self.sum, z);
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn end(&self, sums: &mut [u64; 2]) {
        let low = _mm256_castsi256_si128(self.sum);
        let both = _mm_add_epi64(low, _mm256_extracti128_si256::<1>(self.sum));
        sums[0] = sums[0].wrapping_add(_mm_extract_epi64::<0>(both) as u64);
        sums[1] = sums[1].wrapping_add(_mm_extract_epi64::<1>(both) as u64);
    }
}

/// Low halves of 64-bit products. AVX2 only multiplies 32-bit factors.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn multiply(z: __m256i, factor: u64) -> __m256i {
    let low = _mm256_set1_epi64x(factor as i64);
    let high = _mm256_set1_epi64x((factor >> 32) as i64);
    let crossed = _mm256_add_epi64(
        _mm256_mul_epu32(_mm256_srli_epi64::<32>(z), low),
        _mm256_mul_epu32(z, high),
    );
    _mm256_add_epi64(_mm256_mul_epu32(z, low), _mm256_slli_epi64::<32>(crossed))
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn load(lanes: &[f64; 8]) -> [__m256d; 2] {
    let (halves, _) = lanes.as_chunks::<4>();
    // SAFETY: four numbers are 32 bytes; the loads need no alignment.
    unsafe {
        [
            _mm256_loadu_pd(halves[0].as_ptr()),
            _mm256_loadu_pd(halves[1].as_ptr()),
        ]
    }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn store(lanes: &mut [f64; 8], values: [__m256d; 2]) {
    let (halves, _) = lanes.as_chunks_mut::<4>();
    // SAFETY: four numbers are 32 bytes; the stores need no alignment.
    unsafe {
        _mm256_storeu_pd(halves[0].as_mut_ptr(), values[0]);
        _mm256_storeu_pd(halves[1].as_mut_ptr(), values[1]);
    }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn widen(values: __m256) -> [__m256d; 2] {
    [
        _mm256_cvtps_pd(_mm256_castps256_ps128(values)),
        _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(values)),
    ]
}

/// Converts eight f64 back to the f32 that they came from.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn narrow([low, high]: [__m256d; 2]) -> __m256 {
    _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low))
}

/// Processes all but the last few elements. Returns their number, a multiple of 8.
#[target_feature(enable = "avx2,fma")]
pub(super) fn f32(data: &[f32], word: u64, sums: &mut [u64; 2], pass: &mut Pass) -> usize {
    let (groups, rest) = data.as_chunks::<8>();
    let mut hash = Hash::starting_at(word);
    let (mut sum, mut squares) = (load(&pass.sum), load(&pass.squares));
    let (mut min, mut max) = (narrow(load(&pass.min)), narrow(load(&pass.max)));
    let infinity = _mm256_set1_ps(f32::INFINITY);
    let minus_infinity = _mm256_set1_ps(f32::NEG_INFINITY);
    let sign = _mm256_set1_ps(-0.0);
    let (mut nan, mut inf, mut zero) = (0, 0, 0);
    for group in groups {
        // SAFETY: eight numbers are 32 bytes; the load needs no alignment.
        let values = unsafe { _mm256_loadu_ps(group.as_ptr()) };
        hash.add(_mm256_castps_si256(values));
        let magnitude = _mm256_andnot_ps(sign, values);
        let finite = _mm256_cmp_ps::<_CMP_LT_OQ>(magnitude, infinity);
        let none = _mm256_cmp_ps::<_CMP_EQ_OQ>(values, _mm256_setzero_ps());
        zero += _mm256_movemask_ps(none).count_ones();
        if _mm256_movemask_ps(finite) != 0xff {
            let unordered = _mm256_cmp_ps::<_CMP_UNORD_Q>(values, values);
            nan += _mm256_movemask_ps(unordered).count_ones();
            let endless = _mm256_cmp_ps::<_CMP_EQ_OQ>(magnitude, infinity);
            inf += _mm256_movemask_ps(endless).count_ones();
        }
        min = _mm256_min_ps(_mm256_blendv_ps(infinity, values, finite), min);
        max = _mm256_max_ps(_mm256_blendv_ps(minus_infinity, values, finite), max);
        let kept = widen(_mm256_and_ps(values, finite));
        for half in 0..2 {
            sum[half] = _mm256_add_pd(sum[half], kept[half]);
            // The square of an f32 is exact in f64, so it is rounded once either way.
            squares[half] = _mm256_fmadd_pd(kept[half], kept[half], squares[half]);
        }
    }
    hash.end(sums);
    store(&mut pass.sum, sum);
    store(&mut pass.squares, squares);
    store(&mut pass.min, widen(min));
    store(&mut pass.max, widen(max));
    let taken = data.len() - rest.len();
    pass.count(taken, nan, inf, zero);
    taken
}

/// Processes all but the last few elements. Returns their number, a multiple of 8.
#[target_feature(enable = "avx2,fma")]
pub(super) fn f64(data: &[f64], word: u64, sums: &mut [u64; 2], pass: &mut Pass) -> usize {
    let (groups, rest) = data.as_chunks::<8>();
    let mut hash = Hash::starting_at(word);
    let (mut sum, mut squares) = (load(&pass.sum), load(&pass.squares));
    let (mut min, mut max) = (load(&pass.min), load(&pass.max));
    let infinity = _mm256_set1_pd(f64::INFINITY);
    let minus_infinity = _mm256_set1_pd(f64::NEG_INFINITY);
    let sign = _mm256_set1_pd(-0.0);
    let (mut nan, mut inf, mut zero) = (0, 0, 0);
    for group in groups {
        for (half, values) in load(group).into_iter().enumerate() {
            hash.add(_mm256_castpd_si256(values));
            let magnitude = _mm256_andnot_pd(sign, values);
            let finite = _mm256_cmp_pd::<_CMP_LT_OQ>(magnitude, infinity);
            let none = _mm256_cmp_pd::<_CMP_EQ_OQ>(values, _mm256_setzero_pd());
            zero += _mm256_movemask_pd(none).count_ones();
            if _mm256_movemask_pd(finite) != 0xf {
                let unordered = _mm256_cmp_pd::<_CMP_UNORD_Q>(values, values);
                nan += _mm256_movemask_pd(unordered).count_ones();
                let endless = _mm256_cmp_pd::<_CMP_EQ_OQ>(magnitude, infinity);
                inf += _mm256_movemask_pd(endless).count_ones();
            }
            let low = _mm256_blendv_pd(infinity, values, finite);
            min[half] = _mm256_min_pd(low, min[half]);
            let high = _mm256_blendv_pd(minus_infinity, values, finite);
            max[half] = _mm256_max_pd(high, max[half]);
            let kept = _mm256_and_pd(values, finite);
            sum[half] = _mm256_add_pd(sum[half], kept);
            // Not fused: the square of an f64 is rounded on its own.
            squares[half] = _mm256_add_pd(squares[half], _mm256_mul_pd(kept, kept));
        }
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

//! The two loops in SSE2, AVX2 and AVX-512, by the instructions' own functions.

use std::arch::x86_64::*;

/// Chains that do not wait for each other: more than latency times units.
pub const ACCUMULATORS: usize = 14;

/// A cache line of doubles.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct Line(pub [f64; 8]);

/// An instruction set.
#[derive(Clone, Copy)]
pub enum Set {
    Sse2,
    Avx2,
    Avx512,
}

impl Set {
    /// Loops of this processor.
    pub fn there() -> impl Iterator<Item = Self> {
        let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        let avx512 = is_x86_feature_detected!("avx512f");
        let sets = [
            (Self::Sse2, true),
            (Self::Avx2, avx2),
            (Self::Avx512, avx512),
        ];
        sets.into_iter()
            .filter_map(|(set, is_there)| is_there.then_some(set))
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Sse2 => "sse2",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// Backend name for f64.
    pub fn name_f64(self) -> &'static str {
        match self {
            Self::Sse2 => "sse2 f64",
            Self::Avx2 => "avx2 f64",
            Self::Avx512 => "avx512 f64",
        }
    }

    /// f32 in a register.
    pub fn lanes(self) -> u64 {
        match self {
            Self::Sse2 => 4,
            Self::Avx2 => 8,
            Self::Avx512 => 16,
        }
    }

    /// `a[i] = b[i] + 0.5 * c[i]`
    pub fn triad(self, a: &mut [Line], b: &[Line], c: &[Line]) {
        // SAFETY: sets are made by `there`.
        unsafe {
            match self {
                Self::Sse2 => triad_sse2(a, b, c),
                Self::Avx2 => triad_avx2(a, b, c),
                Self::Avx512 => triad_avx512(a, b, c),
            }
        }
    }

    /// The same in f64, of which a register holds half as many.
    pub fn fma_f64(self, steps: u64) -> [f64; ACCUMULATORS] {
        // SAFETY: sets are made by `there`.
        unsafe {
            match self {
                Self::Sse2 => fma_sse2_f64(steps),
                Self::Avx2 => fma_avx2_f64(steps),
                Self::Avx512 => fma_avx512_f64(steps),
            }
        }
    }

    /// `x = x * 0.5 + 1`, so often, in every lane of every accumulator; gives some lanes' end.
    pub fn fma(self, steps: u64) -> [f32; ACCUMULATORS] {
        // SAFETY: sets are made by `there`.
        unsafe {
            match self {
                Self::Sse2 => fma_sse2(steps),
                Self::Avx2 => fma_avx2(steps),
                Self::Avx512 => fma_avx512(steps),
            }
        }
    }
}

macro_rules! triad {
    ($name:ident, $feature:literal, $step:literal, $set:ident, $load:ident, $store:ident, |$x:ident, $f:ident, $y:ident| $sum:expr) => {
        #[target_feature(enable = $feature)]
        fn $name(a: &mut [Line], b: &[Line], c: &[Line]) {
            let $f = $set(0.5);
            for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
                for at in (0..8).step_by($step) {
                    // SAFETY: a register from `at` on lies in the line, which is aligned.
                    unsafe {
                        let $x = $load(c.0.as_ptr().add(at));
                        let $y = $load(b.0.as_ptr().add(at));
                        $store(a.0.as_mut_ptr().add(at), $sum);
                    }
                }
            }
        }
    };
}

triad!(
    triad_sse2,
    "sse2",
    2,
    _mm_set1_pd,
    _mm_load_pd,
    _mm_store_pd,
    |x, f, y| _mm_add_pd(_mm_mul_pd(x, f), y)
);
triad!(
    triad_avx2,
    "avx2,fma",
    4,
    _mm256_set1_pd,
    _mm256_load_pd,
    _mm256_store_pd,
    |x, f, y| _mm256_fmadd_pd(x, f, y)
);
triad!(
    triad_avx512,
    "avx512f",
    8,
    _mm512_set1_pd,
    _mm512_load_pd,
    _mm512_store_pd,
    |x, f, y| _mm512_fmadd_pd(x, f, y)
);

macro_rules! fma {
    ($name:ident, $lane:ty, $feature:literal, $set:ident, $first:ident, |$x:ident, $f:ident, $one:ident| $next:expr) => {
        #[target_feature(enable = $feature)]
        fn $name(steps: u64) -> [$lane; ACCUMULATORS] {
            // Not to be known beforehand.
            let [start, half, one] = std::hint::black_box([1.5, 0.5, 1.0]);
            let ($f, $one) = ($set(half), $set(one));
            let mut chains = [$set(start); ACCUMULATORS];
            for _ in 0..steps {
                for chain in &mut chains {
                    let $x = *chain;
                    *chain = $next;
                }
            }
            std::hint::black_box(chains).map(|chain| $first(chain))
        }
    };
}

fma!(
    fma_sse2,
    f32,
    "sse2",
    _mm_set1_ps,
    _mm_cvtss_f32,
    |x, f, one| _mm_add_ps(_mm_mul_ps(x, f), one)
);
fma!(
    fma_avx2,
    f32,
    "avx2,fma",
    _mm256_set1_ps,
    _mm256_cvtss_f32,
    |x, f, one| _mm256_fmadd_ps(x, f, one)
);
fma!(
    fma_avx512,
    f32,
    "avx512f",
    _mm512_set1_ps,
    _mm512_cvtss_f32,
    |x, f, one| _mm512_fmadd_ps(x, f, one)
);
fma!(
    fma_sse2_f64,
    f64,
    "sse2",
    _mm_set1_pd,
    _mm_cvtsd_f64,
    |x, f, one| _mm_add_pd(_mm_mul_pd(x, f), one)
);
fma!(
    fma_avx2_f64,
    f64,
    "avx2,fma",
    _mm256_set1_pd,
    _mm256_cvtsd_f64,
    |x, f, one| _mm256_fmadd_pd(x, f, one)
);
fma!(
    fma_avx512_f64,
    f64,
    "avx512f",
    _mm512_set1_pd,
    _mm512_cvtsd_f64,
    |x, f, one| _mm512_fmadd_pd(x, f, one)
);

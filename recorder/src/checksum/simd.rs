//! The pass over floats in vector registers, where the processor has them.
//!
//! Bit for bit what the portable code gives: the same eight partial sums, the same order, and
//! of equal extremes (the two zeros) the first one in its lane.

use super::statistics::Pass;

/// Instructions that a pass may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// Instructions that every processor has.
    Portable,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 F and DQ, which has a 64-bit multiplication.
    Avx512,
}

impl Width {
    pub const ALL: [Self; 3] = [Self::Portable, Self::Avx2, Self::Avx512];

    /// Returns whether this processor supports it.
    pub fn is_there(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq")
            }
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }

    /// The widest this processor has.
    pub fn best() -> Self {
        let there = Self::ALL.into_iter().rev().find(|width| width.is_there());
        there.unwrap_or(Self::Portable)
    }
}

macro_rules! floats {
    ($($float:ident)*) => {$(
        /// Processes as much of a block as possible. The number of the first word is `word`, which is even.
        /// Returns the number of elements, a multiple of eight and of two words.
        #[cfg(target_arch = "x86_64")]
        pub(super) fn $float(
            width: Width,
            data: &[$float],
            word: u64,
            sums: &mut [u64; 2],
            pass: &mut Pass,
        ) -> usize {
            if !width.is_there() {
                return 0;
            }
            match width {
                Width::Portable => 0,
                // SAFETY: the processor has the features that the function needs.
                Width::Avx2 => unsafe { super::avx2::$float(data, word, sums, pass) },
                // SAFETY: as above.
                Width::Avx512 => unsafe { super::avx512::$float(data, word, sums, pass) },
            }
        }

        /// Processes nothing: there is only portable code for this processor.
        #[cfg(not(target_arch = "x86_64"))]
        pub(super) fn $float(
            _: Width,
            _: &[$float],
            _: u64,
            _: &mut [u64; 2],
            _: &mut Pass,
        ) -> usize {
            0
        }
    )*};
}

floats! { f32 f64 }

//! Spellings of the known bricks and categories that programs use.

use std::fmt;

use super::{BrickCategory, BrickId};

#[expect(non_upper_case_globals, reason = "they stand for variants")]
#[expect(missing_docs, reason = "the names are the documentation")]
impl BrickId {
    pub const SpMV: Self = Self::SpMv;
    pub const SpMM: Self = Self::SpMm;
    pub const FFT1D: Self = Self::Fft1d;
    pub const FFT2D: Self = Self::Fft2d;
    pub const LUFactorize: Self = Self::LuFactorize;
    pub const QRFactorize: Self = Self::QrFactorize;
    pub const SVDCompute: Self = Self::SvdCompute;
}

impl BrickId {
    /// Every known brick, by number.
    pub const ALL: [Self; Self::COUNT] = {
        let mut all = [Self::RmsNorm; Self::COUNT];
        let mut number = 0;
        while number < all.len() {
            all[number] = super::ROWS[number].0;
            number += 1;
        }
        all
    };

    /// Returns whether a known brick has that number.
    pub fn validate_index(index: usize) -> bool {
        index < Self::COUNT
    }

    /// Like [`BrickId::from_name`]. Unlike the original, it accepts `softmax` for `Softmax`.
    #[expect(
        clippy::should_implement_trait,
        reason = "the name that programs call; it fails without an error"
    )]
    pub fn from_str(name: &str) -> Option<Self> {
        Self::from_name(name)
    }
}

impl fmt::Display for BrickId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The category of unknown bricks.
impl Default for BrickCategory {
    fn default() -> Self {
        Self::Other
    }
}

impl BrickCategory {
    /// Number of categories.
    pub const COUNT: usize = Self::ALL.len();
}

impl fmt::Display for BrickCategory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

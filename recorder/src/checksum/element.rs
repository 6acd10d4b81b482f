//! The element types of tensors.

use super::simd::{self, Width};
use super::statistics::Pass;

/// A number that tensors are made of: `f32`, `f64`, `i8` to `i64`, `u8` to `u64`, and the bits of
/// 16-bit floats, [`F16`](crate::F16) and [`Bf16`](crate::Bf16).
pub trait Element: sealed::Number {
    /// Text in column `checksums.dtype`.
    const DTYPE: &'static str;
}

pub(super) mod sealed {
    use super::{Pass, Width};

    /// Plain numbers without padding: every bit pattern is a value.
    pub trait Number: Sized + Copy {
        fn as_f64(self) -> f64;

        /// Processes as much of a block as possible with wider instructions. The number of the first word
        /// is `word`, which is even. Returns the number of elements, a multiple of eight and of two words.
        fn simd_prefix(
            width: Width,
            data: &[Self],
            word: u64,
            sums: &mut [u64; 2],
            pass: &mut Pass,
        ) -> usize;
    }
}

macro_rules! elements {
    ($($number:ident $wide:expr,)*) => {$(
        impl sealed::Number for $number {
            #[inline(always)]
            #[allow(clippy::cast_lossless, reason = "one macro for all widths")]
            fn as_f64(self) -> f64 {
                self as f64
            }

            fn simd_prefix(
                width: Width,
                data: &[Self],
                word: u64,
                sums: &mut [u64; 2],
                pass: &mut Pass,
            ) -> usize {
                $wide(width, data, word, sums, pass)
            }
        }

        impl Element for $number {
            const DTYPE: &'static str = stringify!($number);
        }
    )*};
}

/// For integers the compiler vectorizes the portable code well enough.
fn none<T>(_: Width, _: &[T], _: u64, _: &mut [u64; 2], _: &mut Pass) -> usize {
    0
}

elements! {
    f32 simd::f32, f64 simd::f64,
    i8 none, i16 none, i32 none, i64 none, u8 none, u16 none, u32 none, u64 none,
}

#[cfg(target_endian = "big")]
compile_error!(
    "the hash is defined over little-endian bytes; elements would have to be swapped here"
);

pub(crate) fn bytes<T: Element>(elements: &[T]) -> &[u8] {
    // SAFETY: elements are plain numbers without padding (the trait is sealed), so all their
    // bytes are initialised; the length is that of the slice, in bytes.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

//! The element types of tensors.

/// A number that tensors are made of: `f32`, `f64`, `i8` to `i64`, `u8` to `u64`.
pub trait Element: sealed::Number {
    /// As it stands in column `checksums.dtype`.
    const DTYPE: &'static str;
}

mod sealed {
    /// Plain numbers without padding: every bit pattern is a value.
    pub trait Number: Copy {
        fn as_f64(self) -> f64;
    }
}

macro_rules! elements {
    ($($number:ident)*) => {$(
        impl sealed::Number for $number {
            #[inline(always)]
            #[allow(clippy::cast_lossless, reason = "one macro for all widths")]
            fn as_f64(self) -> f64 {
                self as f64
            }
        }

        impl Element for $number {
            const DTYPE: &'static str = stringify!($number);
        }
    )*};
}

elements! { f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 }

#[cfg(target_endian = "big")]
compile_error!(
    "the hash is defined over little-endian bytes; elements would have to be swapped here"
);

/// The bytes of the elements, in order.
pub(super) fn bytes<T: Element>(elements: &[T]) -> &[u8] {
    // SAFETY: elements are plain numbers without padding (the trait is sealed), so all their
    // bytes are initialised; the length is that of the slice, in bytes.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

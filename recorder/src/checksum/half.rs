//! 16-bit floats, by their bits.

use super::Element;
use super::element::sealed::Number;
use super::simd::Width;
use super::statistics::Pass;

macro_rules! halves {
    ($($(#[$doc:meta])* $half:ident $dtype:literal $widen:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[repr(transparent)]
        pub struct $half(pub u16);

        impl $half {
            /// These bits as elements, in place.
            pub fn from_bits(bits: &[u16]) -> &[Self] {
                // SAFETY: the type is a transparent wrapper of u16, and every bit pattern is a value.
                unsafe { std::slice::from_raw_parts(bits.as_ptr().cast(), bits.len()) }
            }

            /// The value, exactly.
            pub fn to_f32(self) -> f32 {
                $widen(self.0)
            }
        }

        impl Number for $half {
            #[inline(always)]
            fn as_f64(self) -> f64 {
                f64::from(self.to_f32())
            }

            fn simd_prefix(_: Width, _: &[Self], _: u64, _: &mut [u64; 2], _: &mut Pass) -> usize {
                0
            }
        }

        impl Element for $half {
            const DTYPE: &'static str = $dtype;
        }
    )*};
}

halves! {
    /// Bits of an IEEE 754 binary16.
    F16 "f16" widen_f16;
    /// Upper half of the bits of an f32.
    Bf16 "bf16" |bits: u16| f32::from_bits(u32::from(bits) << 16);
}

fn widen_f16(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let magnitude = u32::from(bits & 0x7fff);
    if magnitude >= 0x7c00 {
        // Infinite, or NaN with its payload.
        return f32::from_bits(sign | 0x7f80_0000 | (magnitude & 0x3ff) << 13);
    }
    // Exponent and fraction moved to their places, then scaled from bias 127 to bias 15: exact,
    // for subnormal numbers too.
    let scaled = f32::from_bits(magnitude << 13) * f32::from_bits((127 + 112) << 23);
    f32::from_bits(sign | scaled.to_bits())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint;

    /// By the definition: sign, exponent, fraction.
    fn slow_f16(bits: u16) -> f64 {
        let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
        let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
        sign * match exponent {
            0 => fraction * 2f64.powi(-24),
            31 if fraction == 0.0 => f64::INFINITY,
            31 => f64::NAN,
            _ => (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
        }
    }

    #[test]
    fn every_f16_has_its_value() {
        for bits in 0..=u16::MAX {
            let (found, wanted) = (f64::from(F16(bits).to_f32()), slow_f16(bits));
            assert!(
                found == wanted || found.is_nan() && wanted.is_nan(),
                "{bits:04x}"
            );
        }
    }

    #[test]
    fn halves_are_fingerprinted_by_bits_and_value() {
        let of = fingerprint(F16::from_bits(&[0x3c00, 0xc000, 0x7c00, 0x7e00, 0]));
        let statistics = of.statistics;
        assert_eq!((statistics.min, statistics.max), (Some(-2.0), Some(1.0)));
        assert_eq!(
            (
                statistics.nan_count,
                statistics.inf_count,
                statistics.zero_count
            ),
            (1, 1, 1)
        );
        assert_eq!(
            of.hash,
            fingerprint(&[0x3c00u16, 0xc000, 0x7c00, 0x7e00, 0]).hash
        );
        let of = fingerprint(Bf16::from_bits(&[0x3f80, 0xc040]));
        assert_eq!(
            (of.statistics.min, of.statistics.max),
            (Some(-3.0), Some(1.0))
        );
        assert_eq!((F16::DTYPE, Bf16::DTYPE), ("f16", "bf16"));
    }
}

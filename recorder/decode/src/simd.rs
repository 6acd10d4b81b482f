//! The library's functions on slices, made safe: lengths checked once here.

use super::backend::{Backend, Simd};
use trueno::backends::VectorBackend;
use trueno::backends::scalar::ScalarBackend;
#[cfg(target_arch = "x86_64")]
use trueno::backends::{avx2::Avx2Backend, avx512::Avx512Backend, sse2::Sse2Backend};

/// `Avx512Backend::add` and `mul` (0.32.0) switch to aligned streaming stores at 8,192 elements without checking
/// the alignment, and crash with SIGSEGV. Smaller pieces use the ordinary stores.
const PIECE: usize = 4096;

/// Calls a function that is generic over the library's backend type.
///
/// Code behind `target_feature` is never inlined into code without it, so every library call is a real call. The
/// choice is made once, outside.
macro_rules! with_backend {
    ($simd:expr, $function:ident ( $($argument:expr),* $(,)? )) => {
        // SAFETY: a `Simd` exists only for instruction sets this CPU was found
        // to have; the lengths are checked by the wrapper that expands this.
        unsafe {
            match $simd.backend() {
                Backend::Scalar => $function::<ScalarBackend>($($argument),*),
                #[cfg(target_arch = "x86_64")]
                Backend::Sse2 => $function::<Sse2Backend>($($argument),*),
                #[cfg(target_arch = "x86_64")]
                Backend::Avx2 => $function::<Avx2Backend>($($argument),*),
                #[cfg(target_arch = "x86_64")]
                Backend::Avx512 => $function::<Avx512Backend>($($argument),*),
                #[cfg(not(target_arch = "x86_64"))]
                Backend::Sse2 | Backend::Avx2 | Backend::Avx512 => {
                    unreachable!("a Simd of another architecture cannot be made")
                }
            }
        }
    };
}

/// `out[i] = rows[i] · x`, where row `i` is the `x.len()` values at `i * stride`.
pub fn row_dots(simd: Simd, rows: &[f32], stride: usize, x: &[f32], out: &mut [f32]) {
    assert!(stride >= x.len() || out.len() <= 1, "rows overlap");
    if let Some(last) = out.len().checked_sub(1) {
        assert!(rows.len() >= last * stride + x.len(), "matrix too short");
    }
    with_backend!(simd, row_dots_on(rows, stride, x, out))
}

/// # Safety
/// The CPU has what `B` needs.
unsafe fn row_dots_on<B: VectorBackend>(rows: &[f32], stride: usize, x: &[f32], out: &mut [f32]) {
    for (i, value) in out.iter_mut().enumerate() {
        // SAFETY: both slices have `x.len()` elements; the CPU by the caller.
        *value = unsafe { B::dot(&rows[i * stride..][..x.len()], x) };
    }
}

/// `out[i][j] += a[i] · b[j]`: `a` is rows of `depth` values, `b` likewise,
/// `out` rows of `out_stride`.
pub fn add_products(
    simd: Simd,
    a: &[f32],
    b: &[f32],
    depth: usize,
    out: &mut [f32],
    out_stride: usize,
) {
    let (rows, cols) = (a.len() / depth, b.len() / depth);
    assert!(
        a.len() == rows * depth && b.len() == cols * depth && cols <= out_stride,
        "ragged block"
    );
    assert!(
        rows == 0 || out.len() >= (rows - 1) * out_stride + cols,
        "output block too short"
    );
    with_backend!(simd, add_products_on(a, b, depth, out, out_stride))
}

/// # Safety
/// The CPU has what `B` needs.
unsafe fn add_products_on<B: VectorBackend>(
    a: &[f32],
    b: &[f32],
    depth: usize,
    out: &mut [f32],
    out_stride: usize,
) {
    for (a_row, out_row) in a.chunks_exact(depth).zip(out.chunks_mut(out_stride)) {
        for (b_row, value) in b.chunks_exact(depth).zip(out_row) {
            // SAFETY: both slices have `depth` elements; the CPU by the caller.
            *value += unsafe { B::dot(a_row, b_row) };
        }
    }
}

/// `a · a`.
pub fn sum_of_squares(simd: Simd, a: &[f32]) -> f32 {
    with_backend!(simd, sum_of_squares_on(a))
}

/// # Safety
/// The CPU has what `B` needs.
unsafe fn sum_of_squares_on<B: VectorBackend>(a: &[f32]) -> f32 {
    // SAFETY: the same slice twice; the CPU by the caller.
    unsafe { B::dot(a, a) }
}

macro_rules! reduction {
    ($(#[$doc:meta])* $name:ident, $inner:ident) => {
        $(#[$doc])*
        pub fn $name(simd: Simd, a: &[f32]) -> f32 {
            assert!(!a.is_empty(), "nothing to reduce");
            with_backend!(simd, $inner(a))
        }

        /// # Safety
        /// `a` is not empty; the CPU has what `B` needs.
        unsafe fn $inner<B: VectorBackend>(a: &[f32]) -> f32 {
            // SAFETY: by the caller.
            unsafe { B::$name(a) }
        }
    };
}

reduction!(
    /// The largest element.
    max, max_on);
reduction!(
    /// The sum of all elements.
    sum, sum_on);

macro_rules! elementwise {
    ($(#[$doc:meta])* $name:ident, $inner:ident ( $($operand:ident),+ )) => {
        $(#[$doc])*
        pub fn $name(simd: Simd, $($operand: &[f32],)+ out: &mut [f32]) {
            $(assert_eq!($operand.len(), out.len(), "unequal lengths");)+
            with_backend!(simd, $inner($($operand,)+ out))
        }

        /// # Safety
        /// Equal lengths; the CPU has what `B` needs.
        unsafe fn $inner<B: VectorBackend>($($operand: &[f32],)+ out: &mut [f32]) {
            for (piece, out) in out.chunks_mut(PIECE).enumerate() {
                let range = piece * PIECE..piece * PIECE + out.len();
                // SAFETY: pieces of equal length; the CPU by the caller.
                unsafe { B::$name($(&$operand[range.clone()],)+ out) }
            }
        }
    };
}

elementwise!(
    /// `out = a + b`.
    add, add_on(a, b));
elementwise!(
    /// `out = a * b`.
    mul, mul_on(a, b));
elementwise!(
    /// `out = a * b + c`.
    fma, fma_on(a, b, c));
elementwise!(
    /// `out = e^a`.
    exp, exp_on(a));
elementwise!(
    /// `out = a / (1 + e^-a)`.
    swish, swish_on(a));

pub fn scale(simd: Simd, a: &[f32], factor: f32, out: &mut [f32]) {
    assert_eq!(a.len(), out.len(), "unequal lengths");
    with_backend!(simd, scale_on(a, factor, out))
}

/// # Safety
/// Equal lengths; the CPU has what `B` needs.
unsafe fn scale_on<B: VectorBackend>(a: &[f32], factor: f32, out: &mut [f32]) {
    // SAFETY: by the caller.
    unsafe { B::scale(a, factor, out) }
}

//! FLOPs and bytes of a call, from its arguments.
//!
//! FLOPs of the blocked routines and factorisations are those of Blackford and Dongarra, "Installation guide for
//! LAPACK", LAPACK Working Note 41 (1999), appendix C: multiplications and additions apart, as of complex numbers one is
//! 6 FLOPs and the other 2. Terms of α and β are left out. Where it has no formula, as for singular values and eigenvalues,
//! whose work depends on the matrix, there is none here. Bytes are the least that must move: each operand once, an
//! output that is read before twice, half of a triangular or symmetric matrix.

use crate::event::Request;
use crate::routines::Routine;

/// Work of a call; `None` without a formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    pub elements: Option<u64>,
    pub flops: Option<u64>,
    pub bytes: Option<u64>,
}

/// Larger sizes are invalid, and products of three would overflow.
const MAX_SIZE: i64 = 1 << 40;

impl Work {
    /// The requested work, or none if the sizes are invalid.
    pub fn new(request: &Request) -> Self {
        let is_size = |size: &i64| (0..=MAX_SIZE).contains(size);
        let none = Self {
            elements: None,
            flops: None,
            bytes: None,
        };
        if !request.sizes.iter().all(is_size) {
            return none;
        }
        let number = |value: i128| u64::try_from(value).ok();
        let Some((elements, moved)) = elements(request) else {
            return none;
        };
        let per_element = request.precision.bytes() as i128;
        let flops = sixfold(request).map(|(multiplications, additions)| {
            if request.precision.is_complex() {
                multiplications + additions / 3
            } else {
                (multiplications + additions) / 6
            }
        });
        Self {
            elements: number(elements),
            flops: flops.and_then(number),
            bytes: moved.and_then(|moved| number(moved * per_element)),
        }
    }
}

fn elements(request: &Request) -> Option<(i128, Option<i128>)> {
    let [m, n, k] = request.sizes.map(i128::from);
    // Of an output.
    let times = if request.is_beta_zero { 1 } else { 2 };
    let half = |n: i128| n * (n + 1) / 2;
    let side = if request.is_right { n } else { m };
    let (output, moved) = match request.routine {
        Routine::Gemm => (m * n, m * k + k * n + times * m * n),
        // One vector of each length; which of them is the output, the transposition says, and it is no matter but for β.
        Routine::Gemv => (m, m * n + n + times * m),
        Routine::Ger => (m * n, 2 * m * n + m + n),
        Routine::Symm => (m * n, half(side) + m * n + times * m * n),
        Routine::Syrk => {
            let (n, k) = (m, n);
            (half(n), n * k + times * half(n))
        }
        Routine::Trmm | Routine::Trsm => (m * n, half(side) + 2 * m * n),
        Routine::Dot => (m, 2 * m),
        Routine::Axpy => (m, 3 * m),
        Routine::Getrf | Routine::Geqrf => (m * n, 2 * m * n),
        Routine::Orgqr | Routine::Ungqr => (m * n, m * k + m * n),
        Routine::Getri => (m * m, 2 * m * m),
        Routine::Potrf | Routine::Potri => (half(m), 2 * half(m)),
        Routine::Getrs => (m * n, m * m + 2 * m * n),
        Routine::Trtrs => (m * n, half(m) + 2 * m * n),
        Routine::Potrs => (m * n, half(m) + 2 * m * n),
        Routine::Gesv => (m * n, 2 * m * m + 2 * m * n),
        Routine::Posv => (m * n, 2 * half(m) + 2 * m * n),
        Routine::Gesdd | Routine::Gesvd | Routine::Gelsd => return Some((m * n, None)),
        Routine::Syevd | Routine::Heevd | Routine::Geev => return Some((m * m, None)),
    };
    Some((output, Some(moved)))
}

/// Six times the multiplications and additions, so that the numbers are integers.
fn sixfold(request: &Request) -> Option<(i128, i128)> {
    let [m, n, k] = request.sizes.map(i128::from);
    let both = |count: i128| Some((6 * count, 6 * count));
    let side = if request.is_right { n } else { m };
    let other = if request.is_right { m } else { n };
    match request.routine {
        Routine::Gemm => both(m * n * k),
        Routine::Gemv | Routine::Ger => both(m * n),
        Routine::Symm => both(side * m * n),
        Routine::Syrk => Some((3 * n * m * (m + 1), 3 * n * m * (m + 1))),
        Routine::Trmm | Routine::Trsm => {
            Some((3 * other * side * (side + 1), 3 * other * side * (side - 1)))
        }
        Routine::Dot | Routine::Axpy => both(m),
        Routine::Getrf => Some(getrf(m, n)),
        Routine::Getrs => Some(getrs(m, n)),
        Routine::Trtrs => Some((3 * n * m * (m + 1), 3 * n * m * (m - 1))),
        Routine::Gesv => Some(sum(getrf(m, m), getrs(m, n))),
        Routine::Getri => Some((m * (5 + m * (4 * m + 3)), m * (5 + m * (4 * m - 9)))),
        Routine::Potrf => Some(potrf(m)),
        Routine::Potrs => Some(potrs(m, n)),
        Routine::Posv => Some(sum(potrf(m), potrs(m, n))),
        Routine::Potri => Some((m * (4 + m * (2 * m + 6)), m * (1 + m * (2 * m - 3)))),
        Routine::Geqrf => Some(geqrf(m, n)),
        Routine::Orgqr | Routine::Ungqr => Some((
            k * (12 * m * n + 12 * n - 10 + k * (4 * k - 6 * (m + n) - 6)),
            k * (12 * m * n + 6 * n - 6 * m + 2 + k * (4 * k - 6 * (m + n))),
        )),
        Routine::Gesdd
        | Routine::Gesvd
        | Routine::Gelsd
        | Routine::Syevd
        | Routine::Heevd
        | Routine::Geev => None,
    }
}

fn sum(a: (i128, i128), b: (i128, i128)) -> (i128, i128) {
    (a.0 + b.0, a.1 + b.1)
}

/// For m < n, which the note omits, the numbers of the transposed matrix.
fn getrf(m: i128, n: i128) -> (i128, i128) {
    let (m, n) = (m.max(n), m.min(n));
    (
        n * (n * (3 * m - n - 3) + 3 * m) + 4 * n,
        n * (n * (3 * m - n) - 3 * m) + n,
    )
}

fn getrs(n: i128, right_sides: i128) -> (i128, i128) {
    (6 * right_sides * n * n, 6 * right_sides * n * (n - 1))
}

fn potrf(n: i128) -> (i128, i128) {
    (n * n * n + 3 * n * n + 2 * n, n * n * n - n)
}

fn potrs(n: i128, right_sides: i128) -> (i128, i128) {
    (6 * right_sides * n * (n + 1), 6 * right_sides * n * (n - 1))
}

fn geqrf(m: i128, n: i128) -> (i128, i128) {
    if m > n {
        (
            n * (n * (3 - 2 * n + 6 * m) + 6 * m + 23),
            n * (n * (3 - 2 * n + 6 * m) + 5),
        )
    } else {
        (
            m * (m * (6 * n - 3 - 2 * m) + 12 * n + 23),
            m * (m * (6 * n - 3 - 2 * m) + 6 * n + 5),
        )
    }
}

#[cfg(test)]
mod tests;

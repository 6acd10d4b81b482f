use super::*;
use crate::routines::Precision;

fn work(routine: Routine, precision: Precision, sizes: [i64; 3]) -> Work {
    Work::new(&request(routine, precision, sizes))
}

fn request(routine: Routine, precision: Precision, sizes: [i64; 3]) -> Request {
    Request {
        routine,
        precision,
        sizes,
        is_right: false,
        is_beta_zero: false,
    }
}

fn flops(routine: Routine, sizes: [i64; 3]) -> u64 {
    work(routine, Precision::D, sizes).flops.unwrap()
}

#[test]
fn products_of_matrices() {
    let product = work(Routine::Gemm, Precision::D, [2, 3, 4]);
    assert_eq!(product.flops, Some(2 * 2 * 3 * 4));
    assert_eq!(product.elements, Some(6));
    assert_eq!(product.bytes, Some(8 * (2 * 4 + 4 * 3 + 2 * 6)));
    let overwritten = Request {
        is_beta_zero: true,
        ..request(Routine::Gemm, Precision::D, [2, 3, 4])
    };
    assert_eq!(Work::new(&overwritten).bytes, Some(8 * (8 + 12 + 6)));
    let complex = work(Routine::Gemm, Precision::C, [2, 3, 4]);
    assert_eq!(
        (complex.flops, complex.bytes),
        (Some(8 * 24), product.bytes)
    );
    let right = Request {
        is_right: true,
        ..request(Routine::Trsm, Precision::S, [2, 3, 0])
    };
    assert_eq!(Work::new(&right).flops, Some(2 * 3 * 3));
    assert_eq!(flops(Routine::Trsm, [2, 3, 0]), 3 * 2 * 2);
    assert_eq!(flops(Routine::Syrk, [5, 7, 0]), 7 * 5 * 6);
    assert_eq!(flops(Routine::Dot, [10, 0, 0]), 20);
}

/// Executes elimination and Cholesky's method and counts multiplications, divisions and additions.
#[test]
fn factorisations_count_as_they_are_done() {
    for n in 1..12_u64 {
        for m in n..12 {
            let mut count = 0;
            for column in 0..n {
                let (below, right) = (m - 1 - column, n - 1 - column);
                count += below + 2 * below * right;
            }
            // The note counts a reciprocal of each pivot as well.
            let counted = flops(Routine::Getrf, [m as i64, n as i64, 0]);
            assert!(
                counted.abs_diff(count) <= n,
                "{m} x {n}: {counted}, {count}"
            );
            assert_eq!(counted, flops(Routine::Getrf, [n as i64, m as i64, 0]));
        }
        let mut count = 0;
        for column in 0..n {
            let below = n - 1 - column;
            count += 1 + below + below * (below + 1);
        }
        assert_eq!(flops(Routine::Potrf, [n as i64, 0, 0]), count, "{n}");
    }
}

/// Leading terms from textbooks.
#[test]
fn large_factorisations_have_their_leading_terms() {
    const N: i64 = 10_000;
    let n3 = (N as f64).powi(3);
    for (routine, sizes, expected) in [
        (Routine::Getrf, [N, N, 0], 2.0 / 3.0),
        (Routine::Getri, [N, 0, 0], 4.0 / 3.0),
        (Routine::Gesv, [N, N, 0], 2.0 / 3.0 + 2.0),
        (Routine::Potrf, [N, 0, 0], 1.0 / 3.0),
        (Routine::Potri, [N, 0, 0], 2.0 / 3.0),
        (Routine::Posv, [N, N, 0], 1.0 / 3.0 + 2.0),
        (Routine::Geqrf, [N, N, 0], 4.0 / 3.0),
        (Routine::Geqrf, [2 * N, N, 0], 10.0 / 3.0),
        (Routine::Geqrf, [N, 2 * N, 0], 10.0 / 3.0),
        (Routine::Orgqr, [N, N, N], 4.0 / 3.0),
        (Routine::Trtrs, [N, N, 0], 1.0),
    ] {
        let share = flops(routine, sizes) as f64 / n3;
        assert!((share - expected).abs() < 2e-3, "{routine:?}: {share}");
    }
}

#[test]
fn what_has_no_formula_has_no_number() {
    let svd = work(Routine::Gesdd, Precision::D, [100, 50, 0]);
    assert_eq!(
        (svd.flops, svd.bytes, svd.elements),
        (None, None, Some(5000))
    );
    for sizes in [[-1, 2, 3], [i64::MAX; 3], [1 << 40; 3]] {
        let odd = work(Routine::Gemm, Precision::Z, sizes);
        assert_eq!(odd.flops, None, "{sizes:?}");
    }
    let empty = work(Routine::Gemm, Precision::D, [0, 5, 5]);
    assert_eq!(empty.flops, Some(0));
}

proptest::proptest! {
    /// A program may pass any sizes.
    #[test]
    fn no_sizes_overflow(sizes: [i64; 3], bits in 0..48_u32, at in 0..Routine::ALL.len(), precision in 0..4_usize, is_right: bool) {
        let sizes = sizes.map(|size| size >> (63 - bits.min(63)));
        let request = Request { is_right, ..request(Routine::ALL[at], Precision::ALL[precision], sizes) };
        let _ = Work::new(&request);
    }
}

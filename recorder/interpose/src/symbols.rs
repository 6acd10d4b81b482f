//! Names of BLAS and LAPACK, as libraries have them: of C and Fortran, with sizes of 32 and 64 bits, with the prefix of
//! NumPy's and SciPy's own OpenBLAS.

use std::arch::naked_asm;
use std::mem::transmute;

use trueno_preload_rows::routines::{Precision, Routine};

use crate::call::{Symbol, pass};

/// Defines one name: code that keeps the caller's address in a register that holds no argument, and continues in a
/// function with more arguments than any routine. Arguments that the caller did not pass are whatever its stack
/// holds, and are passed on unread.
macro_rules! symbol {
    ($name:expr, $routine:ident, $precision:ident, $is_c:expr, $is_wide:expr, $returns:ty) => {
        const _: () = {
            // SAFETY: the name is meant to be that of a function of BLAS or LAPACK.
            #[unsafe(export_name = $name)]
            #[unsafe(naked)]
            unsafe extern "C" fn entry() {
                #[cfg(target_arch = "x86_64")]
                naked_asm!("endbr64", "movq xmm2, qword ptr [rsp]", "jmp {passes}", passes = sym passes);
                #[cfg(target_arch = "aarch64")]
                naked_asm!("hint 34", "fmov d2, x30", "b {passes}", passes = sym passes);
            }

            unsafe extern "C-unwind" fn passes(
                a: usize, b: usize, c: usize, d: usize, e: usize, f: usize, g: usize, h: usize,
                i: usize, j: usize, k: usize, l: usize, m: usize, n: usize, o: usize, p: usize,
                alpha: f64, beta: f64, caller: f64,
            ) -> $returns {
                type Real = unsafe extern "C-unwind" fn(
                    usize, usize, usize, usize, usize, usize, usize, usize,
                    usize, usize, usize, usize, usize, usize, usize, usize,
                    f64, f64,
                ) -> $returns;
                const NAME: &str = concat!($name, "\0");
                static SYMBOL: Symbol = Symbol::new(
                    match std::ffi::CStr::from_bytes_with_nul(NAME.as_bytes()) {
                        Ok(name) => name,
                        Err(_) => panic!("a name with a zero"),
                    },
                    Routine::$routine, Precision::$precision, $is_c, $is_wide,
                );
                let integers = [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p];
                // SAFETY: the caller called that routine; what is found by the name is of its type.
                unsafe {
                    pass(&SYMBOL, caller, &integers, [alpha, beta], |real| {
                        transmute::<usize, Real>(real)(
                            a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, alpha, beta,
                        )
                    })
                }
            }
        };
    };
}

macro_rules! fortran {
    ($name:literal, $routine:ident, $precision:ident, $returns:ty) => {
        symbol!(
            concat!($name, "_"),
            $routine,
            $precision,
            false,
            false,
            $returns
        );
        symbol!(
            concat!($name, "_64_"),
            $routine,
            $precision,
            false,
            true,
            $returns
        );
        symbol!(
            concat!("scipy_", $name, "_"),
            $routine,
            $precision,
            false,
            false,
            $returns
        );
        symbol!(
            concat!("scipy_", $name, "_64_"),
            $routine,
            $precision,
            false,
            true,
            $returns
        );
    };
}

macro_rules! blas {
    ($($name:literal $routine:ident $precision:ident -> $returns:ty,)*) => {$(
        fortran!($name, $routine, $precision, $returns);
        symbol!(concat!("cblas_", $name), $routine, $precision, true, false, $returns);
        symbol!(concat!("cblas_", $name, "64_"), $routine, $precision, true, true, $returns);
        symbol!(concat!("cblas_", $name, "_64"), $routine, $precision, true, true, $returns);
        symbol!(concat!("scipy_cblas_", $name), $routine, $precision, true, false, $returns);
        symbol!(concat!("scipy_cblas_", $name, "64_"), $routine, $precision, true, true, $returns);
    )*};
}

macro_rules! lapack {
    ($($name:literal $routine:ident $precision:ident,)*) => {$(
        fortran!($name, $routine, $precision, usize);
    )*};
}

blas! {
    "sgemm" Gemm S -> usize, "dgemm" Gemm D -> usize, "cgemm" Gemm C -> usize, "zgemm" Gemm Z -> usize,
    "sgemv" Gemv S -> usize, "dgemv" Gemv D -> usize, "cgemv" Gemv C -> usize, "zgemv" Gemv Z -> usize,
    "sger" Ger S -> usize, "dger" Ger D -> usize,
    "ssymm" Symm S -> usize, "dsymm" Symm D -> usize, "csymm" Symm C -> usize, "zsymm" Symm Z -> usize,
    "ssyrk" Syrk S -> usize, "dsyrk" Syrk D -> usize, "csyrk" Syrk C -> usize, "zsyrk" Syrk Z -> usize,
    "strmm" Trmm S -> usize, "dtrmm" Trmm D -> usize, "ctrmm" Trmm C -> usize, "ztrmm" Trmm Z -> usize,
    "strsm" Trsm S -> usize, "dtrsm" Trsm D -> usize, "ctrsm" Trsm C -> usize, "ztrsm" Trsm Z -> usize,
    // A float comes back in the same register as a double, and its other half is nobody's.
    "sdot" Dot S -> f64, "ddot" Dot D -> f64,
    "saxpy" Axpy S -> usize, "daxpy" Axpy D -> usize, "caxpy" Axpy C -> usize, "zaxpy" Axpy Z -> usize,
}

lapack! {
    "sgetrf" Getrf S, "dgetrf" Getrf D, "cgetrf" Getrf C, "zgetrf" Getrf Z,
    "sgetrs" Getrs S, "dgetrs" Getrs D, "cgetrs" Getrs C, "zgetrs" Getrs Z,
    "sgetri" Getri S, "dgetri" Getri D, "cgetri" Getri C, "zgetri" Getri Z,
    "sgesv" Gesv S, "dgesv" Gesv D, "cgesv" Gesv C, "zgesv" Gesv Z,
    "spotrf" Potrf S, "dpotrf" Potrf D, "cpotrf" Potrf C, "zpotrf" Potrf Z,
    "spotrs" Potrs S, "dpotrs" Potrs D, "cpotrs" Potrs C, "zpotrs" Potrs Z,
    "spotri" Potri S, "dpotri" Potri D, "cpotri" Potri C, "zpotri" Potri Z,
    "sposv" Posv S, "dposv" Posv D, "cposv" Posv C, "zposv" Posv Z,
    "sgeqrf" Geqrf S, "dgeqrf" Geqrf D, "cgeqrf" Geqrf C, "zgeqrf" Geqrf Z,
    "sorgqr" Orgqr S, "dorgqr" Orgqr D, "cungqr" Ungqr C, "zungqr" Ungqr Z,
    "strtrs" Trtrs S, "dtrtrs" Trtrs D, "ctrtrs" Trtrs C, "ztrtrs" Trtrs Z,
    "sgesdd" Gesdd S, "dgesdd" Gesdd D, "cgesdd" Gesdd C, "zgesdd" Gesdd Z,
    "sgesvd" Gesvd S, "dgesvd" Gesvd D, "cgesvd" Gesvd C, "zgesvd" Gesvd Z,
    "ssyevd" Syevd S, "dsyevd" Syevd D, "cheevd" Heevd C, "zheevd" Heevd Z,
    "sgeev" Geev S, "dgeev" Geev D,
    "sgelsd" Gelsd S, "dgelsd" Gelsd D, "cgelsd" Gelsd C, "zgelsd" Gelsd Z,
}

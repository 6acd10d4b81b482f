//! The instruction set that computes, and the CPU features that it was checked against.
//!
//! `aprender-compute` has two kinds of entry points. `Vector` and `Matrix`
//! carry a `Backend` value and dispatch on it, but not always to the backend
//! they carry: `Matrix::matvec` sends `Backend::AVX512` to the AVX2 dot
//! product (0.32.0, `matrix/ops/linear/mod.rs`, `dispatch_dot!`), so a label
//! taken from the value asked for would be wrong there. The `VectorBackend`
//! trait has one implementing type per instruction set and dispatches on
//! nothing: `Avx512Backend::dot` *is* the AVX-512 code. This program calls
//! only that trait, so the type called is the label recorded.
//!
//! Read in the source of 0.32.0, per function used here:
//!
//! | function | sse2 | avx2 | avx512 |
//! | --- | --- | --- | --- |
//! | `dot`, `sum`, `max`, `add`, `mul`, `scale`, `fma` | SSE2 intrinsics | AVX2 (`dot`, `fma`: FMA) intrinsics | AVX-512F intrinsics |
//! | `exp` | SSE2 polynomial | forwards to `ScalarBackend` | AVX-512F polynomial |
//! | `swish` (SiLU) | SSE2 polynomial | forwards to `ScalarBackend` | plain loop |
//!
//! The `exp` polynomials of SSE2 and AVX-512 are wrong by up to 4 %
//! (measured on [-3, 3]; the coefficient of r^3 and up is misplaced), those of
//! SSE2 `swish` by 2 %. Both functions are therefore taken from
//! `ScalarBackend` and labelled `scalar` on every backend, unless
//! `--exp backend` asks for the chosen backend's own `exp`: then two runs
//! diverge at the first softmax, for a real reason.
//!
//! `scalar` means the library's scalar code as compiled for this target; the
//! compiler is free to use the target's baseline instructions for it.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// No SIMD in the source.
    Scalar,
    Sse2,
    /// 256 bits, with FMA.
    Avx2,
    Avx512,
}

impl Backend {
    /// The narrowest first.
    pub const ALL: [Backend; 4] = [
        Backend::Scalar,
        Backend::Sse2,
        Backend::Avx2,
        Backend::Avx512,
    ];

    /// The recorded label, and the value of `--backend`.
    pub const fn name(self) -> &'static str {
        match self {
            Backend::Scalar => "scalar",
            Backend::Sse2 => "sse2",
            Backend::Avx2 => "avx2",
            Backend::Avx512 => "avx512",
        }
    }

    pub fn is_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        let found = match self {
            Backend::Scalar => true,
            Backend::Sse2 => is_x86_feature_detected!("sse2"),
            // The library's AVX2 code has `target_feature(enable = "avx2,fma")`.
            Backend::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            Backend::Avx512 => is_x86_feature_detected!("avx512f"),
        };
        #[cfg(not(target_arch = "x86_64"))]
        let found = self == Backend::Scalar;
        found
    }

    /// Those that this CPU has, the narrowest first.
    pub fn available() -> Vec<Backend> {
        Backend::ALL
            .into_iter()
            .filter(|backend| backend.is_available())
            .collect()
    }

    /// The widest that this CPU has. (The library's own `Auto` stops at AVX2.)
    pub fn widest() -> Backend {
        Backend::available().pop().unwrap_or(Backend::Scalar)
    }
}

/// A backend that is known to run on this CPU: the only way to call the library's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Simd {
    backend: Backend,
}

impl Simd {
    /// The library's scalar code, which runs everywhere.
    pub const SCALAR: Simd = Simd {
        backend: Backend::Scalar,
    };

    /// Checks that the CPU supports the backend.
    ///
    /// # Errors
    /// It does not; the message lists the backends that it supports.
    pub fn new(backend: Backend) -> Result<Simd, String> {
        if backend.is_available() {
            return Ok(Simd { backend });
        }
        Err(unavailable(backend, &Backend::available()))
    }

    pub const fn backend(self) -> Backend {
        self.backend
    }
}

fn unavailable(backend: Backend, available: &[Backend]) -> String {
    let has: Vec<&str> = available.iter().map(|backend| backend.name()).collect();
    format!(
        "backend {} is not available on this CPU (hint: it has {})",
        backend.name(),
        has.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refusal_names_what_there_is() {
        let message = unavailable(Backend::Avx512, &[Backend::Scalar, Backend::Sse2]);
        assert_eq!(
            message,
            "backend avx512 is not available on this CPU (hint: it has scalar, sse2)"
        );
    }

    #[test]
    fn scalar_runs_everywhere_and_auto_takes_the_last() {
        let available = Backend::available();
        assert_eq!(available.first(), Some(&Backend::Scalar));
        assert_eq!(available.last(), Some(&Backend::widest()));
    }
}

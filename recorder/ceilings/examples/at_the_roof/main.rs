//! Work that does one thing only, beside what the machine can do: does a roofline tell the truth?
//!
//!     cargo run --release -p trueno-ceilings --example at_the_roof
//!     trueno-analyze report at_the_roof.run --only roofline
//!
//! Measures the ceilings of this machine, then records, on one thread and for each instruction set there is:
//!
//! - `triad`: `a[i] = b[i] + 0.5 * c[i]` over doubles, in arrays twelve times as large together as the
//!   last cache, in large pages. 2 FLOPs and 24 bytes an element.
//! - `fma`: fourteen chains of fused (SSE2: separate) multiplications and additions in f32, in registers.
//!   Its bytes are the accumulators, read and written.
//! - `fma_f64`: the same in f64, which the backend says: `avx512 f64`.
//!
//! Every kernel should come out near its roof. The loops are written here, and share nothing with those that
//! measure the ceilings. `plugins/roofline/benches/at_the_roof.py` says how near.

#[cfg(target_arch = "x86_64")]
mod x86;

use std::process::ExitCode;

#[cfg(target_arch = "x86_64")]
fn main() -> ExitCode {
    match x86::main() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn main() -> ExitCode {
    eprintln!("error: its loops are written for x86-64 only");
    ExitCode::from(2)
}

//! Loops over memory as the compiler makes them.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

/// Runs of each loop in a turn; the best counts, as for ceilings.
const TIMES: usize = 15;

macro_rules! loops {
    ($of:ident $(, $feature:literal)?) => {
        mod $of {
            $(#[target_feature(enable = $feature)])?
            pub fn sum(values: &[f64]) -> f64 {
                let (groups, _) = values.as_chunks::<64>();
                let mut sums = [0.0; 64];
                for group in groups {
                    for (sum, value) in sums.iter_mut().zip(group) {
                        *sum += value;
                    }
                }
                sums.iter().sum()
            }

            $(#[target_feature(enable = $feature)])?
            pub fn copy(a: &mut [f64], b: &[f64]) {
                // A plain loop over equals would become a call of `memcpy`.
                for (a, b) in a.as_chunks_mut::<8>().0.iter_mut().zip(b.as_chunks::<8>().0) {
                    *a = *b;
                }
            }

            $(#[target_feature(enable = $feature)])?
            pub fn scale(a: &mut [f64], b: &[f64]) {
                for (a, b) in a.iter_mut().zip(b) {
                    *a = 3.0 * *b;
                }
            }

            $(#[target_feature(enable = $feature)])?
            pub fn add(a: &mut [f64], b: &[f64], c: &[f64]) {
                for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
                    *a = *b + *c;
                }
            }

            $(#[target_feature(enable = $feature)])?
            pub fn triad(a: &mut [f64], b: &[f64], c: &[f64]) {
                for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
                    *a = *b + 3.0 * *c;
                }
            }
        }
    };
}

loops!(plain);
#[cfg(target_arch = "x86_64")]
loops!(avx2, "avx2,fma");
#[cfg(target_arch = "x86_64")]
loops!(avx512, "avx512f,avx512vl");

macro_rules! widest {
    ($name:ident($($argument:expr),*)) => {{
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
            // SAFETY: the instructions are there.
            unsafe { avx512::$name($($argument),*) }
        } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the instructions are there.
            unsafe { avx2::$name($($argument),*) }
        } else {
            plain::$name($($argument),*)
        }
        #[cfg(not(target_arch = "x86_64"))]
        plain::$name($($argument),*)
    }};
}

/// With non-temporal stores, which every x86-64 has. `a` begins at a multiple of 16.
#[cfg(target_arch = "x86_64")]
fn stream(a: &mut [f64], b: &[f64]) {
    use std::arch::x86_64::{_mm_loadu_pd, _mm_sfence, _mm_stream_pd};
    let pairs = a
        .as_chunks_mut::<2>()
        .0
        .iter_mut()
        .zip(b.as_chunks::<2>().0);
    for (a, b) in pairs {
        // SAFETY: both are two numbers, and the first lies at a multiple of 16.
        unsafe { _mm_stream_pd(a.as_mut_ptr(), _mm_loadu_pd(b.as_ptr())) };
    }
    // SAFETY: every x86-64 has it.
    unsafe { _mm_sfence() };
}

/// Arrays of a program that knows nothing of ceilings, and the best rates over them so far.
pub struct Arrays {
    a: Vec<f64>,
    b: Vec<f64>,
    c: Vec<f64>,
    best: BTreeMap<(usize, &'static str, &'static str), f64>,
}

impl Arrays {
    /// `bytes`: of all that a loop goes over.
    pub fn new(bytes: usize) -> Self {
        Self {
            a: vec![1.0; bytes / 8 + 8],
            b: vec![2.0; bytes / 16 + 8],
            c: vec![3.0; bytes / 24 + 8],
            best: BTreeMap::new(),
        }
    }

    /// Every loop after the other.
    pub fn take_turns(&mut self) {
        let Self { a, b, c, best } = self;
        // As STREAM's: large vectors begin 16 bytes behind a page, and every load would cross a line.
        let start = |values: &[f64]| values.as_ptr().align_offset(64).min(8);
        let (at_a, at_b, at_c) = (start(a), start(b), start(c));
        let (a, b, c) = (&mut a[at_a..], &b[at_b..], &c[at_c..]);
        let mut run = |operation, name, bytes: usize, work: &mut dyn FnMut()| {
            let rates = (0..TIMES).map(|_| {
                let start = Instant::now();
                work();
                bytes as f64 / start.elapsed().as_secs_f64()
            });
            let rate = rates.fold(0.0, f64::max);
            let number = best.len();
            let known = best
                .keys()
                .find(|(_, of, is)| (*of, *is) == (operation, name));
            let key = known.copied().unwrap_or((number, operation, name));
            let found = best.entry(key).or_default();
            *found = found.max(rate);
        };
        let (two, three) = (b.len().min(a.len()), c.len().min(b.len()));
        let all = a.len();
        run("read", "sum", all * 8, &mut || {
            black_box(widest!(sum(black_box(&a[..]))));
        });
        run("read", "sum, not for this CPU", all * 8, &mut || {
            black_box(plain::sum(black_box(&a[..])));
        });
        run("copy", "STREAM copy", two * 16, &mut || {
            widest!(copy(black_box(&mut a[..two]), black_box(&b[..two])));
        });
        run("copy", "STREAM scale", two * 16, &mut || {
            widest!(scale(black_box(&mut a[..two]), black_box(&b[..two])));
        });
        run("triad", "STREAM add", three * 24, &mut || {
            widest!(add(
                black_box(&mut a[..three]),
                black_box(&b[..three]),
                &c[..three]
            ));
        });
        run("triad", "STREAM triad", three * 24, &mut || {
            widest!(triad(
                black_box(&mut a[..three]),
                black_box(&b[..three]),
                &c[..three]
            ));
        });
        run("copy", "memcpy", two * 16, &mut || {
            // SAFETY: both are as long, and they are not the same.
            unsafe {
                libc::memcpy(
                    black_box(a.as_mut_ptr()).cast(),
                    black_box(b.as_ptr()).cast(),
                    two * 8,
                )
            };
        });
        #[cfg(target_arch = "x86_64")]
        run("copy_nt", "streaming stores", two * 16, &mut || {
            stream(black_box(&mut a[..two]), black_box(&b[..two]));
        });
    }

    /// The ceiling's operation, a name, bytes a second.
    pub fn best(&self) -> impl Iterator<Item = (&'static str, &'static str, f64)> {
        let all = self.best.iter();
        all.map(|((_, operation, name), rate)| (*operation, *name, *rate))
    }
}

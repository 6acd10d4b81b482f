//! Loops of known work below ceilings that were measured in the same run.
//!
//! The ceilings are what loops like these reach here: the bandwidth of `read_write` and the rate of `multiply_add`, a
//! quarter more than their mean, so that they hold on a machine that others use too.

use std::path::Path;
use std::time::Instant;

use trueno_recorder::{Ceiling, CeilingKind, Recorder, Source};

use super::host::{recorder, work};

/// Too large for any cache.
const LARGE: usize = 6 << 20;
const ROUNDS: usize = 6;
const STEPS: usize = 2_000_000;

#[inline(never)]
fn read_write(a: &mut [f32], b: &[f32], c: &[f32]) {
    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
        *a = *b + 1.5 * *c;
    }
}

/// 32 independent multiply-add chains. `black_box` on the start value, and on `steps` in the callers, keeps the
/// compiler from merging equal calls and from removing the loop.
#[inline(never)]
fn multiply_add(steps: usize) -> f32 {
    let mut sums = [std::hint::black_box(1.0_f32); 32];
    for _ in 0..steps / 32 {
        for sum in &mut sums {
            *sum = *sum * 0.999_9 + 0.000_1;
        }
    }
    sums.iter().sum()
}

#[inline(never)]
fn chain(steps: usize) -> f32 {
    let mut sum = 1.0_f32;
    for _ in 0..steps {
        sum = std::hint::black_box(sum) * 0.999_9 + 0.000_1;
    }
    sum
}

/// Best of four rates of the two loops, in bytes/s and FLOP/s, measured before the recording starts.
fn best_rates() -> (f64, f64) {
    let (mut a, b, c) = (vec![0.0_f32; LARGE], vec![1.0; LARGE], vec![2.0; LARGE]);
    let rate = |work: f64, of: &mut dyn FnMut()| {
        of();
        let mut best = 0.0_f64;
        for _ in 0..4 {
            let from = Instant::now();
            of();
            best = best.max(work / from.elapsed().as_secs_f64());
        }
        best
    };
    let bytes = rate((12 * LARGE) as f64, &mut || read_write(&mut a, &b, &c));
    let flops = rate((2 * STEPS) as f64, &mut || {
        std::hint::black_box(multiply_add(std::hint::black_box(STEPS)));
    });
    (bytes, flops)
}

fn ceilings(rec: &Recorder, (bytes, flops): (f64, f64)) {
    rec.ceiling(Ceiling {
        level: Some("DRAM".into()),
        threads: Some(1),
        ..Ceiling::new("cpu", CeilingKind::Bandwidth, bytes, Source::Measured)
    });
    rec.ceiling(Ceiling {
        level: Some("scalar".into()),
        precision: Some("f32".into()),
        threads: Some(1),
        ..Ceiling::new("cpu", CeilingKind::Compute, flops, Source::Measured)
    });
}

/// Records `ROUNDS` bricks; returns the mean seconds of one.
fn rounds(
    rec: &Recorder,
    name: &'static str,
    (flops, read, written): (usize, usize, usize),
    mut run: impl FnMut(),
) -> f64 {
    let mut seconds = 0.0;
    for _ in 0..ROUNDS {
        let mut b = rec.brick(name);
        b.flops(flops as u64)
            .bytes(read as u64, written as u64)
            .backend("scalar");
        let from = Instant::now();
        run();
        seconds += from.elapsed().as_secs_f64();
    }
    seconds / ROUNDS as f64
}

fn memory_loop(
    path: &Path,
    name: &'static str,
    (flops, read, written): (usize, usize, usize),
    mut run: impl FnMut(),
) {
    run();
    let (_, flops_per_s) = best_rates();
    let rec = recorder(path);
    let seconds = rounds(&rec, name, (flops, read, written), run);
    ceilings(
        &rec,
        (1.25 * (read + written) as f64 / seconds, flops_per_s),
    );
    rec.finish().expect("the recording ends");
}

fn compute_loop(path: &Path, name: &'static str, mut run: impl FnMut() -> f32) {
    std::hint::black_box(run());
    let (bytes_per_s, _) = best_rates();
    let rec = recorder(path);
    let seconds = rounds(&rec, name, (2 * STEPS, 4096, 4096), || {
        std::hint::black_box(run());
    });
    ceilings(&rec, (bytes_per_s, 1.25 * (2 * STEPS) as f64 / seconds));
    rec.finish().expect("the recording ends");
}

pub fn triad(path: &Path) {
    let (mut a, b, c) = (vec![0.0_f32; LARGE], vec![1.0; LARGE], vec![2.0; LARGE]);
    memory_loop(path, "triad", (2 * LARGE, 8 * LARGE, 4 * LARGE), || {
        read_write(&mut a, &b, &c)
    });
}

pub fn copy(path: &Path) {
    let (mut a, b) = (vec![0.0_f32; LARGE], vec![1.0_f32; LARGE]);
    memory_loop(path, "scale", (LARGE, 4 * LARGE, 4 * LARGE), || {
        for (a, b) in a.iter_mut().zip(&b) {
            *a = 2.0 * *b;
        }
        std::hint::black_box(&a);
    });
}

pub fn fma(path: &Path) {
    compute_loop(path, "fma", || multiply_add(std::hint::black_box(STEPS)));
}

pub fn polynomial(path: &Path) {
    compute_loop(path, "polynomial", || {
        let mut values = [std::hint::black_box(0.5_f32); 64];
        for _ in 0..std::hint::black_box(STEPS) / 64 {
            for value in &mut values {
                *value = *value * 0.5 + 0.25;
            }
        }
        values.iter().sum()
    });
}

/// Each multiply-add depends on the one before.
pub fn one_accumulator(path: &Path) {
    let rates = best_rates();
    let rec = recorder(path);
    rounds(&rec, "dot", (2 * STEPS, 4096, 4096), || {
        std::hint::black_box(chain(STEPS));
    });
    ceilings(&rec, rates);
    rec.finish().expect("the recording ends");
}

pub fn divided(path: &Path) {
    let rates = best_rates();
    let rec = recorder(path);
    rounds(&rec, "normalise", (2 * STEPS, 4096, 4096), || {
        let mut sum = 1.0_f64;
        for _ in 0..STEPS {
            sum = (std::hint::black_box(sum) + 1.0) / 1.000_1;
        }
        std::hint::black_box(sum);
    });
    ceilings(&rec, rates);
    rec.finish().expect("the recording ends");
}

pub fn off_the_path(path: &Path) {
    let rates = best_rates();
    let rec = recorder(path);
    rounds(&rec, "dot", (2 * STEPS / 1000, 4096, 4096), || {
        std::hint::black_box(chain(STEPS / 1000));
    });
    {
        let _b = rec.brick("everything else");
        work(60_000);
    }
    ceilings(&rec, rates);
    rec.finish().expect("the recording ends");
}

/// Follows indices through memory in an order that a prefetcher cannot predict.
fn walk(path: &Path, name: &'static str, places: usize, hops: usize) {
    let mut next: Vec<u32> = (0..places as u32).collect();
    let mut random = 88_172_645_463_325_252_u64;
    // Sattolo: one cycle through all places.
    for at in (1..places).rev() {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        next.swap(at, (random % at as u64) as usize);
    }
    let rates = best_rates();
    let rec = recorder(path);
    let mut at = 0_u32;
    rounds(&rec, name, (hops / 8, 4 * hops, 0), || {
        for _ in 0..hops {
            at = next[at as usize];
        }
        std::hint::black_box(at);
    });
    ceilings(&rec, rates);
    rec.finish().expect("the recording ends");
}

pub fn chase(path: &Path) {
    walk(path, "follow indices", 24 << 20, 200_000);
}

/// The same in a smaller array, still too large for the second-level cache.
pub fn linked_list(path: &Path) {
    walk(path, "walk list", 16 << 20, 300_000);
}

/// Without recorded ceilings there is no roof to compare with.
pub fn no_ceilings(path: &Path) {
    let rec = recorder(path);
    rounds(&rec, "follow indices", (1000, 4000, 0), || work(3_000));
    rec.finish().expect("the recording ends");
}

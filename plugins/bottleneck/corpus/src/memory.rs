//! Programs and their memory: what is recorded is what an allocator would have given, at its addresses.

use std::path::Path;

use trueno_recorder::Recorder;

use super::host::{recorder, work};

const MB: i64 = 1 << 20;

fn steps(
    path: &Path,
    weights_bytes: i64,
    number: u64,
    brick: &'static str,
    step: impl Fn(&Recorder, u64),
) {
    let rec = recorder(path);
    rec.allocation("weights", weights_bytes, 0x1000_0000);
    for n in 0..number {
        let _iteration = rec.iteration(n);
        let _b = rec.brick(brick);
        step(&rec, n);
    }
    rec.finish().expect("the recording ends");
}

pub fn leak(path: &Path) {
    steps(path, 64 * MB, 30, "step", |rec, n| {
        rec.allocation("scratch", 8 * MB, 0x9000_0000);
        work(100);
        rec.allocation("activations", 3 * MB, 0x2000_0000 + n * 0x40_0000);
        rec.allocation("scratch", -8 * MB, 0x9000_0000);
    });
}

/// A cache that is never emptied: it grows in steps.
pub fn cache_without_bound(path: &Path) {
    steps(path, 32 * MB, 40, "request", |rec, n| {
        work(100);
        if n % 2 == 0 {
            rec.allocation("cache", 2 * MB, 0x2000_0000 + n * 0x40_0000);
        }
    });
}

/// Weights live to the end; each step frees what it allocates.
pub fn alive_at_the_end(path: &Path) {
    steps(path, 200 * MB, 30, "step", |rec, _| {
        rec.allocation("activations", 30 * MB, 0x4000_0000);
        work(100);
        rec.allocation("activations", -30 * MB, 0x4000_0000);
    });
}

/// Buffers are allocated in the first steps and stay; then nothing grows.
pub fn settles(path: &Path) {
    steps(path, 100 * MB, 60, "step", |rec, n| {
        if n < 3 {
            rec.allocation("workspace", 10 * MB, 0x4000_0000 + n * 0x100_0000);
        }
        work(50);
    });
}

const BLOCK: i64 = 64 << 10;

fn blocks(path: &Path, freed: impl Fn(u64) -> bool) {
    let rec = recorder(path);
    {
        let _b = rec.brick("build");
        for n in 0..1_000_u64 {
            rec.allocation("node", BLOCK, 0x1000_0000 + n * BLOCK as u64);
        }
        work(500);
    }
    {
        let _b = rec.brick("prune");
        for n in (0..1_000_u64).filter(|n| freed(*n)) {
            rec.allocation("node", -BLOCK, 0x1000_0000 + n * BLOCK as u64);
        }
        work(500);
    }
    rec.finish().expect("the recording ends");
}

pub fn every_second_freed(path: &Path) {
    blocks(path, |n| n % 2 == 1);
}

/// One block in four stays alive.
pub fn long_among_short(path: &Path) {
    blocks(path, |n| n % 4 != 0);
}

pub fn freed_in_one_piece(path: &Path) {
    blocks(path, |n| (200..700).contains(&n));
}

pub fn all_freed(path: &Path) {
    blocks(path, |_| true);
}

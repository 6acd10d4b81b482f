//! Programs and their memory: what is recorded is what an allocator would have given, at its addresses.

use std::path::Path;

use trueno_recorder::Recorder;

use super::host::{recorder, work};

const MB: i64 = 1 << 20;

/// Records a program with weights whose iterations are one brick each.
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

/// Each step keeps a buffer.
pub fn leak(path: &Path) {
    steps(path, 64 * MB, 30, "step", |rec, n| {
        rec.allocation("scratch", 8 * MB, 0x9000_0000);
        work(100);
        rec.allocation("activations", 3 * MB, 0x2000_0000 + n * 0x40_0000);
        rec.allocation("scratch", -8 * MB, 0x9000_0000);
    });
}

/// A cache that nobody empties: it grows in steps.
pub fn cache_without_bound(path: &Path) {
    steps(path, 32 * MB, 40, "request", |rec, n| {
        work(100);
        if n % 2 == 0 {
            rec.allocation("cache", 2 * MB, 0x2000_0000 + n * 0x40_0000);
        }
    });
}

/// Weights live to the end; what a step takes it gives back.
pub fn alive_at_the_end(path: &Path) {
    steps(path, 200 * MB, 30, "step", |rec, _| {
        rec.allocation("activations", 30 * MB, 0x4000_0000);
        work(100);
        rec.allocation("activations", -30 * MB, 0x4000_0000);
    });
}

/// Buffers are made in the first steps and kept; then nothing grows.
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

/// Free pieces lie between live blocks.
pub fn every_second_freed(path: &Path) {
    blocks(path, |n| n % 2 == 1);
}

/// One block in four lives on.
pub fn long_among_short(path: &Path) {
    blocks(path, |n| n % 4 != 0);
}

/// As much is free, in one piece.
pub fn freed_in_one_piece(path: &Path) {
    blocks(path, |n| (200..700).contains(&n));
}

pub fn all_freed(path: &Path) {
    blocks(path, |_| true);
}

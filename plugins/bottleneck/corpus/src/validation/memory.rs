//! Programs and their memory: what is recorded is what an allocator would have given, at its addresses.

use std::path::Path;

use trueno_recorder::Recorder;

use crate::host::{recorder, work};
use crate::steps::Chance;

const KB: i64 = 1 << 10;
const MB: i64 = 1 << 20;

fn steps(path: &Path, number: u64, mut step: impl FnMut(&Recorder, u64)) {
    let rec = recorder(path);
    rec.allocation("model", 100 * MB, 0x100_0000);
    for n in 0..number {
        let _iteration = rec.iteration(n);
        let _b = rec.brick("serve request");
        work(80);
        step(&rec, n);
    }
    rec.finish().expect("the recording ends");
}

/// Each request leaks 256 KB; its other allocations vary in size and are freed.
pub fn leak_among_noise(path: &Path) {
    let mut chance = Chance(5);
    steps(path, 80, |rec, n| {
        let bytes = KB * (500 + chance.below(4_000) as i64);
        rec.allocation("request", bytes, 0x4000_0000);
        rec.allocation("session", 256 * KB, 0x8000_0000 + n * 0x8_0000);
        rec.allocation("request", -bytes, 0x4000_0000);
    });
}

pub fn grows_in_steps(path: &Path) {
    steps(path, 90, |rec, n| {
        if n % 10 == 4 {
            rec.allocation("arena", 16 * MB, 0x8000_0000 + n * 0x100_0000);
        }
    });
}

/// Grows for six requests, then is emptied.
pub fn saw_tooth(path: &Path) {
    steps(path, 66, |rec, n| {
        rec.allocation("young", 4 * MB, 0x8000_0000 + (n % 6) * 0x80_0000);
        if n % 6 == 5 {
            for k in 0..6 {
                rec.allocation("young", -4 * MB, 0x8000_0000 + k * 0x80_0000);
            }
        }
    });
}

/// The first fifteen requests fill a pool.
pub fn ramp_then_flat(path: &Path) {
    steps(path, 80, |rec, n| {
        if n < 15 {
            rec.allocation("pool", 3 * MB, 0x8000_0000 + n * 0x40_0000);
        }
    });
}

pub fn noise_only(path: &Path) {
    let mut chance = Chance(6);
    let mut held = 0;
    steps(path, 70, |rec, _| {
        if held > 0 {
            rec.allocation("batch", -held, 0x8000_0000);
        }
        held = MB * (5 + chance.below(40) as i64);
        rec.allocation("batch", held, 0x8000_0000);
    });
}

/// Allocates blocks of several sizes side by side, then frees those that `freed` selects.
fn blocks(path: &Path, number: u64, seed: u64, freed: impl Fn(u64) -> bool) {
    let mut chance = Chance(seed);
    let mut at = 0x2000_0000_u64;
    let mut all = Vec::new();
    for _ in 0..number {
        let bytes = 4 * KB * (1 + chance.below(64) as i64);
        all.push((at, bytes));
        at += bytes as u64;
    }
    let rec = recorder(path);
    {
        let _b = rec.brick("insert");
        for (at, bytes) in &all {
            rec.allocation("page", *bytes, *at);
        }
        work(300);
    }
    {
        let _b = rec.brick("expire");
        for (n, (at, bytes)) in all.iter().enumerate() {
            if freed(n as u64) {
                rec.allocation("page", -*bytes, *at);
            }
        }
        work(300);
    }
    rec.finish().expect("the recording ends");
}

pub fn three_of_five_freed(path: &Path) {
    blocks(path, 3_000, 17, |n| matches!(n % 5, 0 | 2 | 3));
}

pub fn two_lifetimes(path: &Path) {
    let rec = recorder(path);
    let value = 96 * KB;
    let place = |n: u64| 0x3000_0000 + n * (value + 4 * KB) as u64;
    {
        let _b = rec.brick("fill map");
        for n in 0..700 {
            rec.allocation("value", value, place(n));
            rec.allocation("key", 4 * KB, place(n) + value as u64);
        }
        work(400);
    }
    {
        let _b = rec.brick("drop values");
        for n in 0..700 {
            rec.allocation("value", -value, place(n));
        }
        work(400);
    }
    rec.finish().expect("the recording ends");
}

pub fn tail_freed(path: &Path) {
    blocks(path, 2_000, 18, |n| n >= 800);
}

pub fn few_holes(path: &Path) {
    blocks(path, 3_000, 19, |n| n % 50 == 3);
}

//! Programs of one thread.

use std::hint::black_box;
use std::path::Path;

use crate::host::{recorder, work};
use crate::steps::{Chance, brick, steps};

pub fn minibatches_fetched(path: &Path) {
    steps(path, 18, |rec, _| {
        brick(rec, "fetch minibatch", 2_600);
        brick(rec, "forward", 1_900);
        brick(rec, "backward", 1_500);
    });
}

/// Reading takes a fortieth of the step.
pub fn quick_read(path: &Path) {
    steps(path, 22, |rec, _| {
        brick(rec, "read batch", 60);
        brick(rec, "forward", 1_400);
        brick(rec, "backward", 1_000);
    });
}

/// A call costs 300 µs plus 1.5 µs for each of a few rows.
pub fn few_rows(path: &Path) {
    let mut chance = Chance(31);
    steps(path, 90, |rec, _| {
        let rows = 2 + chance.below(15);
        let mut b = rec.brick("embed tokens");
        b.elements(rows);
        work(300 + 3 * rows / 2);
    });
}

pub fn by_the_row(path: &Path) {
    let mut chance = Chance(32);
    steps(path, 75, |rec, _| {
        let rows = 30 + chance.below(170);
        let mut b = rec.brick("embed tokens");
        b.elements(rows);
        work(20 + 4 * rows);
    });
}

fn mixed(mut state: u64, rounds: u64) -> u64 {
    for _ in 0..rounds {
        state = black_box(state ^ (state >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    }
    state
}

pub fn lookups(path: &Path) {
    let rec = recorder(path);
    let mut state = 1;
    for _ in 0..120_000_u64 {
        let _b = rec.brick("table lookup");
        state = mixed(state, 40);
    }
    black_box(state);
    rec.finish().expect("the recording ends");
}

/// A brick around each pixel, inside a brick around each row.
pub fn pixels_in_rows(path: &Path) {
    let rec = recorder(path);
    let mut state = 1;
    for _ in 0..300 {
        let _row = rec.brick("shade row");
        for _ in 0..160 {
            let _pixel = rec.brick("shade pixel");
            state = mixed(state, 60);
        }
    }
    black_box(state);
    rec.finish().expect("the recording ends");
}

pub fn tile_rows(path: &Path) {
    let rec = recorder(path);
    for _ in 0..6_000 {
        brick(&rec, "tile row", 40);
    }
    rec.finish().expect("the recording ends");
}

pub fn tiny_beside_work(path: &Path) {
    let rec = recorder(path);
    for _ in 0..30 {
        for n in 0..100_u64 {
            let _b = rec.brick("hash key");
            black_box(mixed(n, 5));
        }
        brick(&rec, "rebuild index", 7_000);
    }
    rec.finish().expect("the recording ends");
}

pub fn bias_again(path: &Path) {
    steps(path, 12, |rec, n| {
        for layer in 0..3_u32 {
            let _layer = rec.layer(layer);
            {
                let _b = rec.brick("position bias");
                work(900);
                let bias = [layer as f32 + 0.25; 64];
                rec.checksum("bias", None, &bias, &[8, 8]);
            }
            let _b = rec.brick("attention");
            work(1_400);
            let out = [(n * 3 + u64::from(layer)) as f32 + 0.1; 96];
            rec.checksum("attention.out", None, &out, &[96]);
        }
    });
}

/// The result differs in each step, but each step computes it twice.
pub fn twice_a_step(path: &Path) {
    steps(path, 25, |rec, n| {
        for _ in 0..2 {
            let _b = rec.brick("normalise input");
            work(700);
            rec.checksum("normalised", None, &[n as f32 + 0.5; 200], &[200]);
        }
        let _b = rec.brick("classify");
        work(1_000);
        rec.checksum("scores", None, &[n as f32 * 1.5 + 0.25; 10], &[10]);
    });
}

pub fn same_by_chance(path: &Path) {
    steps(path, 30, |rec, n| {
        let _b = rec.brick("pick token");
        work(600);
        let token = if n == 19 { 4 } else { n };
        rec.checksum("token", None, &[token as f32 + 7.0; 16], &[16]);
    });
}

/// The same result again, but it takes only a hundredth of the step.
pub fn not_worth_keeping(path: &Path) {
    steps(path, 30, |rec, n| {
        {
            let _b = rec.brick("make scale");
            work(15);
            rec.checksum("scale", None, &[0.125_f32; 32], &[32]);
        }
        let _b = rec.brick("scaled product");
        work(2_000);
        rec.checksum("product", None, &[n as f32 - 0.5; 128], &[128]);
    });
}

pub fn compiled_first(path: &Path) {
    let rec = recorder(path);
    {
        let _f = rec.function("compile kernels");
        work(140_000);
    }
    for n in 0..25 {
        let _iteration = rec.iteration(n);
        brick(&rec, "step", 4_000);
    }
    rec.finish().expect("the recording ends");
}

pub fn brief_warm_up(path: &Path) {
    let rec = recorder(path);
    {
        let _f = rec.function("load weights");
        work(3_000);
    }
    for n in 0..50 {
        let _iteration = rec.iteration(n);
        brick(&rec, "step", if n == 0 { 7_000 } else { 4_000 });
    }
    rec.finish().expect("the recording ends");
}

/// Three kinds of work in turn without a bottleneck.
pub fn plain_steps(path: &Path) {
    steps(path, 40, |rec, _| {
        brick(rec, "attention", 900);
        brick(rec, "mlp", 1_300);
        brick(rec, "norm", 200);
    });
}

//! Loops of known work on machines of which the roofs are known: as far above the loop as the case says. The loops are
//! real, so are their times; a roof is the rate that the loop reached times a factor, which makes the distance exact
//! whatever else the machine does meanwhile.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use trueno_recorder::{Ceiling, CeilingKind, Recorder, Source};

use crate::host::{recorder, work};
use crate::steps::Chance;

struct Work {
    name: &'static str,
    flops: u64,
    read: u64,
    written: u64,
}

fn rounds(rec: &Recorder, number: u64, work: &Work, mut run: impl FnMut()) -> f64 {
    let mut seconds = 0.0;
    for _ in 0..number {
        let mut b = rec.brick(work.name);
        b.flops(work.flops)
            .bytes(work.read, work.written)
            .backend("scalar");
        // Inside the brick: what passes between two is no part of either.
        let from = Instant::now();
        run();
        seconds += from.elapsed().as_secs_f64();
    }
    seconds / number as f64
}

fn roofs(rec: &Recorder, flops_per_s: f64, bytes_per_s: f64) {
    rec.ceiling(Ceiling {
        level: Some("DRAM".into()),
        threads: Some(1),
        ..Ceiling::new("cpu", CeilingKind::Bandwidth, bytes_per_s, Source::Measured)
    });
    rec.ceiling(Ceiling {
        level: Some("scalar".into()),
        precision: Some("f32".into()),
        threads: Some(1),
        ..Ceiling::new("cpu", CeilingKind::Compute, flops_per_s, Source::Measured)
    });
}

/// Records a loop with roofs `compute` and `memory` times the rates that it reached.
fn below(
    path: &Path,
    number: u64,
    work: Work,
    (compute, memory): (f64, f64),
    mut run: impl FnMut(),
) {
    run();
    let rec = recorder(path);
    let seconds = rounds(&rec, number, &work, run);
    roofs(
        &rec,
        compute * work.flops as f64 / seconds,
        memory * (work.read + work.written) as f64 / seconds,
    );
    rec.finish().expect("the recording ends");
}

const LONG: usize = 9 << 20;

fn sum_of(values: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 16];
    for chunk in values.chunks_exact(16) {
        for (sum, value) in sums.iter_mut().zip(chunk) {
            *sum += value;
        }
    }
    sums.iter().sum()
}

/// Sums a vector at nine tenths of the memory roof.
pub fn sum_up(path: &Path) {
    summed_at(path, "sum up", 1.1);
}

/// The same with the memory roof at `above` times the measured rate.
pub fn summed_at(path: &Path, name: &'static str, above: f64) {
    let values = vec![0.5_f32; LONG];
    let work = Work {
        name,
        flops: LONG as u64,
        read: 4 * LONG as u64,
        written: 4,
    };
    below(path, 9, work, (6.0 * above, above), || {
        black_box(sum_of(&values));
    });
}

/// Converts `f32` to `f64` at over three quarters of the memory roof.
pub fn widen(path: &Path) {
    let (from, mut to) = (vec![0.5_f32; LONG / 2], vec![0.0_f64; LONG / 2]);
    let work = Work {
        name: "widen",
        flops: LONG as u64 / 2,
        read: 2 * LONG as u64,
        written: 4 * LONG as u64,
    };
    below(path, 7, work, (15.0, 1.3), || {
        for (to, from) in to.iter_mut().zip(&from) {
            *to = f64::from(*from);
        }
        black_box(&to);
    });
}

/// Reads every ninth number, at a quarter of the memory roof.
pub fn every_ninth(path: &Path) {
    let values = vec![0.5_f32; LONG];
    let number = LONG as u64 / 9;
    let work = Work {
        name: "every ninth",
        flops: number,
        read: 4 * number,
        written: 4,
    };
    below(path, 8, work, (30.0, 4.0), || {
        black_box(values.iter().step_by(9).sum::<f32>());
    });
}

fn product(of: &mut [f32; 4_096], a: &[f32; 4_096], b: &[f32; 4_096]) {
    for row in 0..64 {
        for k in 0..64 {
            let factor = a[row * 64 + k];
            for column in 0..64 {
                of[row * 64 + column] += factor * b[k * 64 + column];
            }
        }
    }
}

/// A matrix product in the first-level cache, near the roof.
pub fn small_product(path: &Path) {
    let (a, b, mut c) = ([0.5; 4_096], [0.25; 4_096], [0.0; 4_096]);
    let work = Work {
        name: "small product",
        flops: 40 * 2 * 64 * 64 * 64,
        read: 2 * 4 * 4_096,
        written: 4 * 4_096,
    };
    below(path, 11, work, (1.15, 90.0), || {
        for _ in 0..40 {
            product(&mut c, &a, &b);
        }
        black_box(&c);
    });
}

fn horner_of(values: &mut [f32]) {
    for value in values {
        let x = *value;
        let mut y = 0.1_f32;
        for c in [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9] {
            y = y * x + c;
        }
        *value = y * 0.125;
    }
}

fn horner_work() -> Work {
    Work {
        name: "horner",
        flops: 2_000 * 128 * 17,
        read: 512,
        written: 512,
    }
}

fn horner_rounds() -> impl FnMut() {
    let mut values = [0.5_f32; 128];
    move || {
        for _ in 0..2_000 {
            horner_of(&mut values);
        }
        black_box(&values);
    }
}

/// A polynomial of degree eight at over three quarters of the roof.
pub fn horner(path: &Path) {
    horner_at(path, 1.3);
}

/// The same with the compute roof at `above` times the measured rate.
pub fn horner_at(path: &Path, above: f64) {
    below(
        path,
        10,
        horner_work(),
        (above, 150.0 * above),
        horner_rounds(),
    );
}

/// The same on a machine that is three times as fast.
pub fn a_third_of_the_roof(path: &Path) {
    horner_at(path, 3.0);
}

fn parity(words: &[u32]) -> u32 {
    let mut odd = 0;
    for word in words {
        for bit in 0..32 {
            odd ^= black_box(*word >> bit) & 1;
        }
    }
    odd
}

/// Computes bit by bit what one instruction can do, at a twelfth of the roof.
pub fn bit_by_bit(path: &Path) {
    parity_at(path, 12.0);
}

/// The same with the compute roof at `above` times the measured rate.
pub fn parity_at(path: &Path, above: f64) {
    let words = vec![0xA5A5_5A5A_u32; 40_000];
    let work = Work {
        name: "parity",
        flops: 40_000 * 32,
        read: 160_000,
        written: 4,
    };
    below(path, 9, work, (above, 40.0 * above), || {
        black_box(parity(&words));
    });
}

pub fn bad_but_brief(path: &Path) {
    let words = vec![0xA5A5_5A5A_u32; 400];
    let bits = Work {
        name: "parity",
        flops: 400 * 32,
        read: 1_600,
        written: 4,
    };
    let rec = recorder(path);
    let mut seconds = 0.0;
    for _ in 0..12 {
        seconds += rounds(&rec, 1, &bits, || _ = black_box(parity(&words)));
        let _b = rec.brick("read input");
        work(12_000);
    }
    let per_s = 12.0 / seconds;
    roofs(&rec, 12.0 * per_s * 12_800.0, 500.0 * per_s * 1_600.0);
    rec.finish().expect("the recording ends");
}

/// Binary searches in a long sorted list: each access depends on the one before.
pub fn search_keys(path: &Path) {
    let list: Vec<u32> = (0..20 << 20).map(|n| n * 3).collect();
    let mut chance = Chance(99);
    let work = Work {
        name: "search keys",
        flops: 60_000,
        read: 60_000 * 24 * 4,
        written: 60_000 * 4,
    };
    below(path, 7, work, (200.0, 14.0), || {
        let mut sum = 0;
        for _ in 0..60_000 {
            let key = chance.below(60 << 20) as u32;
            let (Ok(at) | Err(at)) = list.binary_search(&key);
            sum += at;
        }
        black_box(sum);
    });
}

/// Descends a tree in which each node holds the index of the next.
pub fn descend_tree(path: &Path) {
    chased(path, "descend tree", 12 << 20, 25.0);
}

/// The same through `nodes` nodes, with the memory roof at `above` times the measured rate.
pub fn chased(path: &Path, name: &'static str, nodes: usize, above: f64) {
    let mut chance = Chance(123);
    let next: Vec<[u32; 2]> = (0..nodes)
        .map(|_| {
            [
                chance.below(nodes as u64) as u32,
                chance.below(nodes as u64) as u32,
            ]
        })
        .collect();
    let work = Work {
        name,
        flops: 50_000,
        read: 8 * 250_000,
        written: 0,
    };
    let mut at = 0;
    below(path, 8, work, (6.0 * above, above), || {
        for step in 0..250_000 {
            at = next[at][(step ^ at) & 1] as usize;
        }
        black_box(at);
    });
}

/// Alternates between moving a long vector, with one in 64 numbers summed, and a polynomial of a few numbers, for
/// equal times.
pub fn both_roofs(path: &Path) {
    let (values, mut to) = (vec![0.5_f32; LONG], vec![0.0_f32; LONG]);
    let moved = Work {
        name: "move",
        flops: LONG as u64 / 64,
        read: 4 * LONG as u64,
        written: 4 * LONG as u64,
    };
    let mut move_them = || {
        to.copy_from_slice(&values);
        black_box(to.iter().step_by(64).sum::<f32>());
    };
    let mut horner = horner_rounds();
    let time = |run: &mut dyn FnMut()| {
        run();
        let from = Instant::now();
        run();
        from.elapsed().as_secs_f64()
    };
    let (one, other) = (time(&mut move_them), time(&mut horner));
    let times = ((one / other).round() as u64).max(1);
    let polynomial = Work {
        flops: times * horner_work().flops,
        ..horner_work()
    };
    let rec = recorder(path);
    let (mut moved_s, mut horner_s) = (0.0, 0.0);
    for _ in 0..8 {
        moved_s += rounds(&rec, 1, &moved, &mut move_them);
        horner_s += rounds(&rec, 1, &polynomial, || (0..times).for_each(|_| horner()));
    }
    roofs(
        &rec,
        1.2 * 8.0 * polynomial.flops as f64 / horner_s,
        1.2 * 8.0 * (moved.read + moved.written) as f64 / moved_s,
    );
    rec.finish().expect("the recording ends");
}

//! Programs of the host.

use std::path::Path;

use crate::host::{recorder, work};
use crate::steps::{Chance, brick, steps};
use crate::threads::{rounds, sleep};
use crate::validation::rooflines::{chased, horner_at, parity_at, summed_at};

pub fn dataset_next(path: &Path) {
    steps(path, 12, |rec, _| {
        brick(rec, "dataset.next", 5_000);
        brick(rec, "train", 3_000);
    });
}

pub fn input_layernorm(path: &Path) {
    steps(path, 25, |rec, _| {
        brick(rec, "input_layernorm", 800);
        brick(rec, "mlp", 1_400);
        brick(rec, "load_balancing_loss", 400);
    });
}

pub fn model_and_warm_up(path: &Path) {
    let rec = recorder(path);
    brick(&rec, "load model", 120_000);
    brick(&rec, "warm up", 60_000);
    for n in 0..25 {
        let _iteration = rec.iteration(n);
        brick(&rec, "generate", 4_000);
    }
    rec.finish().expect("the recording ends");
}

pub fn requests(path: &Path) {
    let mut chance = Chance(8);
    steps(path, 70, |rec, _| {
        let rows = 1 + chance.below(8);
        let mut b = rec.brick("rank documents");
        b.elements(rows);
        work(500 + 10 * rows);
    });
}

pub fn squares(path: &Path) {
    let mut chance = Chance(9);
    steps(path, 60, |rec, _| {
        let rows = 10 + chance.below(30);
        let mut b = rec.brick("pairwise");
        b.elements(rows);
        work(2 * rows * rows);
    });
}

fn spin(mut state: u64, rounds: u64) -> u64 {
    for _ in 0..rounds {
        state = std::hint::black_box(state.rotate_left(7) ^ 0x9E37_79B9).wrapping_mul(31);
    }
    state
}

pub fn inner_function(path: &Path) {
    let rec = recorder(path);
    let mut state = 3;
    for _ in 0..30 {
        let _outer = rec.brick("parse file");
        for _ in 0..40 {
            let _line = rec.function("parse line");
            for _ in 0..40 {
                let _field = rec.function("parse field");
                state = spin(state, 90);
            }
        }
    }
    std::hint::black_box(state);
    rec.finish().expect("the recording ends");
}

pub fn emit_token(path: &Path) {
    let rec = recorder(path);
    let mut state = 3;
    for _ in 0..25_000 {
        let _b = rec.brick("emit token");
        state = spin(state, 200);
    }
    std::hint::black_box(state);
    rec.finish().expect("the recording ends");
}

pub fn medium_calls(path: &Path) {
    let rec = recorder(path);
    for _ in 0..11_000 {
        brick(&rec, "hash block", 18);
    }
    rec.finish().expect("the recording ends");
}

pub fn two_parts(path: &Path) {
    let rec = recorder(path);
    for _ in 0..35 {
        brick(&rec, "parse", 1_100);
        brick(&rec, "index", 1_900);
    }
    rec.finish().expect("the recording ends");
}

pub fn five_in_turn(path: &Path) {
    steps(path, 40, |rec, n| {
        {
            let _b = rec.brick("expand template");
            work(600);
            rec.checksum("expanded", None, &[(n % 5) as f32 + 0.5; 80], &[80]);
        }
        let _b = rec.brick("fill in");
        work(700);
        rec.checksum("filled", None, &[n as f32 + 0.25; 80], &[80]);
    });
}

pub fn per_head(path: &Path) {
    steps(path, 8, |rec, n| {
        for _ in 0..6 {
            let _b = rec.brick("repeat keys");
            work(300);
            rec.checksum("keys", None, &[n as f32 + 0.75; 48], &[48]);
        }
        let _b = rec.brick("heads");
        work(1_500);
        rec.checksum("heads.out", None, &[n as f32 * 2.0 + 0.1; 48], &[48]);
    });
}

pub fn half_the_same(path: &Path) {
    steps(path, 25, |rec, n| {
        let _b = rec.brick("split");
        work(800);
        rec.checksum("shape", None, &[4.0_f32; 8], &[8]);
        rec.checksum("parts", None, &[n as f32 + 3.5; 64], &[64]);
    });
}

pub fn cleared(path: &Path) {
    steps(path, 25, |rec, n| {
        {
            let _b = rec.brick("zero gradients");
            work(500);
            rec.checksum("gradients", None, &[0.0_f32; 64], &[64]);
        }
        let _b = rec.brick("backward");
        work(900);
        rec.checksum("loss", None, &[n as f32 + 9.5; 1], &[1]);
    });
}

pub fn sum_19_20(path: &Path) {
    summed_at(path, "mean", 1.05);
}

pub fn sum_3_4(path: &Path) {
    summed_at(path, "dot rows", 1.34);
}

pub fn sum_45(path: &Path) {
    summed_at(path, "norms", 2.2);
}

pub fn horner_95(path: &Path) {
    horner_at(path, 1.05);
}

pub fn horner_70(path: &Path) {
    horner_at(path, 1.43);
}

pub fn horner_22(path: &Path) {
    horner_at(path, 4.5);
}

pub fn parity_6(path: &Path) {
    parity_at(path, 6.0);
}

pub fn walk_32(path: &Path) {
    chased(path, "follow links", 8 << 20, 18.0);
}

pub fn walk_20(path: &Path) {
    chased(path, "probe table", 5 << 20, 9.0);
}

pub fn collect_alone(path: &Path) {
    let rec = recorder(path);
    for _ in 0..8 {
        rounds(&rec, 1, &["map 0", "map 1", "map 2", "map 3"], |_, _| 2_000);
        let _b = rec.brick("collect");
        sleep(5_000);
    }
    rec.finish().expect("the recording ends");
}

pub fn eight_uneven(path: &Path) {
    let rec = recorder(path);
    let names = ["p 0", "p 1", "p 2", "p 3", "p 4", "p 5", "p 6", "p 7"];
    rounds(&rec, 11, &names, |_, index| 1_500 * (index + 1));
    rec.finish().expect("the recording ends");
}

pub fn two_kinds(path: &Path) {
    let rec = recorder(path);
    rounds(&rec, 14, &["encoder", "decoder"], |_, index| {
        9_000 + 300 * index
    });
    rec.finish().expect("the recording ends");
}

pub fn uneven_and_alone(path: &Path) {
    let rec = recorder(path);
    for _ in 0..9 {
        rounds(&rec, 1, &["part 0", "part 1", "part 2"], |_, index| {
            if index == 0 { 9_000 } else { 3_000 }
        });
        let _b = rec.brick("merge parts");
        sleep(10_000);
    }
    rec.finish().expect("the recording ends");
}

pub fn read_and_mask(path: &Path) {
    steps(path, 20, |rec, n| {
        brick(rec, "read_records", 1_500);
        {
            let _b = rec.brick("causal mask");
            work(1_000);
            rec.checksum("causal", None, &[1.0_f32; 90], &[90]);
        }
        let _b = rec.brick("attend");
        work(1_200);
        rec.checksum("attended", None, &[n as f32 + 0.5; 90], &[90]);
    });
}

pub fn small_and_leaky(path: &Path) {
    let mut chance = Chance(12);
    steps(path, 60, |rec, n| {
        let rows = 1 + chance.below(10);
        let mut b = rec.brick("answer");
        b.elements(rows);
        work(600 + 5 * rows);
        rec.allocation("history", 700 * 1024, 0x7000_0000 + n * 0x10_0000);
    });
}

const MIB: i64 = 1 << 20;

pub fn every_third(path: &Path) {
    let mut chance = Chance(14);
    steps(path, 45, |rec, n| {
        let bytes = MIB + chance.below(3 << 20) as i64;
        rec.allocation("scratch", bytes, 0x1000_0000);
        work(100);
        rec.allocation("scratch", -bytes, 0x1000_0000);
        if n % 3 == 0 {
            rec.allocation("log", MIB, 0x7000_0000 + n * 0x20_0000);
        }
    });
}

pub fn five_per_cent(path: &Path) {
    let mut live = 20.0 * MIB as f64;
    steps(path, 40, |rec, n| {
        if n == 0 {
            rec.allocation("graph", live as i64, 0x1_0000_0000);
        }
        let more = live * 0.05;
        live += more;
        rec.allocation("nodes", more as i64, 0x2_0000_0000 + n * 0x1000_0000);
        work(100);
    });
}

pub fn shrinks(path: &Path) {
    steps(path, 40, |rec, n| {
        if n == 0 {
            for k in 0..40 {
                rec.allocation("queue", 3 * MIB, 0x2000_0000 + k * 0x40_0000);
            }
        }
        work(100);
        rec.allocation("queue", -3 * MIB, 0x2000_0000 + n * 0x40_0000);
    });
}

pub fn even_memory(path: &Path) {
    steps(path, 50, |rec, n| {
        let bytes = MIB * if n % 2 == 0 { 20 } else { 35 };
        rec.allocation("batch", bytes, 0x2000_0000);
        work(100);
        rec.allocation("batch", -bytes, 0x2000_0000);
        if n == 0 {
            rec.allocation("weights", 150 * MIB, 0x6000_0000);
        }
    });
}

fn blocks(path: &Path, number: u64, bytes: i64, freed: impl Fn(u64) -> bool) {
    let rec = recorder(path);
    let place = |n: u64| 0x5000_0000 + n * bytes as u64;
    {
        let _b = rec.brick("grow");
        (0..number).for_each(|n| rec.allocation("cell", bytes, place(n)));
        work(400);
    }
    {
        let _b = rec.brick("cut");
        let gone = (0..number).filter(|n| freed(*n));
        gone.for_each(|n| rec.allocation("cell", -bytes, place(n)));
        work(400);
    }
    rec.finish().expect("the recording ends");
}

pub fn pairs(path: &Path) {
    blocks(path, 5_000, 24 << 10, |n| n % 2 == 0);
}

pub fn two_of_three(path: &Path) {
    blocks(path, 600, 512 << 10, |n| n % 3 != 1);
}

pub fn head_freed(path: &Path) {
    blocks(path, 900, 128 << 10, |n| n < 500);
}

pub fn one_in_ten(path: &Path) {
    blocks(path, 4_000, 32 << 10, |n| n % 10 == 6);
}

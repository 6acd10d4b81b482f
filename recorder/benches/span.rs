//! The cost of one span on the caller's thread, as a ratio to a floor measured in the same run.
//!
//! `cargo bench -p trueno-recorder --bench span`
//!
//! The floor is two readings of the recorder's kind of clock and one store of 64 bytes into a small
//! ring: less cannot keep a raw event. Candidates take turns within each round, so that they meet the
//! same weather; the ratio is the median over rounds of candidate over floor within the round.

use std::hint::black_box;
use std::time::Instant;

use trueno_recorder::{BrickId, Overflow, Recorder};
use trueno_testing::{median, ticks};

const ROUNDS: usize = 200;
const BATCH: u32 = 5_000;

fn main() {
    let folder = std::env::temp_dir().join(format!("trueno-span-bench-{}", std::process::id()));
    let rec = Recorder::builder(&folder)
        .overflow(Overflow::Drop)
        .create()
        .expect("a recorder in the folder for temporary files");
    let off = Recorder::disabled();
    let gemv = rec.name("gemv");
    let mut ring = vec![[0_u64; 8]; 4096];
    let mut at = 0;

    type Candidate<'a> = (&'static str, Box<dyn FnMut(u32) + 'a>);
    let mut candidates: Vec<Candidate> = vec![
        (
            "floor: two clock readings, 64 bytes stored",
            Box::new(|n| {
                for i in 0..u64::from(n) {
                    let start = ticks();
                    let end = ticks();
                    ring[at & 4095] = [start, end, i, 7, i << 2, i << 1, 3, 9];
                    at += 1;
                }
                black_box(&ring);
            }),
        ),
        (
            "two clock readings alone",
            Box::new(|n| {
                for _ in 0..n {
                    black_box(ticks());
                    black_box(ticks());
                }
            }),
        ),
        (
            "brick",
            Box::new(|n| {
                for _ in 0..n {
                    drop(rec.brick(BrickId::QkvProjection));
                }
            }),
        ),
        (
            "brick with elements, flops, bytes",
            Box::new(|n| {
                for i in 0..u64::from(n) {
                    let mut brick = rec.brick(BrickId::QkvProjection);
                    brick.elements(i).flops(i << 1).bytes(i << 2, i);
                }
            }),
        ),
        (
            "kernel with elements, flops, bytes",
            Box::new(|n| {
                for i in 0..u64::from(n) {
                    let mut kernel = rec.kernel(gemv);
                    kernel.elements(i).flops(i << 1).bytes(i << 2);
                }
            }),
        ),
        (
            "brick named by text",
            Box::new(|n| {
                for _ in 0..n {
                    drop(rec.brick("a brick of mine"));
                }
            }),
        ),
        (
            "brick with an attribute, a number",
            Box::new(|n| {
                for i in 0..u64::from(n) {
                    rec.brick(BrickId::QkvProjection).set(gemv, i);
                }
            }),
        ),
        (
            "brick with an attribute, a text looked up",
            Box::new(|n| {
                for _ in 0..n {
                    rec.brick(BrickId::QkvProjection).set("model", "tiny");
                }
            }),
        ),
        (
            "instant",
            Box::new(|n| {
                for _ in 0..n {
                    rec.instant(gemv);
                }
            }),
        ),
        (
            "brick with metrics, recorder disabled",
            Box::new(|n| {
                for i in 0..u64::from(n) {
                    let mut brick = off.brick(BrickId::QkvProjection);
                    brick.elements(black_box(i)).flops(i << 1).bytes(i << 2, i);
                }
            }),
        ),
        (
            "brick kept in memory, recorder disabled",
            Box::new(|n| {
                for _ in 0..n {
                    drop(black_box(off.brick(BrickId::QkvProjection)));
                }
            }),
        ),
    ];

    let mut times_ns = vec![Vec::new(); candidates.len()];
    for _ in 0..ROUNDS {
        for ((_, work), times_ns) in candidates.iter_mut().zip(&mut times_ns) {
            let start = Instant::now();
            work(BATCH);
            times_ns.push(start.elapsed().as_nanos() as f64 / f64::from(BATCH));
        }
        // The writer empties the ring between rounds, so that a full one is not what is measured.
        std::thread::sleep(std::time::Duration::from_millis(3));
    }
    println!(
        "{:<44} {:>8} {:>8} {:>9}",
        "", "best ns", "median", "to floor"
    );
    for ((name, _), own) in candidates.iter().zip(&times_ns) {
        let ratios = own.iter().zip(&times_ns[0]).map(|(own, floor)| own / floor);
        let best = own.iter().copied().fold(f64::INFINITY, f64::min);
        println!(
            "{name:<44} {best:>8.1} {:>8.1} {:>8.2}x",
            median(own.iter().copied()),
            median(ratios)
        );
    }
    drop(candidates);
    let dropped = rec.status().dropped;
    println!("events dropped meanwhile: {dropped}");
    drop(rec);
    // What is left there is of no use to anyone.
    let _ = std::fs::remove_dir_all(&folder);
}

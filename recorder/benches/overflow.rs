//! Rows that each policy for full rings loses, and what it costs the program, on a machine as busy as it is.
//!
//! `cargo bench -p trueno-recorder --bench overflow`; some seconds. Two threads record a brick around some 100 ns of
//! work, two million times each, in three rounds that take turns. Beside other work the writer is late: that is what the
//! policies are for.

use std::hint::black_box;
use std::time::{Duration, Instant};

use trueno_recorder::{Overflow, Recorder};

const THREADS: u64 = 2;
const BRICKS: u64 = 2_000_000;
const ROUNDS: usize = 3;
const WORK: u64 = 150;

fn work(seed: u64) -> u64 {
    (0..WORK).fold(seed, |x, _| black_box(x.wrapping_mul(31)))
}

fn flood(rec: &Recorder) -> (Duration, u64) {
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for n in 0..BRICKS {
                    rec.brick("brick").elements(n);
                    black_box(work(n));
                }
            });
        }
    });
    let time = began.elapsed();
    let dropped = rec.clone().finish().expect("a recording").dropped;
    (time, dropped)
}

fn main() {
    // `cargo test --benches` passes it: nothing is to be measured then.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let policies = [Overflow::Drop, Overflow::Grow, Overflow::Block];
    let mut rounds: Vec<Vec<(Duration, u64)>> = vec![Vec::new(); policies.len()];
    let mut alone = Vec::new();
    for round in 0..ROUNDS {
        alone.push(flood(&Recorder::disabled()).0);
        for (at, overflow) in policies.into_iter().enumerate() {
            let path = folder
                .path()
                .join(format!("{}.{round}.run", overflow.name()));
            let rec = Recorder::builder(&path).overflow(overflow).create();
            rounds[at].push(flood(&rec.expect("a recording")));
            std::fs::remove_dir_all(&path).expect("the run is removed");
        }
    }
    let of = THREADS * BRICKS;
    let ms = |times: &[Duration]| {
        let mut ms: Vec<u128> = times.iter().map(Duration::as_millis).collect();
        ms.sort_unstable();
        format!("{} to {} ms", ms[0], ms[ms.len() - 1])
    };
    println!("{of} bricks, {ROUNDS} rounds");
    println!("off    {}", ms(&alone));
    for (overflow, rounds) in policies.into_iter().zip(&rounds) {
        let times: Vec<Duration> = rounds.iter().map(|round| round.0).collect();
        let dropped: Vec<String> = rounds
            .iter()
            .map(|round| format!("{:.1} %", round.1 as f64 * 100.0 / of as f64))
            .collect();
        println!(
            "{:<6} {}, dropped {}",
            overflow.name(),
            ms(&times),
            dropped.join(", ")
        );
    }
}

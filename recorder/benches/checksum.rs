//! Speed of fingerprinting a tensor, beside reading its bytes and doing next to nothing.
//!
//! `cargo bench -p trueno-recorder --bench checksum`
//!
//! Both take turns over the same buffer in the same run; the ratio is the median over turns. The
//! read is a sum of 64-bit words in sixteen accumulators, which the compiler turns into vector
//! instructions of the baseline it builds for.

use std::hint::black_box;
use std::time::Instant;

use trueno_recorder::{Element, fingerprint};

const SIZES: [(&str, usize); 3] = [
    ("256 KiB", 1 << 18),
    ("4 MiB", 1 << 22),
    ("64 MiB", 1 << 26),
];
const TURN_BYTES: usize = 1 << 26;
const TURNS: usize = 15;
const MAX_TO_READ: f64 = 2.0;

fn main() {
    println!(
        "{:<14} {:>12} {:>18} {:>9}",
        "", "read GB/s", "fingerprint GB/s", "ratio"
    );
    for (name, bytes) in SIZES {
        let words: Vec<u64> = (0..bytes as u64 / 8).collect();
        let f32s: Vec<f32> = (0..bytes / 4).map(|i| (i % 977) as f32 - 400.5).collect();
        compare(&format!("f32 {name}"), &words, &f32s);
        drop(f32s);
        let f64s: Vec<f64> = (0..bytes / 8).map(|i| (i % 977) as f64 - 400.5).collect();
        compare(&format!("f64 {name}"), &words, &f64s);
    }
}

fn compare<T: Element>(name: &str, words: &[u64], data: &[T]) {
    let bytes = size_of_val(data);
    let mut turns: Vec<(f64, f64)> = (0..TURNS)
        .map(|_| {
            let read = seconds(bytes, || sum(black_box(words)));
            (read, seconds(bytes, || fingerprint(black_box(data)).hash))
        })
        .collect();
    turns.sort_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)));
    let (read, print) = turns[TURNS / 2];
    let speed = |seconds: f64| TURN_BYTES as f64 / seconds / 1e9;
    let ratio = print / read;
    let word = if ratio <= MAX_TO_READ {
        "met"
    } else {
        "missed"
    };
    println!(
        "{name:<14} {:>12.1} {:>18.1} {ratio:>8.2}x  {word} (at most {MAX_TO_READ}x)",
        speed(read),
        speed(print)
    );
}

fn seconds(bytes: usize, mut work: impl FnMut() -> u64) -> f64 {
    let start = Instant::now();
    for _ in 0..TURN_BYTES / bytes {
        black_box(work());
    }
    start.elapsed().as_secs_f64()
}

fn sum(words: &[u64]) -> u64 {
    let (groups, rest) = words.as_chunks::<16>();
    let mut sums = [0u64; 16];
    for group in groups {
        for (sum, word) in sums.iter_mut().zip(group) {
            *sum = sum.wrapping_add(*word);
        }
    }
    sums.iter()
        .chain(rest)
        .fold(0, |all, word| all.wrapping_add(*word))
}

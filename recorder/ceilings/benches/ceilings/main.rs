//! Compares the ceilings with other loops' rates, as ratios within this run.
//!
//! `cargo bench -p trueno-ceilings --bench ceilings`
//!
//! - `DRAM` beside loops written here in plain Rust, over arrays of their own of the same size:
//!   a sum, the four of STREAM (McCalpin), and the C library's `memcpy`. Both take turns; the loops
//!   are compiled for the widest instructions there are, a sum for those of every x86-64 as well.
//! - The same ceiling measured twice.
//! - Arithmetic beside clock times lanes times operations: how many units that would be.

mod streams;

use std::collections::BTreeMap;

use trueno_ceilings::{CpuCeilings, Effort, measure, measure_clock_hz};
use trueno_recorder::{Ceiling, CeilingKind};

fn main() {
    let effort = Effort::default();
    let clock_before = measure_clock_hz(&effort);
    let first = measure(&effort, |_| {});
    let mut arrays = streams::Arrays::new(array_bytes(&first));
    arrays.take_turns();
    let second = measure(&effort, |_| {});
    arrays.take_turns();
    let clock_after = measure_clock_hz(&effort);

    println!("DRAM, one thread: ceiling over a loop of the same kind");
    for (operation, name, rate) in arrays.best() {
        let best =
            |peaks: &CpuCeilings| find(peaks, "DRAM", operation).map_or(f64::NAN, |c| c.value);
        let ceiling = best(&first).max(best(&second));
        println!(
            "  {operation:<8} {:>7.1} GB/s   {name:<22} {:>7.1} GB/s   {:>5.2}x",
            ceiling / 1e9,
            rate / 1e9,
            ceiling / rate
        );
    }

    println!("two measurements of the same: second over first");
    let again: BTreeMap<_, f64> = second.ceilings.iter().map(|c| (key(c), c.value)).collect();
    let mut worst: f64 = 1.0;
    for c in &first.ceilings {
        let ratio = again[&key(c)] / c.value;
        worst = worst.max(ratio.max(1.0 / ratio));
        println!("  {:<28} {ratio:>5.2}x", key(c));
    }
    println!("  the most they differ: {worst:.2}x");

    let clocks = [clock_before, clock_after, first.clock.hz, second.clock.hz];
    let Some(hz) = clocks.into_iter().flatten().reduce(f64::max) else {
        println!("the clock is not known: arithmetic is not compared with it");
        return;
    };
    println!(
        "arithmetic over clock x lanes x operations x threads: units at work, at {:.2} GHz",
        hz / 1e9
    );
    for c in &first.ceilings {
        let precision = c.precision.as_deref().unwrap_or("");
        let lanes = register_lanes(c.level.as_deref().unwrap_or(""), precision);
        if let (CeilingKind::Compute, Some((lanes, operations))) = (c.kind, lanes) {
            let value = c.value.max(again[&key(c)]);
            let one = hz * lanes * operations * f64::from(c.threads.unwrap_or(1));
            println!("  {:<28} {:>5.2}", key(c), value / one);
        }
    }
}

fn key(c: &Ceiling) -> String {
    let text =
        |text: &Option<std::borrow::Cow<'static, str>>| text.as_deref().unwrap_or("-").to_owned();
    format!(
        "{} {} {} {}",
        text(&c.level),
        text(&c.precision),
        text(&c.operation),
        c.threads.unwrap_or(0)
    )
}

fn find<'p>(peaks: &'p CpuCeilings, level: &str, operation: &str) -> Option<&'p Ceiling> {
    peaks.ceilings.iter().find(|c| {
        c.level.as_deref() == Some(level)
            && c.operation.as_deref() == Some(operation)
            && c.threads == Some(1)
    })
}

/// Lanes of a register, and operations per lane of one instruction; `mul_add` counts both its instructions.
fn register_lanes(level: &str, precision: &str) -> Option<(f64, f64)> {
    let bytes = match level {
        "sse2" | "neon" => 16,
        "avx2" => 32,
        "avx512" => 64,
        "scalar" => 0,
        _ => return None,
    };
    let (lane, operations) = match precision {
        "f32" => (4, 2),
        "f64" => (8, 2),
        "i8" => (1, 2),
        _ => return None,
    };
    Some(((bytes / lane).max(1) as f64, f64::from(operations)))
}

/// Together as large as the memory that the ceilings use.
fn array_bytes(peaks: &CpuCeilings) -> usize {
    let last = peaks.machine.caches.last().map_or(86 << 20, |c| c.bytes);
    (12 * last as usize).max(64 << 20)
}

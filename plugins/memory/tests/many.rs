//! Ten million rows, by hand: `cargo test -p trueno-plugin-memory --test many -- --ignored --nocapture`.

use std::time::Instant;

use trueno_plugin::{Table, testing};
use trueno_plugin_memory::Memory;

const ROWS: u64 = 10_000_000;
const LIVE: u64 = 10_000;

/// Alternately an allocation and a release. Each block is released some 20,000 rows later.
fn row(nth: u64) -> (i64, u64) {
    let block = nth / 2;
    let size = 16 + (block.wrapping_mul(0x9e37_79b9) >> 20) % 4000;
    match nth % 2 {
        0 => (size as i64, 4096 * (block % LIVE + 1)),
        _ if block + 1 < LIVE => (0, 0),
        _ => {
            // The block whose address the next one takes.
            let gone = block + 1 - LIVE;
            let size = 16 + (gone.wrapping_mul(0x9e37_79b9) >> 20) % 4000;
            (-(size as i64), 4096 * (gone % LIVE + 1))
        }
    }
}

fn peak_mb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    let kb: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kb / 1000)
}

#[test]
#[ignore = "takes seconds and gigabytes"]
fn ten_million_rows() {
    let numbers = || (0..ROWS).map(row);
    let inputs = [
        Table::build("allocations")
            .i64("time_ns", (0..ROWS).map(|nth| 100 * nth as i64))
            .i64("thread", (0..ROWS).map(|_| 0))
            .u64("span", (0..ROWS).map(|nth| nth / 1000))
            .i64("device", (0..ROWS).map(|_| None::<i64>))
            .i64("bytes", numbers().map(|row| row.0))
            .text("tag", (0..ROWS).map(|_| "heap"))
            .u64("address", numbers().map(|row| row.1))
            .f64("weight", (0..ROWS).map(|_| 1.0))
            .u64("sample_bytes", (0..ROWS).map(|_| None::<u64>)),
        Table::build("owners")
            .u64("id", 0..ROWS / 1000)
            .text("kind", (0..ROWS / 1000).map(|_| "brick"))
            .text("name", (0..ROWS / 1000).map(|_| "Attention"))
            .u64("iteration", 0..ROWS / 1000)
            .i64("layer", (0..ROWS / 1000).map(|_| 0)),
        Table::build("calls")
            .text("kind", ["brick"])
            .text("name", ["Attention"])
            .i64("thread", [0])
            .i64("calls", [ROWS as i64 / 1000]),
        Table::build("iterations")
            .i64("thread", (0..ROWS / 1000).map(|_| 0))
            .i64("start_ns", (0..ROWS / 1000).map(|nth| 100_000 * nth as i64))
            .i64("end_ns", (1..=ROWS / 1000).map(|nth| 100_000 * nth as i64)),
        Table::build("run")
            .i64("wall_ns", [100 * ROWS as i64])
            .u64("dropped", [0_u64]),
    ];
    let before = peak_mb();
    let start = Instant::now();
    let output = testing::run::<Memory>(inputs, "{}").unwrap();
    println!(
        "{ROWS} rows: {:.1} s with the copies of the test; peak {before:?} MB before, {:?} MB after",
        start.elapsed().as_secs_f64(),
        peak_mb()
    );
    assert!(
        output.table("problems").is_empty(),
        "{}",
        output.table("problems")
    );
    assert_eq!(
        output.table("growth").text("verdict").unwrap().get(0),
        Some("no trend")
    );
}

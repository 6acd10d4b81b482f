//! The second table: what a span adds to about 1 µs of real work.

use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use trueno::brick::BrickProfiler;
use trueno_recorder::Recorder;

use crate::candidates::{self, Measured};
use crate::floor::Floor;
use crate::rounds::{self, Candidate};

const ROUNDS: usize = 1000;
const BATCH: u32 = 300;

/// A chain of dependent integer steps, which cannot overlap.
#[inline(never)]
fn chain(steps: u64) {
    let mut x = black_box(1_u64);
    for _ in 0..steps {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    }
    black_box(x);
}

fn steps_in_1_us() -> u64 {
    const STEPS: u64 = 1_000_000;
    let times_ns = (0..5).map(|_| {
        let start = Instant::now();
        chain(STEPS);
        start.elapsed().as_nanos() as u64
    });
    STEPS * 1000 / times_ns.min().unwrap_or(STEPS).max(1)
}

/// Prints the table. Returns what a brick with metrics adds, as a share of the work.
pub fn run(folder: &Path) -> Result<f64, Box<dyn Error>> {
    let steps = steps_in_1_us();
    let work = move || chain(steps);
    let rec = Recorder::create(folder.join("work.run"))?;
    let mut floor = Floor::new();
    let ours = rec.clone();
    let mut profiler = BrickProfiler::enabled();
    let measured = Measured::new(&folder.join("work"))?;
    let rows = rounds::run(
        vec![
            Candidate::each("the work alone", BATCH, move |_| work()),
            Candidate::each("floor", BATCH, move |i| floor.span(i, work)),
            Candidate::each("brick with elements, flops, bytes", BATCH, move |i| {
                candidates::brick(&ours, i, work)
            }),
            Candidate::each("aprender-compute", BATCH, move |i| {
                candidates::profiled(&mut profiler, i, work)
            }),
            Candidate::each("measureme", BATCH, move |_| measured.span(0, work)),
        ],
        ROUNDS,
    );
    let added = |row: &rounds::Row| row.over(&rows[0]) - 1.0;
    println!("Around {:.2} µs of integer work\n", rows[0].median_ns / 1e3);
    println!("{:<56} {:>8}", "", "added");
    for row in &rows[1..] {
        println!("{:<56} {:>7.2}%", row.name, 100.0 * added(row));
    }
    println!("\nevents dropped {}\n", rec.finish()?.dropped);
    Ok(added(&rows[2]))
}

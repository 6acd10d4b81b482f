//! The first table: empty spans, as ratios to the floor.

use std::error::Error;
use std::hint::black_box;
use std::path::Path;

use tracing::dispatcher;
use trueno::brick::BrickProfiler;
use trueno_recorder::{BrickId, Name, Recorder, TileLevel};

use crate::candidates::{self, Measured};
use crate::floor::{Floor, ticks};
use crate::rounds::{self, Candidate, Row};

const ROUNDS: usize = 1000;

pub const FLOOR: &str = "floor: two clock readings, 64 bytes stored";
pub const BRICK: &str = "brick";
pub const KERNEL: &str = "kernel with elements, flops, bytes";
pub const DISABLED: &str = "brick with metrics, recorder disabled";
pub const PROFILER: &str = "aprender-compute start_brick, stop_brick (sums only)";

pub fn run(folder: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
    let rec = Recorder::create(folder.join("spans.run"))?;
    let mut candidates = ours(&rec);
    candidates.extend(peers(&rec, folder)?);
    let rows = rounds::run(candidates, ROUNDS);
    println!("Empty spans on one thread, writers live\n");
    println!(
        "{:<56} {:>8} {:>8} {:>9}",
        "", "best ns", "median", "to floor"
    );
    let floor = rounds::find(&rows, FLOOR);
    for row in &rows {
        let Row {
            name,
            best_ns,
            median_ns,
            ..
        } = row;
        println!(
            "{name:<56} {best_ns:>8.1} {median_ns:>8.1} {:>8.2}x",
            row.over(floor)
        );
    }
    let summary = rec.finish()?;
    println!(
        "\nrows recorded {}, dropped {}\n",
        summary.rows, summary.dropped
    );
    Ok(rows)
}

fn ours(rec: &Recorder) -> Vec<Candidate> {
    let mut floor = Floor::new();
    let recs: [Recorder; 5] = std::array::from_fn(|_| rec.clone());
    let [plain, metrics, launched, tiled, summed] = recs;
    let (off, kept_off) = (Recorder::disabled(), Recorder::disabled());
    let gemv = Name::new("gemv");
    let tensor: Vec<f32> = (0..64).map(|x| x as f32).collect();
    vec![
        Candidate::each(FLOOR, 2000, move |i| floor.span(i, || ())),
        Candidate::each("two clock readings", 2000, |_| {
            black_box(ticks());
            black_box(ticks());
        }),
        Candidate::each(BRICK, 2000, move |_| {
            drop(plain.brick(BrickId::QkvProjection))
        }),
        Candidate::each("brick with elements, flops, bytes", 2000, move |i| {
            candidates::brick(&metrics, i, || ())
        }),
        Candidate::each(KERNEL, 2000, move |i| {
            let mut kernel = launched.kernel(gemv);
            kernel.elements(i).flops(i << 1).bytes(i << 2);
        }),
        Candidate::each("brick with a tile inside", 1000, move |i| {
            let _brick = tiled.brick(BrickId::QkvProjection);
            drop(tiled.tile(TileLevel::Micro, i as u32, 0));
        }),
        Candidate::each("brick, then a checksum of 64 f32", 500, move |i| {
            drop(summed.brick(BrickId::QkvProjection));
            summed.checksum("qkv.out", Some(i), &tensor, &[64]);
        }),
        Candidate::each(DISABLED, 20_000, move |i| {
            candidates::brick(black_box(&off), black_box(i), || ())
        }),
        // As where a guard is kept in a struct, or handed to a function that is not inline.
        Candidate::each(
            "brick kept in memory, recorder disabled",
            20_000,
            move |i| {
                black_box(i);
                drop(black_box(kept_off.brick(BrickId::QkvProjection)));
            },
        ),
        // The recorder has no switch that compiles it out: this is the loop without the call.
        Candidate::each("no call at all", 20_000, |i| _ = black_box(i)),
    ]
}

fn peers(rec: &Recorder, folder: &Path) -> Result<Vec<Candidate>, Box<dyn Error>> {
    let mut profiler = BrickProfiler::enabled();
    let measured = Measured::new(&folder.join("spans"))?;
    let (chrome, flush) = candidates::chrome(&folder.join("spans.json"))?;
    let layer = candidates::layer(rec);
    puffin::set_scopes_on(true);
    let traced = |calls| (0..calls).for_each(|_| candidates::traced(|| ()));
    Ok(vec![
        Candidate::each(PROFILER, 2000, move |i| {
            candidates::profiled(&mut profiler, i, || ())
        }),
        Candidate::new(
            "fastrace, 1000 collected on the thread, then dropped",
            2000,
            candidates::fastrace,
        ),
        Candidate::new(
            "puffin, frames of 1000 scopes, then dropped",
            2000,
            candidates::puffin,
        ),
        Candidate::each("measureme (disk, no metrics)", 2000, move |_| {
            measured.span(0, || ())
        }),
        Candidate::new("tracing-chrome (disk)", 200, move |calls| {
            let _flush = &flush;
            dispatcher::with_default(&chrome, || traced(calls));
        }),
        Candidate::new("our layer for tracing (disk)", 500, move |calls| {
            dispatcher::with_default(&layer, || traced(calls));
        }),
    ])
}

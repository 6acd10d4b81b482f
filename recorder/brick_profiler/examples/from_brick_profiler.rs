//! A program instrumented for `trueno::brick::BrickProfiler` that records a run: only the import
//! and the line that names the run are new.
//!
//! `cargo run -p trueno-brick-profiler --example from_brick_profiler -- moved.run`

// Before: use trueno::brick::{BrickCategory, BrickId, BrickProfiler, ExecutionNode, TileLevel};
use trueno_brick_profiler::{BrickCategory, BrickId, BrickProfiler, ExecutionNode, TileLevel};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1);
    // Before: BrickProfiler::new(), which here records where TRUENO_RUN says.
    let mut profiler = BrickProfiler::create(path.unwrap_or_else(|| "moved.run".into()))?;
    profiler.enable();
    profiler.enable_graph();
    profiler.enable_tile_profiling();

    let input = vec![0.5f32; 4096];
    for layer in 0..2 {
        profiler.graph_push_scope(ExecutionNode::Layer { index: layer });

        let timer = profiler.start_brick(BrickId::RmsNorm);
        let norm = input.iter().map(|x| x * x).sum::<f32>().sqrt();
        profiler.stop_brick(timer, 4096);

        let timer = profiler.start("scale");
        let mut output = vec![0.0; input.len()];
        for (row, (to, from)) in output.chunks_mut(1024).zip(input.chunks(1024)).enumerate() {
            let tile = profiler.start_tile(TileLevel::Midi, row as u32, 0);
            for (to, from) in to.iter_mut().zip(from) {
                *to = from / norm;
            }
            profiler.stop_tile(tile, 1024, 1024);
        }
        profiler.stop(timer, 4096);
        profiler.record_checksum("scale.out", layer as usize, 0, &output);

        profiler.graph_pop_scope();
    }

    let total_ns = profiler.total_ns();
    for category in BrickCategory::ALL {
        let sums = profiler.category_stats()[category as usize];
        if sums.count > 0 {
            let (us, percent) = (sums.avg_us(), sums.percentage(total_ns));
            println!("{category:<10} {us:>8.2} us on average {percent:>6.1} %");
        }
    }
    let summary = profiler.finish()?;
    println!("{} rows in {}", summary.rows, summary.path.display());
    Ok(())
}

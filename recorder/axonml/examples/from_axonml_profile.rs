//! A program instrumented for `axonml-profile` that records a run: only the import and the line that names the run are
//! new.
//!
//! `cargo run -p trueno-axonml-profile --example from_axonml_profile -- moved.run`

// Before: use axonml_profile::{EventType, Profiler, profile_scope};
use trueno_axonml_profile::{EventType, Profiler, profile_scope};

const WIDTH: usize = 128;

/// A layer, `y = max(W x, 0)`.
fn layer(profiler: &Profiler, weights: &[f32], x: &[f32]) -> Vec<f32> {
    profile_scope!(profiler, "layer");
    let flops = 2.0 * (WIDTH * WIDTH) as f64;
    profiler.compute.write().start_with_flops("matvec", flops);
    let rows = weights.chunks_exact(WIDTH);
    let y: Vec<f32> = rows
        .map(|row| row.iter().zip(x).map(|(w, x)| w * x).sum())
        .collect();
    profiler.compute.write().stop("matvec");

    profiler.start("relu");
    let y = y.iter().map(|y| y.max(0.0)).collect();
    profiler.stop("relu");
    y
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1);
    // Before: Profiler::new(), which here records where TRUENO_RUN says.
    let profiler = Profiler::create(path.unwrap_or_else(|| "moved.run".into()))?;
    let weights = vec![1.0 / WIDTH as f32; WIDTH * WIDTH];
    profiler.record_alloc("weights", size_of_val(&weights[..]));
    for step in 0..3 {
        profile_scope!(&profiler, "step");
        let mut x = vec![step as f32; WIDTH];
        for _ in 0..2 {
            profiler.record_alloc("activations", size_of_val(&x[..]));
            x = layer(&profiler, &weights, &x);
        }
        profiler.record_free("activations", 2 * size_of_val(&x[..]));
        let mut timeline = profiler.timeline.write();
        timeline.record_with_metadata("step done", EventType::Instant, &step.to_string());
    }
    profiler.print_summary();
    // New, and needed only to see errors: the run also ends with its profiler.
    println!("{:?}", profiler.finish()?);
    Ok(())
}

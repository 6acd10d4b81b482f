//! A program that uses `tracing` and knows nothing of recorders but for one line.
//!
//! `cargo run -p trueno-recorder --features tracing --example tracing -- tracing.run`

use tracing_subscriber::prelude::*;
use trueno_recorder::Recorder;
use trueno_recorder::tracing::RecorderLayer;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "tracing.run".into());
    let rec = Recorder::create(path)?;
    tracing_subscriber::registry()
        .with(RecorderLayer::new(rec.clone())) // this one
        .init();
    let input: Vec<f32> = (0..4096).map(|x| x as f32).collect();
    for token in 0..3 {
        sum_up(token, &input);
    }
    let summary = rec.finish()?;
    println!("{} rows in {}", summary.rows, summary.path.display());
    Ok(())
}

fn sum_up(token: u64, input: &[f32]) {
    let _iteration = tracing::info_span!("iteration", number = token).entered();
    let elements = input.len();
    let norm = tracing::info_span!("RmsNorm", elements, bytes_read = 4 * elements)
        .in_scope(|| input.iter().map(|x| x * x).sum::<f32>().sqrt());
    // Its halves run on two threads; with their parent named, they lie in this one.
    let both = tracing::info_span!("halves", kind = "brick").entered();
    let sum: f32 = std::thread::scope(|scope| {
        let halves = [0, 1].map(|half| {
            let half = &input[half * elements / 2..][..elements / 2];
            let span = tracing::info_span!(parent: &both, "half", flops = 2 * half.len());
            scope.spawn(move || span.in_scope(|| half.iter().map(|x| x / norm).sum::<f32>()))
        });
        halves
            .map(|half| half.join().unwrap_or(f32::NAN))
            .iter()
            .sum()
    });
    tracing::info!(gauge.sum = f64::from(sum), "token {token} done");
}

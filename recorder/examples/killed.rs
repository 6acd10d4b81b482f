//! A program that ends itself by SIGKILL while it records: an open segment, rows that wait, and rings are left. What
//! `datasets/formats` keeps of each version.
//!
//! `cargo run -p trueno-recorder --example killed -- killed.run`

use std::path::Path;
use std::time::Duration;

use trueno_recorder::{BrickId, Recorder};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "killed.run".into());
    let rec = Recorder::create(&path)?;
    let input = vec![0.5f32; 4096];
    for token in 0..30 {
        let mut iteration = rec.iteration(token);
        iteration.set("seed", u64::MAX - token);
        rec.instant_with("token asked for", &[("token", token.into())]);
        for number in 0..2 {
            let _layer = rec.layer(number);
            let norm = {
                let mut brick = rec.brick(BrickId::RmsNorm);
                brick.elements(4096).bytes(4 * 4096, 4);
                input.iter().map(|x| x * x).sum::<f32>().sqrt()
            };
            let mut brick = rec.brick("scale");
            brick.elements(4096).flops(4096);
            brick.set("norm", norm).set("input", "all halves");
            brick.set("last", number == 1).set("shift", -1);
            let output: Vec<f32> = {
                let mut kernel = rec.kernel("scale_f32");
                kernel.backend("scalar").flops(4096).bytes(8 * 4096);
                input.iter().map(|x| x / norm).collect()
            };
            rec.checksum("scale.out", Some(token), &output, &[64, 64]);
        }
    }
    let from = rec.brick("from").id();
    let to = rec.brick("to").id();
    for _ in 0..9_000 {
        rec.depends(from, to);
    }
    let journal = Path::new(&path).join("batches.jsonl");
    while !std::fs::read_to_string(&journal)?.contains("edges") {
        std::thread::sleep(Duration::from_millis(1));
    }
    let own = std::process::id().to_string();
    std::process::Command::new("kill")
        .args(["-KILL", &own])
        .status()?;
    Ok(())
}

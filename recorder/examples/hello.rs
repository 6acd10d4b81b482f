//! The shortest recording: two layers of two bricks, one of them with attributes and a kernel.
//!
//! `cargo run -p trueno-recorder --example hello -- hello.run`

use trueno_recorder::{BrickId, Recorder};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "hello.run".into());
    let rec = Recorder::create(path)?;
    let input = vec![0.5f32; 4096];
    for token in 0..3 {
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
    let summary = rec.finish()?;
    println!("{} rows in {}", summary.rows, summary.path.display());
    Ok(())
}

//! Records ten million checksums three times, for `report BIG --baseline BASE --only divergence`. In `big.run` one in ten
//! thousand differs from `base.run`, in `other.run` all do.
//!
//!     cargo run --release -p trueno-recorder --example many_checksums -- FOLDER [ROWS]

use trueno_recorder::{Overflow, Recorder};

const LAYERS: u64 = 40;
const NAMES: [&str; 10] = [
    "norm", "qkv", "rope", "score", "softmax", "values", "output", "gate", "up", "down",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let folder = args.next().ok_or("which folder?")?;
    let rows: u64 = args.next().map_or(Ok(10_000_000), |text| text.parse())?;
    for (run, wrong_of) in [
        ("base.run", None),
        ("big.run", Some(10_000)),
        ("other.run", Some(1)),
    ] {
        let rec = Recorder::builder(format!("{folder}/{run}"))
            .overflow(Overflow::Block)
            .create()?;
        let mut count = 0;
        for iteration in 0.. {
            let _iteration = rec.iteration(iteration);
            for layer in 0..LAYERS {
                let _layer = rec.layer(layer as u32);
                for name in NAMES {
                    let mut data = [count as f32, 1.0, 2.0, 3.0];
                    if wrong_of.is_some_and(|of| count % of == of - 1) {
                        data[3] = 3.1;
                    }
                    rec.checksum(name, Some(iteration), &data, &[1, 4]);
                    count += 1;
                }
            }
            if count >= rows {
                break;
            }
        }
        rec.finish()?;
    }
    Ok(())
}

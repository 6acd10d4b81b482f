//! A brick whose heads run on threads of their own, each in tiles, and the wait for them.
//!
//! `cargo run -p trueno-recorder --example tiles_and_tasks -- tasks.run`

use trueno_recorder::{Recorder, TileLevel};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "tasks.run".into());
    let rec = Recorder::create(path)?;
    let brick = rec.brick("AttentionScore");
    let parent = brick.id();
    std::thread::scope(|scope| {
        let heads: Vec<_> = (0..4)
            .map(|head| {
                let rec = rec.clone();
                scope.spawn(move || {
                    let task = rec.task(format!("head {head}"), Some(parent));
                    for row in 0..8 {
                        let mut tile = rec.tile(TileLevel::Micro, row, head);
                        tile.elements(64).flops(2 * 64 * 64);
                        std::hint::black_box((0..64 * 64).map(f64::from).sum::<f64>());
                    }
                    task.id()
                })
            })
            .collect();
        let mut wait = rec.wait("join heads", &[]);
        for head in heads {
            if let Ok(task) = head.join() {
                wait.on(task);
            }
        }
    });
    drop(brick);
    let summary = rec.finish()?;
    println!("{} rows in {}", summary.rows, summary.path.display());
    Ok(())
}

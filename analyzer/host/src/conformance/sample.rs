//! A small recording to try plugins on when there is no other.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use trueno_recorder::{BrickId, Recorder, TileLevel};

/// A run in the folder for temporary files, removed on drop.
pub struct Sample {
    dir: PathBuf,
}

impl Sample {
    /// Records three iterations of two layers, with bricks, kernels, tiles and a task on another thread.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn record() -> Result<Sample, String> {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let base = std::env::temp_dir();
        let dir = loop {
            let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let dir = base.join(format!("trueno-sample-{}-{count}", std::process::id()));
            match std::fs::create_dir(&dir) {
                Ok(()) => break dir,
                // Another user's, or left by a process that had our number: never written into.
                Err(error) if error.kind() == ErrorKind::AlreadyExists && count < 1000 => {}
                Err(error) => return Err(format!("{}: {error}", dir.display())),
            }
        };
        let sample = Sample { dir };
        record(&sample.run()).map_err(|why| format!("a sample run cannot be recorded: {why}"))?;
        Ok(sample)
    }

    pub fn run(&self) -> PathBuf {
        self.dir.join("sample.run")
    }
}

impl Drop for Sample {
    fn drop(&mut self) {
        // What stays behind lies where temporary files do.
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn record(path: &Path) -> Result<(), String> {
    let rec = Recorder::builder(path)
        .label("sample")
        .create()
        .map_err(|error| error.to_string())?;
    for iteration in 0..3 {
        let _iteration = rec.iteration(iteration);
        for layer in 0..2 {
            let _layer = rec.layer(layer);
            {
                let mut norm = rec.brick(BrickId::RmsNorm);
                norm.elements(64).backend("scalar");
                spin();
            }
            let mut qkv = rec.brick(BrickId::QkvProjection);
            qkv.elements(1 << 12).flops(1 << 13).bytes(1 << 14, 1 << 12);
            let mut kernel = rec.kernel("gemv");
            kernel.flops(1 << 13).bytes(1 << 14);
            let _tile = rec.tile(TileLevel::Macro, 0, 0);
            spin();
        }
        let heads = rec.brick("heads");
        let parent = heads.id();
        std::thread::scope(|scope| {
            let (rec, (started, ids)) = (&rec, std::sync::mpsc::channel());
            let thread = scope.spawn(move || {
                let task = rec.task("head 0", Some(parent));
                // The first thread listens until it has it.
                let _ = started.send(task.id());
                spin();
            });
            let ids: Vec<_> = ids.recv().into_iter().collect();
            let _wait = rec.wait("join heads", &ids);
            // A panic of that thread comes out of the scope.
            let _ = thread.join();
        });
    }
    rec.finish().map(|_| ()).map_err(|error| error.to_string())
}

fn spin() {
    let end = Instant::now() + Duration::from_micros(20);
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}

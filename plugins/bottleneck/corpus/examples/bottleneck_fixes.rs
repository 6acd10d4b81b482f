//! Programs before and after a fix: `cargo run --release -p trueno-corpus --example bottleneck_fixes -- FOLDER`.
//!
//! Each pair becomes `NAME.before.run` and `NAME.after.run`; `benches/fix_is_true.py` compares what the plugin predicts from
//! the first with what the second took.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use trueno_recorder::{Recorder, SpanId};

fn work(micros: u64) {
    let end = Instant::now() + Duration::from_micros(micros);
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}

/// Sleeps like a disk read, which needs no core.
fn read_file() {
    std::thread::sleep(Duration::from_millis(3));
}

const STEPS: u64 = 40;

fn load_then_train(rec: &Recorder) {
    for _ in 0..STEPS {
        {
            let _b = rec.brick("load batch");
            read_file();
        }
        let _b = rec.brick("train step");
        work(4_000);
    }
}

fn load_while_training(rec: &Recorder) {
    std::thread::scope(|scope| {
        let (give, take) = mpsc::sync_channel::<()>(2);
        let loader = rec.clone();
        scope.spawn(move || {
            for _ in 0..STEPS {
                let task = loader.task("load batch", None);
                read_file();
                drop(task);
                let _ = give.send(());
            }
        });
        while take.recv().is_ok() {
            let _b = rec.brick("train step");
            work(4_000);
        }
    });
}

/// Rounds of four tasks. Each thread sleeps for its share of `millis`, as if it waited for a device of its own.
fn rounds(rec: &Recorder, millis: [u64; 4]) {
    std::thread::scope(|scope| {
        let mut workers = Vec::new();
        for wait in millis {
            let (give, take) = mpsc::channel::<SpanId>();
            let (tell, told) = mpsc::channel::<SpanId>();
            let rec = rec.clone();
            scope.spawn(move || {
                for parent in take {
                    let task = rec.task("part", Some(parent));
                    let _ = tell.send(task.id());
                    std::thread::sleep(Duration::from_millis(wait));
                    drop(task);
                    let _ = tell.send(parent);
                }
            });
            workers.push((give, told));
        }
        for _ in 0..STEPS / 2 {
            let step = rec.brick("step");
            for worker in &workers {
                let _ = worker.0.send(step.id());
            }
            let ids: Vec<SpanId> = workers
                .iter()
                .filter_map(|worker| worker.1.recv().ok())
                .collect();
            let _wait = rec.wait("join", &ids);
            for worker in &workers {
                let _ = worker.1.recv();
            }
        }
        drop(workers);
    });
}

fn squares(rec: &Recorder, of: u64) {
    let mut sum = 0.0_f64;
    for _ in 0..2_000_000 / of {
        let _b = rec.brick("add squares");
        for k in 0..of {
            sum += std::hint::black_box(k as f64) * 1.5;
        }
    }
    std::hint::black_box(sum);
}

fn masks(rec: &Recorder, once: bool) {
    for step in 0..STEPS {
        if step == 0 || !once {
            let _b = rec.brick("build mask");
            work(1_500);
            rec.checksum("mask", None, &[1.0_f32; 256], &[256]);
        }
        let _b = rec.brick("attend");
        work(2_500);
        rec.checksum("out", None, &[step as f32 + 0.5; 256], &[256]);
    }
}

fn requests(rec: &Recorder, together: u64) {
    for n in 0..160 / together {
        let rows: u64 = (0..together)
            .map(|k| {
                if (n * together + k).is_multiple_of(2) {
                    4
                } else {
                    12
                }
            })
            .sum();
        let mut b = rec.brick("encode");
        b.elements(rows);
        work(1_000 + 20 * rows);
    }
}

fn pieces(rec: &Recorder, threads: bool) {
    let piece = || std::hint::black_box((0..500_u64).map(std::hint::black_box).sum::<u64>());
    for _ in 0..300 {
        let step = rec.brick("step");
        let parent = step.id();
        if !threads {
            for _ in 0..4 {
                let _b = rec.brick("piece");
                piece();
            }
            continue;
        }
        let (tell, ids) = mpsc::channel();
        let handles: Vec<_> = (0..4)
            .map(|_| {
                let (rec, tell) = (rec.clone(), tell.clone());
                std::thread::spawn(move || {
                    let task = rec.task("piece", Some(parent));
                    let _ = tell.send(task.id());
                    piece();
                })
            })
            .collect();
        let all: Vec<SpanId> = ids.iter().take(4).collect();
        let _wait = rec.wait("join", &all);
        for handle in handles {
            let _ = handle.join();
        }
    }
}

fn recorded(folder: &Path, name: &str, run: impl Fn(&Recorder)) {
    let path = folder.join(format!("{name}.run"));
    let rec = Recorder::builder(path)
        .overwrite(true)
        .create()
        .expect("the run can be written");
    drop(rec.brick("first")); // the thread's ring is made here, and not in what is measured
    run(&rec);
    rec.finish().expect("the recording ends");
}

fn main() {
    let Some(folder) = std::env::args().nth(1).map(PathBuf::from) else {
        eprintln!("usage: bottleneck_fixes FOLDER");
        std::process::exit(2);
    };
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    recorded(&folder, "loader.before", load_then_train);
    recorded(&folder, "loader.after", load_while_training);
    recorded(&folder, "imbalance.before", |rec| rounds(rec, [2, 2, 6, 2]));
    recorded(&folder, "imbalance.after", |rec| rounds(rec, [3, 3, 3, 3]));
    recorded(&folder, "tight_loop.before", |rec| squares(rec, 40));
    recorded(&folder, "tight_loop.after", |rec| squares(rec, 4_000));
    recorded(&folder, "recomputation.before", |rec| masks(rec, false));
    recorded(&folder, "recomputation.after", |rec| masks(rec, true));
    recorded(&folder, "small_batches.before", |rec| requests(rec, 1));
    recorded(&folder, "small_batches.after", |rec| requests(rec, 8));
    recorded(&folder, "joins.before", |rec| pieces(rec, true));
    recorded(&folder, "joins.after", |rec| pieces(rec, false));
}

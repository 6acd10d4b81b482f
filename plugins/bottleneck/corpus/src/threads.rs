//! Programs of several threads. Their work is sleep, so that the number of cores does not matter.

use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use trueno_recorder::{Recorder, SpanId};

use super::host::{recorder, took};

pub(super) fn sleep(micros: u64) {
    let since = Instant::now();
    std::thread::sleep(Duration::from_micros(micros));
    took(since, micros);
}

/// Rounds of one task per worker thread; the first thread waits for all of them.
pub(super) fn rounds(
    rec: &Recorder,
    number: u64,
    names: &[&'static str],
    micros: impl Fn(u64, u64) -> u64 + Sync,
) {
    let threads = names.len();
    std::thread::scope(|scope| {
        let mut workers = Vec::new();
        for (index, name) in names.iter().enumerate() {
            let (give, take) = mpsc::channel::<(u64, SpanId)>();
            let (tell, done) = mpsc::channel::<SpanId>();
            let (rec, micros, name) = (rec.clone(), &micros, *name);
            scope.spawn(move || {
                for (round, parent) in take {
                    let task = rec.task(name, Some(parent));
                    let _ = tell.send(task.id());
                    sleep(micros(round, index as u64));
                    drop(task);
                    let _ = tell.send(parent);
                }
            });
            workers.push((give, done));
        }
        for round in 0..number {
            let step = rec.brick("step");
            for worker in &workers {
                let _ = worker.0.send((round, step.id()));
            }
            let ids: Vec<SpanId> = workers
                .iter()
                .filter_map(|worker| worker.1.recv().ok())
                .collect();
            assert_eq!(ids.len(), threads);
            let _wait = rec.wait("join", &ids);
            for worker in &workers {
                let _ = worker.1.recv();
            }
        }
        drop(workers);
    });
}

/// The third of four threads takes three times as long.
pub fn one_slow_thread(path: &Path) {
    let rec = recorder(path);
    rounds(
        &rec,
        15,
        &["part 0", "part 1", "part 2", "part 3"],
        |_, index| if index == 2 { 6_000 } else { 2_000 },
    );
    rec.finish().expect("the recording ends");
}

pub fn uneven_pieces(path: &Path) {
    let rec = recorder(path);
    rounds(
        &rec,
        16,
        &["part 0", "part 1", "part 2", "part 3"],
        |round, index| {
            if (round + index) % 4 == 0 {
                7_000
            } else {
                2_500
            }
        },
    );
    rec.finish().expect("the recording ends");
}

pub fn even_threads(path: &Path) {
    let rec = recorder(path);
    rounds(&rec, 15, &["part 0", "part 1", "part 2"], |_, _| 5_000);
    rec.finish().expect("the recording ends");
}

pub fn tiny_joins(path: &Path) {
    let rec = recorder(path);
    for _ in 0..300 {
        let step = rec.brick("step");
        let parent = step.id();
        std::thread::scope(|scope| {
            let (tell, ids) = mpsc::channel();
            for _ in 0..4 {
                let (rec, tell) = (rec.clone(), tell.clone());
                scope.spawn(move || {
                    let task = rec.task("bit", Some(parent));
                    let _ = tell.send(task.id());
                    std::hint::black_box((0..500).sum::<u64>());
                });
            }
            let all: Vec<SpanId> = ids.iter().take(4).collect();
            let _wait = rec.wait("join", &all);
            // The scope joins below; the wait must hold it.
            sleep(150);
        });
    }
    rec.finish().expect("the recording ends");
}

/// A reduction on the first thread, much longer than the parallel part.
pub fn serial_reduction(path: &Path) {
    let rec = recorder(path);
    for _ in 0..6 {
        rounds(&rec, 1, &["map 0", "map 1", "map 2"], |_, _| 2_000);
        let _b = rec.brick("reduce");
        sleep(8_000);
    }
    rec.finish().expect("the recording ends");
}

pub fn parallel_reduction(path: &Path) {
    let rec = recorder(path);
    for _ in 0..6 {
        rounds(&rec, 1, &["map 0", "map 1", "map 2"], |_, _| 2_000);
        rounds(&rec, 1, &["reduce 0", "reduce 1", "reduce 2"], |_, _| 3_000);
    }
    rec.finish().expect("the recording ends");
}

/// A loader thread feeds a consumer through a channel of capacity two.
fn loaded(path: &Path, load_micros: u64, work_micros: u64) {
    let rec = recorder(path);
    let parent = rec.brick("epoch");
    let id = parent.id();
    std::thread::scope(|scope| {
        let (begin, begun) = mpsc::channel::<SpanId>();
        let (give, take) = mpsc::sync_channel::<()>(8);
        let loader = rec.clone();
        scope.spawn(move || {
            for _ in 0..25 {
                let task = loader.task("load batch", Some(id));
                let _ = begin.send(task.id());
                sleep(load_micros);
                drop(task);
                let _ = give.send(());
            }
        });
        while let Ok(batch) = begun.recv() {
            {
                let _wait = rec.wait("next batch", &[batch]);
                let _ = take.recv();
            }
            let _step = rec.brick("train step");
            sleep(work_micros);
        }
    });
    drop(parent);
    rec.finish().expect("the recording ends");
}

/// Loads ahead, but takes four times as long as the work.
pub fn loader_too_slow(path: &Path) {
    loaded(path, 4_000, 1_000);
}

/// Loads ahead, and finishes before the data is needed.
pub fn loader_ahead(path: &Path) {
    loaded(path, 800, 4_000);
}

pub fn pipeline(path: &Path) {
    let rec = recorder(path);
    let parent = rec.brick("stream");
    let id = parent.id();
    std::thread::scope(|scope| {
        for (name, micros) in [("decode", 3_000), ("filter", 5_000), ("encode", 9_000)] {
            let rec = rec.clone();
            scope.spawn(move || {
                for _ in 0..6 {
                    let _task = rec.task(name, Some(id));
                    sleep(micros);
                }
            });
        }
    });
    drop(parent);
    rec.finish().expect("the recording ends");
}

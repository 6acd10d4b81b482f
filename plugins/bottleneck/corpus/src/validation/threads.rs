//! Programs of several threads. Their work is sleep, so that the number of cores does not matter.

use std::path::Path;
use std::sync::mpsc;

use trueno_recorder::SpanId;

use crate::host::recorder;
use crate::threads::{rounds, sleep};

pub fn rounds_of_nothing(path: &Path) {
    let rec = recorder(path);
    rounds(&rec, 500, &["left", "right"], |_, _| 0);
    rec.finish().expect("the recording ends");
}

pub fn long_rounds(path: &Path) {
    let rec = recorder(path);
    rounds(&rec, 8, &["left", "right"], |_, _| 20_000);
    rec.finish().expect("the recording ends");
}

fn merged(path: &Path, map_micros: u64, merge_micros: u64) {
    let rec = recorder(path);
    for _ in 0..9 {
        rounds(&rec, 1, &["sort left", "sort right"], |_, _| map_micros);
        let _b = rec.brick("merge");
        sleep(merge_micros);
    }
    rec.finish().expect("the recording ends");
}

pub fn merge_alone(path: &Path) {
    merged(path, 3_000, 9_000);
}

pub fn short_merge(path: &Path) {
    merged(path, 12_000, 300);
}

pub fn prefetch_too_slow(path: &Path) {
    let rec = recorder(path);
    let epoch = rec.brick("epoch");
    let id = epoch.id();
    std::thread::scope(|scope| {
        let mut loaders = Vec::new();
        for _ in 0..2 {
            let rec = rec.clone();
            let (begin, begun) = mpsc::channel::<SpanId>();
            let (give, take) = mpsc::sync_channel::<()>(4);
            scope.spawn(move || {
                for _ in 0..14 {
                    let task = rec.task("prefetch batch", Some(id));
                    let _ = begin.send(task.id());
                    sleep(7_000);
                    drop(task);
                    let _ = give.send(());
                }
            });
            loaders.push((begun, take));
        }
        for n in 0..28 {
            let (begun, take) = &loaders[n % 2];
            let Ok(batch) = begun.recv() else { break };
            {
                let _wait = rec.wait("batch queue", &[batch]);
                let _ = take.recv();
            }
            let _b = rec.brick("update weights");
            sleep(900);
        }
    });
    drop(epoch);
    rec.finish().expect("the recording ends");
}

pub fn big_half(path: &Path) {
    let rec = recorder(path);
    rounds(&rec, 10, &["low half", "high half"], |_, index| {
        if index == 1 { 9_000 } else { 4_000 }
    });
    rec.finish().expect("the recording ends");
}

/// A random thread is late in each round.
pub fn straggler_by_chance(path: &Path) {
    let rec = recorder(path);
    let names = ["w 0", "w 1", "w 2", "w 3", "w 4", "w 5"];
    rounds(&rec, 14, &names, |round, index| {
        let late = crate::steps::Chance(round * 7_919 + 11).below(6);
        if index == late { 8_000 } else { 3_000 }
    });
    rec.finish().expect("the recording ends");
}

/// Five tasks of 4 ms ± 5 %.
pub fn five_alike(path: &Path) {
    let rec = recorder(path);
    let names = ["w 0", "w 1", "w 2", "w 3", "w 4"];
    rounds(&rec, 12, &names, |round, index| {
        7_800 + crate::steps::Chance(round * 31 + index + 5).below(400)
    });
    rec.finish().expect("the recording ends");
}

/// A journal thread runs as long as the program, but the program waits only for two other threads.
pub fn nobody_waits_for_the_slow_one(path: &Path) {
    let rec = recorder(path);
    std::thread::scope(|scope| {
        let journal = rec.clone();
        scope.spawn(move || {
            for _ in 0..8 {
                let _f = journal.function("write journal");
                sleep(9_000);
            }
        });
        rounds(&rec, 10, &["left", "right"], |_, _| 7_000);
    });
    rec.finish().expect("the recording ends");
}

pub fn even_and_long(path: &Path) {
    let rec = recorder(path);
    for _ in 0..3 {
        rounds(&rec, 3, &["q 0", "q 1", "q 2", "q 3"], |_, _| 15_000);
        let _b = rec.brick("sum up");
        sleep(200);
    }
    rec.finish().expect("the recording ends");
}

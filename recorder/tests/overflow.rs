//! Full rings: what each policy promises.

use std::time::{Duration, Instant};

use trueno_format::ring::Ring;
use trueno_recorder::{Overflow, Recorder};
use trueno_testing::{folder, run_json, table};

const THREADS: u64 = 3;
const EVENTS: u64 = 30_000;

/// Some threads record as fast as they can into rings that are far too small.
fn flood(rec: &Recorder) {
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for n in 0..EVENTS {
                    let _layer = (n % 7 == 0).then(|| rec.layer((n % 5) as u32));
                    let mut brick = rec.brick("b");
                    brick.elements(n);
                    if n % 3 == 0 {
                        rec.kernel("k").grid(1, 1, 1);
                    }
                    if n % 50 == 0 {
                        rec.checksum("c", Some(n), &[n], &[1]);
                        drop(rec.wait("w", &[brick.id(); 8]));
                    }
                }
            });
        }
    });
}

const LAYERS: u64 = EVENTS.div_ceil(7);
const KERNELS: u64 = EVENTS.div_ceil(3);
const OTHERS: u64 = EVENTS.div_ceil(50);
const EMITTED: [(&str, u64); 5] = [
    ("bricks", EVENTS + LAYERS),
    ("kernels", KERNELS),
    ("checksums", OTHERS),
    ("syncs", OTHERS),
    ("edges", OTHERS * 8),
];

#[test]
fn what_is_dropped_is_counted_exactly() {
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path)
        .ring_records(64)
        .overflow(Overflow::Drop)
        .create()
        .unwrap();
    flood(&rec);
    let status = rec.status();
    let summary = rec.finish().unwrap();
    assert_eq!(status.dropped, summary.dropped);
    assert!(
        summary.dropped > 0,
        "the rings were large enough: the test shows nothing"
    );
    let run = run_json(&path);
    assert_eq!(run.dropped, summary.dropped);
    for (name, emitted) in EMITTED {
        let found = table(&path, name).rows as u64;
        let counted = summary.tables[name];
        assert_eq!(counted.rows, found, "{name}");
        assert_eq!(counted.rows + counted.dropped, emitted * THREADS, "{name}");
        assert_eq!(run.tables[name].rows, found, "{name}");
        assert_eq!(run.tables[name].dropped, counted.dropped, "{name}");
    }
    // By thread: what it emitted is what is there and what it dropped.
    let threads = table(&path, "threads");
    let of_thread = |name: &str, thread: i128| {
        let rows = table(&path, name).numbers("thread");
        rows.into_iter().filter(|t| *t == Some(thread)).count() as u64
    };
    let edges: Vec<_> = table(&path, "edges")
        .numbers("to")
        .into_iter()
        .map(|to| (to.unwrap() >> 32) - 1)
        .collect();
    for (row, thread) in threads.numbers("thread").into_iter().enumerate() {
        let thread = thread.unwrap();
        let kept: u64 = ["bricks", "kernels", "checksums", "syncs"]
            .map(|t| of_thread(t, thread))
            .iter()
            .sum();
        let kept = kept + edges.iter().filter(|t| **t == thread).count() as u64;
        let dropped = threads.number("dropped", row).unwrap() as u64;
        let emitted: u64 = EMITTED.iter().map(|(_, count)| count).sum();
        assert_eq!(kept + dropped, emitted, "thread {thread}");
    }
    let said = table(&path, "diagnostics");
    let counts: i128 = said.numbers("count").into_iter().flatten().sum();
    assert_eq!(counts as u64, summary.dropped);
    rows_are_in_their_layers(&path);
}

/// Memory for growth is limited: beyond it, rows are dropped, and the run says which.
#[test]
fn a_ring_grows_to_its_limit_and_names_what_it_drops() {
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path)
        .ring_records(64)
        .growth_bytes(256 * 64)
        .create()
        .unwrap();
    flood(&rec);
    let summary = rec.finish().unwrap();
    assert!(
        summary.dropped > 0,
        "the limit was not reached: the test shows nothing"
    );
    let run = run_json(&path);
    assert_eq!(run.recorder.overflow, "grow");
    assert_eq!(run.recorder.growth_bytes, Some(256 * 64));
    for (name, emitted) in EMITTED {
        let counted = &run.tables[name];
        assert_eq!(counted.rows + counted.dropped, emitted * THREADS, "{name}");
    }
    // Layers and edges have no name of the program's; what has is named to the last row.
    let named = |table: &str, name: &str| {
        let names = &run.tables[table].dropped_names;
        names.get(name).copied().unwrap_or(0)
    };
    let bricks = table(&path, "bricks");
    let kept = bricks.columns["name"].iter();
    let kept = kept.filter(|name| **name == trueno_testing::Cell::T("b".into()));
    let kept = kept.count() as u64;
    assert_eq!(kept + named("bricks", "b"), EVENTS * THREADS);
    for (of, name) in [("kernels", "k"), ("checksums", "c"), ("syncs", "w")] {
        assert_eq!(named(of, name), run.tables[of].dropped, "{of}");
    }
    assert!(run.tables["edges"].dropped_names.is_empty());
}

/// Rings that were read return their memory: the limit applies to waiting data, not to the total.
#[test]
fn memory_for_growth_comes_back() {
    let (_folder, path) = folder();
    let grown = Ring::bytes(128).unwrap() as u64;
    let rec = Recorder::builder(&path)
        .ring_records(64)
        .growth_bytes(grown)
        .create()
        .unwrap();
    let is_left = || {
        let files = std::fs::read_dir(path.join("live")).unwrap();
        // A file may be removed between the two.
        let mut sizes = files.filter_map(|file| Some(file.ok()?.metadata().ok()?.len()));
        sizes.any(|size| size == grown)
    };
    // One further ring fits; each round is a thread's, and needs it anew.
    for _ in 0..20 {
        let rec = rec.clone();
        let work = move || (0..100).for_each(|_| drop(rec.brick("b")));
        std::thread::spawn(work).join().unwrap();
        while is_left() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    assert_eq!(rec.finish().unwrap().dropped, 0);
}

/// Asserts that rows have the layer that contained them, regardless of dropped rows around them.
fn rows_are_in_their_layers(path: &std::path::Path) {
    let bricks = table(path, "bricks");
    let (elements, layers) = (bricks.numbers("elements"), bricks.numbers("layer"));
    for row in 0..bricks.rows {
        if let Some(n) = elements[row] {
            let layer = (n % 7 == 0).then_some(n % 5);
            assert_eq!(layers[row], layer, "brick {n}");
        }
    }
    let checksums = table(path, "checksums");
    let (positions, layers) = (checksums.numbers("position"), checksums.numbers("layer"));
    for row in 0..checksums.rows {
        let n = positions[row].unwrap();
        assert_eq!(layers[row], (n % 7 == 0).then_some(n % 5), "checksum {n}");
    }
}

#[test]
fn blocking_and_growing_lose_nothing() {
    for overflow in [Overflow::Block, Overflow::Grow] {
        let (_folder, path) = folder();
        let rec = Recorder::builder(&path)
            .ring_records(64)
            .overflow(overflow)
            .create()
            .unwrap();
        flood(&rec);
        let summary = rec.finish().unwrap();
        assert_eq!(summary.dropped, 0, "{overflow:?}");
        for (name, emitted) in EMITTED {
            assert_eq!(
                table(&path, name).rows as u64,
                emitted * THREADS,
                "{overflow:?} {name}"
            );
        }
        // Each thread's bricks stand in the order they ended.
        let bricks = table(&path, "bricks");
        let mut last = [-1i128; THREADS as usize];
        for (thread, n) in bricks
            .numbers("thread")
            .into_iter()
            .zip(bricks.numbers("elements"))
        {
            if let (Some(thread), Some(n)) = (thread, n) {
                assert_eq!(n, last[thread as usize] + 1);
                last[thread as usize] = n;
            }
        }
        rows_are_in_their_layers(&path);
    }
}

#[test]
fn a_blocked_thread_is_let_go_at_the_end() {
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path)
        .ring_records(64)
        .overflow(Overflow::Block)
        .create()
        .unwrap();
    let worker = rec.clone();
    let thread = std::thread::spawn(move || {
        while worker.is_enabled() {
            drop(worker.brick("b"));
        }
    });
    while rec.status().rows == 0 {
        std::thread::yield_now();
    }
    let summary = rec.finish().unwrap();
    thread.join().unwrap();
    assert_eq!(
        table(&path, "bricks").rows as u64,
        summary.tables["bricks"].rows
    );
}

#[test]
fn a_ring_that_was_left_leaves_no_file() {
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path)
        .ring_records(64)
        .overflow(Overflow::Grow)
        .create()
        .unwrap();
    // By number, in the order in which they were made.
    let rings = || -> Vec<u32> {
        let files = std::fs::read_dir(path.join("live")).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        names
            .filter_map(|name| name.strip_suffix(".ring")?.parse().ok())
            .collect()
    };
    // The first two are the thread's own and a spare one; a third has taken over.
    while rings().into_iter().max() < Some(2) {
        (0..2_000).for_each(|_| drop(rec.brick("b")));
    }
    // One of the thread and a spare one, once the writer has read what was left behind.
    let began = Instant::now();
    while rings().len() > 2 {
        assert!(
            began.elapsed() < Duration::from_secs(120),
            "after two minutes these are there: {:?}",
            rings()
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(rec.finish().unwrap().dropped, 0);
}

/// With thousands of threads waiting for one writer, each must poll less and less often, or they would use up its
/// time.
#[test]
fn a_thousand_blocked_threads_keep_all_rows() {
    const EACH: u64 = 70;
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path)
        .ring_records(64)
        .overflow(Overflow::Block)
        .create()
        .unwrap();
    std::thread::scope(|scope| {
        for _ in 0..1_000 {
            scope.spawn(|| {
                for n in 0..EACH {
                    rec.brick("b").elements(n);
                    rec.kernel("k").flops(n);
                }
            });
        }
    });
    let summary = rec.finish().unwrap();
    assert_eq!(summary.dropped, 0);
    assert_eq!(table(&path, "bricks").rows as u64, 1_000 * EACH);
    assert_eq!(table(&path, "kernels").rows as u64, 1_000 * EACH);
}

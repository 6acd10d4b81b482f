//! Several threads, several recorders.

use std::collections::HashSet;
use std::time::Duration;

use trueno_format::observe::Observer;
use trueno_format::ring::Ring;
use trueno_format::salvage;
use trueno_recorder::{BrickId, Overflow, Recorder, SpanId};
use trueno_testing::{Cell, folder, run_json, table};

#[test]
fn every_thread_has_its_rows_and_ids() {
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path)
        .overflow(Overflow::Block)
        .create()
        .unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let rec = rec.clone();
            let work = move || {
                for _ in 0..20_000 {
                    let _outer = rec.brick("outer");
                    let _inner = rec.brick("inner");
                }
            };
            std::thread::Builder::new()
                .name(format!("worker {thread}"))
                .spawn_scoped(scope, work)
                .unwrap();
        }
    });
    rec.finish().unwrap();
    let bricks = table(&path, "bricks");
    assert_eq!(bricks.rows, 4 * 40_000);
    let ids = bricks.numbers("id");
    assert_eq!(
        ids.iter().collect::<HashSet<_>>().len(),
        bricks.rows,
        "ids are unique"
    );
    for (id, thread) in ids.iter().zip(bricks.numbers("thread")) {
        assert_eq!(id.unwrap() >> 32, thread.unwrap() + 1);
    }
    // A thread's rows stand in the order of their ends, and an inner row right before its outer one.
    let parents = bricks.numbers("parent");
    for thread in 0..4 {
        let rows: Vec<usize> = (0..bricks.rows)
            .filter(|row| bricks.cell("thread", *row) == &Cell::U(thread))
            .collect();
        assert_eq!(rows.len(), 40_000);
        for two in rows.chunks(2) {
            assert_eq!(parents[two[0]], ids[two[1]]);
            assert_eq!(parents[two[1]], None);
        }
    }
    let threads = table(&path, "threads");
    assert_eq!(
        threads.numbers("thread"),
        (0..4).map(Some).collect::<Vec<_>>()
    );
    let names: HashSet<_> = threads
        .texts("name")
        .into_iter()
        .flatten()
        .map(str::to_owned)
        .collect();
    assert_eq!(names, (0..4).map(|n| format!("worker {n}")).collect());
    assert_eq!(threads.numbers("dropped"), [Some(0); 4]);
    assert_eq!(
        threads
            .numbers("os_id")
            .into_iter()
            .collect::<HashSet<_>>()
            .len(),
        4
    );
}

/// Five hundred threads at once, each with a few rows: they use little memory, and nothing is lost.
#[test]
fn threads_with_few_rows_take_little_memory() {
    const THREADS: usize = 500;
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    let barrier = std::sync::Barrier::new(THREADS + 1);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            let (rec, barrier) = (rec.clone(), &barrier);
            scope.spawn(move || {
                for _ in 0..10 {
                    drop(rec.brick("short"));
                }
                barrier.wait();
                barrier.wait();
            });
        }
        barrier.wait();
        let live = std::fs::read_dir(path.join("live")).unwrap();
        let bytes: u64 = live
            .filter_map(|entry| entry.ok()?.metadata().ok())
            .map(|of| of.len())
            .sum();
        assert!(bytes < 20 << 20, "{bytes}");
        barrier.wait();
    });
    rec.finish().unwrap();
    assert_eq!(table(&path, "bricks").rows, 10 * THREADS);
}

fn bytes_of_rings(run: &std::path::Path) -> u64 {
    let live = std::fs::read_dir(run.join("live")).unwrap();
    let files = live.filter_map(|entry| entry.ok());
    let rings = files.filter(|file| file.file_name().to_string_lossy().ends_with(".ring"));
    rings
        .filter_map(|file| Some(file.metadata().ok()?.len()))
        .sum()
}

/// Five thousand threads one after another, each with a few rows: rings are reused, even if the writer is late.
#[test]
fn a_ring_goes_from_an_ended_thread_to_the_next() {
    const THREADS: usize = 5_000;
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    for _ in 0..THREADS {
        let rec = rec.clone();
        let ten_rows = move || (0..10).for_each(|_| drop(rec.brick("short")));
        std::thread::spawn(ten_rows).join().unwrap();
    }
    let bytes = bytes_of_rings(&path);
    assert!(bytes < 32 << 20, "{bytes}");
    rec.finish().unwrap();
    assert_eq!(table(&path, "bricks").rows, 10 * THREADS);
    assert_eq!(table(&path, "threads").rows, THREADS);
    assert_eq!(run_json(&path).dropped, 0);
}

/// Rings that share a file are read separately after a kill, and by a watcher.
#[test]
fn rings_of_one_file_are_found_after_a_kill() {
    const THREADS: usize = 100;
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    let barrier = std::sync::Barrier::new(THREADS + 1);
    let copied = path.with_extension("copy");
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            let (rec, barrier) = (rec.clone(), &barrier);
            scope.spawn(move || {
                drop(rec.brick("short"));
                barrier.wait();
                barrier.wait();
            });
        }
        barrier.wait();
        let mut observer = Observer::new(&path);
        observer.stop().unwrap();
        assert_eq!(observer.threads().len(), THREADS);
        copy(&path, &copied);
        barrier.wait();
    });
    rec.finish().unwrap();
    let rest = salvage::read(&copied).unwrap().expect("something was left");
    assert_eq!(rest.problems, Vec::<String>::new());
    let threads = rest.segments.iter().filter(|of| of.table == "threads");
    assert_eq!(threads.map(|of| of.rows).sum::<u64>(), THREADS as u64);
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            std::fs::copy(&path, &to).unwrap();
        }
    }
}

/// A thread that outgrows its first ring continues in longer ones, even if nothing reads them.
#[test]
fn a_thread_that_records_much_outgrows_its_first_ring() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let rec = rec.clone();
            scope.spawn(move || {
                for _ in 0..100_000 {
                    drop(rec.brick("many"));
                }
            });
        }
    });
    rec.finish().unwrap();
    assert_eq!(table(&path, "bricks").rows, 200_000);
    assert_eq!(run_json(&path).dropped, 0);
}

#[test]
fn threads_come_and_go_without_loss() {
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path)
        .ring_records(64)
        .overflow(Overflow::Block)
        .create()
        .unwrap();
    for _ in 0..100 {
        std::thread::scope(|scope| {
            for _ in 0..5 {
                let rec = rec.clone();
                scope.spawn(move || {
                    let _layer = rec.layer(1);
                    drop(rec.brick("short"));
                });
            }
        });
    }
    rec.finish().unwrap();
    let bricks = table(&path, "bricks");
    assert_eq!(bricks.rows, 1000);
    assert!(
        bricks
            .numbers("layer")
            .iter()
            .all(|layer| *layer == Some(1))
    );
    assert_eq!(
        bricks
            .numbers("thread")
            .into_iter()
            .collect::<HashSet<_>>()
            .len(),
        500
    );
    assert_eq!(table(&path, "threads").rows, 500);
}

#[test]
fn recorders_of_one_process_do_not_mix() {
    let (_folder, path) = folder();
    let paths: Vec<_> = (0..6).map(|n| path.with_extension(n.to_string())).collect();
    // More than the thread's cache holds.
    let recs: Vec<_> = paths
        .iter()
        .map(|path| Recorder::create(path).unwrap())
        .collect();
    let outer: Vec<_> = recs.iter().map(|rec| rec.brick("outer")).collect();
    for (n, rec) in recs.iter().enumerate() {
        for _ in 0..=n {
            drop(rec.brick("inner"));
        }
    }
    drop(outer);
    for rec in &recs {
        rec.finish().unwrap();
    }
    for (n, path) in paths.iter().enumerate() {
        let bricks = table(path, "bricks");
        assert_eq!(bricks.rows, n + 2);
        let outer = bricks.number("id", bricks.named("outer"));
        assert_eq!(bricks.numbers("parent")[..=n], vec![outer; n + 1]);
    }
    let runs: HashSet<_> = paths.iter().map(|path| run_json(path).run_id).collect();
    assert_eq!(runs.len(), 6);
}

#[test]
fn a_task_takes_over_what_its_parent_lies_in() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    let mut tasks = Vec::new();
    {
        let _iteration = rec.iteration(5);
        let layer = rec.layer(2);
        let brick = rec.brick("scores");
        let parent = brick.id();
        let worker = rec.clone();
        let (before, go) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            go.recv().unwrap();
            let task = worker.task("head 0", Some(parent));
            drop(worker.brick("inside"));
            worker.checksum("head", None, &[1i32], &[]);
            let id = task.id();
            drop(task);
            drop(worker.brick("after"));
            id
        });
        // The parent's thread has moved on to another layer when the task begins.
        drop(layer);
        let _next = rec.layer(3);
        before.send(()).unwrap();
        let task = thread.join().unwrap();
        let wait = rec.wait("join", &[task, SpanId::NONE]);
        tasks.push((task, wait.id(), brick.id()));
    }
    let local = rec.brick("local");
    drop(rec.task("no parent given", None));
    rec.depends(tasks[0].0, local.id());
    rec.depends(SpanId::NONE, local.id());
    let local_id = local.id();
    drop(local);
    rec.finish().unwrap();

    let (task, wait, parent) = tasks[0];
    let bricks = table(&path, "bricks");
    let row = bricks.named("head 0");
    assert_eq!(bricks.cell("kind", row), &Cell::T("task".into()));
    assert_eq!(bricks.cell("id", row), &Cell::U(task.get()));
    assert_eq!(bricks.cell("parent", row), &Cell::U(parent.get()));
    assert_eq!(bricks.cell("thread", row), &Cell::U(1));
    let inside = bricks.named("inside");
    assert_eq!(bricks.cell("parent", inside), &Cell::U(task.get()));
    for row in [row, inside] {
        assert_eq!(bricks.cell("iteration", row), &Cell::U(5));
        assert_eq!(bricks.cell("layer", row), &Cell::U(2), "the parent's layer");
    }
    let checksums = table(&path, "checksums");
    assert_eq!(checksums.cell("layer", 0), &Cell::U(2));
    assert_eq!(checksums.cell("shape", 0), &Cell::T("scalar".into()));
    let after = bricks.named("after");
    assert_eq!(bricks.cell("layer", after), &Cell::Null);
    assert_eq!(
        bricks.cell("parent", bricks.named("no parent given")),
        &Cell::U(local_id.get())
    );

    let syncs = table(&path, "syncs");
    assert_eq!(syncs.cell("id", 0), &Cell::U(wait.get()));
    assert_eq!(syncs.texts("kind"), [Some("join")]);
    assert_eq!(syncs.texts("name"), [Some("join")]);
    let edges = table(&path, "edges");
    assert_eq!(edges.texts("kind"), [Some("joins"), Some("depends_on")]);
    let id = |id: SpanId| Some(i128::from(id.get()));
    assert_eq!(edges.numbers("from"), [id(task), id(task)]);
    assert_eq!(edges.numbers("to"), [id(wait), id(local_id)]);
}

#[test]
fn a_wait_may_join_any_number() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    let ids: Vec<SpanId> = (0..20)
        .map(|n| rec.task(format!("{n}"), None).id())
        .collect();
    drop(rec.wait("all", &ids));
    drop(rec.wait("none", &[]));
    rec.finish().unwrap();
    let edges = table(&path, "edges");
    let from: Vec<_> = ids.iter().map(|id| Some(i128::from(id.get()))).collect();
    assert_eq!(edges.numbers("from"), from);
    assert_eq!(table(&path, "syncs").rows, 2);
}

#[test]
fn a_detached_interval_ends_on_another_thread() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    let layer = rec.layer(4);
    let outer = rec.brick("outer");
    let outer_id = outer.id();
    let mut brick = rec.brick("copy");
    brick.backend("dma").category("Transfer").elements(9);
    let mut detached = brick.detach();
    let id = detached.id();
    drop(rec.brick("meanwhile"));
    drop(outer);
    drop(layer);
    let task = {
        let task = rec.task("sent", Some(outer_id));
        task.detach()
    };
    std::thread::spawn(move || {
        detached.bytes(1, 2);
        detached.end();
        drop(task);
    })
    .join()
    .unwrap();
    drop(rec.brick("after"));
    rec.finish().unwrap();
    let bricks = table(&path, "bricks");
    let row = bricks.named("copy");
    for (column, cell) in [
        ("id", Cell::U(id.get())),
        ("parent", Cell::U(outer_id.get())),
        ("thread", Cell::U(0)),
        ("layer", Cell::U(4)),
        ("backend", Cell::T("dma".into())),
        ("category", Cell::T("Transfer".into())),
        ("elements", Cell::U(9)),
        ("flops", Cell::Null),
        ("bytes_written", Cell::U(2)),
    ] {
        assert_eq!(bricks.cell(column, row), &cell, "{column}");
    }
    assert_eq!(
        bricks.cell("parent", bricks.named("meanwhile")),
        &Cell::U(outer_id.get())
    );
    let sent = bricks.named("sent");
    assert_eq!(bricks.cell("parent", sent), &Cell::U(outer_id.get()));
    assert_eq!(bricks.cell("layer", sent), &Cell::U(4));
    assert_eq!(bricks.cell("layer", bricks.named("after")), &Cell::Null);
}

thread_local! {
    static KEPT: std::cell::RefCell<Option<trueno_recorder::BrickGuard<'static>>> =
        const { std::cell::RefCell::new(None) };
}

#[test]
fn a_guard_in_a_thread_local_outlives_its_thread_safely() {
    let (_folder, path) = folder();
    let rec: &'static Recorder = Box::leak(Box::new(Recorder::create(&path).unwrap()));
    for _ in 0..20 {
        std::thread::spawn(|| {
            // Touched first, so destroyed last: after the recorder's own thread-local.
            KEPT.with(|kept| *kept.borrow_mut() = None);
            let guard = rec.brick("kept");
            KEPT.with(|kept| *kept.borrow_mut() = Some(guard));
        })
        .join()
        .unwrap();
        std::thread::spawn(|| drop(rec.brick("other")))
            .join()
            .unwrap();
    }
    let summary = rec.finish().unwrap();
    assert_eq!(summary.tables["bricks"].rows, 40);
    let bricks = table(&path, "bricks");
    assert_eq!(
        bricks
            .numbers("id")
            .into_iter()
            .collect::<HashSet<_>>()
            .len(),
        40
    );
}

#[test]
fn a_wait_learns_of_its_tasks_late_and_a_checksum_of_a_row_that_ended() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    let (task, wait) = {
        let _iteration = rec.iteration(4);
        let _layer = rec.layer(2);
        let mut wait = rec.wait("join", &[]);
        let id = wait.id();
        let task = std::thread::scope(|scope| {
            let worker = scope.spawn(|| rec.task("head", None).id());
            worker.join().unwrap()
        });
        wait.on(task).on(SpanId::NONE);
        (task, id)
    };
    let brick = {
        let _layer = rec.layer(5);
        rec.brick(BrickId::RmsNorm).id()
    };
    rec.checksum_of(brick, "norm.out", Some(1), &[1.0f32], &[1]);
    rec.finish().unwrap();

    let edges = table(&path, "edges");
    assert_eq!(edges.rows, 1);
    assert_eq!(edges.number("from", 0), Some(task.get().into()));
    assert_eq!(edges.number("to", 0), Some(wait.get().into()));
    let checksums = table(&path, "checksums");
    assert_eq!(checksums.rows, 1);
    assert_eq!(checksums.number("span", 0), Some(brick.get().into()));
    assert_eq!(checksums.cell("layer", 0), &Cell::U(5));
}

/// Page faults of the calling thread so far.
fn page_faults() -> i64 {
    // SAFETY: zeros are a valid state of numbers, and the call fills it.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
        usage.ru_minflt
    }
}

/// The writer maps longer rings, of 1 MiB and 4 MiB in the end, while the thread still has room in its own.
#[test]
#[cfg_attr(
    not(target_arch = "x86_64"),
    ignore = "under qemu, MADV_POPULATE_WRITE does nothing"
)]
fn a_thread_that_outgrows_its_rings_maps_none_itself() {
    const FAST: u64 = 1_900;
    const EACH: u64 = 1_000;
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    let record = |rows| (0..rows).for_each(|_| drop(rec.brick("many")));
    record(1);
    let before = page_faults();
    record(FAST - 1);
    let mut recorded = FAST;
    let mut faults = page_faults() - before;
    while recorded < 60_000 {
        // The writer looks at least once for each time that the thread goes on.
        while rec.status().rows < recorded {
            std::thread::sleep(Duration::from_millis(1));
        }
        let before = page_faults();
        record(EACH);
        faults += page_faults() - before;
        recorded += EACH;
    }
    let longest = Ring::bytes(1 << 16).unwrap() as u64;
    let is_longest = |file: std::io::Result<std::fs::DirEntry>| {
        file.unwrap().metadata().is_ok_and(|of| of.len() == longest)
    };
    assert!(
        std::fs::read_dir(path.join("live"))
            .unwrap()
            .any(is_longest)
    );
    rec.finish().unwrap();
    assert!(faults < 100, "{faults} page faults");
}

//! Rows that are still open when a recording ends are in no table: the run and its summary say so.

use std::sync::mpsc::channel;

use trueno_recorder::{Recorder, TileLevel};
use trueno_testing::{folder, run_json, table};

const HINT: &str = "(hint: let guards go out of scope before `Recorder::finish`)";

fn said(rows: &str, places: &str) -> String {
    let (were, are) = match rows {
        "1" => ("row was", "is"),
        _ => ("rows were", "are"),
    };
    format!(
        "{rows} {were} still open when the recording ended, and {are} not in the run: {places} {HINT}"
    )
}

#[test]
fn what_encloses_the_end_is_lost_and_said() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    let _token = rec.iteration(0);
    let _layer = rec.layer(0);
    {
        let _brick = rec.brick("b");
        drop(rec.kernel("k"));
    }
    let summary = rec.finish().unwrap();
    assert_eq!((summary.open, summary.dropped), (2, 0));
    assert_eq!(rec.finish().unwrap().open, 2, "as often as it is asked");
    let text = said("2", "2 on thread 0 (iteration, layer)");
    assert_eq!(rec.status().problems, [text.as_str()]);
    let run = run_json(&path);
    assert_eq!((run.open, run.problems), (2, vec![text.clone()]));
    let diagnostics = table(&path, "diagnostics");
    assert_eq!(diagnostics.texts("code"), [Some("open_rows")]);
    assert_eq!(diagnostics.texts("text"), [Some(text.as_str())]);
    assert_eq!(diagnostics.numbers("count"), [Some(2)]);
}

#[test]
fn in_scopes_nothing_is_lost_and_nothing_said() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    {
        let (_token, _layer) = (rec.iteration(0), rec.layer(0));
        let (brick, tile) = (rec.brick("b"), rec.tile(TileLevel::Macro, 0, 0));
        // In another order than they were opened.
        drop(brick);
        drop((tile, rec.kernel("k"), rec.wait("w", &[])));
        rec.brick("d").detach().end();
        drop(rec.task("t", None));
    }
    assert_eq!(rec.finish().unwrap().open, 0);
    let run = run_json(&path);
    assert_eq!((run.open, run.problems.len()), (0, 0));
    let text = std::fs::read_to_string(path.join("run.json")).unwrap();
    assert!(!text.contains("\"open\""), "as before: {text}");
    assert!(!path.join("diagnostics").exists());
}

#[test]
fn every_kind_on_every_thread_is_counted() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    let outer = rec.brick("outer");
    let (kernel, wait) = (rec.kernel("k"), rec.wait("w", &[]));
    let tile = rec.tile(TileLevel::Macro, 0, 0);
    let inner = rec.brick("inner");
    let detached = rec.brick("d").detach();
    let parent = outer.id();
    let (ready, is_ready) = channel();
    let (leave, may_leave) = channel::<()>();
    std::thread::scope(|scope| {
        let rec = &rec;
        scope.spawn(move || {
            let _task = rec.task("t", Some(parent));
            drop(rec.brick("done"));
            ready.send(()).unwrap();
            let _ = may_leave.recv();
        });
        is_ready.recv().unwrap();
        assert_eq!(rec.finish().unwrap().open, 7);
        drop(leave);
    });
    drop((inner, tile, wait, kernel, outer, detached));
    assert_eq!(rec.status().late, 7);
    let places = "5 on thread 0 (2 bricks, kernel, wait, tile), 1 on thread 1, 1 detached";
    assert_eq!(run_json(&path).problems, [said("7", places)]);
    assert_eq!(table(&path, "bricks").texts("name"), [Some("done")]);
}

/// A thread that ends the run lists what is open on its own thread, even if it has never recorded.
#[test]
fn another_thread_may_end_it() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    let _brick = rec.brick("b");
    std::thread::scope(|scope| {
        let ended = scope.spawn(|| rec.finish().unwrap().open);
        assert_eq!(ended.join().unwrap(), 1);
    });
    let run = run_json(&path);
    assert_eq!(run.problems, [said("1", "1 on thread 0")]);
    assert!(!run.tables.contains_key("bricks"));
}

#[test]
fn forgotten_guards_are_open_also_when_their_thread_has_ended() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    std::thread::scope(|scope| {
        let forget = || {
            drop(rec.brick("done"));
            std::mem::forget(rec.brick("forgotten"));
        };
        scope.spawn(forget).join().unwrap();
    });
    // The last handle goes, and nobody calls `finish`.
    drop(rec);
    let run = run_json(&path);
    assert_eq!(run.problems, [said("1", "1 on thread 0")]);
    assert_eq!(run.tables["bricks"].rows, 1);
}

#[test]
fn a_panic_closes_what_it_leaves() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    let work = {
        let rec = rec.clone();
        move || {
            let (_token, _layer) = (rec.iteration(0), rec.layer(0));
            let _brick = rec.brick("b");
            std::panic::resume_unwind(Box::new("as a panic does, without a message"));
        }
    };
    assert!(std::panic::catch_unwind(work).is_err());
    drop(rec);
    let run = run_json(&path);
    assert_eq!((run.open, run.problems.len()), (0, 0));
    assert_eq!(run.tables["bricks"].rows, 3);
}

#[test]
fn a_table_that_is_left_out_loses_nothing() {
    let left_out = |table: &'static str, make: fn(&Recorder) -> u64| {
        let (_folder, path) = folder();
        let rec = Recorder::builder(&path)
            .without_table(table)
            .create()
            .unwrap();
        let open = make(&rec);
        assert_eq!(run_json(&path).open, open, "{table}");
    };
    // They label rows of other tables and are none themselves; the kernel is one.
    left_out("bricks", |rec| {
        let (_token, _layer, _brick) = (rec.iteration(0), rec.layer(0), rec.brick("b"));
        let _kernel = rec.kernel("k");
        rec.finish().unwrap().open
    });
    left_out("kernels", |rec| {
        let (_brick, _kernel) = (rec.brick("b"), rec.kernel("k"));
        let summary = rec.finish().unwrap();
        assert_eq!(summary.open, 1);
        summary.open
    });
    left_out("diagnostics", |rec| {
        let _brick = rec.brick("b");
        rec.finish().unwrap().open
    });
}

#[test]
fn a_disabled_recorder_has_nothing_open() {
    let rec = Recorder::disabled();
    let _brick = rec.brick("b");
    assert_eq!(rec.finish().unwrap().open, 0);
}

/// With threads that keep recording, no row is counted twice. At most one row per thread is neither in a table nor
/// counted: the one being opened or closed at that moment.
#[test]
fn what_began_is_recorded_or_counted() {
    const THREADS: usize = 3;
    for _ in 0..20 {
        let (_folder, path) = folder();
        let rec = Recorder::create(&path).unwrap();
        let mut began = 0;
        let mut summary = None;
        std::thread::scope(|scope| {
            let (ready, is_ready) = channel();
            let threads: Vec<_> = (0..THREADS)
                .map(|_| {
                    let (rec, ready) = (&rec, ready.clone());
                    scope.spawn(move || {
                        let mut began = 0;
                        let mut guard = rec.brick("b");
                        ready.send(()).unwrap();
                        while !guard.id().is_none() {
                            began += 1;
                            let next = rec.brick("b");
                            drop(std::mem::replace(&mut guard, next));
                        }
                        began
                    })
                })
                .collect();
            (0..THREADS).for_each(|_| is_ready.recv().unwrap());
            summary = Some(rec.finish().unwrap());
            began = threads.into_iter().map(|t| t.join().unwrap()).sum();
        });
        let summary = summary.unwrap();
        let bricks = summary.tables.get("bricks").copied().unwrap_or_default();
        let known = bricks.rows + bricks.dropped + summary.open;
        assert!(known <= began, "{known} of {began}");
        assert!(began - known <= THREADS as u64, "{known} of {began}");
    }
}

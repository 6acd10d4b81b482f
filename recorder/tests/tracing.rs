//! Spans of the crate `tracing` as rows.

use std::path::Path;

use tracing::{Dispatch, dispatcher, info, info_span};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::prelude::*;
use trueno_recorder::Recorder;
use trueno_recorder::tracing::RecorderLayer;
use trueno_testing::{Cell, Table, folder, table};

fn subscriber(rec: &Recorder) -> Dispatch {
    tracing_subscriber::registry()
        .with(RecorderLayer::new(rec.clone()))
        .into()
}

/// Records what `work` does under the layer; gives the bricks.
fn recorded(path: &Path, work: impl FnOnce()) -> Table {
    let rec = Recorder::create(path).unwrap();
    dispatcher::with_default(&subscriber(&rec), work);
    let summary = rec.finish().unwrap();
    assert_eq!(summary.dropped, 0);
    assert_eq!(rec.status().late, 0);
    table(path, "bricks")
}

fn parent_name(bricks: &Table, row: usize) -> Option<&str> {
    let parent = bricks.number("parent", row)?;
    let at = bricks
        .numbers("id")
        .iter()
        .position(|id| *id == Some(parent));
    bricks.texts("name")[at.expect("the parent is a row")]
}

#[test]
fn spans_become_rows_of_their_kind_inside_one_another() {
    let (_folder, path) = folder();
    let bricks = recorded(&path, || {
        let _iteration = info_span!("iteration", seed = 1.5, token = 7, number = 3).entered();
        let _layer = info_span!("layer", index = 2_usize).entered();
        info_span!("qkv_projection")
            .in_scope(|| info_span!("mine", kind = "brick").in_scope(|| ()));
        info_span!("load").in_scope(|| ());
        info_span!("RmsNorm", brick = false).in_scope(|| ());
    });
    let expected = [
        ("iteration", "iteration", None, None),
        ("layer", "layer", Some("iteration"), Some(2)),
        ("qkv_projection", "brick", Some("layer"), Some(2)),
        ("mine", "brick", Some("qkv_projection"), Some(2)),
        ("load", "function", Some("layer"), Some(2)),
        ("RmsNorm", "function", Some("layer"), Some(2)),
    ];
    assert_eq!(bricks.rows, expected.len());
    for (name, kind, parent, layer) in expected {
        let row = bricks.named(name);
        assert_eq!(bricks.cell("kind", row), &Cell::T(kind.into()), "{name}");
        assert_eq!(parent_name(&bricks, row), parent, "{name}");
        assert_eq!(bricks.number("iteration", row), Some(3), "{name}");
        assert_eq!(bricks.number("layer", row), layer, "{name}");
    }
    // As the metadata says, which is the place of the macro.
    let load = bricks.named("load");
    assert_eq!(bricks.texts("file")[load], Some(file!()));
    assert_eq!(bricks.number("line", load), Some((line!() - 22).into()));
    let known = bricks.named("qkv_projection");
    assert_ne!(bricks.cell("brick_id", known), &Cell::Null);
    // An iteration without a number is none, and no layer has that number.
    let (_folder, path) = folder();
    let bricks = recorded(&path, || {
        info_span!("iteration", why = "unknown").in_scope(|| ());
        info_span!("layer", number = 1_u64 << 32).in_scope(|| ());
    });
    assert_eq!(bricks.texts("kind"), [Some("function"); 2]);
}

#[test]
fn fields_become_columns_also_when_recorded_later() {
    let (_folder, path) = folder();
    let bricks = recorded(&path, || {
        let span = info_span!(
            "matmul",
            elements = 10,
            flops = 2.5e3,
            bytes_read = -1,
            bytes_written = tracing::field::Empty,
            backend = tracing::field::Empty,
            category = %"linear",
        );
        let inside = span.enter();
        span.record("bytes_written", 7_u64);
        span.record("backend", "avx2");
        span.record("elements", 11);
        drop(inside);
        info_span!("bare", other = 5).in_scope(|| ());
    });
    let row = bricks.named("matmul");
    let declared = ["elements", "flops", "bytes_read", "bytes_written"];
    let found = declared.map(|column| bricks.number(column, row));
    assert_eq!(found, [Some(11), Some(2500), None, Some(7)]);
    assert_eq!(bricks.cell("backend", row), &Cell::T("avx2".into()));
    assert_eq!(bricks.cell("category", row), &Cell::T("linear".into()));
    let bare = bricks.named("bare");
    for column in declared.into_iter().chain(["backend", "category"]) {
        assert_eq!(bricks.cell(column, bare), &Cell::Null, "{column}");
    }
}

#[test]
fn every_stay_is_a_row_and_declared_work_counts_once() {
    let (_folder, path) = folder();
    let bricks = recorded(&path, || {
        let span = info_span!("polled", elements = 100, flops = tracing::field::Empty);
        span.in_scope(|| ());
        span.record("flops", 9);
        span.in_scope(|| span.in_scope(|| ()));
    });
    assert_eq!(bricks.texts("name"), [Some("polled"); 3]);
    assert_eq!(bricks.numbers("elements"), [Some(100), None, None]);
    assert_eq!(bricks.numbers("flops"), [None, Some(9), None]);
    // The second stay lies in the third, which ends after it.
    let ids = bricks.numbers("id");
    assert_eq!(bricks.numbers("parent"), [None, ids[2], None]);
}

#[test]
fn stays_end_in_any_order() {
    let (_folder, path) = folder();
    let bricks = recorded(&path, || {
        let outer = info_span!("outer").entered();
        let iteration = info_span!("iteration", number = 1).entered();
        let inner = info_span!("inner").entered();
        drop(iteration);
        let after = info_span!("after").entered();
        drop(outer);
        drop(inner);
        drop(after);
        info_span!("alone").in_scope(|| ());
    });
    for (name, parent) in [
        ("iteration", Some("outer")),
        ("outer", None),
        // What encloses it when it ends has ended before: it lies in nothing.
        ("inner", None),
        ("after", None),
        ("alone", None),
    ] {
        assert_eq!(parent_name(&bricks, bricks.named(name)), parent, "{name}");
    }
    assert_eq!(bricks.number("iteration", bricks.named("after")), None);
    assert_eq!(bricks.number("iteration", bricks.named("alone")), None);
}

#[test]
fn a_parent_that_is_open_on_another_thread_is_the_parent() {
    let (_folder, path) = folder();
    let bricks = recorded(&path, || {
        let iteration = info_span!("iteration", number = 5).entered();
        let outer = info_span!("outer").entered();
        // Never entered: what is asked for is the nearest ancestor that is.
        let between = info_span!("between");
        let ended = info_span!("ended").entered().exit();
        let dispatch = dispatcher::get_default(Dispatch::clone);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _dispatch = dispatcher::set_default(&dispatch);
                let _here = info_span!("here").entered();
                let under = info_span!(parent: &between, "under").entered();
                info_span!("within").in_scope(|| ());
                info_span!(parent: &under, "its own").in_scope(|| ());
                drop(under);
                info_span!(parent: &ended, "under ended").in_scope(|| ());
                info_span!(parent: None, "rootless").in_scope(|| ());
            });
        });
        drop(outer);
        drop(iteration);
    });
    for (name, parent, iteration) in [
        ("here", None, None),
        ("under", Some("outer"), Some(5)),
        ("within", Some("under"), Some(5)),
        ("its own", Some("under"), Some(5)),
        // The nearest ancestor of that which is open.
        ("under ended", Some("outer"), Some(5)),
        ("rootless", Some("here"), None),
    ] {
        let row = bricks.named(name);
        assert_eq!(parent_name(&bricks, row), parent, "{name}");
        assert_eq!(bricks.number("iteration", row), iteration, "{name}");
        assert_eq!(bricks.number("thread", row), Some(1), "{name}");
        assert_eq!(bricks.cell("kind", row), &Cell::T("function".into()));
    }
}

#[test]
fn spans_that_outlive_the_recording_are_late() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    dispatcher::with_default(&subscriber(&rec), || {
        let open = info_span!("open").entered();
        info_span!("done").in_scope(|| ());
        let never = info_span!("never entered before");
        rec.finish().unwrap();
        never.in_scope(|| ());
        info_span!("after", elements = 1).in_scope(|| info!(gauge.x = 1));
        drop(open);
    });
    assert_eq!(table(&path, "bricks").texts("name"), [Some("done")]);
    assert_eq!(rec.status().late, 1);
}

#[test]
fn a_disabled_recorder_records_nothing() {
    let rec = Recorder::disabled();
    dispatcher::with_default(&subscriber(&rec), || {
        let span = info_span!("open", elements = 1).entered();
        span.record("elements", 2);
        info!(gauge.x = 1);
    });
    let status = rec.status();
    assert_eq!((status.rows, status.dropped, status.late), (0, 0, 0));
}

#[test]
fn a_thread_may_end_inside_of_spans() {
    let (_folder, path) = folder();
    let bricks = recorded(&path, || {
        let dispatch = dispatcher::get_default(Dispatch::clone);
        let work = move || {
            let _dispatch = dispatcher::set_default(&dispatch);
            std::mem::forget(info_span!("outer").entered());
            std::mem::forget(info_span!("inner").entered());
        };
        std::thread::spawn(work).join().unwrap();
    });
    let (outer, inner) = (bricks.named("outer"), bricks.named("inner"));
    assert_eq!(parent_name(&bricks, inner), Some("outer"));
    let end = |row| bricks.number("start_ns", row).unwrap() + bricks.number("dur_ns", row).unwrap();
    assert!(end(inner) <= end(outer));
}

#[test]
fn gauges_are_counters_and_other_events_are_not() {
    let (_folder, path) = folder();
    let bricks = recorded(&path, || {
        let _brick = info_span!("RmsNorm").entered();
        info!(gauge.queue_depth = 3, gauge.load = 0.5, bytes = 9, "read");
        info!(bytes = 9, "sent");
    });
    let counters = table(&path, "counters");
    assert_eq!(counters.texts("name"), [Some("queue_depth"), Some("load")]);
    assert_eq!(counters.columns["value"], [Cell::F(3.0), Cell::F(0.5)]);
    assert_eq!(counters.texts("unit"), [None; 2]);
    assert_eq!(counters.texts("source"), [Some("declared"); 2]);
    let inside = bricks.number("id", bricks.named("RmsNorm"));
    assert_eq!(counters.numbers("span"), [inside; 2]);
}

#[test]
fn the_usual_filters_hold() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    let layer = RecorderLayer::new(rec.clone()).with_filter(LevelFilter::INFO);
    let subscriber = tracing_subscriber::registry().with(layer);
    tracing::subscriber::with_default(subscriber, || {
        let _outer = info_span!("outer").entered();
        let _left_out = tracing::debug_span!("left out").entered();
        let _inner = info_span!("inner").entered();
    });
    rec.finish().unwrap();
    let bricks = table(&path, "bricks");
    assert_eq!(bricks.texts("name"), [Some("inner"), Some("outer")]);
    assert_eq!(parent_name(&bricks, 0), Some("outer"));
}

#[test]
fn two_recorders_record_the_same_spans() {
    let (_folder, path) = folder();
    let other_path = path.with_extension("other");
    let (rec, other) = (
        Recorder::create(&path).unwrap(),
        Recorder::create(&other_path).unwrap(),
    );
    // A row ahead, so that the ids of the two differ.
    drop(other.brick("before"));
    let subscriber = tracing_subscriber::registry()
        .with(RecorderLayer::new(rec.clone()))
        .with(RecorderLayer::new(other.clone()));
    let dispatch = Dispatch::new(subscriber);
    dispatcher::with_default(&dispatch, || {
        let outer = info_span!("outer", elements = 4).entered();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _dispatch = dispatcher::set_default(&dispatch);
                info_span!(parent: &outer, "under").in_scope(|| ());
            });
        });
    });
    for (rec, path) in [(rec, path), (other, other_path)] {
        rec.finish().unwrap();
        let bricks = table(&path, "bricks");
        assert_eq!(parent_name(&bricks, bricks.named("under")), Some("outer"));
        assert_eq!(bricks.number("elements", bricks.named("outer")), Some(4));
    }
}

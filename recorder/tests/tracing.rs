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

/// Records what `work` does under the layer, and returns the bricks.
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
fn gauges_are_counters_and_what_else_events_say_are_instants() {
    let (_folder, path) = folder();
    let bricks = recorded(&path, || {
        let _brick = info_span!("RmsNorm").entered();
        info!(gauge.queue_depth = 3, gauge.load = 0.5, bytes = 9, "read");
        info!(gauge.alone = 1);
        tracing::warn!(ratio = 1.5, of = %"it", to = ?Some("me"), ok = true, "sent {}", 2);
        tracing::error!(code = u64::MAX);
        tracing::debug!("not severe");
    });
    let counters = table(&path, "counters");
    let names = ["queue_depth", "load", "alone"].map(Some);
    assert_eq!(counters.texts("name"), names);
    let values = [3.0, 0.5, 1.0].map(Cell::F);
    assert_eq!(counters.columns["value"], values);
    assert_eq!(counters.texts("unit"), [None; 3]);
    assert_eq!(counters.texts("source"), [Some("declared"); 3]);
    let inside = bricks.number("id", bricks.named("RmsNorm"));
    assert_eq!(counters.numbers("span"), [inside; 3]);

    let instants = table(&path, "annotations");
    assert_eq!(instants.texts("name")[..2], [Some("read"), Some("sent 2")]);
    let place = instants.texts("name")[2].unwrap();
    assert!(
        place.starts_with("event ") && place.contains("tracing.rs:"),
        "{place}"
    );
    assert_eq!(instants.numbers("brick"), [inside; 3]);
    let arguments = [
        r#"{"bytes":9}"#,
        r#"{"ratio":1.5,"of":"it","to":"Some(\"me\")","ok":true}"#,
        r#"{"code":18446744073709551615}"#,
    ];
    assert_eq!(instants.texts("arguments"), arguments.map(Some));
}

#[test]
fn events_are_as_severe_as_asked() {
    for (least, expected) in [
        (LevelFilter::OFF, vec![]),
        (LevelFilter::DEBUG, vec![Some("i"), Some("d")]),
    ] {
        let (_folder, path) = folder();
        let rec = Recorder::create(&path).unwrap();
        let layer = RecorderLayer::new(rec.clone()).events(least);
        let subscriber = tracing_subscriber::registry().with(layer);
        tracing::subscriber::with_default(subscriber, || {
            info!("i");
            tracing::debug!("d");
            tracing::trace!("t");
        });
        rec.finish().unwrap();
        assert_eq!(table(&path, "annotations").texts("name"), expected);
    }
}

fn attributes_of(path: &Path, bricks: &Table, row: usize) -> Vec<(String, Cell)> {
    let attributes = table(path, "attributes");
    let of = (0..attributes.rows)
        .filter(|at| attributes.number("span", *at) == bricks.number("id", row));
    let cell = |at: usize| {
        let columns = ["integer", "unsigned", "number", "truth", "text"];
        let cells = columns.map(|column| attributes.cell(column, at).clone());
        let value = cells.into_iter().find(|cell| *cell != Cell::Null);
        (
            attributes.texts("name")[at].unwrap().to_owned(),
            value.unwrap(),
        )
    };
    of.map(cell).collect()
}

#[test]
fn fields_without_a_column_are_attributes() {
    let (_folder, path) = folder();
    let bricks = recorded(&path, || {
        let span = info_span!(
            "polled",
            elements = 10,
            kind = "server",
            batch = 32,
            below = -1,
            large = u64::MAX,
            huge = i128::MIN,
            ratio = 0.5,
            cached = true,
            model = "tiny",
            shown = ?Some(1),
            later = tracing::field::Empty,
        );
        let inside = span.enter();
        span.record("later", "now");
        span.record("batch", 33);
        drop(inside);
        span.in_scope(|| ());
    });
    let own = |key: &str, value: Cell| (key.to_owned(), value);
    let text = |text: &str| Cell::T(text.into());
    let mut expected = vec![
        own("kind", text("server")),
        own("batch", Cell::I(32)),
        own("below", Cell::I(-1)),
        own("large", Cell::U(u64::MAX)),
        own("huge", text(&i128::MIN.to_string())),
        own("ratio", Cell::F(0.5)),
        own("cached", Cell::B(true)),
        own("model", text("tiny")),
        own("shown", text("Some(1)")),
        own("later", text("now")),
        own("batch", Cell::I(33)),
    ];
    assert_eq!(attributes_of(&path, &bricks, 0), expected);
    // The next stay has each key once.
    expected.pop();
    expected[1].1 = Cell::I(33);
    assert_eq!(attributes_of(&path, &bricks, 1), expected);
    assert_eq!(bricks.numbers("elements"), [Some(10), None]);
}

#[test]
fn fields_are_not_shown_for_a_recorder_that_keeps_none() {
    struct Never;
    impl std::fmt::Debug for Never {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic!("shown")
        }
    }
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path)
        .without_table("attributes")
        .create()
        .unwrap();
    dispatcher::with_default(&subscriber(&rec), || {
        info_span!("a", never = ?Never).in_scope(|| ());
    });
    let tables = rec.finish().unwrap().tables;
    assert_eq!(tables["bricks"].rows, 1);
    assert!(!tables.contains_key("attributes"));
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

//! Attributes of rows, instants, and closures as bricks.

use std::panic::AssertUnwindSafe;

use trueno_recorder::{AttributeValue, Name, Overflow, Recorder, SpanId, TileLevel};
use trueno_testing::{Cell, Table, folder, run_json, table};

/// Row, key and the single value of each attribute, in order.
fn rows(attributes: &Table) -> Vec<(u64, String, Cell)> {
    let values = ["integer", "unsigned", "number", "truth", "text"];
    let row = |at| {
        let given = values.map(|column| attributes.cell(column, at).clone());
        let mut given = given.into_iter().filter(|cell| *cell != Cell::Null);
        let (value, next) = (given.next().expect("a value"), given.next());
        assert_eq!(next, None, "two values of row {at}");
        match (attributes.cell("span", at), attributes.cell("name", at)) {
            (Cell::U(row), Cell::T(name)) => (*row, name.clone(), value),
            other => panic!("{other:?}"),
        }
    };
    (0..attributes.rows).map(row).collect()
}

fn text(text: &str) -> Cell {
    Cell::T(text.into())
}

#[test]
fn values_keep_their_types_and_keys_their_order() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    let key = Name::new("known");
    let id = {
        let mut brick = rec.brick("typed");
        brick
            .set("i8", -1i8)
            .set("usize", 7usize)
            .set("u64", u64::MAX)
            .set("i64", i64::MIN)
            .set(key, i64::MAX as u64)
            .set(key, i64::MAX as u64 + 1)
            .set("f32", 0.5f32)
            .set("nan", f64::NAN)
            .set("no", false)
            .set("yes", true);
        let owned = String::from("owned");
        brick
            .set(String::from("dynamic"), "text")
            .set("empty", "")
            .set("owned", &owned)
            .set("name", key)
            .set(key, 1);
        brick.id().get()
    };
    rec.finish().unwrap();
    let found = rows(&table(&path, "attributes"));
    assert!(found.iter().all(|(row, ..)| *row == id));
    assert!(matches!(found[7].2, Cell::F(nan) if nan.is_nan()));
    let found: Vec<(&str, Cell)> = found
        .iter()
        .filter(|(_, name, _)| name != "nan")
        .map(|(_, name, value)| (name.as_str(), value.clone()))
        .collect();
    let expected = [
        ("i8", Cell::I(-1)),
        ("usize", Cell::I(7)),
        ("u64", Cell::U(u64::MAX)),
        ("i64", Cell::I(i64::MIN)),
        ("known", Cell::I(i64::MAX)),
        ("known", Cell::U(1 << 63)),
        ("f32", Cell::F(0.5)),
        ("no", Cell::B(false)),
        ("yes", Cell::B(true)),
        ("dynamic", text("text")),
        ("empty", text("")),
        ("owned", text("owned")),
        ("name", text("known")),
        ("known", Cell::I(1)),
    ];
    assert_eq!(found, expected);
}

#[test]
fn every_row_with_an_id_has_attributes() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    let mut ids: Vec<(&str, SpanId)> = Vec::new();
    {
        let mut iteration = rec.iteration(1);
        ids.push(("iteration", iteration.set("on", "iteration").id()));
        let mut layer = rec.layer(2);
        ids.push(("layer", layer.set("on", "layer").id()));
        let mut function = rec.function("f");
        ids.push(("function", function.set("on", "function").id()));
        let mut task = rec.task("t", None);
        ids.push(("task", task.set("on", "task").id()));
        let mut kernel = rec.kernel("k");
        ids.push(("kernel", kernel.grid(1, 1, 1).set("on", "kernel").id()));
        let mut tile = rec.tile(TileLevel::Micro, 0, 0);
        ids.push(("tile", tile.set("on", "tile").id()));
        let mut launch = rec.launch("l", 0, 0);
        ids.push(("launch", launch.set("on", "launch").id()));
        let mut transfer = rec.transfer("h2d", 1, 0, 0);
        ids.push(("transfer", transfer.set("on", "transfer").id()));
        let mut call = rec.collective("all_reduce", "world");
        ids.push(("collective", call.set("on", "collective").id()));
        let mut wait = rec.wait("w", &[]);
        ids.push(("wait", wait.set("on", "wait").id()));
        let mut detached = rec.brick("d").detach();
        ids.push(("detached", detached.id()));
        let other = std::thread::spawn(move || {
            detached.set("on", "detached");
        });
        other.join().unwrap();
        let id = rec.brick("ended").id();
        rec.attribute(id, "on", "ended");
        ids.push(("ended", id));
    }
    rec.attribute(SpanId::NONE, "on", "nothing");
    rec.finish().unwrap();
    let mut found: Vec<(u64, Cell)> = rows(&table(&path, "attributes"))
        .into_iter()
        .map(|(row, _, value)| (row, value))
        .collect();
    let mut expected: Vec<(u64, Cell)> = ids.iter().map(|(on, id)| (id.get(), text(on))).collect();
    found.sort_by_key(|(row, _)| *row);
    expected.sort_by_key(|(row, _)| *row);
    assert_eq!(found, expected);
    // Each names a row that is there.
    let tables = ["bricks", "kernels", "tiles", "transfers", "syncs"];
    let all = tables.map(|name| table(&path, name).numbers("id")).concat();
    for (row, on) in found {
        assert!(all.contains(&Some(row.into())), "{on:?}");
    }
}

#[test]
fn a_row_that_is_not_recorded_has_none() {
    let (_folder, path) = folder();
    let builder = Recorder::builder(&path).without_table("attributes");
    let rec = builder.without_table("annotations").create().unwrap();
    rec.brick("b").set("a", 1);
    rec.instant("i");
    rec.instant_with("i", &[("a", 1.into())]);
    let summary = rec.finish().unwrap();
    assert_eq!((summary.tables["bricks"].rows, summary.dropped), (1, 0));
    for name in ["attributes", "annotations"] {
        assert!(!summary.tables.contains_key(name), "{name}");
    }

    let (_folder, path) = folder();
    let rec = Recorder::builder(&path)
        .without_table("bricks")
        .create()
        .unwrap();
    rec.brick("b").set("a", 1);
    rec.iteration(1).set("a", 1);
    rec.kernel("k").set("a", 1);
    rec.finish().unwrap();
    assert_eq!(table(&path, "attributes").rows, 1);

    /// Panics if it is formatted.
    struct Never;
    impl From<Never> for AttributeValue<'_> {
        fn from(_: Never) -> Self {
            panic!("asked for its value")
        }
    }
    let off = Recorder::disabled();
    off.brick("b").set("a", Never);
    let mut late = rec.brick("late").detach();
    late.set("a", Never);
    rec.instant("after the end");
}

#[test]
fn texts_too_long_count_as_dropped_by_key() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    let long = "x".repeat((1 << 16) + 1);
    let mut brick = rec.brick("b");
    brick
        .set("long", &long)
        .set("long", &long)
        .set("fits", &long[1..]);
    drop(brick);
    rec.instant_with("long arguments", &[("a", long.as_str().into())]);
    rec.instant("short");
    let summary = rec.finish().unwrap();
    assert_eq!(summary.dropped, 3);
    let run = run_json(&path);
    let dropped = |table: &str| run.tables[table].dropped_names.clone();
    assert_eq!(dropped("attributes"), [("long".to_owned(), 2)].into());
    assert_eq!(
        dropped("annotations"),
        [("long arguments".to_owned(), 1)].into()
    );
    assert_eq!(run.tables["attributes"].rows, 1);
    assert_eq!(table(&path, "annotations").texts("name"), [Some("short")]);
    let said = table(&path, "diagnostics");
    let said = said.texts("text");
    assert!(
        said.iter()
            .flatten()
            .any(|text| text.contains("longer than 64 KiB")),
        "{said:?}"
    );
}

#[test]
fn attributes_without_room_are_counted_by_key() {
    let (_folder, path) = folder();
    let builder = Recorder::builder(&path).ring_records(64);
    let rec = builder.overflow(Overflow::Drop).create().unwrap();
    let mut brick = rec.brick("b");
    const ROUNDS: i64 = 20_000;
    for at in 0..ROUNDS {
        brick.set("many", at);
    }
    drop(brick);
    rec.finish().unwrap();
    let run = run_json(&path);
    let attributes = &run.tables["attributes"];
    assert_eq!(attributes.rows + attributes.dropped, ROUNDS as u64);
    assert!(attributes.dropped > 0, "64 records are few");
    assert_eq!(attributes.dropped_names["many"], attributes.dropped);
    // What is there came in order.
    let values = table(&path, "attributes").numbers("integer");
    assert!(values.is_sorted());
}

#[test]
fn instants_lie_in_the_open_brick() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    rec.instant("before");
    let id = {
        let brick = rec.brick("b");
        let _kernel = rec.kernel("k");
        rec.instant("inside");
        let arguments = [
            ("a \"key\"", "x\ny".into()),
            ("n", 2.0.into()),
            ("big", u64::MAX.into()),
        ];
        rec.instant_with("told", &arguments);
        rec.instant_with("nothing told", &[]);
        brick.id().get()
    };
    rec.finish().unwrap();
    let instants = table(&path, "annotations");
    let names = ["before", "inside", "told", "nothing told"].map(Some);
    assert_eq!(instants.texts("name"), names);
    assert_eq!(instants.texts("kind"), [Some("instant"); 4]);
    assert_eq!(instants.numbers("thread"), [Some(0); 4]);
    let inside = Some(id.into());
    assert_eq!(instants.numbers("brick"), [None, inside, inside, inside]);
    assert_eq!(instants.numbers("dur_ns"), [None; 4]);
    let json = r#"{"a \"key\"":"x\ny","n":2.0,"big":18446744073709551615}"#;
    assert_eq!(instants.texts("arguments"), [None, None, Some(json), None]);
    let bricks = table(&path, "bricks");
    let start = bricks.number("start_ns", 0).unwrap();
    let end = start + bricks.number("dur_ns", 0).unwrap();
    let times = instants.numbers("time_ns");
    assert!(times.is_sorted() && times[0] <= Some(start));
    assert!(
        times[1..]
            .iter()
            .flatten()
            .all(|time| (start..=end).contains(time))
    );
}

#[test]
fn a_closure_is_a_brick_and_gives_its_result() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    let moved = vec![1, 2, 3];
    let sum: i32 = rec.time("sum", || moved.into_iter().sum());
    assert_eq!(sum, 6);
    let nested = rec.time("outer", || rec.time("inner", || Err::<(), _>("no")));
    assert_eq!(nested, Err("no"));
    let panics = AssertUnwindSafe(|| rec.time("panics", || panic!("on purpose")));
    std::panic::catch_unwind(panics).unwrap_err();
    assert_eq!(rec.finish().unwrap().open, 0);
    let bricks = table(&path, "bricks");
    let names = ["sum", "inner", "outer", "panics"].map(Some);
    assert_eq!(bricks.texts("name"), names);
    assert_eq!(bricks.texts("kind"), [Some("brick"); 4]);
    assert_eq!(bricks.cell("file", 0), &text(file!()));
    assert_eq!(bricks.number("parent", 1), bricks.number("id", 2));
}

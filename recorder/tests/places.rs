//! Columns `file` and `line`: the place in the program that began a row.

use trueno_recorder::finished::{Brick, BrickPlace, Moment, Site};
use trueno_recorder::{BrickGuard, BrickId, Name, Overflow, Recorder, run_json};
use trueno_testing::{Table, folder, run_json, table};

/// Name, file and line of every row.
fn places(table: &Table) -> Vec<(&str, Option<&str>, Option<i128>)> {
    let rows = table.texts("name").into_iter().zip(table.texts("file"));
    rows.zip(table.numbers("line"))
        .map(|((name, file), line)| (name.unwrap(), file, line))
        .collect()
}

fn line_of(table: &Table, name: &str) -> u32 {
    let row = table.named(name);
    assert_eq!(table.texts("file")[row], Some(file!()), "{name}");
    u32::try_from(table.number("line", row).unwrap()).unwrap()
}

/// The row has the caller's location, as for the recorder's own functions.
#[track_caller]
fn helper(rec: &Recorder) -> BrickGuard<'_> {
    rec.brick("of a helper that passes its caller on")
}

#[test]
fn rows_tell_the_place_that_began_them() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    let mut lines = vec![("iteration", line!() + 1)];
    let iteration = rec.iteration(0);
    lines.push(("layer", line!() + 1));
    let layer = rec.layer(1);
    lines.push(("QkvProjection", line!() + 1));
    let brick = rec.brick(BrickId::QkvProjection);
    lines.push(("function", line!() + 1));
    let function = rec.function("function");
    lines.push(("of a helper that passes its caller on", line!() + 1));
    drop(helper(&rec));
    let in_closure = |name: &str| drop(rec.brick(name));
    lines.push(("in a closure", line!() - 1));
    in_closure("in a closure");
    let parent = brick.id();
    std::thread::scope(|scope| {
        lines.push(("on another thread", line!() + 1));
        scope.spawn(|| drop(rec.task("on another thread", Some(parent))));
    });
    lines.push(("detached", line!() + 1));
    let detached = rec.brick("detached").detach();
    std::thread::scope(|scope| {
        scope.spawn(|| detached.end());
    });
    lines.push(("labelled", line!() + 1));
    rec.brick("labelled").backend("avx2").category("mine");
    let mut kernels = vec![("gemv", line!() + 1)];
    rec.kernel("gemv").grid(2, 1, 1);
    kernels.push(("on a device", line!() + 1));
    drop(rec.launch("on a device", 0, 0));
    let start = Moment::now(&rec);
    let row = BrickPlace::take(&rec).unwrap();
    let site = Site::in_file(Name::new("told"), "model.py", 7);
    rec.finished_brick(row, &Brick::new(site, start, Moment::now(&rec)));
    let row = BrickPlace::take(&rec).unwrap();
    rec.finished_brick(row, &Brick::new(Name::new("not known"), start, start));
    drop((function, brick, layer, iteration));
    rec.finish().unwrap();

    let bricks = table(&path, "bricks");
    for (name, line) in &lines {
        assert_eq!(line_of(&bricks, name), *line, "{name}");
    }
    assert_eq!(bricks.rows, lines.len() + 2);
    let rows = places(&bricks);
    assert!(rows.contains(&("told", Some("model.py"), Some(7))));
    assert!(rows.contains(&("not known", None, None)));
    let kernel_rows = table(&path, "kernels");
    for (name, line) in kernels {
        assert_eq!(line_of(&kernel_rows, name), line, "{name}");
    }
}

/// One name at several locations, several names at one location, and more of both than a thread caches.
#[test]
fn names_and_places_are_told_apart() {
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path)
        .overflow(Overflow::Block)
        .create()
        .unwrap();
    let lines = [line!() + 5, line!() + 6, line!() + 7];
    let name = |i: u32| format!("brick {i}");
    for _ in 0..2 {
        for i in 0..2_000 {
            // Three places in turn.
            drop(rec.brick(BrickId::RmsNorm));
            drop(rec.brick(BrickId::RmsNorm));
            drop(rec.brick(name(i)));
        }
    }
    rec.finish().unwrap();
    let bricks = table(&path, "bricks");
    let told = bricks.numbers("line");
    let names = bricks.texts("name");
    for row in 0..bricks.rows {
        assert_eq!(told[row], Some(lines[row % 3].into()), "row {row}");
        let expected = match row % 3 {
            2 => name(row as u32 / 3 % 2_000),
            _ => "RmsNorm".to_owned(),
        };
        assert_eq!(names[row], Some(expected.as_str()));
    }
}

#[test]
fn dropped_rows_are_counted_by_name_whatever_their_place() {
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path)
        .ring_records(64)
        .overflow(Overflow::Drop)
        .create()
        .unwrap();
    for _ in 0..5_000 {
        drop(rec.brick("one"));
        drop(rec.brick("one"));
    }
    rec.finish().unwrap();
    let run: run_json::RunJson = run_json(&path);
    let bricks = &run.tables["bricks"];
    assert_eq!(bricks.rows + bricks.dropped, 10_000);
    let names: Vec<_> = bricks.dropped_names.iter().collect();
    assert_eq!(names, [(&"one".to_owned(), &bricks.dropped)]);
}

/// Bindings of other languages pass the location as text.
#[test]
fn a_place_in_words_comes_before_that_of_the_guard() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    {
        let _iteration = rec.iteration_at(3, "train.py", 7);
        let _layer = rec.layer_at(1, "train.py", 8);
        // Again and again: the thread finds it another way.
        for _ in 0..3 {
            drop(rec.brick(Site::in_file("attention", "model.py", 12)));
            drop(rec.function(Site::in_file("attention", "model.py", 13)));
            drop(rec.kernel(Site::in_file("gemm", "model.py", 14)));
        }
    }
    rec.finish().unwrap();
    let bricks = table(&path, "bricks");
    let mut rows = places(&bricks);
    rows.sort();
    rows.dedup();
    assert_eq!(
        rows,
        [
            ("attention", Some("model.py"), Some(12)),
            ("attention", Some("model.py"), Some(13)),
            ("iteration", Some("train.py"), Some(7)),
            ("layer", Some("train.py"), Some(8)),
        ]
    );
    let kernels = table(&path, "kernels");
    assert_eq!(places(&kernels), [("gemm", Some("model.py"), Some(14)); 3]);
}

//! Shapes of operators: each combination is one row, whatever records it.

use std::collections::{BTreeMap, BTreeSet};

use trueno_recorder::{BrickId, Operand, Recorder, Signature};
use trueno_testing::{Cell, Table, folder, in_own_process, run_json, table};

const ALONE: &str = "TRUENO_TEST_ALONE";

fn signatures(table: &Table) -> BTreeMap<i128, [Option<String>; 3]> {
    let ids = table.numbers("id");
    let lists = ["input_dims", "input_types", "input_strides"].map(|list| table.texts(list));
    let row = |(at, id): (usize, &Option<i128>)| {
        let lists = [0, 1, 2].map(|list| lists[list][at].map(str::to_owned));
        (id.expect("an id"), lists)
    };
    let rows: BTreeMap<_, _> = ids.iter().enumerate().map(row).collect();
    assert_eq!(rows.len(), ids.len(), "an id twice");
    rows
}

#[test]
fn shapes_stand_once_and_bricks_name_them() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    let known = Signature::new(&[Operand::new(&[2, 3], "f32"), Operand::new(&[], "i64")]);
    for _ in 0..3 {
        rec.brick("known").shapes(known).elements(6);
        rec.brick("looked up")
            .shapes(&[Operand::new(&[2, 3], "f32"), Operand::new(&[], "i64")])
            .category("mine");
    }
    drop(rec.brick("without"));
    let strided = [Operand::new(&[4, 5], "f32").strides(&[1, -4])];
    let mut detached = rec.brick(BrickId::RmsNorm);
    detached.shapes(&strided).flops(7);
    detached.detach().end();
    rec.function("strided").shapes(&strided[..]);
    rec.finish().unwrap();

    let bricks = table(&path, "bricks");
    let of = |name: &str| {
        let rows =
            (0..bricks.rows).filter(|row| bricks.cell("name", *row) == &Cell::T(name.into()));
        let all: BTreeSet<_> = rows.map(|row| bricks.number("signature", row)).collect();
        assert_eq!(all.len(), 1, "{name}");
        all.into_iter().next().flatten()
    };
    assert_eq!(of("without"), None);
    let [known, looked_up, strided, function] =
        ["known", "looked up", "RmsNorm", "strided"].map(|name| of(name).expect("a signature"));
    assert_eq!((known, strided), (looked_up, function));
    let text = |text: &str| Some(text.to_owned());
    let expected = [
        (known, [text("[[2,3],[]]"), text(r#"["f32","i64"]"#), None]),
        (
            strided,
            [text("[[4,5]]"), text(r#"["f32"]"#), text("[[1,-4]]")],
        ),
    ];
    assert_eq!(
        signatures(&table(&path, "signatures")),
        BTreeMap::from(expected)
    );
    // What a brick has beside them is not lost.
    assert_eq!(
        bricks.texts("category").iter().flatten().count(),
        3 + 1,
        "mine, and that of the known brick"
    );
}

#[test]
fn many_threads_that_meet_the_same_shapes_make_each_row_once() {
    const THREADS: usize = 8;
    /// More than a thread caches.
    const SHAPES: usize = 300;
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path)
        .ring_records(1 << 16)
        .create()
        .unwrap();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let rec = &rec;
            scope.spawn(move || {
                for at in 0..2 * SHAPES {
                    let rows = (at * (2 * thread + 1)) % SHAPES;
                    rec.brick("mm")
                        .shapes(&[Operand::new(&[rows, 64], "f32")])
                        .elements(rows as u64);
                }
            });
        }
    });
    rec.finish().unwrap();
    let rows = signatures(&table(&path, "signatures"));
    assert_eq!(rows.len(), SHAPES);
    let bricks = table(&path, "bricks");
    assert_eq!(bricks.rows, THREADS * 2 * SHAPES);
    for row in 0..bricks.rows {
        let [signature, elements] =
            ["signature", "elements"].map(|column| bricks.number(column, row).unwrap());
        assert_eq!(
            rows[&signature][0].as_deref(),
            Some(format!("[[{elements},64]]").as_str())
        );
    }
}

#[test]
fn two_runs_of_a_process_have_rows_of_their_own() {
    let (folder, path) = folder();
    let other = folder.path().join("other.run");
    let shapes = Signature::new(&[Operand::new(&[11, 12], "f32")]);
    let runs = [&path, &other].map(|path| Recorder::create(path).unwrap());
    for rec in &runs {
        rec.brick("mm").shapes(shapes);
        rec.finish().unwrap();
    }
    for path in [&path, &other] {
        assert_eq!(signatures(&table(path, "signatures")).len(), 1);
    }
}

/// Alone: a thread of another test that is just beginning holds a lock of the standard library, and the child, which starts
/// a thread, would wait for it forever.
#[test]
fn a_forked_child_is_refused_or_has_rows_of_its_own() {
    if std::env::var_os(ALONE).is_none() {
        let test = "a_forked_child_is_refused_or_has_rows_of_its_own";
        return in_own_process(test, |command| {
            command.env(ALONE, "1");
        });
    }
    let (folder, path) = folder();
    let own = folder.path().join("own.run");
    let rec = Recorder::create(&path).unwrap();
    let shapes = Signature::new(&[Operand::new(&[21, 22], "f32")]);
    rec.brick("before").shapes(shapes);
    let mut open = rec.brick("open over the fork");
    // SAFETY: the child uses what is its own, and leaves without running anything else of this process.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // A child that hangs is a failure, and no test that never ends.
        // SAFETY: a plain system call.
        unsafe { libc::alarm(1200) };
        open.shapes(&[Operand::new(&[23, 24], "f32")]);
        let mine = Recorder::create(&own).unwrap();
        mine.brick("child").shapes(shapes);
        let is_good = mine.finish().is_ok();
        // SAFETY: ends the process here.
        unsafe { libc::_exit(i32::from(!is_good)) };
    }
    let mut status = -1;
    // SAFETY: waits for the child that was made above.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!(status, 0);
    open.shapes(shapes);
    drop(open);
    assert_eq!(rec.finish().unwrap().tables["signatures"].rows, 1);
    let ids = table(&path, "bricks").numbers("signature");
    assert!(
        ids.iter().all(|id| *id == ids[0] && id.is_some()),
        "{ids:?}"
    );
    assert_eq!(signatures(&table(&own, "signatures")).len(), 1);
}

#[test]
fn shapes_too_long_are_refused_and_counted() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    let long = vec![123_456; 1 << 14];
    for _ in 0..3 {
        rec.brick("long")
            .shapes(&[Operand::new(&long, "f32")])
            .elements(1);
    }
    rec.brick("short").shapes(&[Operand::new(&[1], "f32")]);
    let summary = rec.finish().unwrap();
    assert_eq!(summary.dropped, 3);
    assert_eq!(summary.tables["signatures"].dropped, 3);
    assert_eq!(run_json(&path).tables["signatures"].dropped, 3);
    let bricks = table(&path, "bricks");
    let has = |row| bricks.number("signature", row).is_some();
    assert_eq!((0..4).filter(|row| has(*row)).count(), 1);
    let diagnostics = table(&path, "diagnostics");
    let said = diagnostics.texts("text");
    assert!(
        said.iter()
            .flatten()
            .any(|text| text.contains("3 bricks lack their shapes")),
        "{said:?}"
    );
}

#[test]
fn without_the_table_bricks_have_no_shapes() {
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path)
        .without_table("signatures")
        .create()
        .unwrap();
    rec.brick("mm").shapes(&[Operand::new(&[31, 32], "f32")]);
    assert_eq!(rec.finish().unwrap().dropped, 0);
    assert_eq!(table(&path, "bricks").numbers("signature"), [None]);
}

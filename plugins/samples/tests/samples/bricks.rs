//! Functions inside bricks and kernels.

use crate::fixture::{Fixture, Row, Sample, frame, lines, sample};

fn row(kind: Option<&'static str>, name: &'static str, start_ns: i64, dur_ns: i64) -> Row {
    Row {
        thread: 0,
        kind,
        name,
        start_ns,
        dur_ns,
    }
}

fn program() -> Fixture {
    let names = ["norm", "memcpy", "exp", "log", "sin"];
    let stacks = (1..).zip(names).map(|(id, name)| frame(id, None, name));
    Fixture {
        stacks: stacks.collect(),
        rows: vec![
            row(Some("iteration"), "step", 0, 100),
            row(Some("brick"), "softmax", 10, 30),
            row(None, "exp_avx2", 20, 10),
            row(Some("brick"), "softmax", 60, 10),
            Row {
                thread: 1,
                ..row(Some("brick"), "other", 0, 100)
            },
        ],
        ..Fixture::default()
    }
}

const COLUMNS: [&str; 7] = [
    "kind",
    "name",
    "function",
    "samples",
    "brick_samples",
    "brick_share",
    "low_share",
];

#[test]
fn a_sample_belongs_to_the_innermost_row_of_its_thread() {
    let mut fixture = program();
    fixture.samples = [
        // A row holds its start and not its end.
        (10, 2),
        (19, 2),
        (20, 3),
        (29, 3),
        (30, 2),
        (39, 1),
        (40, 1),
        (60, 1),
        (70, 4),
        (100, 5),
        (-1, 5),
    ]
    .map(|(time_ns, stack)| sample(time_ns, stack))
    .to_vec();
    let bricks = fixture.analyse();
    assert_eq!(
        lines(bricks.table("bricks"), &COLUMNS),
        [
            "brick | softmax | memcpy | 3 | 5 | 0.6000 | 0.2307",
            "brick | softmax | norm | 2 | 5 | 0.4000 | 0.1176",
            "iteration | step | log | 1 | 2 | 0.5000 | 0.0945",
            "iteration | step | norm | 1 | 2 | 0.5000 | 0.0945",
            "kernel | exp_avx2 | exp | 2 | 2 | 1.0000 | 0.3424",
        ]
    );
}

#[test]
fn all_but_the_hottest_functions_of_a_brick_share_a_row() {
    let mut fixture = program();
    let counts = [(1, 6), (2, 3), (3, 2), (4, 1), (5, 1)];
    let samples = counts.into_iter().flat_map(|(stack, count)| {
        let samples = (0..count).map(move |nth| sample(60 + nth, stack));
        samples.collect::<Vec<Sample>>()
    });
    fixture.samples = samples.collect();
    let functions = |limit: u64| {
        let options = format!(r#"{{"functions_per_brick": {limit}}}"#);
        let output = fixture.analyse_with(&options);
        lines(output.table("bricks"), &["function", "samples"])
    };
    assert_eq!(functions(2), ["norm | 6", "memcpy | 3", "3 others | 4"]);
    assert_eq!(functions(4).len(), 5);
    assert_eq!(functions(3).len(), 4);
    assert_eq!(functions(0), ["5 others | 13"]);
}

#[test]
fn without_rows_around_there_is_no_table_of_bricks() {
    let mut fixture = program();
    fixture.samples = vec![sample(500, 1)];
    let output = fixture.analyse();
    assert!(output.tables.iter().all(|table| table.name() != "bricks"));
}

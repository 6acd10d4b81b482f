//! Errors of another profiler of the same programs, with the true answers.
//!
//! Serial siblings, parents beside their children, and circles stand in `serial` and `edges`.

use trueno_analysis::testing::{Row, RunFixture, interval, lines};

use crate::linked::{Linked, path, slack};

fn run(wall_ns: i64, bricks: Vec<Row>) -> Linked {
    Linked {
        fixture: RunFixture {
            wall_ns: Some(wall_ns),
            bricks,
            ..RunFixture::default()
        },
        ..Linked::default()
    }
}

/// The other profiler processed rows in the order of their numbers and got a slack of 60 instead of 50.
#[test]
fn a_dependency_may_lead_to_a_row_that_was_numbered_before() {
    let mut run = run(
        150,
        vec![
            interval(3, "brick", "first", 0, 100),
            interval(1, "task", "last", 100, 150).thread(1),
            interval(2, "task", "beside", 40, 60).thread(2),
        ],
    );
    run.edges = vec![(3, 1, "depends_on"), (2, 1, "depends_on")];
    let out = run.analyse();
    assert_eq!(path(&out), ["work first 0-100", "work last 100-150"]);
    assert_eq!(slack(&out), ["1 | 0", "2 | 40", "3 | 0"]);
}

/// The other profiler gave these kinds no time: a task of 9 ms had a critical path of 0.
#[test]
fn tasks_functions_and_layers_take_their_time() {
    for kind in ["task", "function", "layer", "iteration", "run", "anything"] {
        let out = run(9_000_000, vec![interval(1, kind, "x", 0, 9_000_000)]).analyse();
        assert_eq!(path(&out), ["work x 0-9000000"], "{kind}");
    }
}

/// The other profiler's map by name kept only the last of several rows.
#[test]
fn rows_of_one_name_are_several_rows() {
    let layers =
        (0..3).map(|i| interval(i + 1, "layer", "layer", 10 * i as i64, 10 * i as i64 + 10));
    let out = run(30, layers.collect()).analyse();
    assert_eq!(
        lines(out.table("by_name"), &["name", "dur_ns", "pieces"]),
        ["layer | 30 | 3"]
    );
    assert_eq!(slack(&out).len(), 3);
}

/// The other profiler gave 50 different lists for the same graph built 50 times.
#[test]
fn the_same_run_gives_the_same_tables_whatever_the_order_of_rows() {
    let bricks = || -> Vec<Row> {
        (0..12)
            .map(|i| interval(i + 1, "task", "t", 0, 50).thread(1 + i as i64))
            .chain([interval(100, "brick", "main", 0, 80)])
            .collect()
    };
    let tables = |bricks: Vec<Row>| -> Vec<String> {
        let out = run(80, bricks).analyse();
        out.tables.iter().map(ToString::to_string).collect()
    };
    let first = tables(bricks());
    for turn in 0..12 {
        let mut rows = bricks();
        rows.rotate_left(turn);
        assert_eq!(tables(rows), first);
    }
}

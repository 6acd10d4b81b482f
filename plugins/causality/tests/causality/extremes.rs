//! Numbers that should not be, and runs that are large or empty.

use trueno_analysis::testing::{Row, RunFixture, lines};

use crate::fixture::{Fixture, brick, clocks, row};

#[test]
fn an_empty_run_has_no_section() {
    let output = Fixture::default().analyse();
    assert!(output.tables.is_empty() && output.findings.is_empty());
}

#[test]
fn a_difference_beyond_what_can_be_counted_is_null() {
    let output = Fixture {
        run: RunFixture {
            bricks: vec![
                brick(0, "late", 0, i64::MAX, i64::MAX),
                brick(u64::MAX, "early", 1, i64::MIN, i64::MIN),
                // Neither has an end.
                Row {
                    dur_ns: i64::MAX,
                    ..brick(2, "no end", 0, i64::MAX, i64::MAX)
                },
                Row {
                    dur_ns: -1,
                    ..brick(3, "no end", 1, 0, 0)
                },
                brick(4, "all", 0, 0, i64::MAX),
            ],
            ..RunFixture::default()
        },
        edges: vec![
            (0, u64::MAX, "depends_on"),
            (2, 3, "spawns"),
            (u64::MAX - 1, 1 << 63, "joins"),
        ],
        ..Fixture::default()
    }
    .analyse();
    assert_eq!(
        lines(
            output.table("contradictions"),
            &["late_ns", "from_time_ns", "to_time_ns"]
        ),
        [format!("- | {} | {}", i64::MAX, i64::MIN)]
    );
    assert_eq!(clocks(&output, 4), (Some(1), Some(2)));
    assert_eq!(clocks(&output, 0), (Some(3), Some(4)));
    assert_eq!(clocks(&output, u64::MAX), (Some(5), Some(6)));
    let finding = output.finding("contradictions").unwrap();
    assert!(finding.title.contains("more than 292 years"), "{finding:?}");
}

#[test]
fn of_two_rows_with_one_id_edges_mean_the_first() {
    let output = Fixture {
        run: RunFixture {
            bricks: vec![
                brick(1, "from", 0, 0, 5),
                brick(2, "first", 1, 10, 15),
                brick(2, "second", 2, 10, 15),
            ],
            ..RunFixture::default()
        },
        edges: vec![(1, 2, "depends_on")],
        ..Fixture::default()
    }
    .analyse();
    assert_eq!(
        lines(output.table("events"), &["id", "lane", "lamport_begin"]),
        ["1 | thread 0 | 1", "2 | thread 1 | 3", "2 | thread 2 | 1"]
    );
}

#[test]
fn rows_of_threads_that_were_not_recorded_have_no_order() {
    let kernels = vec![row(1, "one", 0, 5), row(2, "two", 10, 15)];
    let output = Fixture {
        run: RunFixture {
            kernels,
            ..RunFixture::default()
        },
        ..Fixture::default()
    }
    .analyse();
    assert_eq!(clocks(&output, 1), clocks(&output, 2));
}

/// Covers rows that all cross each other, a lane of deeply nested rows, and two lanes that wait for each other
/// throughout. None of these may recurse or take longer than sorting.
#[test]
fn long_chains_and_many_crossings_take_little() {
    const ROWS: i64 = 30_000;
    let id = |kind: i64, at: i64| (kind * ROWS + at) as u64;
    let mut bricks: Vec<Row> = Vec::new();
    let mut edges = Vec::new();
    for at in 0..ROWS {
        bricks.push(brick(id(0, at), "crosses", 0, at, at + ROWS));
        bricks.push(brick(id(1, at), "inside", 1, at, 3 * ROWS - at));
        // The last row of one lane leads to the first of the other.
        bricks.push(brick(id(2, at), "chain", 2, 2 * at, 2 * at + 1));
        bricks.push(brick(id(3, at), "chain", 3, 2 * at, 2 * at + 1));
        if at > 0 {
            edges.push((id(2 + at % 2, at - 1), id(3 - at % 2, at), "depends_on"));
        }
    }
    edges.push((id(3, ROWS - 1), id(1, 0), "depends_on"));
    let output = Fixture {
        run: RunFixture {
            bricks,
            ..RunFixture::default()
        },
        edges,
        ..Fixture::default()
    }
    .analyse();
    assert_eq!(clocks(&output, id(0, 77)), (Some(1), Some(2)));
    let chain = 2 * ROWS as u64;
    assert_eq!(clocks(&output, id(3, ROWS - 1)).1, Some(chain));
    assert_eq!(clocks(&output, id(1, 0)).1, Some(2 * chain));
}

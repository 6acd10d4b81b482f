//! Runs of several ranks: ids and lanes are kept apart, and edges between ranks hold.

use trueno_analysis::testing::{RunFixture, lines};

use crate::fixture::{Fixture, brick, clocks};

#[test]
fn edges_lead_from_rank_to_rank() {
    let id = |rank: u64, number: u64| rank << 48 | number;
    let thread = |rank: i64, number: i64| rank << 16 | number;
    let output = Fixture {
        run: RunFixture {
            bricks: vec![
                brick(id(0, 1), "send", thread(0, 0), 100, 110),
                brick(id(1, 1), "receive", thread(1, 0), 105, 120),
                brick(id(1, 2), "after", thread(1, 0), 130, 140),
            ],
            ..RunFixture::default()
        },
        edges: vec![
            (id(0, 1), id(1, 1), "depends_on"),
            (id(1, 1), id(1, 2), "depends_on"),
            (id(2, 1), id(1, 2), "depends_on"),
        ],
        ranks: vec![0, 1],
        ..Fixture::default()
    }
    .analyse();
    assert_eq!(clocks(&output, id(0, 1)), (Some(1), Some(2)));
    assert_eq!(clocks(&output, id(1, 1)), (Some(3), Some(4)));
    assert_eq!(clocks(&output, id(1, 2)), (Some(5), Some(6)));
    assert_eq!(
        lines(
            output.table("contradictions"),
            &["from_rank", "from_lane", "to_rank", "to_lane", "late_ns"]
        ),
        ["0 | rank 0 thread 0 | 1 | rank 1 thread 0 | 5"]
    );
    assert_eq!(
        lines(output.table("edges"), &["edges", "between_lanes", "unused"]),
        ["2 | 1 | 1"]
    );
}

#[test]
fn threads_that_were_not_recorded_are_another_lane_in_each_rank() {
    let of = |rank: u64| trueno_analysis::testing::Row {
        thread: None,
        ..brick(rank << 48 | 1, "kernel", 0, 0, 5)
    };
    let output = Fixture {
        run: RunFixture {
            kernels: vec![of(0), of(1)],
            ..RunFixture::default()
        },
        edges: vec![(1, 1 << 48 | 1, "depends_on")],
        ranks: vec![0, 1],
        ..Fixture::default()
    }
    .analyse();
    assert_eq!(
        lines(output.table("lanes"), &["lane", "order_with_others"]),
        ["rank 0 thread ? | by edges", "rank 1 thread ? | by edges"]
    );
}

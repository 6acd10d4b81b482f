//! Lanes of a run of several ranks.

use trueno_analysis::testing::{Row, RunFixture, interval, lines};
use trueno_plugin::Table;
use trueno_plugin::rank::{KEY_BITS, PLACE_BITS};
use trueno_plugin::testing::run;
use trueno_plugin_category::Category;

/// The same recording in ranks 0 and 3: a brick on thread 0, kernels on a stream, and a kernel with neither thread
/// nor device.
fn two() -> RunFixture {
    let mut fixture = RunFixture {
        wall_ns: Some(1000),
        ..RunFixture::default()
    };
    for rank in [0_i64, 3] {
        let key = |id: u64| (rank.cast_unsigned() << KEY_BITS) + id;
        let place = |number: i64| (rank << PLACE_BITS) + number;
        fixture.threads.push((place(0), Some("main")));
        let brick = interval(key(1), "brick", "Gate", 0, 100).thread(place(0));
        fixture.bricks.push(brick.category("FFN"));
        let kernel = interval(key(2), "", "gemm", 20, 90 + rank).stream(place(1), 7);
        fixture.kernels.push(kernel);
        fixture.kernels.push(Row {
            thread: None,
            ..interval(key(3), "", "lost", 500, 510)
        });
    }
    fixture
}

#[test]
fn ranks_share_no_lane_and_lanes_say_their_rank() {
    let fixture = two();
    let mut inputs = fixture.inputs();
    inputs.push(Table::build("ranks").i64("rank", [0_i64, 3]));
    let out = run::<Category>(inputs, "{}").unwrap();
    assert_eq!(
        lines(out.table("by_lane"), &["lane", "busy_ns", "self_ns"]),
        [
            "rank 0 thread 0 main | 100 | 100",
            "rank 3 thread 0 main | 100 | 100",
            "rank 0 thread ? | 10 | 10",
            "rank 3 thread ? | 10 | 10",
            "rank 0 gpu1/stream 7 | 70 | 70",
            "rank 3 gpu1/stream 7 | 73 | 73",
        ]
    );
}

#[test]
fn a_plain_run_with_large_numbers_holds_no_ranks() {
    let out = run::<Category>(two().inputs(), "{}").unwrap();
    assert_eq!(
        lines(out.table("by_lane"), &["lane", "busy_ns"]),
        [
            "thread ? | 10",
            "thread 0 main | 100",
            "thread 196608 main | 100",
            "gpu1/stream 7 | 70",
            "gpu196609/stream 7 | 73",
        ]
    );
}

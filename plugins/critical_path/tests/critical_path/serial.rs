//! One thread: everything is on the path, nothing counts twice.

use trueno_analysis::testing::{RunFixture, interval, lines};

use crate::linked::{Linked, codes, path, slack};

fn serial(wall_ns: i64, bricks: Vec<trueno_analysis::testing::Row>) -> Linked {
    Linked {
        fixture: RunFixture {
            wall_ns: Some(wall_ns),
            bricks,
            ..RunFixture::default()
        },
        ..Linked::default()
    }
}

#[test]
fn two_serial_layers_are_as_long_as_both() {
    let out = serial(
        1_400_000,
        vec![
            interval(2, "brick", "attention", 0, 300_000).category("Attention"),
            interval(3, "brick", "ffn", 300_000, 690_000).category("FFN"),
            interval(1, "layer", "layer", 0, 700_000),
            interval(5, "brick", "attention", 700_000, 1_000_000).category("Attention"),
            interval(6, "brick", "ffn", 1_000_000, 1_400_000).category("FFN"),
            interval(4, "layer", "layer", 700_000, 1_400_000),
        ],
    )
    .analyse();
    assert_eq!(
        lines(
            out.table("by_name"),
            &["name", "kind", "category", "dur_ns", "pieces"]
        ),
        [
            "ffn | work | FFN | 790000 | 2",
            "attention | work | Attention | 600000 | 2",
            "layer | work | outside bricks | 10000 | 1",
        ]
    );
    assert_eq!(
        lines(out.table("by_kind"), &["kind", "dur_ns", "wall_share"])[0],
        "work | 1400000 | 1"
    );
    // Layer 4 is covered by its bricks and takes their slack.
    assert_eq!(
        slack(&out),
        ["1 | 0", "2 | 0", "3 | 0", "4 | 0", "5 | 0", "6 | 0"]
    );
}

#[test]
fn a_parent_and_its_kernel_share_their_time() {
    let mut run = serial(300_000, vec![interval(1, "brick", "ffn", 0, 300_000)]);
    run.fixture.kernels = vec![interval(2, "", "gemm", 20_000, 290_000)];
    let out = run.analyse();
    assert_eq!(
        path(&out),
        [
            "work ffn 0-20000",
            "work gemm 20000-290000",
            "work ffn 290000-300000"
        ]
    );
    assert_eq!(
        lines(out.table("by_kind"), &["kind", "dur_ns"])[0],
        "work | 300000"
    );
}

#[test]
fn what_is_not_covered_is_a_gap() {
    let out = serial(
        100,
        vec![
            interval(1, "brick", "a", 10, 30),
            interval(2, "brick", "b", 40, 80),
        ],
    )
    .analyse();
    assert_eq!(
        path(&out),
        [
            "gap - 0-10",
            "work a 10-30",
            "gap - 30-40",
            "work b 40-80",
            "gap - 80-100"
        ]
    );
    assert_eq!(
        lines(out.table("path"), &["seq", "id", "lane"])[0],
        "0 | - | thread 0"
    );
    assert_eq!(
        lines(out.table("by_kind"), &["kind", "dur_ns", "pieces"])[5],
        "gap | 40 | 3"
    );
    let by_name = lines(
        out.table("by_name"),
        &["name", "kind", "category", "dur_ns"],
    );
    assert_eq!(
        by_name,
        [
            "- | gap | - | 40",
            "b | work | uncategorised | 40",
            "a | work | uncategorised | 20"
        ]
    );
    assert_eq!(slack(&out), ["1 | 0", "2 | 0"]);
}

#[test]
fn an_empty_run_has_empty_tables() {
    let out = serial(0, vec![]).analyse();
    for table in ["path", "by_kind", "by_name", "slack"] {
        assert_eq!(out.table(table).rows(), 0, "{table}");
    }
    assert_eq!(codes(&out), [""; 0]);
    // A window without any row is unexplained, whole.
    assert_eq!(path(&serial(50, vec![]).analyse()), ["gap - 0-50"]);
}

#[test]
fn a_span_without_duration_takes_no_time_and_has_its_slack() {
    let out = serial(
        20,
        vec![
            interval(1, "brick", "a", 0, 20),
            interval(2, "brick", "mark", 10, 10),
        ],
    )
    .analyse();
    assert_eq!(path(&out), ["work a 0-20"]);
    assert_eq!(slack(&out), ["1 | 0", "2 | 0"]);
}

#[test]
fn waits_and_copies_on_the_path_are_named() {
    let mut run = serial(100, vec![interval(1, "brick", "a", 0, 100)]);
    run.fixture.syncs = vec![interval(2, "", "device", 10, 30)];
    run.fixture.transfers = vec![interval(3, "", "h2h", 40, 60)];
    run.fixture.calls = vec![interval(4, "", "read", 70, 80)];
    let out = run.analyse();
    let expected = [
        "work a 0-10",
        "sync_wait device 10-30",
        "work a 30-40",
        "transfer h2h 40-60",
        "work a 60-70",
        "work read 70-80",
    ];
    assert_eq!(path(&out)[..6], expected);
}

//! Categories from rules on names.

use trueno_analysis::testing::{Row, RunFixture, interval, lines};
use trueno_plugin::testing::{Output, run};
use trueno_plugin_category::Category;

fn by_brick(fixture: &RunFixture) -> Vec<String> {
    let out: Output = run::<Category>(fixture.inputs(), "{}").unwrap();
    let mut rows = lines(out.table("by_brick"), &["name", "category", "calls"]);
    rows.sort();
    rows
}

fn kernel(id: u64, brick: u64, name: &'static str, start_ns: i64) -> Row {
    Row {
        brick: Some(brick),
        ..interval(id, "", name, start_ns, start_ns + 10).stream(0, 7)
    }
}

/// Three bricks with two kernels each: one with a category, one that a rule matches, one with neither.
fn fixture() -> RunFixture {
    RunFixture {
        wall_ns: Some(100),
        bricks: vec![
            interval(1, "brick", "recorded", 0, 10).category("mine"),
            interval(2, "brick", "aten::conv", 10, 20),
            interval(3, "brick", "other", 20, 30),
        ],
        kernels: vec![
            kernel(11, 1, "gemm", 0),
            kernel(12, 2, "gemm", 10),
            kernel(13, 3, "gemm", 20),
            kernel(14, 1, "k", 30),
            kernel(15, 2, "k", 40),
            kernel(16, 3, "k", 50),
        ],
        rules: vec![
            ("recorded", "never"),
            ("aten::conv", "convolution"),
            ("gemm", "GEMM"),
        ],
        ..RunFixture::default()
    }
}

#[test]
fn what_was_recorded_comes_first_then_the_own_name_then_the_bricks() {
    assert_eq!(
        by_brick(&fixture()),
        [
            "aten::conv | convolution | 1",
            "gemm | GEMM | 1",
            // cuDNN runs products within convolutions.
            "gemm | convolution | 1",
            "gemm | mine | 1",
            "k | convolution | 1",
            "k | mine | 1",
            "k | uncategorised | 1",
            "other | uncategorised | 1",
            "recorded | mine | 1",
        ]
    );
}

#[test]
fn calls_follow_the_same_order_in_what_they_began_in() {
    let fixture = RunFixture {
        bricks: vec![
            interval(1, "brick", "recorded", 0, 30).category("mine"),
            interval(2, "brick", "aten::conv", 40, 70),
            interval(3, "layer", "gemm", 80, 110),
        ],
        kernels: vec![],
        calls: [0, 40, 80, 120]
            .into_iter()
            .enumerate()
            .flat_map(|(i, from)| {
                let id = 20 + 2 * i as u64;
                [
                    interval(id, "", "gemm", from + 1, from + 5),
                    interval(id + 1, "", "launch", from + 6, from + 9),
                ]
            })
            .collect(),
        ..fixture()
    };
    assert_eq!(
        by_brick(&fixture),
        [
            "aten::conv | convolution | 1",
            "gemm | GEMM | 2",
            "gemm | convolution | 1",
            "gemm | mine | 1",
            "gemm | outside bricks | 1",
            "launch | convolution | 1",
            "launch | mine | 1",
            "launch | outside bricks | 2",
            "recorded | mine | 1",
        ]
    );
}

#[test]
fn bound_rows_have_a_category_too() {
    let fixture = RunFixture {
        bricks: vec![],
        kernels: vec![Row {
            bound: true,
            ..interval(1, "", "gemm", 0, 10).stream(0, 7)
        }],
        ..fixture()
    };
    assert_eq!(by_brick(&fixture), ["gemm | GEMM | 0"]);
}

#[test]
fn without_rules_nothing_changes() {
    let fixture = RunFixture {
        rules: vec![],
        ..fixture()
    };
    assert!(by_brick(&fixture).contains(&"gemm | uncategorised | 2".to_owned()));
}

#[test]
fn the_start_of_a_profiler_and_what_lies_within_are_the_profiler_s() {
    let run = RunFixture {
        wall_ns: Some(100),
        bricks: vec![
            interval(1, "function", "start_trace", 0, 40),
            interval(2, "function", "import", 5, 30),
            interval(3, "brick", "aten::conv", 10, 20),
            // It only holds the program.
            interval(4, "function", "profiler.py: wrapper", 45, 70),
            interval(5, "function", "import", 50, 60),
            interval(6, "function", "$profiler.py:213 stop_trace", 80, 90),
        ],
        rules: vec![
            ("profiler.py: wrapper", "profiler"),
            ("aten::conv", "convolution"),
        ],
        ..RunFixture::default()
    };
    assert_eq!(
        by_brick(&run),
        [
            "$profiler.py:213 stop_trace | profiler | 1",
            "aten::conv | profiler | 1",
            "import | profiler | 1",
            "import | uncategorised | 1",
            "profiler.py: wrapper | profiler | 1",
            "start_trace | profiler | 1",
        ]
    );
}

#[test]
fn calls_that_only_wait_are_waiting_whatever_is_around_them() {
    let fixture = RunFixture {
        wall_ns: Some(100),
        bricks: vec![interval(1, "brick", "load", 0, 60).category("mine")],
        calls: vec![
            interval(2, "", "poll", 0, 20),
            interval(3, "", "read", 20, 40),
            interval(4, "", "pthread_cond_wait", 60, 90),
        ],
        ..RunFixture::default()
    };
    assert_eq!(
        by_brick(&fixture),
        [
            "load | mine | 1",
            "poll | waiting | 1",
            "pthread_cond_wait | waiting | 1",
            "read | mine | 1",
        ]
    );
}

//! Traces of compilers and build tools.

use super::import;
use super::traces::{slice, trace};

fn on_lane(thread: u32, name: &str, (ts, dur): (u32, u32), more: &str) -> String {
    format!(
        r#"{{"pid": 1, "tid": {thread}, "ph": "X", "name": "{name}", "ts": {ts}, "dur": {dur}{more}}}"#
    )
}

fn sum(thread: u32, name: &str, dur: u32, (count, average_ms): (u32, u32)) -> String {
    let arguments = format!(r#", "args": {{"count": {count}, "avg ms": {average_ms}}}"#);
    on_lane(thread, name, (0, dur), &arguments)
}

#[test]
fn sums_of_a_compiler_are_counters_and_no_threads() {
    let run = import(trace(&[
        on_lane(7, "Frontend", (100, 9_000), ""),
        sum(1, "Total Frontend", 9_999, (2, 4)),
        sum(2, "Total Source", 700, (3, 0)),
        // Anything may have such arguments.
        sum(7, "batch", 8_000, (2, 4)),
        // What takes another time than the product of both is an interval.
        sum(7, "Total batch", 90_000, (2, 4)),
    ]))
    .unwrap();
    let mut names = run.rows("bricks", "name");
    names.sort();
    assert_eq!(names, ["Frontend", "Total batch", "batch"]);
    assert_eq!(run.rows("threads", "os_id"), ["7"]);
    let mut sums = run.rows("counters", "name value unit source");
    sums.sort();
    assert_eq!(
        sums,
        [
            "sum: Frontend calls 2 - declared",
            "sum: Frontend total 9999000 ns declared",
            "sum: Source calls 3 - declared",
            "sum: Source total 700000 ns declared",
        ]
    );
}

#[test]
fn the_critical_path_of_bazel_is_no_thread_and_its_waits_are_waits() {
    let action = "Compiling a.cc";
    let run = import(trace(&[
        r#"{"ph": "M", "name": "thread_name", "pid": 1, "tid": 0, "args": {"name": "Critical Path"}}"#
            .to_owned(),
        on_lane(
            0,
            "action 'Compiling a.cc'",
            (0, 90),
            r#", "cat": "critical path component""#,
        ),
        on_lane(5, action, (0, 90), r#", "cat": "action processing""#),
        on_lane(
            5,
            "Worker #3 working",
            (10, 70),
            r#", "cat": "waiting for response from worker""#,
        ),
        on_lane(
            6,
            "local: cc -v",
            (0, 50),
            r#", "cat": "Starlark repository function call""#,
        ),
        on_lane(
            6,
            "//external:cc",
            (60, 9),
            r#", "cat": "Starlark repository function call""#,
        ),
        slice(
            "Parallel Evaluator evaluation",
            "skyframe evaluator",
            "0",
            "95",
            "",
        ),
    ]))
    .unwrap();
    let mut rows = run.rows("bricks", "category name");
    rows.sort();
    assert_eq!(
        rows,
        [
            "- //external:cc",
            "- Compiling a.cc",
            "waiting Parallel Evaluator evaluation",
            "waiting Worker #3 working",
            "waiting local: cc -v",
        ]
    );
    assert_eq!(run.rows("threads", "thread").len(), 3);
    assert_eq!(
        run.notes.repeated["component of Bazel's critical path: its action has a row of its own"],
        1
    );
}

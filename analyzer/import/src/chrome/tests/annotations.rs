//! Instants, and annotations that a profiler draws over device work.

use super::import;
use super::traces::trace;

const COLUMNS: &str = "kind name thread device stream brick time_ns dur_ns arguments";

fn slice(category: &str, name: &str, ts: u32, dur: u32, arguments: &str) -> String {
    format!(
        r#"{{"ph": "X", "cat": "{category}", "name": "{name}", "pid": 7, "tid": 7, "ts": {ts}, "dur": {dur}, "args": {{{arguments}}}}}"#
    )
}

#[test]
fn instants_are_kept_with_what_they_say() {
    let run = import(trace(&[
        slice("cpu_op", "outer", 10, 100, ""),
        r#"{"ph": "i", "s": "t", "name": "hit", "pid": 7, "tid": 7, "ts": 20, "args": {"a": [1, 2], "name": "x y", "at": "\"" }}"#.to_owned(),
        r#"{"ph": "I", "name": "bare", "pid": 7, "tid": 7, "ts": 200}"#.to_owned(),
        // Keys in their order, so that the phase comes last; and of no thread.
        r#"{"args": {"step": 4}, "name": "all", "ph": "i", "pid": "Traces", "s": "g", "tid": "T", "ts": 5}"#.to_owned(),
    ]))
    .unwrap();
    let brick = &run.rows("bricks", "id")[0];
    assert_eq!(
        run.rows("annotations", COLUMNS),
        [
            format!(r#"instant hit 0 - - {brick} 10000 - {{"a":[1,2],"name":"x y","at":"\""}}"#),
            "instant bare 0 - - - 190000 - -".to_owned(),
            r#"instant all - - - - -5000 - {"step":4}"#.to_owned(),
        ]
    );
    assert_eq!(run.rows("threads", "thread"), ["0"], "none of its own");
    assert_eq!(run.run.wall_ns, Some(100_000), "as long as its work");
}

#[test]
fn arguments_before_their_phase_are_read_like_others() {
    let run = import(trace(&[
        r#"{"args": {"name": "a \u0022b\u0022"}, "name": "thread_name", "ph": "M", "pid": 7, "tid": 7}"#.to_owned(),
        r#"{"args": {"Input Dims": [[2, 3]], "flops": 6}, "cat": "cpu_op", "dur": 5, "name": "o", "ph": "X", "pid": 7, "tid": 7, "ts": 1}"#.to_owned(),
        r#"{"args": {"series": 4}, "name": "c", "ph": "C", "pid": 7, "ts": 1}"#.to_owned(),
    ]))
    .unwrap();
    assert_eq!(run.rows("threads", "name"), [r#"a "b""#]);
    let columns = "name flops signature";
    assert_eq!(run.rows("bricks", columns), ["o 6 0"]);
    let columns = "name value";
    assert_eq!(run.rows("counters", columns), ["c.series 4"]);
}

#[test]
fn arguments_too_long_to_be_kept_are_counted() {
    let long = "x".repeat(1 << 16);
    let run = import(trace(&[
        slice("cpu_op", "o", 10, 5, ""),
        format!(
            r#"{{"ph": "i", "name": "p", "pid": 7, "tid": 7, "ts": 12, "args": {{"a": "{long}"}}}}"#
        ),
    ]))
    .unwrap();
    assert_eq!(run.rows("annotations", "name arguments"), ["p -"]);
    assert_eq!(run.left_out("arguments of an instant"), 1);
}

#[test]
fn annotations_over_device_work_name_the_one_of_the_host() {
    let drawn = |name: &str, ts: u32, arguments: &str| {
        format!(
            r#"{{"ph": "X", "cat": "gpu_user_annotation", "name": "{name}", "pid": 1, "tid": 20, "ts": {ts}, "dur": 50, "args": {{{arguments}}}}}"#
        )
    };
    let run = import(trace(&[
        slice("user_annotation", "forward", 10, 30, r#""External id": 4"#),
        // An operator may have the number of an annotation; it is another one.
        slice("cpu_op", "mm", 12, 3, r#""External id": 5"#),
        drawn("forward", 40, r#""External id": 4"#),
        drawn("mm", 100, r#""External id": 5"#),
        drawn("before", 5, ""),
    ]))
    .unwrap();
    let brick = &run.rows("bricks", "id")[0];
    let mut found = run.rows("annotations", COLUMNS);
    found.sort();
    assert_eq!(
        found,
        [
            "device before - 1 20 - -5000 50000 -".to_owned(),
            format!("device forward - 1 20 {brick} 30000 50000 -"),
            "device mm - 1 20 - 90000 50000 -".to_owned(),
        ]
    );
    assert_eq!(run.run.wall_ns, Some(30_000), "as long as its work");
}

/// Starting a session takes long, and comes before all of its runs.
#[test]
fn each_run_of_an_onnx_session_is_an_iteration() {
    let run = import(trace(&[
        slice("Session", "session_initialization", 0, 900, ""),
        slice("Node", "Add_kernel_time", 1010, 20, ""),
        slice("Session", "SequentialExecutor::Execute", 1005, 30, ""),
        slice("Session", "model_run", 1000, 40, ""),
        slice("Session", "model_run", 1050, 40, ""),
        slice("user", "model_run", 1100, 40, ""),
    ]))
    .unwrap();
    assert_eq!(
        run.rows("bricks", "kind name iteration"),
        [
            "function session_initialization -",
            "iteration model_run 0",
            "function SequentialExecutor::Execute 0",
            "function Add_kernel_time 0",
            "iteration model_run 1",
            "function model_run -",
        ]
    );
}

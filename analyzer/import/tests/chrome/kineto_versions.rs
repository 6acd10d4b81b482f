//! Traces as Kineto wrote them in other years, and with arguments missing.

use crate::support::{import, rows};
use crate::traces::trace;

#[test]
fn a_trace_of_2021_has_iterations_and_no_row_of_its_window() {
    let run = import(trace(&[
        r#"{"ph": "X", "cat": "Trace", "ts": 10, "dur": 900, "pid": "Traces", "tid": "PyTorch Profiler", "name": "PyTorch Profiler (0)", "args": {"Op count": 0}}"#.to_owned(),
        r#"{"ph": "X", "cat": "Operator", "name": "ProfilerStep#5", "pid": 7, "tid": "7", "ts": 20, "dur": 100, "args": {"Device": 7, "External id": 4}}"#.to_owned(),
        r#"{"ph": "X", "cat": "Operator", "name": "aten::mm", "pid": 7, "tid": "7", "ts": 30, "dur": 50, "args": {"Device": 7, "External id": 5}}"#.to_owned(),
    ]))
    .unwrap();
    assert_eq!(
        rows(&run, "bricks", &["kind", "name", "iteration"]),
        ["iteration ProfilerStep#5 5", "brick aten::mm 5"]
    );
    assert_eq!(run.left_out("Trace: the time the profiler was on"), 1);
    let window = run.json.values.get("trace.window_ns.PyTorch Profiler (0)");
    assert_eq!(window.map(String::as_str), Some("900000"));
}

#[test]
fn copies_and_fills_without_a_size_are_kept() {
    let run = import(trace(&[
        r#"{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoD (Device -> Device)", "pid": 2, "tid": 0, "ts": 10, "dur": 4, "args": {"device": 2, "stream": 0, "correlation": 4, "kind": "DtoD"}}"#.to_owned(),
        r#"{"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "pid": 2, "tid": 0, "ts": 20, "dur": 5, "args": {"device": 2, "stream": 0, "correlation": 5}}"#.to_owned(),
        r#"{"ph": "X", "cat": "gpu_memcpy", "name": "CopyKernel", "pid": 2, "tid": 0, "ts": 30, "dur": 6, "args": {"device": 2, "stream": 0, "correlation": 6, "bytes": 8}}"#.to_owned(),
    ]))
    .unwrap();
    assert_eq!(
        rows(&run, "transfers", &["direction", "bytes", "dur_ns"]),
        ["d2d - 4000", "memset - 5000", "unknown 8 6000"]
    );
}

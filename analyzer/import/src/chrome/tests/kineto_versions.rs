//! Traces as Kineto wrote them in other years, and with arguments missing.

use super::traces::trace;
use super::{import, import_with};
use crate::Options;

#[test]
fn a_trace_of_2021_has_iterations_and_no_row_of_its_window() {
    let run = import(trace(&[
        r#"{"ph": "X", "cat": "Trace", "ts": 10, "dur": 900, "pid": "Traces", "tid": "PyTorch Profiler", "name": "PyTorch Profiler (0)", "args": {"Op count": 0}}"#.to_owned(),
        r#"{"ph": "X", "cat": "Operator", "name": "ProfilerStep#5", "pid": 7, "tid": "7", "ts": 20, "dur": 100, "args": {"Device": 7, "External id": 4}}"#.to_owned(),
        r#"{"ph": "X", "cat": "Operator", "name": "aten::mm", "pid": 7, "tid": "7", "ts": 30, "dur": 50, "args": {"Device": 7, "External id": 5}}"#.to_owned(),
    ]))
    .unwrap();
    assert_eq!(
        run.rows("bricks", "kind name iteration"),
        ["iteration ProfilerStep#5 5", "brick aten::mm 5"]
    );
    assert_eq!(run.repeated("Trace: the time the profiler was on"), 1);
    let window = run.run.values.get("trace.window_ns.PyTorch Profiler (0)");
    assert_eq!(window.map(String::as_str), Some("900000"));
}

#[test]
fn a_recording_in_which_nothing_ran_is_as_long_as_the_profiler_was_on() {
    let window = r#"{"ph": "X", "cat": "Trace", "ts": 1000, "dur": 77000, "pid": "Spans", "tid": "PyTorch Profiler", "name": "PyTorch Profiler (0)", "args": {"Op count": 0}}"#;
    let call = r#"{"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 7, "tid": 7, "ts": 70000, "dur": 5, "args": {"correlation": 1}}"#;
    let operator = r#"{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 7, "ts": 70000, "dur": 50}"#;
    let run = import(trace(&[call.to_owned(), window.to_owned()])).unwrap();
    assert_eq!(run.run.wall_ns, Some(77_000_000));
    assert_eq!(run.rows("calls", "start_ns"), ["69000000"]);
    let run = import(trace(&[window.to_owned()])).unwrap();
    assert_eq!(run.run.wall_ns, Some(77_000_000));
    let run = import(trace(&[operator.to_owned(), window.to_owned()])).unwrap();
    assert_eq!(run.run.wall_ns, Some(50_000));
}

#[test]
fn a_call_after_the_profiler_was_off_does_not_lengthen_the_run() {
    let window = |end: u32| {
        format!(
            r#"{{"ph": "X", "cat": "Trace", "ts": 0, "dur": {end}, "pid": "Spans", "tid": "PyTorch Profiler", "name": "PyTorch Profiler (0)", "args": {{"Op count": 0}}}}"#
        )
    };
    let operator = r#"{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 7, "ts": 10, "dur": 50}"#;
    // Launched within the window, it ends later.
    let launch = r#"{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": 20, "dur": 5, "args": {"correlation": 1}}"#;
    let kernel = r#"{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 110, "dur": 40, "args": {"device": 0, "stream": 7, "correlation": 1}}"#;
    // A call of another thread during the kernel, one that lasts longer than it, and one long after it.
    let query = |ts: u32, dur: u32, correlation: u32| {
        format!(
            r#"{{"ph": "X", "cat": "cuda_runtime", "name": "cudaEventQuery", "pid": 7, "tid": 8, "ts": {ts}, "dur": {dur}, "args": {{"correlation": {correlation}}}}}"#
        )
    };
    let of = |windows: &[String], options: Options| {
        let mut events = vec![
            operator.to_owned(),
            launch.to_owned(),
            kernel.to_owned(),
            query(120, 2, 2),
            query(149, 3, 3),
            query(9_000, 4, 4),
        ];
        events.extend_from_slice(windows);
        import_with(trace(&events), options).unwrap()
    };
    let run = of(&[window(100)], Options::default());
    assert_eq!(run.run.wall_ns, Some(142_000));
    let calls = run.rows("calls", "start_ns dur_ns");
    assert_eq!(calls, ["10000 5000", "110000 2000", "139000 3000"]);
    assert_eq!(run.rows("kernels", "start_ns dur_ns"), ["100000 40000"]);
    let reason = "call that began after the profiler was off and all else had ended";
    assert_eq!(run.notes.left_out[reason], 1);
    assert!(run.warns("1 call began after the profiler was off"));
    // No window, several, one that ends later, or the wish to keep what is doubtful.
    let keep = Options {
        keep_doubtful: true,
        ..Options::default()
    };
    for (windows, options) in [
        (vec![], Options::default()),
        (vec![window(100), window(50)], Options::default()),
        (vec![window(9_000)], Options::default()),
        (vec![window(100)], keep),
    ] {
        let run = of(&windows, options);
        assert_eq!(run.run.wall_ns, Some(8_994_000), "{windows:?}");
        assert_eq!(run.rows("calls", "start_ns").len(), 4);
    }
}

#[test]
fn what_kineto_says_of_a_launch_is_kept() {
    let kernel = |ts: u32, more: &str| {
        format!(
            r#"{{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": {ts}, "dur": 4, "args": {{"device": 0, "stream": 7, "correlation": {ts}{more}}}}}"#
        )
    };
    let run = import(trace(&[
        kernel(
            10,
            r#", "shared memory": 4294967294, "blocks per SM": 0.11111111, "est. achieved occupancy %": 63"#,
        ),
        kernel(20, r#", "shared memory": 0, "est. achieved occupancy %": "nan""#),
        kernel(30, ""),
    ]))
    .unwrap();
    let columns = "smem blocks_per_sm occupancy_percent";
    assert_eq!(
        run.rows("kernels", columns),
        ["4294967294 0.11111111 63", "0 - -", "- - -"]
    );
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
        run.rows("transfers", "direction bytes dur_ns"),
        ["d2d - 4000", "memset - 5000", "unknown 8 6000"]
    );
}

/// A kernel with counters, as Kineto writes the results of CUPTI's range profiler.
fn profiler_range(name: &str, ts: u32, [fadd, ffma]: [u32; 2]) -> String {
    let metric = |operation: &str, value: u32| {
        format!(r#""smsp__sass_thread_inst_executed_op_{operation}_pred_on.sum": {value}"#)
    };
    let metrics = [
        metric("fadd", fadd),
        metric("fmul", 0),
        metric("ffma", ffma),
    ]
    .join(", ");
    format!(
        r#"{{"ph": "X", "cat": "cuda_profiler_range", "name": "{name}", "pid": 0, "tid": "0", "ts": {ts}, "dur": 10, "args": {{{metrics}}}}}"#
    )
}

#[test]
fn kernels_of_the_range_profiler_have_counters_and_no_times() {
    let launch = |ts: u32, id: u32| {
        format!(
            r#"{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": {ts}, "dur": 2, "args": {{"correlation": {id}}}}}"#
        )
    };
    let events = [
        operator("aten::add", 7, (10, 20), 1, 0),
        launch(12, 5),
        launch(40, 6),
        profiler_range("gemm", 60, [1, 8]),
        profiler_range("add", 50, [4, 0]),
    ];
    let run = import(trace(&events)).unwrap();
    assert_eq!(
        run.rows("kernels", "name device correlation valid"),
        ["add 0 5 false", "gemm 0 6 false"]
    );
    let kinds = run.rows("edges", "kind");
    assert_eq!(kinds, ["launches", "launches"]);
    let counted = run.rows("counters", "name value source");
    let sums: Vec<&String> = counted
        .iter()
        .filter(|row| row.contains("flops_f32"))
        .collect();
    assert_eq!(sums, ["flops_f32 4 computed", "flops_f32 17 computed"]);
    assert_eq!((counted.len(), run.notes.left_out.len()), (8, 0));
    // One launch less: nothing says which kernel it began.
    let run = import(trace(&events[2..])).unwrap();
    assert_eq!(
        run.rows("kernels", "name correlation valid"),
        ["add - false", "gemm - false"]
    );
    assert!(
        run.notes
            .warnings
            .iter()
            .any(|text| text.contains("are linked to no call"))
    );
}

fn operator(name: &str, thread: u32, (ts, dur): (u32, u32), sequence: i32, forward: u32) -> String {
    format!(
        r#"{{"ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 7, "tid": {thread}, "ts": {ts}, "dur": {dur}, "args": {{"Sequence number": {sequence}, "Fwd thread id": {forward}}}}}"#
    )
}

fn edges(run: &crate::read_back::Imported) -> Vec<String> {
    let bricks = run.rows("bricks", "id name");
    let name = |id: &str| {
        let of_id = bricks.iter().filter_map(|row| row.split_once(' '));
        of_id
            .filter(|of| of.0 == id)
            .map(|of| of.1)
            .collect::<String>()
    };
    let edges = run.rows("edges", "from to kind");
    edges
        .iter()
        .map(|row| {
            let cells: Vec<&str> = row.split(' ').collect();
            format!("{} {} {}", name(cells[0]), cells[2], name(cells[1]))
        })
        .collect()
}

#[test]
fn sequence_numbers_join_backward_to_forward_operators() {
    let pass = [
        // Of one number the last to begin made the node, also where clocks of a microsecond do not tell.
        operator("linear", 1, (10, 20), 3, 0),
        operator("addmm", 1, (10, 15), 3, 0),
        operator("relu", 1, (40, 5), 4, 0),
        operator("evaluate: Relu", 2, (60, 9), 4, 1),
        operator("ReluBackward", 2, (61, 7), 4, 1),
        operator("evaluate: Addmm", 2, (70, 9), 3, 1),
        operator("AddmmBackward", 2, (70, 9), 3, 1),
        // Before the trace began, or of a number that none is.
        operator("TBackward", 2, (80, 2), 2, 1),
        operator("AccumulateGrad", 2, (85, 2), -1, 1),
        // Which of the threads went forward is not told.
        operator("mul", 1, (50, 1), 9, 0),
        operator("mul", 3, (50, 1), 9, 0),
        operator("MulBackward", 2, (90, 1), 9, 1),
    ];
    let run = import(trace(&pass)).unwrap();
    let expected = [
        "addmm depends_on evaluate: Addmm",
        "relu depends_on evaluate: Relu",
    ];
    assert_eq!(edges(&run), expected);

    // Flows say it themselves.
    let flows = [
        r#"{"ph": "s", "cat": "fwdbwd", "name": "fwdbwd", "id": 1, "pid": 7, "tid": 1, "ts": 40}"#,
        r#"{"ph": "f", "cat": "fwdbwd", "name": "fwdbwd", "id": 1, "pid": 7, "tid": 2, "ts": 61, "bp": "e"}"#,
    ];
    let with_flows = [&pass[..], &flows.map(str::to_owned)].concat();
    let run = import(trace(&with_flows)).unwrap();
    assert_eq!(edges(&run), expected[1..]);
}

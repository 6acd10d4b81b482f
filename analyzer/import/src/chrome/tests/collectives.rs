//! Collectives, as PyTorch states them of calls and of kernels.

use super::import;
use super::traces::trace;

const COLUMNS: &str =
    "span kernel communicator sequence operation element_type elements_in group_size group_ranks";

/// Arguments of `record_param_comms` in PyTorch 2.6, for the all-reduce with this sequence number.
fn arguments(sequence: u32) -> String {
    format!(
        r#""Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1024, "Out msg nelems": 1024, "Group size": 2,
        "Process Group Name": "3", "Process Group Ranks": "[4, 5]", "Seq": {sequence}"#
    )
}

fn call(name: &str, ts: u32, arguments: &str) -> String {
    format!(
        r#"{{"ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 7, "tid": 7, "ts": {ts}, "dur": 5, "args": {{"External id": {ts}, {arguments}}}}}"#
    )
}

fn kernel(ts: u32, arguments: &str) -> String {
    format!(
        r#"{{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 7, "ts": {ts}, "dur": 5,
        "args": {{"correlation": {ts}, "device": 0, "stream": 7, {arguments}}}}}"#
    )
}

#[test]
fn a_call_states_its_communicator_and_number() {
    let run = import(trace(&[
        call("record_param_comms", 10, &arguments(0)),
        call("record_param_comms", 20, &arguments(1)),
        // What only waits for one is none.
        call(
            "record_param_comms",
            30,
            r#""Collective name": "wait", "Process Group Name": "3""#,
        ),
        call("aten::mm", 40, r#""Input Dims": [[2, 3], [3, 4]]"#),
        // Its kernel says the same once more.
        kernel(12, &arguments(0)),
    ]))
    .unwrap();
    assert_eq!(
        run.rows("collectives", COLUMNS),
        [
            "4294967297 - 3 0 all_reduce Float 1024 2 [4,5]",
            "4294967298 - 3 1 all_reduce Float 1024 2 [4,5]"
        ]
    );
}

#[test]
fn a_kernel_states_it_where_no_call_does() {
    let run = import(trace(&[kernel(12, &arguments(8))])).unwrap();
    let found = run.rows("collectives", COLUMNS);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("- "), "{found:?}");
    assert!(
        found[0].ends_with("3 8 all_reduce Float 1024 2 [4,5]"),
        "{found:?}"
    );
}

/// PyTorch truncates long lists: `[0, 1, ..., 31]` does not state the ranks.
#[test]
fn a_list_that_was_cut_is_not_stated() {
    let cut = arguments(0).replace("[4, 5]", "[0, 1, ..., 31]");
    let run = import(trace(&[call("record_param_comms", 10, &cut)])).unwrap();
    assert_eq!(run.rows("collectives", "communicator group_ranks"), ["3 -"]);
}

/// Older versions of PyTorch state numbers of process groups instead of names.
#[test]
fn a_group_with_a_number_only_is_named_by_it() {
    let numbered = arguments(0).replace("\"Process Group Name\": \"3\"", "\"Process Group ID\": 5");
    let run = import(trace(&[call("record_param_comms", 10, &numbered)])).unwrap();
    assert_eq!(run.rows("collectives", "communicator"), ["5"]);
}

#[test]
fn a_send_names_its_peer() {
    let send = r#""Collective name": "send", "Process Group Name": "pp", "Src Rank": 0, "Dst Rank": 3, "In msg nelems": 8"#;
    let run = import(trace(&[call("record_param_comms", 10, send)])).unwrap();
    assert_eq!(
        run.rows("collectives", "operation peer elements_in"),
        ["send 3 8"]
    );
}

fn gloo(operation: &str, ts: u32, shapes: &str) -> String {
    format!(
        r#"{{"ph": "X", "cat": "user_annotation", "name": "gloo:{operation}", "pid": 7, "tid": 9, "ts": {ts}, "dur": 5,
        "args": {{"External id": {ts}, {shapes}}}}}"#
    )
}

const GLOO_COLUMNS: &str =
    "communicator operation element_type elements_in elements_out group_size group_ranks";

/// A trace of gloo's work by PyTorch 2.15, in a job with these process groups.
fn of_gloo(groups: &str) -> String {
    let events = [
        gloo(
            "all_reduce",
            10,
            r#""Input Dims": [[8, 16], [4], []], "Input type": ["float", "float", "float"]"#,
        ),
        gloo(
            "all_gather",
            20,
            r#""Input Dims": [[[100]]], "Input type": ["c10::BFloat16"]"#,
        ),
        gloo("barrier", 30, r#""Record function id": 0"#),
        gloo(
            "send",
            40,
            r#""Input Dims": [[9]], "Input type": ["float"]"#,
        ),
        gloo("unlike_any", 50, r#""Record function id": 0"#),
        kernel(60, &arguments(8)),
    ];
    let info = format!(
        r#"{{"distributedInfo": {{"backend": "gloo", "rank": 0, "world_size": 2, "pg_config": {groups}}}, "#
    );
    trace(&events).replacen('{', &info, 1)
}

/// Annotations of gloo are the work itself; what kernels of NCCL state is kept as well.
#[test]
fn the_work_of_gloo_is_collectives_of_the_only_group() {
    let run = import(of_gloo(
        r#"[{"pg_name": "0", "pg_desc": "default_pg", "pg_size": 2, "ranks": [0, 1]}]"#,
    ))
    .unwrap();
    assert_eq!(
        run.rows("collectives", GLOO_COLUMNS),
        [
            "0 all_reduce float 133 133 2 [0,1]",
            "0 all_gather c10::BFloat16 100 200 2 [0,1]",
            "0 barrier - - - 2 [0,1]",
            "3 all_reduce Float 1024 1024 2 [4,5]",
        ]
    );
    assert_eq!(run.left_out("gloo: sends and receives"), 1);
    assert_eq!(run.rows("bricks", "name").len(), 5);
}

/// With several groups, the annotation does not state its own.
#[test]
fn the_group_of_gloos_work_is_not_guessed() {
    for groups in [
        r#"[{"pg_name": "0", "ranks": [0, 1]}, {"pg_name": "1", "ranks": [0, 1]}]"#,
        r#"[{"pg_name": "0", "ranks": []}]"#,
        r#"[{"pg_name": "0", "ranks": [-1]}]"#,
        r#"[{"pg_name": 5, "ranks": [0, 1]}]"#,
        "[7]",
        "{}",
    ] {
        let run = import(of_gloo(groups)).unwrap();
        let rows = run.rows("collectives", GLOO_COLUMNS);
        assert_eq!(
            rows[..2],
            [
                "- all_reduce float 133 133 - -",
                "- all_gather c10::BFloat16 100 - - -"
            ],
            "{groups}"
        );
    }
}

//! Arguments that no column takes.

use super::import;
use super::traces::trace;

const COLUMNS: &str = "span name integer unsigned number truth text";

fn imported(events: &[&str]) -> crate::read_back::Imported {
    let events: Vec<String> = events.iter().map(|event| (*event).to_owned()).collect();
    import(trace(&events)).unwrap()
}

#[test]
fn they_are_attributes_of_their_rows_with_their_types() {
    let long = "x".repeat(5000);
    let run = imported(&[
        &format!(
            r#"{{"ph": "X", "cat": "cpu_op", "name": "o", "pid": 7, "tid": 7, "ts": 1, "dur": 9, "args": {{
                "batch": 4, "share": 0.5, "huge": 18446744073709551615, "more": 18446744073709551616, "ok": true,
                "stage": "pre\nfill", "dims": [[1], {{"a": 2}}], "none": null, "odd": NaN, "long": "{long}",
                "longer": ["{long}"]}}}}"#
        ),
        // Keys in the order of the alphabet; times come after what they are about.
        r#"{"args": {"batch": 5}, "cat": "x", "dur": 2, "name": "i", "ph": "X", "pid": 7, "tid": 7, "ts": 2}"#,
        r#"{"ph": "B", "name": "b", "pid": 7, "tid": 8, "ts": 1, "args": {"from": 1}}"#,
        r#"{"ph": "B", "name": "c", "pid": 7, "tid": 8, "ts": 2, "args": {"inner": "yes"}}"#,
        r#"{"ph": "E", "name": "c", "pid": 7, "tid": 8, "ts": 3}"#,
        r#"{"ph": "E", "name": "b", "pid": 7, "tid": 8, "ts": 4, "args": {"until": 2}}"#,
        r#"{"ph": "b", "cat": "y", "id": 3, "name": "a", "pid": 7, "tid": 9, "ts": 1, "args": {"apart": false}}"#,
        r#"{"ph": "e", "cat": "y", "id": 3, "name": "a", "pid": 7, "tid": 9, "ts": 2, "args": {"ended": -1}}"#,
        // No rows of these.
        r#"{"ph": "X", "name": "n", "pid": 7, "tid": 7, "ts": 1, "dur": -1, "args": {"lost": 1}}"#,
        r#"{"ph": "B", "name": "n", "pid": 7, "tid": 10, "ts": 1, "args": {"lost": 1}}"#,
        // Of these they are no attributes.
        r#"{"ph": "C", "name": "n", "pid": 7, "ts": 1, "args": {"series": 4}}"#,
        r#"{"ph": "M", "name": "thread_sort_index", "pid": 7, "tid": 7, "args": {"sort_index": 4}}"#,
    ]);
    let ids = run.rows("bricks", "name id");
    let id = |name: &str| {
        let row = ids.iter().find(|row| row.split(' ').next() == Some(name));
        row.unwrap().split(' ').next_back().unwrap().to_owned()
    };
    let mut attributes = run.rows("attributes", COLUMNS);
    attributes.sort();
    let mut expected = [
        ("o", "batch 4 - - - -"),
        ("o", "share - - 0.5 - -"),
        ("o", "huge - 18446744073709551615 - - -"),
        ("o", "more - - 18446744073709552000 - -"),
        ("o", "ok - - - true -"),
        ("o", "stage - - - - pre\nfill"),
        ("o", "dims - - - - [[1], {\"a\": 2}]"),
        ("o", "odd - - NaN - -"),
        ("i", "batch 5 - - - -"),
        ("b", "from 1 - - - -"),
        ("b", "until 2 - - - -"),
        ("c", "inner - - - - yes"),
        ("a", "apart - - - false -"),
        ("a", "ended -1 - - - -"),
    ]
    .map(|(of, row)| format!("{} {row}", id(of)));
    expected.sort();
    assert_eq!(attributes, expected);
    let counts = run.notes.arguments_left_out.iter();
    let counts: Vec<String> = counts
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    assert_eq!(counts, ["long 1", "longer 1", "lost 2"]);
}

#[test]
fn device_work_has_them_too_but_what_only_a_profiler_needs() {
    let kernel = |ts: u32| {
        format!(
            r#"{{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": {ts}, "dur": 4, "args": {{"device": 0, "stream": 7, "correlation": {ts}, "queued": 0, "warps per SM": 2.5, "blocks per SM": 0.5}}}}"#
        )
    };
    let copy = r#"{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 7, "ts": 30, "dur": 4, "args": {"device": 0, "stream": 7, "correlation": 30, "bytes": 8, "memory bandwidth (GB/s)": 0.25}}"#;
    let wait = r#"{"ph": "X", "cat": "cuda_sync", "name": "Stream Sync", "pid": 0, "tid": 7, "ts": 40, "dur": 4, "args": {"device": 0, "stream": 7, "correlation": 40, "spins": 3}}"#;
    let call = r#"{"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamSynchronize", "pid": 7, "tid": 7, "ts": 39, "dur": 6, "args": {"correlation": 40, "flavour": 2}}"#;
    let run = imported(&[&kernel(10), &kernel(20), copy, wait, call]);
    let ids: Vec<String> = ["kernels", "transfers", "syncs", "calls"]
        .iter()
        .flat_map(|table| run.rows(table, "id"))
        .collect();
    assert_eq!(
        run.rows("attributes", "span name integer number"),
        [
            format!("{} warps per SM - 2.5", ids[0]),
            format!("{} warps per SM - 2.5", ids[1]),
            format!("{} memory bandwidth (GB/s) - 0.25", ids[2]),
            format!("{} spins 3 -", ids[3]),
            format!("{} flavour 2 -", ids[4]),
        ]
    );
    assert_eq!(run.notes.arguments_left_out.get("queued"), Some(&2));
}

#[test]
fn as_many_as_the_memory_does_not_hold_are_kept() {
    let event = |at: u32| {
        format!(
            r#"{{"ph": "X", "name": "s", "pid": 7, "tid": {}, "ts": {at}, "dur": 1, "args": {{"at": {at}, "twice": {}}}}}"#,
            at % 7,
            2 * at
        )
    };
    // Four words each, of 4 MiB.
    let events: Vec<String> = (0..100_000).map(event).collect();
    let run = import(trace(&events)).unwrap();
    assert_eq!(run.rows("attributes", "span").len(), 200_000);
    let starts = run.rows("bricks", "id start_ns");
    let starts: std::collections::HashMap<&str, u64> = starts
        .iter()
        .filter_map(|row| row.split_once(' '))
        .map(|(id, start)| (id, start.parse().unwrap()))
        .collect();
    for row in run.rows("attributes", "span name integer") {
        let [span, name, value] = row.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{row}");
        };
        let us = starts[span] / 1000;
        assert_eq!(
            value.parse::<u64>().unwrap(),
            if name == "at" { us } else { 2 * us }
        );
    }
}

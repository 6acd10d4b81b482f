use super::*;
use crate::read_back::{Imported, detected, of_bytes};
use crate::{Error, Options};

fn read(json: &str) -> Result<Imported, Error> {
    read_with(json, false)
}

fn read_with(json: &str, partial: bool) -> Result<Imported, Error> {
    let options = Options {
        partial,
        ..Options::default()
    };
    of_bytes(&IMPORTER, json, &options)
}

fn event(name: &str, ty: &str, ns: u64, thread: u64, metadata: &str) -> String {
    format!(
        r#"{{ "name": "{name}", "event_type": "{ty}", "timestamp_ns": {ns}, "thread_id": {thread}, "metadata": {metadata} }}"#
    )
}

fn timeline() -> Vec<String> {
    const A: u64 = u64::MAX - 1;
    vec![
        event("step", "Start", 1_000, A, "\"batch 32\""),
        event("Softmax", "Start", 1_100, A, "null"),
        event("step", "Start", 1_200, 7, "null"),
        event("flushed", "Instant", 1_250, A, "null"),
        event("cache", "Free", 1_300, A, "\"all\""),
        event("Softmax", "End", 1_400, A, "\"ok\""),
        event("lost", "End", 1_450, A, "null"),
        event("step", "End", 1_500, A, "null"),
        event("step", "End", 1_900, 7, "null"),
        event("open", "Start", 2_000, A, "null"),
    ]
}

#[test]
fn a_timeline_becomes_bricks_on_their_threads_and_instants() {
    let json = format!("[\n{}\n]", timeline().join(",\n"));
    assert_eq!([&json, REPORT].map(detected), ["axonml"; 2]);
    let run = read(&json).unwrap();
    let columns = "id parent name thread start_ns dur_ns";
    let expected = [
        "2 1 Softmax 0 1100 300",
        "1 - step 0 1000 500",
        "3 - step 1 1200 700",
    ];
    assert_eq!(run.rows("bricks", columns), expected);
    assert_eq!(run.rows("bricks", "category")[0], "Attention");
    assert_eq!(
        run.rows("attributes", "span name text"),
        ["1 metadata batch 32", "2 end_metadata ok"]
    );
    assert_eq!(
        run.rows("annotations", "name time_ns thread arguments"),
        [
            "flushed 1250 0 {}",
            "cache 1300 0 {\"event_type\":\"Free\",\"metadata\":\"all\"}"
        ]
    );
    assert_eq!(run.rows("threads", "thread"), ["0", "1"]);
    assert_eq!(run.wall_ns, Some(2_000));
    assert_eq!(run.notes.read.values().sum::<u64>(), 10);
    assert_eq!(
        run.notes.left_out.values().copied().collect::<Vec<_>>(),
        [1, 1],
        "{:?}",
        run.notes.left_out
    );
}

#[test]
fn a_cut_timeline_loses_its_end_and_says_so() {
    let whole = format!("[{}]", timeline().join(","));
    let cut = &whole[..whole.len() - 40];
    let error = read(cut).err().unwrap().to_string();
    assert!(error.contains("line 1"), "{error}");
    let run = read_with(cut, true).unwrap();
    assert_eq!(run.rows("bricks", "id").len(), 3);
    assert!(run.warns("its first 9 events were read"));
    assert!(run.run.problems[0].contains("cut or damaged"));
    let late = [event("a", "Instant", u64::MAX, 1, "null")];
    let run = read(&format!("[{}]", late.join(","))).unwrap();
    assert_eq!(run.notes.left_out.len(), 1);
    assert!(read(r#"[{"name": 1, "event_type": "", "timestamp_ns": 0}]"#).is_err());
}

const REPORT: &str = r#"{
  "title": "Axonml Profile Report", "total_duration_secs": 2.5,
  "memory": { "current_usage": 10, "peak_usage": 30, "total_allocated": 40, "total_freed": 30, "allocation_count": 3 },
  "compute": { "operation_count": 3, "total_time_ns": 9000, "top_operations": [
    { "name": "matmul", "total_time_ns": 8000, "call_count": 4, "avg_time_ns": 2000, "time_percentage": 88.8 } ] },
  "bottlenecks": [] }"#;

#[test]
fn a_report_becomes_counters_that_are_called_sums() {
    let run = read(REPORT).unwrap();
    let rows = run.rows("counters", "time_ns name value unit source");
    assert_eq!(rows.len(), 8);
    assert_eq!(
        rows[1],
        "2500000000 sum: memory peak_usage 30 byte computed"
    );
    assert_eq!(
        rows[5],
        "2500000000 sum: matmul total_time 8000 ns computed"
    );
    assert_eq!(run.wall_ns, Some(2_500_000_000));
    assert!(run.warns("2 operations are not in the report"));
    assert!(run.run.problems[0].contains("sums of the whole run"));
    assert!(read(&REPORT[..REPORT.len() - 2]).is_err());
    let endless = REPORT.replace("2.5,", "-1,");
    assert_eq!(read(&endless).unwrap().wall_ns, None);
}

//! Runs in the formats of other programs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::harness::Dir;

fn dataset() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets/decode/simd.run");
    root.to_str().expect("a path in UTF-8").to_owned()
}

fn exported(format: &str) -> String {
    let args = ["export", format, &dataset(), "-o", "-"];
    Dir::new().command(&args).exits(0).stdout
}

fn rows(sql: &str) -> Vec<Value> {
    let args = ["query", &dataset(), sql, "--format", "json"];
    let rows = Dir::new().command(&args).exits(0).json();
    rows.as_array().expect("rows").clone()
}

#[test]
fn chrome_events_hold_every_row_and_nest() {
    let trace: Value = serde_json::from_str(&exported("chrome")).expect("the trace is JSON");
    assert_eq!(trace["otherData"]["trueno"]["format"], 1);
    let events = trace["traceEvents"].as_array().expect("events");
    let of = |ph: &str, cat: &str| {
        events
            .iter()
            .filter(|e| e["ph"] == ph && e["cat"] == cat)
            .count()
    };
    for (ph, table) in [
        ("X", "bricks"),
        ("X", "kernels"),
        ("X", "tiles"),
        ("X", "syncs"),
        ("s", "edges"),
        ("f", "edges"),
        ("i", "checksums"),
        ("C", "allocations"),
    ] {
        let count = &rows(&format!("SELECT COUNT(*) AS n FROM {table}"))[0]["n"];
        assert_eq!(
            of(ph, table) as u64,
            count.as_u64().unwrap(),
            "{ph} {table}"
        );
    }
    let mut lanes: BTreeMap<(u64, u64), Vec<(i64, i64)>> = BTreeMap::new();
    for event in events.iter().filter(|e| e["ph"] == "X") {
        let ns = |key: &str| (event[key].as_f64().expect("a time") * 1000.0).round() as i64;
        let lane = (
            event["pid"].as_u64().unwrap(),
            event["tid"].as_u64().unwrap(),
        );
        lanes.entry(lane).or_default().push((ns("ts"), -ns("dur")));
    }
    for spans in lanes.values_mut() {
        spans.sort_unstable();
        let mut open: Vec<i64> = Vec::new();
        for &(start_ns, minus_dur_ns) in spans.iter() {
            open.retain(|&end_ns| end_ns > start_ns);
            let end_ns = start_ns - minus_dur_ns;
            assert!(
                open.last().is_none_or(|&outer| end_ns <= outer),
                "not nested at {start_ns}"
            );
            open.push(end_ns);
        }
    }
}

#[test]
fn chrome_times_and_columns_are_exact() {
    let trace = exported("chrome");
    let row =
        &rows("SELECT * FROM bricks WHERE flops IS NOT NULL ORDER BY start_ns, id LIMIT 1")[0];
    let ns = |key: &str| row[key].as_i64().expect("a time");
    let times = format!(
        "\"ts\":{}.{:03},\"dur\":{}.{:03}",
        ns("start_ns") / 1000,
        ns("start_ns") % 1000,
        ns("dur_ns") / 1000,
        ns("dur_ns") % 1000
    );
    let trace: Value = serde_json::from_str(
        trace
            .lines()
            .find(|l| l.contains(&times))
            .map_or("", |l| l.trim_end_matches(',')),
    )
    .expect("the event is one line");
    assert_eq!(trace["name"], row["name"]);
    for (column, value) in row.as_object().expect("a row") {
        let told = ["name", "start_ns", "dur_ns"].contains(&column.as_str());
        let number = [
            "kind_id",
            "name_id",
            "category_id",
            "backend_id",
            "timing_id",
        ]
        .contains(&column.as_str());
        if !told && !number && !value.is_null() {
            assert_eq!(trace["args"][column], *value, "{column}");
        }
    }
}

#[test]
fn folded_self_times_add_up_to_the_busy_time_of_the_report() {
    let folded = exported("folded");
    let total: i64 = folded
        .lines()
        .map(|line| {
            line.rsplit_once(' ')
                .expect("a stack and its time")
                .1
                .parse::<i64>()
                .expect("ns")
        })
        .sum();
    let dir = Dir::new();
    let report = dir
        .report(
            Path::new(&dataset()),
            &["--plugin-id", "category", "--json", "-"],
        )
        .exits(0)
        .json();
    let tables = crate::harness::section(&report, "category")["tables"]
        .as_array()
        .unwrap();
    let lanes = tables
        .iter()
        .find(|t| t["name"] == "by_lane")
        .expect("by_lane");
    let column = lanes["columns"]
        .as_array()
        .unwrap()
        .iter()
        .position(|c| c["name"] == "busy_ns")
        .expect("busy_ns");
    let busy: i64 = lanes["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row[column].as_i64().unwrap())
        .sum();
    assert_eq!(total, busy);
}

#[test]
fn otlp_spans_have_ids_parents_and_times_since_the_epoch() {
    // Of the second, some columns have one text in all rows.
    let tiny = Dir::new();
    tiny.run();
    let tiny = tiny
        .command(&["export", "otlp", "test.run", "-o", "-"])
        .exits(0);
    for exported in [exported("otlp"), tiny.stdout] {
        let trace: Value = serde_json::from_str(&exported).expect("OTLP/JSON");
        let scopes = trace["resourceSpans"][0]["scopeSpans"].as_array().unwrap();
        let spans: Vec<&Value> = scopes
            .iter()
            .flat_map(|s| s["spans"].as_array().unwrap())
            .collect();
        let ids: BTreeSet<&str> = spans
            .iter()
            .map(|s| s["spanId"].as_str().unwrap())
            .collect();
        assert_eq!(ids.len(), spans.len());
        for span in &spans {
            assert_eq!(span["traceId"].as_str().unwrap().len(), 32);
            if let Some(parent) = span["parentSpanId"].as_str() {
                assert!(ids.contains(parent), "{parent} is no span");
            }
            let start_ns: i64 = span["startTimeUnixNano"].as_str().unwrap().parse().unwrap();
            assert!(start_ns > 1_700_000_000_000_000_000);
            for attribute in span["attributes"].as_array().unwrap() {
                if let Some(number) = attribute["value"].get("intValue") {
                    let number = number.as_str().unwrap();
                    assert!(number.parse::<i64>().is_ok(), "{attribute}");
                }
            }
        }
    }
}

#[test]
fn the_same_run_gives_the_same_bytes_packed_too() {
    let dir = Dir::new();
    for name in ["one.json.gz", "two.json.gz"] {
        dir.command(&["export", "chrome", &dataset(), "-o", name])
            .exits(0);
    }
    let read = |name| std::fs::read(dir.join(name)).expect("the file is there");
    assert_eq!(read("one.json.gz"), read("two.json.gz"));
    assert_eq!(read("one.json.gz")[..2], [0x1f, 0x8b]);
    assert_eq!(exported("flamegraph"), exported("flamegraph"));
}

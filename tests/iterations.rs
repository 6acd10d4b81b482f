//! Memory and throughput of the datasets, and of runs that declare more than those.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use trueno_recorder::{Recorder, Source};

use crate::harness::{Dir, section};

fn dataset(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../datasets/decode/{name}.run"))
}

fn report(dir: &Dir, run: &Path) -> Value {
    dir.report(run, &["--plugin-id", "memory,throughput", "--json", "-"])
        .exits(0)
        .json()
}

fn cells(report: &Value, plugin: &str, table: &str, columns: &[&str]) -> Value {
    let tables = section(report, plugin)["tables"].as_array().unwrap();
    let table = tables.iter().find(|found| found["name"] == table).unwrap();
    let names = table["columns"].as_array().unwrap();
    let at: Vec<usize> = columns
        .iter()
        .map(|column| {
            names
                .iter()
                .position(|name| name["name"] == *column)
                .unwrap()
        })
        .collect();
    let rows = table["rows"].as_array().unwrap();
    rows.iter()
        .map(|row| at.iter().map(|at| row[*at].clone()).collect::<Value>())
        .collect()
}

fn codes(report: &Value, plugin: &str) -> Vec<String> {
    let findings = section(report, plugin)["findings"].as_array().unwrap();
    findings
        .iter()
        .map(|finding| finding["code"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn memory_of_every_dataset_is_its_weights_and_its_cache() {
    let dir = Dir::new();
    for run in ["scalar", "simd", "simd_exp", "simd_slow"] {
        let report = report(&dir, &dataset(run));
        assert_eq!(
            cells(
                &report,
                "memory",
                "peak_owners",
                &["place", "tag", "name", "blocks", "bytes"]
            ),
            json!([
                ["host", "weights", "outside bricks", 1, 1_837_568],
                ["host", "key/value cache", "outside bricks", 1, 65_536]
            ]),
            "{run}"
        );
        assert_eq!(
            cells(
                &report,
                "memory",
                "growth",
                &["tag", "iterations", "first_bytes", "last_bytes", "verdict"]
            ),
            json!([
                ["all tags", 16, 1_903_104, 1_903_104, "no trend"],
                ["weights", 16, 1_837_568, 1_837_568, "no trend"],
                ["key/value cache", 16, 65_536, 65_536, "no trend"]
            ]),
            "{run}"
        );
        assert_eq!(codes(&report, "memory"), ["peak"], "{run}");
    }
}

#[test]
fn the_prompt_of_every_dataset_is_warm_up_and_no_rate_is_made_up() {
    let dir = Dir::new();
    for run in ["scalar", "simd", "simd_exp", "simd_slow"] {
        let report = report(&dir, &dataset(run));
        let columns = ["iterations", "tokens", "tokens_per_s", "samples_per_s"];
        assert_eq!(
            cells(&report, "throughput", "summary", &columns),
            json!([[16, null, null, null]]),
            "{run}"
        );
        let first = cells(
            &report,
            "throughput",
            "iterations",
            &["number", "iteration", "phase"],
        );
        assert_eq!(first[0], json!([0, 0, "warm-up"]), "{run}");
        assert!(
            codes(&report, "throughput").contains(&"not_declared".to_owned()),
            "{run}"
        );
    }
}

#[test]
fn evidence_of_findings_can_be_asked_for() {
    let dir = Dir::new();
    let path = dir.join("declared.run");
    let rec = Recorder::create(&path).unwrap();
    for number in 0..20_u64 {
        let _iteration = rec.iteration(number);
        rec.counter("tokens", 4.0, "token", Source::Declared);
        let _brick = rec.brick("cache");
        rec.allocation("kept", 1000, 4096 + number * 1000);
        rec.allocation("scratch", 10, None);
        rec.allocation("scratch", -10, None);
        std::thread::sleep(std::time::Duration::from_micros(200));
    }
    rec.allocation("kept", -1, 1);
    rec.finish().unwrap();
    let report = report(&dir, &path);
    assert_eq!(
        codes(&report, "memory"),
        ["peak", "growth", "release_without_allocation", "churn"]
    );
    assert_eq!(
        cells(
            &report,
            "memory",
            "by_brick",
            &[
                "kind",
                "name",
                "calls",
                "allocations",
                "allocated_bytes_per_call"
            ]
        ),
        json!([
            ["brick", "cache", 20, 40, 1010.0],
            [null, "outside bricks", null, 0, null]
        ])
    );
    let tokens = cells(&report, "throughput", "iterations", &["tokens"]);
    assert_eq!(tokens, Value::from(vec![json!([4.0]); 20]));
    let rates = cells(
        &report,
        "throughput",
        "iterations",
        &["tokens_per_s", "wall_ns"],
    );
    for row in rates.as_array().unwrap() {
        let expected = 4.0 / (row[1].as_f64().unwrap() / 1e9);
        assert!(
            (row[0].as_f64().unwrap() / expected - 1.0).abs() < 1e-9,
            "{row}"
        );
    }
    assert!(!codes(&report, "throughput").contains(&"not_declared".to_owned()));
}

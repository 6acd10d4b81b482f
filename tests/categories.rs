//! Categories by rules on names.

use std::path::PathBuf;

use serde_json::Value;

use crate::harness::{Dir, section};

/// Two kernels and one collective, and one kernel and one operator that no rule matches.
const TRACE: &str = r#"{"traceEvents": [
    {"ph":"X","cat":"cpu_op","name":"somebody's operator","pid":1,"tid":1,"ts":0,"dur":40,"args":{"External id":1}},
    {"ph":"X","cat":"kernel","name":"sm80_xmma_gemm_f32","pid":0,"tid":7,"ts":10,"dur":20,"args":{"device":0,"stream":7,"correlation":1}},
    {"ph":"X","cat":"kernel","name":"ncclKernel_AllReduce","pid":0,"tid":7,"ts":40,"dur":10,"args":{"device":0,"stream":7,"correlation":2}},
    {"ph":"X","cat":"kernel","name":"frobnicate","pid":0,"tid":7,"ts":60,"dur":5,"args":{"device":0,"stream":7,"correlation":3}}
]}"#;

fn imported(dir: &Dir) -> PathBuf {
    std::fs::write(dir.join("trace.json"), TRACE).unwrap();
    dir.command(&["import", "trace.json", "-o", "t.run"])
        .exits(0);
    dir.join("t.run")
}

/// `name: category` of each device row.
fn device(report: &Value) -> Vec<String> {
    let table = section(report, "category")["tables"]
        .as_array()
        .unwrap()
        .iter()
        .find(|table| table["name"] == "by_brick")
        .unwrap();
    let columns: Vec<&str> = table["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| column["name"].as_str().unwrap())
        .collect();
    let at = |name| columns.iter().position(|column| *column == name).unwrap();
    let (kind, name, category) = (at("lane_kind"), at("name"), at("category"));
    let rows = table["rows"].as_array().unwrap().iter();
    let mut out: Vec<String> = rows
        .filter(|row| row[kind] == "device")
        .map(|row| {
            format!(
                "{}: {}",
                row[name].as_str().unwrap(),
                row[category].as_str().unwrap()
            )
        })
        .collect();
    out.sort();
    out
}

#[test]
fn kernels_of_an_import_fall_in_the_categories_of_their_names() {
    let dir = Dir::new();
    let run = imported(&dir);
    let report = || dir.report(&run, &["--json", "-"]).exits(0);
    let first = report();
    assert_eq!(
        device(&first.json()),
        [
            "frobnicate: outside bricks",
            "ncclKernel_AllReduce: communication",
            "sm80_xmma_gemm_f32: GEMM"
        ]
    );
    assert_eq!(first.stdout, report().stdout);
    first.stdout_has("\"uncategorised\"");
}

#[test]
fn a_file_replaces_the_rules_that_come_along() {
    let dir = Dir::new();
    let run = imported(&dir);
    let rules = "[[rule]]\ncategory = \"first\"\ncontains = [\"FROB\"]\n\n[[rule]]\ncategory = \"second\"\ncontains = [\"frobnicate\", \"gemm\"]\n";
    std::fs::write(dir.join("mine.toml"), rules).unwrap();
    let done = dir
        .report(&run, &["--json", "-", "--categories", "mine.toml"])
        .exits(0);
    assert_eq!(
        device(&done.json()),
        [
            "frobnicate: first",
            "ncclKernel_AllReduce: outside bricks",
            "sm80_xmma_gemm_f32: second"
        ]
    );
}

#[test]
fn the_printed_rules_are_the_default_ones() {
    let dir = Dir::new();
    let run = imported(&dir);
    let printed = dir.command(&["categories"]).exits(0);
    std::fs::write(dir.join("same.toml"), &printed.stdout).unwrap();
    // On a terminal, commands to paste name the file.
    let json = |flags: &[&str]| {
        let all = [&["--format", "json"], flags].concat();
        dir.report(&run, &all).exits(0).stdout
    };
    assert_eq!(json(&["--categories", "same.toml"]), json(&[]));
}

#[test]
fn a_wrong_file_is_refused_with_its_line() {
    let dir = Dir::new();
    let run = imported(&dir);
    let rules = "[[rule]]\ncategory = \"a\"\npattern = \"x\"\ncontains = [\"x\"]\n";
    std::fs::write(dir.join("wrong.toml"), rules).unwrap();
    dir.report(&run, &["--categories", "wrong.toml"])
        .exits(2)
        .stderr_has(
            "wrong.toml, line 3: unknown field `pattern`, expected one of `category`, `contains`, `words`",
        )
        .stderr_has("trueno-analyze categories");
    dir.report(&run, &["--categories", "none.toml"])
        .exits(2)
        .stderr_has("none.toml: cannot be read");
}

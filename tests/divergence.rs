//! Two recordings compared, as a user asks for it.

use std::path::PathBuf;

use serde_json::Value;

use crate::harness::{Dir, Done, built_library, section};

fn dataset(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../datasets/{name}.run"))
}

fn compare(run: &str, baseline: &str, args: &[&str], code: i32) -> Done {
    let library = built_library("trueno_plugin_divergence");
    let (library, baseline) = (
        library.display().to_string(),
        dataset(baseline).display().to_string(),
    );
    let fixed = [
        "--plugin-id",
        "divergence",
        "--plugin",
        &library,
        "--baseline",
        &baseline,
    ];
    let dir = Dir::new();
    dir.report(&dataset(run), &[&fixed, args].concat())
        .exits(code)
}

fn json(run: &str, baseline: &str, args: &[&str]) -> Value {
    compare(run, baseline, &[args, &["--json", "-"]].concat(), 0).json()
}

fn column(report: &Value, name: &str, column: &str) -> Vec<Value> {
    let tables = section(report, "divergence")["tables"].as_array().unwrap();
    let table = tables.iter().find(|table| table["name"] == name).unwrap();
    let columns = table["columns"].as_array().unwrap();
    let at = columns
        .iter()
        .position(|found| found["name"] == column)
        .unwrap();
    let rows = table["rows"].as_array().unwrap();
    rows.iter().map(|row| row[at].clone()).collect()
}

/// Number of tensors by verdict: identical, within, diverged, not comparable, duplicated, only in one.
fn counts(report: &Value) -> Vec<u64> {
    column(report, "summary", "tensors")
        .iter()
        .map(|count| count.as_u64().unwrap())
        .collect()
}

fn first(report: &Value, property: &str) -> Value {
    let at = column(report, "first", "property")
        .iter()
        .position(|name| name == property);
    column(report, "first", "run")[at.unwrap()].clone()
}

fn codes(report: &Value) -> Vec<String> {
    let findings = section(report, "divergence")["findings"]
        .as_array()
        .unwrap();
    findings
        .iter()
        .map(|finding| finding["code"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn other_instructions_are_no_divergence() {
    for (run, baseline) in [
        ("decode/scalar", "decode/simd"),
        ("decode/simd", "decode/scalar"),
    ] {
        let report = json(run, baseline, &[]);
        assert_eq!(counts(&report), [45, 787, 0, 0, 0, 0], "{run}");
        assert_eq!(codes(&report), ["alike"]);
    }
    let report = json("decode/simd_slow", "decode/simd", &[]);
    assert_eq!(counts(&report), [832, 0, 0, 0, 0, 0]);
}

#[test]
fn a_wrong_exp_is_found_at_the_first_softmax() {
    let report = json("decode/simd_exp", "decode/simd", &[]);
    assert!(
        first(&report, "name")
            .as_str()
            .unwrap()
            .starts_with("AttentionSoftmax.head")
    );
    for (property, value) in [
        ("layer", "0"),
        ("iteration", "0"),
        ("origin", "local"),
        ("brick", "AttentionSoftmax"),
    ] {
        assert_eq!(first(&report, property), value, "{property}");
    }
    assert!(
        first(&report, "kernels")
            .as_str()
            .unwrap()
            .contains("exp on avx512")
    );
    // All four heads diverge by themselves there, and nothing before them does.
    let (names, verdicts) = (
        column(&report, "pairs", "name"),
        column(&report, "pairs", "verdict"),
    );
    let origins = column(&report, "pairs", "origin");
    for (name, (verdict, origin)) in names.iter().zip(verdicts.iter().zip(&origins)).take(17) {
        let is_softmax = name.as_str().unwrap().starts_with("AttentionSoftmax");
        assert_eq!(origin == "local", is_softmax, "{name}");
        assert_eq!(
            verdict == "diverged",
            is_softmax || name.as_str().unwrap().starts_with("AttentionOutput"),
            "{name}"
        );
    }
}

#[test]
fn an_error_behind_element_64_is_found_where_it_was_planted() {
    let report = json("divergence/planted", "divergence/base", &[]);
    assert_eq!(counts(&report), [396, 0, 20, 0, 0, 0]);
    for (property, value) in [
        ("name", "DownProjection"),
        ("layer", "1"),
        ("iteration", "3"),
        ("position", "6"),
        ("origin", "local"),
        ("backend", "avx512"),
    ] {
        assert_eq!(first(&report, property), value, "{property}");
    }
    assert!(
        first(&report, "kernels")
            .as_str()
            .unwrap()
            .contains("matvec on avx512")
    );
    compare(
        "divergence/planted",
        "divergence/base",
        &["--fail-on", "error"],
        1,
    )
    .stdout_has("first DownProjection, layer 1, iteration 3,");
    // A user who allows for it.
    let report = json(
        "divergence/planted",
        "divergence/base",
        &["--tolerance", "rtol=10,atol=0"],
    );
    assert_eq!(counts(&report), [396, 20, 0, 0, 0, 0]);
    compare(
        "divergence/planted",
        "divergence/base",
        &["--tolerance", "rtol=-1"],
        2,
    )
    .stderr_has("expected rtol=X or atol=X");
}

#[test]
fn nan_is_found_whatever_the_tolerance() {
    let report = json(
        "divergence/nan",
        "divergence/base",
        &["--tolerance", "rtol=1e9"],
    );
    assert!(codes(&report).contains(&"non_finite".to_owned()));
    for (property, value) in [
        ("name", "QkvProjection"),
        ("layer", "0"),
        ("iteration", "5"),
        ("nan_count", "1"),
        ("origin", "local"),
    ] {
        assert_eq!(first(&report, property), value, "{property}");
    }
}

#[test]
fn another_order_and_an_early_end_are_told_and_are_no_divergence() {
    let report = json("divergence/reordered", "divergence/base", &[]);
    assert_eq!(counts(&report), [416, 0, 0, 0, 0, 0]);
    assert_eq!(codes(&report), ["alike", "order_changed"]);
    let report = json("divergence/truncated", "divergence/base", &[]);
    assert_eq!(counts(&report), [260, 0, 0, 0, 0, 156]);
    assert_eq!(codes(&report), ["only_in_one"]);
    assert!(
        column(&report, "only_in_one", "side")
            .iter()
            .all(|side| side == "baseline")
    );
}

#[test]
fn runs_that_share_nothing_fail_and_a_missing_baseline_is_asked_for() {
    let dir = Dir::new();
    let other = dir.run();
    let library = built_library("trueno_plugin_divergence")
        .display()
        .to_string();
    let base = dataset("divergence/base").display().to_string();
    let args = [
        "--plugin-id",
        "divergence",
        "--plugin",
        &library,
        "--baseline",
        &base,
    ];
    // Not measurable, however it is asked: neither a difference nor the lack of one was found.
    for more in [&[][..], &["--fail-on", "error"]] {
        dir.report(&other, &[&args[..], more].concat())
            .exits(3)
            .stdout_has("nothing was compared");
    }
    // What other plugins found still fails the check.
    let all = [&args[2..], &["--fail-on", "info"]].concat();
    dir.report(&other, &all).exits(1);
    dir.report(&other, &args[..4])
        .exits(2)
        .stdout_has("(hint: --baseline");
}

#[test]
fn a_third_run_says_which_side_moved() {
    let base = dataset("divergence/base").display().to_string();
    for (run, baseline, moved) in [
        ("divergence/planted", "divergence/base", "run"),
        ("divergence/base", "divergence/planted", "baseline"),
    ] {
        let report = json(run, baseline, &["--reference", &base]);
        assert_eq!(first(&report, "moved"), moved);
        let found = codes(&report);
        assert!(found.contains(&"moved".to_owned()), "{found:?}");
        let title = format!("of 20 that diverge: {moved} 20");
        compare(run, baseline, &["--reference", &base], 0).stdout_has(&title);
    }
    // Other shapes, then no tensors at all.
    let dir = Dir::new();
    let other = dataset("decode/simd").display().to_string();
    let none = dir.run().display().to_string();
    for (reference, code) in [(&other, "moved"), (&none, "no_reference")] {
        let args = ["--reference", reference];
        let report = json("divergence/planted", "divergence/base", &args);
        assert!(codes(&report).contains(&code.to_owned()), "{reference}");
        let moved = column(&report, "pairs", "moved");
        assert!(moved.iter().all(Value::is_null), "{reference}");
    }
    dir.report(&dataset("divergence/base"), &["--reference", &base])
        .exits(2)
        .stderr_has("--baseline");
}

#[test]
fn tolerances_of_names_stand_in_a_file() {
    let dir = Dir::new();
    let file = dir.join("tolerances.toml");
    let written = |text: &str| std::fs::write(&file, text).expect("the file is written");
    let path = file.to_str().unwrap();
    let (run, base) = ("divergence/planted", "divergence/base");
    written("[[tensor]]\nname = \"*\"\nrtol = 10");
    let report = json(run, base, &["--tolerance", path]);
    assert_eq!(counts(&report), [396, 20, 0, 0, 0, 0]);
    written("[[tensor]]\nname = \"down*\"\nrtol = 10");
    let report = json(run, base, &["--tolerance", path]);
    let names = column(&report, "pairs", "name");
    let by = column(&report, "pairs", "tolerance_by");
    for (name, by) in names.iter().zip(by) {
        let own = name == "DownProjection";
        assert_eq!(by, if own { "down*" } else { "computed" }, "{name}");
    }
    assert_ne!(first(&report, "name"), "DownProjection");
    let formula = first(&report, "tolerance_from");
    assert!(formula.as_str().unwrap().contains("√m"), "{formula}");
    written("[[tensor]]\nnam = \"*\"\nrtol = 10");
    compare(run, base, &["--tolerance", path], 2).stderr_has("nam");
    compare(run, base, &["--tolerance", "nothing.toml"], 2).stderr_has("nothing.toml");
}

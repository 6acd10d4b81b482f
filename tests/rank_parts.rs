//! Reports over ranks: worked out rank by rank and merged they are what they are over all rows at once.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{Dir, change_json, copy};

/// A job with one of these datasets per rank. Each begins 1 ms after the one before.
fn job(dir: &Dir, ranks: &[(u32, &str)]) -> PathBuf {
    let datasets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets");
    let job = dir.join("job.run");
    for (place, (number, name)) in ranks.iter().enumerate() {
        let rank = job.join(format!("rank={number}"));
        copy(&datasets.join(name), &rank);
        change_json(&rank.join("run.json"), |run| {
            let origin_ns = 1_700_000_000_000_000_000 + 1_000_000 * place as i64;
            run["clock"]["origin_realtime_ns"] = origin_ns.into();
        });
    }
    job
}

/// JSON report and standard error of a run, once by ranks and once with all rows together.
fn both_ways(dir: &Dir, run: &Path, args: &[&str]) -> [(String, String); 2] {
    [&[][..], &["--together"][..]].map(|way| {
        let all = [args, way, &["--json", "-"]].concat();
        let ended = dir.report(run, &all).exits(0);
        (ended.stdout.clone(), ended.stderr.clone())
    })
}

/// Asserts that both ways give the same report, and returns it.
pub fn assert_same(dir: &Dir, run: &Path, args: &[&str]) -> Value {
    let [(by_rank, _), (together, _)] = both_ways(dir, run, args);
    let parsed: Value = serde_json::from_str(&by_rank).unwrap();
    if by_rank != together {
        let other: Value = serde_json::from_str(&together).unwrap();
        let sections = |report: &Value| report["sections"].as_array().unwrap().clone();
        for (a, b) in sections(&parsed).iter().zip(&sections(&other)) {
            assert_eq!(a, b, "{args:?}: section {}", a["plugin"]);
        }
        panic!("{args:?}: the reports differ");
    }
    parsed
}

#[test]
fn reports_over_ranks_are_the_same_rank_by_rank_and_together() {
    let dir = Dir::new();
    let job = job(
        &dir,
        &[
            (0, "decode/simd.run"),
            (1, "decode/scalar.run"),
            (5, "tiny/test.run"),
            (6, "roofline/avx2.run"),
            (7, "divergence/base.run"),
        ],
    );
    let report = assert_same(&dir, &job, &[]);
    assert!(!report["sections"].as_array().unwrap().is_empty());
    assert_same(&dir, &job, &["--window", "iteration=1"]);
    assert_same(&dir, &job, &["--from", "100us", "--to", "1ms"]);
    let baseline = dir.join("baseline.run");
    let datasets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets");
    copy(&datasets.join("decode/scalar.run"), &baseline);
    assert_same(&dir, &job, &["--baseline", baseline.to_str().unwrap()]);
}

#[test]
fn operators_and_devices_of_ranks_are_the_same_rank_by_rank_and_together() {
    let dir = Dir::new();
    let trace =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets/pytorch/cpu_training.json.gz");
    let trace = trace.to_str().unwrap();
    for rank in [0, 3] {
        let into = dir.join("traces.run").join(format!("rank={rank}"));
        fs::create_dir_all(into.parent().unwrap()).unwrap();
        let into = into.to_str().unwrap();
        dir.command(&["import", trace, "-o", into]).exits(0);
    }
    assert_same(&dir, &dir.join("traces.run"), &[]);
    let gpus = dir.join("gpus");
    crate::rank_jobs::job(|step| step.compute += 2_000_000).run(Some(&gpus));
    assert_same(&dir, &gpus, &[]);
    assert_same(&dir, &gpus, &["--from", "1ms", "--to", "40ms"]);
}

#[test]
fn a_damaged_rank_costs_the_same_both_ways() {
    let dir = Dir::new();
    let job = job(&dir, &[(0, "decode/simd.run"), (1, "decode/scalar.run")]);
    let bricks = fs::read_dir(job.join("rank=1/bricks")).unwrap();
    let bricks = bricks.map(|entry| entry.unwrap().path()).next().unwrap();
    let bytes = fs::read(&bricks).unwrap();
    fs::write(&bricks, &bytes[..bytes.len() / 2]).unwrap();
    assert_same(&dir, &job, &[]);
}

#[test]
fn of_too_many_rows_plugins_that_need_all_analyse_a_typical_iteration() {
    let dir = Dir::new();
    let job = job(&dir, &[(0, "decode/simd.run"), (1, "decode/simd.run")]);
    let most = ["--most-rows", "9000"];
    let report = dir.report(&job, &[&most[..], &["--json", "-"]].concat());
    let report = report.exits(0).json();
    let section = |report: &Value, plugin: &str| {
        let mut sections = report["sections"].as_array().unwrap().iter();
        let found = sections.find(|section| section["plugin"] == plugin);
        found.unwrap().clone()
    };
    let window = &report["run"]["window"];
    let plugins = ["critical_path", "causality", "bottleneck"];
    let in_part = window["plugins"].as_array().unwrap();
    assert_eq!(in_part.len(), plugins.len());
    for plugin in plugins {
        assert!(in_part.contains(&plugin.into()), "{plugin}");
    }
    let mut problems = report["problems"].as_array().unwrap().iter();
    assert!(problems.any(|problem| problem["code"] == "analysed_in_part"));

    // They find what they find if that iteration is chosen by hand, and all others what they find in the whole job.
    let name = window["name"].as_str().unwrap().replace(' ', "=");
    let args = [&most[..], &["--window", &name, "--json", "-"]].concat();
    let chosen = dir.report(&job, &args).exits(0).json();
    let whole = dir.report(&job, &["--json", "-"]).exits(0).json();
    for plugin in plugins {
        assert_eq!(
            section(&report, plugin),
            section(&chosen, plugin),
            "{plugin}"
        );
    }
    for plugin in ["category", "device", "throughput"] {
        assert_eq!(
            section(&report, plugin),
            section(&whole, plugin),
            "{plugin}"
        );
    }
}

#[test]
fn an_iteration_of_too_many_rows_costs_a_plugin_that_needs_all_its_section() {
    let dir = Dir::new();
    let job = job(&dir, &[(0, "decode/simd.run"), (1, "decode/scalar.run")]);
    let report = dir.report(&job, &["--most-rows", "100", "--json", "-"]);
    let report = report.exits(0).json();
    let mut sections = report["sections"].as_array().unwrap().iter();
    let path = sections.find(|section| section["plugin"] == "critical_path");
    let path = path.unwrap();
    assert_eq!(path["status"], "skipped");
    let why = path["message"].as_str().unwrap();
    assert!(
        why.contains("the window already has") && why.contains("at most 100 are allowed"),
        "{why}"
    );
    assert_eq!(report["run"]["window"], Value::Null);
}

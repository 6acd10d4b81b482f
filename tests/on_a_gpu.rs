//! What reports say of runs of an H200, held against what was measured there (`datasets/gpu`).

use std::path::PathBuf;

use serde_json::Value;

use crate::harness::{Dir, section};

fn dataset(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../datasets/gpu/{name}.run"))
}

/// The value in the headline's column.
fn headline(name: &str, args: &[&str], column: &str) -> Value {
    let dir = Dir::new();
    let report = dir
        .report(&dataset(name), &[args, &["--json", "-"]].concat())
        .exits(0)
        .json();
    let tables = section(&report, "summary")["tables"].as_array().unwrap();
    let table = tables
        .iter()
        .find(|table| table["name"] == "headline")
        .unwrap();
    let columns = table["columns"].as_array().unwrap();
    let at = columns.iter().position(|found| found["name"] == column);
    table["rows"][0][at.unwrap()].clone()
}

const STEPS: [&str; 2] = ["--window", "iteration=10..39"];
/// Without a recorder the step took 1,612 and 1,623 us, and as a graph 378 us; recorded, 1,699 and 391 us.
const SAVED: f64 = 1.0 - 391.0 / 1699.0;

#[test]
fn a_step_that_is_bound_by_launches_is_told_what_its_graph_saved() {
    assert_eq!(headline("h200_train", &STEPS, "bound_by"), "launch_bound");
    let gain = headline("h200_train", &STEPS, "gain_share")
        .as_f64()
        .unwrap();
    assert!((gain - SAVED).abs() < 0.02, "{gain}, measured {SAVED}");
    let busy = headline("h200_train", &STEPS, "gpu_busy_share")
        .as_f64()
        .unwrap();
    // 39 kernels, 360 us a step, by torch.profiler in a process of its own.
    assert!((busy - 360.0 / 1699.0).abs() < 0.02, "{busy}");
    let step_ns = headline("h200_train", &STEPS, "step_ns").as_f64().unwrap();
    assert!((1.60e6..1.80e6).contains(&step_ns), "{step_ns}");
}

#[test]
fn a_run_that_is_mostly_start_up_leads_to_its_steps() {
    let sentence = headline("h200_train", &[], "sentence");
    let sentence = sentence.as_str().unwrap();
    assert!(
        sentence.contains("steady steps are <1 % of the wall (--window iteration=14..39"),
        "{sentence}"
    );
}

/// Iterations of 47 us launch graphs of 390 us: they are no steps.
#[test]
fn a_host_that_runs_ahead_has_no_step_time() {
    assert_eq!(headline("h200_train_graph", &[], "host_runs_ahead"), true);
    let sentence = headline("h200_train_graph", &[], "sentence");
    let sentence = sentence.as_str().unwrap();
    assert!(
        sentence.starts_with("host step 47.6 µs") && sentence.contains("the GPU takes longer"),
        "{sentence}"
    );
    assert!(!sentence.contains("--window"), "{sentence}");
    // The window ends while most of its work is still to come.
    let steps = headline("h200_train_graph", &STEPS, "sentence");
    let steps = steps.as_str().unwrap();
    assert!(
        steps.starts_with("host step") && steps.contains("the GPU may take longer"),
        "{steps}"
    );
}

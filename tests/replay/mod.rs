//! Predictions against a slow replay that knows of streams, launches and waits, and of nothing else.
//!
//! Programs are made up, run step by step, written as traces of PyTorch's profiler and imported. With
//! `TRUENO_REPLAY_RUNS=FOLDER` every run in that folder is replayed as well, and a table is printed
//! (`cargo test -p trueno-analyze --test e2e replay -- --nocapture`).

mod program;
mod recorded;
mod simulate;

use std::path::Path;

use crate::harness::{Dir, standard_plugins};

/// Length of the run in nanoseconds: as the path predicts it with all kernels at half time, and as measured.
fn predicted(dir: &Dir, run: &Path) -> Option<(f64, f64)> {
    let run = run.to_str().expect("a path in UTF-8");
    let sql = "SELECT wall_ns, predicted_ns FROM critical_path.what_if";
    let rule = r#"critical_path.what_if=["kind:kernel=0.5"]"#;
    let plugins = standard_plugins(dir);
    let mut args = vec!["query", run, sql, "--format", "json", "--set", rule];
    args.extend(["--no-default-plugins", "--no-isolate", "--plugin-dir"]);
    args.push(plugins.to_str().expect("a path in UTF-8"));
    let rows = dir.command(&args).exits(0).json();
    let row = rows.as_array()?.first()?.clone();
    Some((row["predicted_ns"].as_f64()?, row["wall_ns"].as_f64()?))
}

/// Lengths that the path and the replay predict, as shares of the measured one.
fn compared(dir: &Dir, run: &Path) -> Option<(f64, f64)> {
    let (predicted_ns, wall_ns) = predicted(dir, run)?;
    let recorded = recorded::Recorded::read(dir, run);
    let replayed = |scale| simulate::end_ns(&recorded, scale) as f64;
    // What the replay cannot explain of the measured run, it cannot explain of another either.
    Some((predicted_ns / wall_ns, replayed(0.5) / replayed(1.0)))
}

#[test]
fn half_of_all_kernel_time_is_what_a_replay_says() {
    let dir = Dir::new();
    for seed in 0..12 {
        let (trace, measured) = program::run(seed, false);
        let truth = program::run(seed, true).1 as f64 / measured as f64;
        std::fs::write(dir.join("trace.json"), trace).unwrap();
        let run = dir.join(&format!("{seed}.run"));
        dir.command(&["import", "trace.json", "-o", run.to_str().unwrap()])
            .exits(0);
        let (predicted, replayed) = compared(&dir, &run).expect("the run has kernels");
        for found in [predicted, replayed] {
            assert!(
                (found / truth - 1.0).abs() <= 0.05,
                "program {seed}: predicted {predicted}, replayed {replayed}, run again {truth}"
            );
        }
    }
}

#[test]
fn replays_of_given_runs() {
    let Some(folder) = std::env::var_os("TRUENO_REPLAY_RUNS") else {
        return;
    };
    let dir = Dir::new();
    let entries = std::fs::read_dir(folder).expect("a folder of runs");
    let mut runs: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    runs.sort();
    let mut apart = Vec::new();
    for run in runs.iter().filter(|run| run.join("kernels").is_dir()) {
        let Some((predicted, replayed)) = compared(&dir, run) else {
            continue;
        };
        let error = predicted / replayed - 1.0;
        let name = run.file_name().unwrap_or_default().to_string_lossy();
        println!(
            "{name:70.70} predicted {predicted:.3} replayed {replayed:.3} {:+.1} %",
            100.0 * error
        );
        if error.abs() > 0.05 {
            apart.push(name.into_owned());
        }
    }
    assert!(apart.is_empty(), "more than 5 % from the replay: {apart:?}");
}

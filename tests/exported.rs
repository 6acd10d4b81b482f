//! Runs exported to Parquet: every verb says of them what it says of their source.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use polars::prelude::{DataFrame, SortMultipleOptions};
use serde_json::Value;
use trueno_engine::run::Run;

use crate::harness::Dir;
use crate::killed::{everything, same_rows};

const DATASETS: [&str; 4] = ["scalar", "simd", "simd_exp", "simd_slow"];

fn dataset(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../datasets/decode/{name}.run"))
}

fn export(dir: &Dir, run: &Path) {
    let run = run.to_str().expect("a path in UTF-8");
    let done = dir.command(&["export", "parquet", run, "-o", "out.run", "--overwrite"]);
    assert_eq!(done.exits(0).stdout, "");
}

/// A report without the sizes and segment counts of tables, which an export changes.
fn report(dir: &Dir, run: &Path) -> Value {
    let mut report = dir.report(run, &["--json", "-"]).exits(0).json();
    let tables = report["run"]["tables"]
        .as_object_mut()
        .expect("tables")
        .values_mut();
    for table in tables {
        table["bytes"] = Value::Null;
        table["segments"] = Value::Null;
    }
    report
}

/// All rows, sorted, since those of an export come in another order.
fn sorted(run: &Path) -> BTreeMap<String, DataFrame> {
    let tables = everything(&Run::open(run).expect("a run")).into_iter();
    let sorted = tables.map(|(name, rows)| {
        let columns = rows.get_column_names_owned();
        let rows = rows.sort(columns, SortMultipleOptions::default());
        (name, rows.expect("rows that can be sorted"))
    });
    sorted.collect()
}

#[test]
fn reports_rows_and_exports_of_an_export_are_those_of_its_source() {
    for name in DATASETS {
        let (dir, source) = (Dir::new(), dataset(name));
        export(&dir, &source);
        let exported = dir.join("out.run");
        assert_eq!(report(&dir, &source), report(&dir, &exported), "{name}");
        same_rows(&sorted(&source), &sorted(&exported), name);
        for format in ["chrome", "folded", "flamegraph", "otlp"] {
            let of = |run: &Path| {
                let run = run.to_str().expect("a path in UTF-8");
                let done = dir.command(&["export", format, run, "-o", "-"]).exits(0);
                // Its head tells of files.
                match format {
                    "chrome" => done.json()["traceEvents"].to_string(),
                    _ => done.stdout,
                }
            };
            assert!(of(&source) == of(&exported), "{name}: {format} differs");
        }
    }
}

#[test]
fn an_export_takes_less_room_than_its_source() {
    let (dir, source) = (Dir::new(), dataset("simd"));
    export(&dir, &source);
    let bytes = |run: &Path| -> u64 {
        let run = Run::open(run).expect("a run");
        run.facts().tables.iter().map(|table| table.bytes).sum()
    };
    let (before, after) = (bytes(&source), bytes(&dir.join("out.run")));
    assert!(after * 3 < before * 2, "{after} of {before} bytes");
}

#[test]
fn a_run_whose_recorder_was_killed_is_exported_as_it_is() {
    let dir = Dir::new();
    let killed = dir.run();
    let json = killed.join("run.json");
    let text = fs::read_to_string(&json).unwrap();
    let mut value: Value = serde_json::from_str(&text).unwrap();
    value["state"] = "recording".into();
    value["wall_ns"] = Value::Null;
    // No process has this number.
    value["program"]["pid"] = 999_999_999.into();
    fs::write(&json, value.to_string()).unwrap();
    let run = killed.to_str().unwrap();
    dir.command(&["export", "parquet", run, "-o", "out.run"])
        .exits(0)
        .stderr_has("the run is incomplete, and so is this export");
    let exported = dir.join("out.run");
    let before = report(&dir, &killed);
    assert!(before["problems"].to_string().contains("unclean end"));
    assert_eq!(before, report(&dir, &exported));
    dir.command(&["recover", "out.run"])
        .exits(0)
        .stdout_has("nothing to recover");
    assert_eq!(before, report(&dir, &exported));
}

#[test]
fn a_folder_is_never_lost_to_an_export() {
    let dir = Dir::new();
    let run = dir.run();
    let run = run.to_str().unwrap();
    let refused = |args: &[&str], words: &str| {
        let mut all = vec!["export", "parquet"];
        all.extend(args);
        dir.command(&all).exits(2).stderr_has(words);
    };
    refused(&[run, "-o", "-"], "is a folder");
    refused(
        &[run, "-o", run, "--overwrite"],
        "lies in the run to export",
    );
    refused(&[run, "-o", "test.run/out"], "lies in the run to export");
    refused(&[run, "-o", "no/such/folder"], "cannot be made");
    fs::create_dir(dir.join("full")).unwrap();
    fs::write(dir.join("full/notes"), "mine").unwrap();
    refused(
        &[run, "-o", "full", "--overwrite"],
        "is not a run directory",
    );
    export(&dir, Path::new(run));
    refused(&[run, "-o", "out.run"], "give --overwrite");
    export(&dir, Path::new(run));
    let left: Vec<_> = fs::read_dir(dir.path()).unwrap().flatten().collect();
    let hidden = |name: &str| name.starts_with('.');
    assert!(
        !left
            .iter()
            .any(|file| hidden(file.file_name().to_str().unwrap()))
    );
}

#[test]
fn a_run_without_rows_becomes_one() {
    let dir = Dir::new();
    let recorder = trueno_recorder::Recorder::create(dir.join("empty.run")).unwrap();
    recorder.finish().unwrap();
    export(&dir, &dir.join("empty.run"));
    let before = dir
        .report(&dir.join("empty.run"), &["--json", "-"])
        .exits(3);
    let after = dir.report(&dir.join("out.run"), &["--json", "-"]).exits(3);
    assert_eq!(before.json()["problems"], after.json()["problems"]);
}

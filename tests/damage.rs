//! Damaged, unfinished and foreign runs through the command: what is good is analysed, what is
//! lost is named, and the exit code tells the two apart.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{Dir, section};

fn change_json(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut value: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    change(&mut value);
    fs::write(path, serde_json::to_vec_pretty(&value).unwrap()).unwrap();
}

fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

/// A report of a run that lost something: it exits 0, says so, and has all sections.
#[track_caller]
fn incomplete(dir: &Dir, run: &Path, expected: &str) -> Value {
    let report = dir.report(run, &["--json", "-"]).exits(0).json();
    assert_eq!(report["run"]["complete"], false, "{expected}");
    let problems = report["problems"].to_string();
    assert!(
        problems.contains(expected),
        "no problem says {expected:?}: {problems}"
    );
    for plugin in crate::harness::STANDARD {
        assert_eq!(section(&report, plugin)["status"], "ok", "{plugin}");
    }
    report
}

/// Rows of a table of a plugin.
fn rows<'a>(report: &'a Value, plugin: &str, table: &str) -> &'a Vec<Value> {
    let tables = section(report, plugin)["tables"].as_array().unwrap();
    let found = tables.iter().find(|t| t["name"] == table);
    let found = found.unwrap_or_else(|| panic!("{plugin} has no table {table}"));
    found["rows"].as_array().unwrap()
}

#[test]
fn a_damaged_table_loses_itself_and_not_the_others() {
    for (what, damage) in [
        (
            "cut in the middle",
            (|b: &mut Vec<u8>| b.truncate(b.len() / 2)) as fn(&mut Vec<u8>),
        ),
        ("zero length", |b| b.clear()),
        ("flipped bytes", |b| {
            let middle = b.len() / 3;
            b[middle..middle + 8].iter_mut().for_each(|b| *b ^= 0x55);
        }),
    ] {
        let dir = Dir::new();
        let run = dir.run();
        change(&run.join("kernels/000000.arrow"), damage);
        let report = incomplete(&dir, &run, "kernels/000000.arrow");
        let names = rows(&report, "category", "by_brick");
        assert!(
            names
                .iter()
                .any(|row| row.to_string().contains("QkvProjection")),
            "{what}: the bricks are still there"
        );
        let checks = rows(&report, "sanity", "checks").iter();
        assert!(
            checks.clone().any(|row| row.to_string().contains("fail")),
            "{what}: no check fails"
        );
        dir.report(&run, &["--fail-on", "error"]).exits(1);
    }
}

#[test]
fn a_segment_that_is_gone_is_named() {
    let dir = Dir::new();
    let run = dir.run();
    fs::remove_file(run.join("tiles/000000.arrow")).unwrap();
    incomplete(&dir, &run, "tiles/000000.arrow");
}

#[test]
fn without_run_json_the_segments_speak_for_themselves() {
    let dir = Dir::new();
    let run = dir.run();
    let path = run.join("run.json");
    let text = fs::read(&path).unwrap();
    for (cut, expected) in [(text.len() / 2, "run.json"), (0, "run.json")] {
        fs::write(&path, &text[..cut]).unwrap();
        let report = incomplete(&dir, &run, expected);
        assert_eq!(report["run"]["wall_source"], "last_event");
    }
    fs::remove_file(&path).unwrap();
    incomplete(&dir, &run, "run.json");
}

#[test]
fn a_newer_format_is_refused_with_both_versions() {
    let dir = Dir::new();
    let run = dir.run();
    change_json(&run.join("run.json"), |json| {
        json["format"]["major"] = json!(2)
    });
    dir.report(&run, &[])
        .exits(2)
        .stderr_has("2")
        .stderr_has("format")
        .stderr_has("hint:");
    change_json(&run.join("run.json"), |json| {
        json["format"] = json!({"name": "trueno-run", "major": 1, "minor": 99});
        json["a key of tomorrow"] = json!([1, 2]);
    });
    dir.report(&run, &[]).exits(0);
}

#[test]
fn a_table_nobody_knows_can_be_queried_and_disturbs_nobody() {
    let dir = Dir::new();
    let run = dir.run();
    let from = run.join("counters_of_mine");
    fs::create_dir(&from).unwrap();
    fs::copy(run.join("threads/000000.arrow"), from.join("000000.arrow")).unwrap();
    dir.report(&run, &[]).exits(0);
    let run = run.to_str().unwrap();
    let sql = "SELECT COUNT(*) AS n FROM counters_of_mine";
    let answer = dir
        .command(&["query", run, sql, "--format", "json"])
        .exits(0);
    assert_eq!(answer.json(), json!([{"n": 2}]));
}

#[test]
fn a_run_being_written_is_read_as_far_as_it_is() {
    let dir = Dir::new();
    let path = dir.join("now.run");
    let rec = trueno_recorder::Recorder::create(&path).unwrap();
    for _ in 0..3 * 8192 {
        drop(rec.brick("step"));
    }
    // The writer takes whole batches on its own; it is asked until it has some.
    let written = || {
        rec.status()
            .tables
            .get("bricks")
            .map_or(0, |table| table.rows)
    };
    while written() < 8192 || !path.join("bricks").exists() {
        std::thread::yield_now();
    }
    let report = dir.report(&path, &["--json", "-"]).exits(0).json();
    assert_eq!(report["run"]["complete"], false);
    assert_eq!(report["run"]["state"], "recording");
    drop(rec);
    let report = dir.report(&path, &["--json", "-"]).exits(0).json();
    assert_eq!(report["run"]["complete"], true);
}

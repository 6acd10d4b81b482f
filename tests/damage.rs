//! Damaged, unfinished and foreign runs through the command: what is good is analysed, what is
//! lost is named, and the exit code tells the two apart.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{Dir, change_json, section, until};

fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

/// The report of a run that lost data. It exits with 0, says so, and has all sections.
#[track_caller]
fn incomplete(dir: &Dir, run: &Path, expected: &str) -> Value {
    let report = dir.report(run, &["--json", "-"]).exits(0).json();
    assert_eq!(report["run"]["complete"], false, "{expected}");
    let page = dir.report(run, &["-q"]).exits(0).stdout;
    assert!(page.starts_with("INCOMPLETE: "), "{expected}: {page}");
    let headline = report["headline"].as_str().unwrap_or_default();
    assert!(
        headline.starts_with("INCOMPLETE: "),
        "{expected}: {headline}"
    );
    let problems = report["problems"].to_string();
    assert!(
        problems.contains(expected),
        "no problem says {expected:?}: {problems}"
    );
    for plugin in crate::harness::STANDARD.iter() {
        assert_eq!(section(&report, plugin)["status"], "ok", "{plugin}");
    }
    report
}

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
    until("a batch is written", || {
        (written() >= 8192 && path.join("bricks").exists()).then_some(())
    });
    let report = dir.report(&path, &["--json", "-"]).exits(0).json();
    assert_eq!(report["run"]["complete"], false);
    assert_eq!(report["run"]["state"], "recording");
    drop(rec);
    let report = dir.report(&path, &["--json", "-"]).exits(0).json();
    assert_eq!(report["run"]["complete"], true);
}

#[test]
fn nothing_holds_because_of_rows_that_were_lost() {
    let dir = Dir::new();
    let run = dir.join("lost.run");
    crate::harness::copy(Path::new(&crate::check::dataset("simd.run")), &run);
    change(&run.join("bricks/000000.arrow"), |b| b.truncate(8000));
    let run = run.to_str().unwrap();
    for body in [
        "type = \"expression\"\nexpression = \"SELECT COUNT(*) < 10 AS ok FROM bricks\"",
        "type = \"expression\"\nexpression = \"SELECT COUNT(*) >= 0 FROM category.by_lane\"",
        "type = \"span_count\"\nmax_spans = 100000",
        "type = \"critical_path\"\nmax_duration_ms = 1000",
        "type = \"category_share\"\ncategory = \"FFN\"\nmax_share = 1",
        "type = \"anti_pattern\"\npattern = \"GodProcess\"",
    ] {
        let found = crate::check::one(&dir, run, body, &[], 3);
        let actual = found["actual"].as_str().unwrap();
        let expected = "rows are missing from the run: bricks 1041 of 1041 lost";
        assert!(actual.ends_with(expected), "{body}: {actual}");
    }
    // More bricks could only cover more.
    let body = "type = \"coverage\"\nmin = 0.0001";
    let found = crate::check::one(&dir, run, body, &[], 0);
    let actual = found["actual"].as_str().unwrap();
    assert!(
        actual.contains("bricks 1041 of 1041 lost, which cannot change it"),
        "{actual}"
    );
    // Other tables are whole.
    let body = "type = \"expression\"\nexpression = \"SELECT COUNT(*) > 0 FROM kernels\"";
    crate::check::one(&dir, run, body, &[], 0);
    let body = "type = \"span_count\"\nmin_spans = 1\ntables = [\"kernels\"]";
    crate::check::one(&dir, run, body, &[], 0);
}

#[test]
fn query_and_recover_say_what_is_damaged() {
    let dir = Dir::new();
    let run = dir.run();
    let sql = "SELECT COUNT(*) AS n FROM bricks";
    let whole = dir.command(&["query", "test.run", sql]).exits(0);
    assert_eq!(whole.stderr, "");
    dir.command(&["recover", "test.run", "-o", "new.run"])
        .exits(0)
        .stdout_has("finished, nothing to recover; new.run was not written");
    change(&run.join("bricks/000000.arrow"), |b| b.truncate(8));
    let answer = dir
        .command(&["query", "test.run", sql, "--format", "csv"])
        .exits(0);
    assert_eq!(answer.stdout, "n\r\n0\r\n");
    answer.stderr_has("test.run: the run is incomplete, and so is the answer");
    dir.command(&["recover", "test.run", "-o", "new.run"])
        .exits(1)
        .stderr_has("bricks/000000.arrow")
        .stdout_has("finished, and damaged: ")
        .stdout_has("live/ has nothing to restore them from; new.run was not written");
    assert!(!dir.join("new.run").exists());
    let said = dir
        .command(&["recover", "test.run", "--json"])
        .exits(1)
        .json();
    assert_eq!(said["recovered"], false);
    assert!(said["rows_lost"].as_u64() > Some(0), "{said}");
}

#[test]
fn sql_that_the_engine_cannot_run_is_refused_in_words() {
    let dir = Dir::new();
    let run = dir.run();
    let chain = format!("SELECT {}1", "1+".repeat(5000));
    for (sql, expected) in [
        ("SELECT interval 'x'", "an interval is not supported"),
        (
            "SELECT duration FROM bricks",
            "did you mean dur_ns? there are ",
        ),
        (chain.as_str(), "5001 operators"),
    ] {
        let done = dir.command(&["query", "test.run", sql]).exits(2);
        let done = done.stderr_has("error: ").stderr_has(expected);
        assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
    }
    let sql = "SELECT 2500/1e3 AS ms, 1E-3 AS s";
    let answer = dir
        .command(&["query", "test.run", sql, "--format", "csv"])
        .exits(0);
    assert_eq!(answer.stdout, "ms,s\r\n2.5,0.001\r\n");
    dir.command(&["tables", "test.run", "memory.growth"])
        .exits(2)
        .stderr_has("plugins list -v");
    dir.report(&run, &["--window", "id=18446744073709551615"])
        .exits(2)
        .stderr_has("no row has this id");
}

#[test]
fn a_fact_that_changed_since_is_seen() {
    let dir = Dir::new();
    let run = dir.run();
    let path = run.join("run.json");
    change_json(&path, |run| run["format"]["minor"] = 5.into());
    let before = fs::read_to_string(&path).unwrap();
    let wall = before
        .lines()
        .find(|line| line.contains("\"wall_ns\""))
        .unwrap();
    fs::write(&path, before.replace(wall, "  \"wall_ns\": 8045422,")).unwrap();
    let json = incomplete(&dir, &run, "run.json was changed after it was written");
    assert_eq!(json["run"]["complete"], false);
    // What is made of it does not hide that.
    let export = dir.join("export.run");
    let words = [
        "export",
        "parquet",
        run.to_str().unwrap(),
        "-o",
        export.to_str().unwrap(),
    ];
    dir.command(&words).exits(0);
    incomplete(&dir, &export, "run.json was changed after it was written");
    // Without the hash it is seen as well.
    let hash = before
        .lines()
        .find(|line| line.contains("\"xxh3\""))
        .unwrap();
    fs::write(&path, before.replace(&format!(",\n{hash}"), "")).unwrap();
    incomplete(&dir, &run, "run.json was changed after it was written");
}

#[test]
fn texts_of_a_run_begin_no_lines_of_their_own() {
    let dir = Dir::new();
    let run = dir.run();
    change_json(&run.join("run.json"), |run| {
        run["label"] = "a\nerror: fake".into();
        run["host"]["name"] = "h\nerror: fake".into();
        run["problems"] = serde_json::json!(["p\nerror: fake"]);
    });
    let info = dir.command(&["info", run.to_str().unwrap()]);
    for command in [info, dir.report(&run, &[])] {
        let done = command.exits(0);
        let mut lines = done.stdout.lines().chain(done.stderr.lines());
        assert!(!lines.any(|line| line.trim_start().starts_with("error: fake")));
    }
}

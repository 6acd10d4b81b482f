//! What a gate says of a run that lacks rows or its end, of names that are gone, and of patterns that match nothing.

use std::path::Path;

use serde_json::{Value, json};
use trueno_testing::{Made, Value as Cell};

use crate::check::{command, dataset, one};
use crate::compare::bricks;
use crate::harness::{Dir, built_library, change_json, copy, standard_plugins};
use crate::victim::{self, When};

/// A run of one thread: iterations of 1000 ns with bricks of 400 ns, allocations, and readings of a counter.
fn complete(dir: &Dir, name: &str) -> String {
    let path = dir.join(name);
    let mut made = Made::new(&path);
    made.row("threads", &[("thread", 0.into()), ("name", "main".into())]);
    for i in 0..3_i64 {
        for (id, kind, name, start, dur) in [
            (3 * i + 1, "iteration", "iteration", 0, 1000),
            (3 * i + 2, "brick", "Ffn", 0, 400),
            (3 * i + 3, "brick", "Norm", 500, 400),
        ] {
            let row = [
                ("id", Cell::from(id)),
                ("kind", kind.into()),
                ("name", name.into()),
                ("category", name.into()),
                ("start_ns", (1000 * i + start).into()),
                ("dur_ns", dur.into()),
                ("timing", "host".into()),
                ("iteration", i.into()),
            ];
            made.row("bricks", &row);
        }
        for (at, bytes) in [(10, 600), (900, -500)] {
            let time = Cell::from(1000 * i + at);
            made.row("allocations", &[("time_ns", time), ("bytes", bytes.into())]);
        }
        let reading = [
            ("time_ns", Cell::from(1000 * i)),
            ("name", "rss".into()),
            ("value", (5000.0 - 1000.0 * i as f64).into()),
            ("unit", "bytes".into()),
            ("source", "measured".into()),
        ];
        made.row("counters", &reading);
    }
    made.finish(3000);
    path.to_str().expect("a path in UTF-8").to_owned()
}

fn changed(dir: &Dir, run: &str, name: &str, change: impl FnOnce(&mut Value)) -> String {
    let path = dir.join(name);
    copy(Path::new(run), &path);
    change_json(&path.join("run.json"), change);
    path.to_str().expect("a path in UTF-8").to_owned()
}

/// A run as its writer left it when it was killed, on a file system that lost what was not sealed. The number of
/// dropped events is unknown.
fn unfinished(dir: &Dir, run: &str, name: &str) -> String {
    changed(dir, run, name, |json| {
        json["state"] = json!("recording");
        json["wall_ns"] = Value::Null;
    })
}

/// A run after `recover`: all rows are there, but the program did not end normally.
fn recovered(dir: &Dir, run: &str, name: &str) -> String {
    changed(dir, run, name, |json| {
        json["state"] = json!("recovered");
        json["recovery"] = json!({"rows_from_live": 0, "dropped_known": true});
    })
}

fn dropping(dir: &Dir, run: &str, name: &str) -> String {
    changed(dir, run, name, |json| {
        json["dropped"] = json!(15);
        for table in ["bricks", "allocations", "counters"] {
            json["tables"][table]["dropped"] = json!(5);
        }
    })
}

const PATH: &str = "type = \"critical_path\"\n";
const COUNT: &str = "type = \"span_count\"\n";
const MEMORY: &str = "type = \"memory_usage\"\n";
const SHARE: &str = "type = \"category_share\"\ncategory = \"Ffn\"\n";

/// Exit codes of each assertion for four runs: complete, unfinished, recovered, and with dropped rows.
const OUTCOMES: [(&str, &str, [i32; 4]); 20] = [
    (PATH, "max_duration_us = 3", [0, 3, 3, 3]),
    // It took this long, at least.
    (PATH, "max_duration_us = 2.5", [1, 1, 1, 1]),
    (
        PATH,
        "max_duration_us = 1\nwindow = \"iteration=1\"",
        [0, 3, 3, 3],
    ),
    (
        PATH,
        "max_duration_us = 9\nkinds = [\"work\"]",
        [0, 3, 3, 3],
    ),
    (
        PATH,
        "max_duration_us = 9\ntrace_name_pattern = \"Ff*\"",
        [0, 3, 3, 3],
    ),
    (COUNT, "max_spans = 9", [0, 3, 3, 3]),
    (COUNT, "max_spans = 8", [1, 1, 1, 1]),
    (COUNT, "min_spans = 9", [0, 0, 0, 0]),
    (COUNT, "min_spans = 10", [1, 3, 3, 3]),
    (
        COUNT,
        "max_spans = 0\nspan_name_pattern = \"Softmax\"",
        [0, 3, 3, 3],
    ),
    (MEMORY, "max_bytes = 800", [0, 3, 3, 3]),
    // A release that was dropped makes it too much; what comes later does not make it less.
    (MEMORY, "max_bytes = 700", [1, 1, 3, 3]),
    (MEMORY, "max_growth_bytes = 200", [1, 3, 3, 3]),
    (
        MEMORY,
        "max_bytes = 5000\ntracking_mode = \"rss\"",
        [0, 3, 3, 3],
    ),
    (
        MEMORY,
        "max_bytes = 4999\ntracking_mode = \"rss\"",
        [1, 1, 1, 1],
    ),
    (SHARE, "max_share = 0.6", [0, 3, 3, 3]),
    (SHARE, "max_share = 0.1", [1, 3, 3, 3]),
    ("type = \"coverage\"\n", "min = 0.9", [1, 3, 3, 3]),
    // More rows cover more of a wall time that was measured.
    ("type = \"coverage\"\n", "min = 0.5", [0, 3, 3, 0]),
    (
        "type = \"expression\"\n",
        "expression = \"SELECT COUNT(*) = 9 AS ok FROM bricks\"",
        [0, 3, 3, 3],
    ),
];

#[test]
fn what_a_run_lacks_is_not_measurable_unless_it_could_not_change_the_answer() {
    let dir = Dir::new();
    let whole = complete(&dir, "whole.run");
    let recovered = recovered(&dir, &whole, "recovered.run");
    let killed = unfinished(&dir, &whole, "killed.run");
    let dropped = dropping(&dir, &whole, "dropped.run");
    let named = (0..).zip(OUTCOMES);
    let toml: String = named
        .map(|(nth, (body, limit, _)): (u32, _)| {
            format!("[[assertion]]\nname = \"{nth}\"\n{body}{limit}\n")
        })
        .collect();
    for (at, (run, words)) in [
        (&whole, ""),
        (
            &recovered,
            "the end of the run is missing: recovered after an unclean end",
        ),
        (&killed, "how many were dropped is not known"),
        (&dropped, "5 dropped at recording"),
    ]
    .into_iter()
    .enumerate()
    {
        let found = command(&dir, run, &toml, &["--json"]).exits(1).json();
        let outcomes = found["assertions"].as_array().unwrap();
        assert_eq!(outcomes.len(), OUTCOMES.len());
        for ((body, limit, codes), outcome) in OUTCOMES.iter().zip(outcomes) {
            let status = match codes[at] {
                0 => "passed",
                1 => "failed",
                _ => "not_measurable",
            };
            let of = format!("{run}: {body}{limit}: {outcome:#}");
            assert_eq!(outcome["status"], status, "{of}");
            let actual = outcome["actual"].as_str().unwrap();
            assert!(actual.contains(words), "{of}");
            let is_certain = actual.ends_with("which cannot change it");
            assert_eq!(is_certain, run != &whole && codes[at] != 3, "{of}");
        }
    }
}

#[test]
fn a_program_that_was_killed_passes_no_gate() {
    let dir = Dir::new();
    let run = victim::kill(&dir, "block", When::Batches(3));
    let run = run.to_str().unwrap();
    let assertions = [
        format!("{PATH}max_duration_ms = 1000000"),
        format!("{COUNT}max_spans = 1000000000"),
        "type = \"regression\"".to_owned(),
    ];
    let named = (0..).zip(assertions);
    let toml: String = named
        .map(|(nth, body): (u32, String)| format!("[[assertion]]\nname = \"{nth}\"\n{body}\n"))
        .collect();
    for is_recovered in [false, true] {
        if is_recovered {
            dir.command(&["recover", run]).exits(0);
        }
        command(&dir, run, &toml, &["--golden", run])
            .exits(3)
            .stdout_has("3 not measurable");
        dir.command(&["golden", "save", run, "-o", "killed.golden.json"])
            .exits(3)
            .stderr_has("the end of the run is missing")
            .stderr_has("no golden file was written");
    }
    assert!(!dir.join("killed.golden.json").exists());
}

#[test]
fn a_job_of_which_a_rank_is_missing_or_was_killed_is_not_measurable() {
    let dir = Dir::new();
    let job = dir.folder("job.run");
    for rank in ["job.run/rank=0", "job.run/rank=1", "job.run/rank=2"] {
        complete(&dir, rank);
    }
    let job = job.to_str().unwrap();
    let body = format!("{COUNT}max_spans = 27");
    one(&dir, job, &body, &[], 0);
    change_json(&dir.join("job.run/rank=2/run.json"), |json| {
        json["state"] = json!("recording");
        json["wall_ns"] = Value::Null;
    });
    let killed = one(&dir, job, &body, &[], 3);
    assert!(
        killed["actual"]
            .as_str()
            .unwrap()
            .contains("rank 2: unclean end")
    );
    std::fs::remove_dir_all(dir.join("job.run/rank=1")).unwrap();
    let missing = one(&dir, job, &body, &[], 3);
    assert!(
        missing["actual"]
            .as_str()
            .unwrap()
            .contains("rank 1 of the run is missing")
    );
}

#[test]
fn a_golden_run_that_lacks_rows_or_its_end_is_no_measure() {
    let dir = Dir::new();
    let base = bricks(&dir, "base.run", 40, 10_000, "host");
    let run = bricks(&dir, "run.run", 40, 10_000, "host");
    let body = "type = \"regression\"\nname_pattern = \"Qkv*\"";
    one(&dir, &run, body, &["--golden", &base], 0);
    let killed = unfinished(&dir, &base, "killed.run");
    let found = one(&dir, &run, body, &["--golden", &killed], 3);
    let actual = found["actual"].as_str().unwrap();
    assert!(
        actual.contains("the end of the golden run is missing"),
        "{actual}"
    );
    // Saved by a version that took any run.
    dir.command(&["golden", "save", &base, "-o", "base.golden.json"])
        .exits(0);
    one(&dir, &run, body, &["--golden", "base.golden.json"], 0);
    let text = dir.read("base.golden.json");
    let of_killed = text.replace("\"complete\": true", "\"complete\": false");
    assert_ne!(of_killed, text);
    std::fs::write(dir.join("killed.golden.json"), of_killed).unwrap();
    let found = one(&dir, &run, body, &["--golden", "killed.golden.json"], 3);
    let actual = found["actual"].as_str().unwrap();
    assert!(
        actual.contains("the golden file is of a run that was not complete"),
        "{actual}"
    );
    for base in [killed.as_str(), "killed.golden.json"] {
        let plugins = standard_plugins(&dir);
        dir.command(&[
            "compare",
            base,
            &run,
            "--no-default-plugins",
            "--plugin-dir",
            plugins.to_str().unwrap(),
            "--single",
            "--fail-on",
            "slower",
        ])
        .exits(3)
        .stdout_has("INCOMPLETE ")
        .stderr_has("--fail-on needs complete runs");
    }
}

#[test]
fn a_report_that_found_nothing_in_a_run_without_its_end_is_no_pass() {
    let dir = Dir::new();
    let whole = complete(&dir, "whole.run");
    let killed = unfinished(&dir, &whole, "killed.run");
    let gate = ["--plugin-id", "throughput", "--fail-on", "critical"];
    dir.report(Path::new(&whole), &gate).exits(0);
    dir.report(Path::new(&killed), &gate[..2]).exits(0);
    dir.report(Path::new(&killed), &gate)
        .exits(3)
        .stderr_has("--fail-on critical cannot be judged")
        .stderr_has("the end of the run is missing");
}

#[test]
fn a_name_that_is_gone_is_a_violation() {
    let dir = Dir::new();
    let base = bricks(&dir, "base.run", 40, 10_000, "host");
    let path = dir.join("gone.run");
    let mut made = Made::new(&path);
    for i in 0..40_i64 {
        let row = [
            ("id", Cell::from(i + 1)),
            ("kind", "iteration".into()),
            ("name", "iteration".into()),
            ("start_ns", (i * 40_000).into()),
            ("dur_ns", 30_000.into()),
            ("timing", "host".into()),
            ("iteration", i.into()),
        ];
        made.row("bricks", &row);
    }
    made.finish(1_600_000);
    let run = path.to_str().unwrap();
    dir.command(&["golden", "save", &base, "-o", "base.golden.json"])
        .exits(0);
    for golden in [base.as_str(), "base.golden.json"] {
        let golden = ["--golden", golden];
        let regression = |more: &str, code| {
            one(
                &dir,
                run,
                &format!("type = \"regression\"\n{more}"),
                &golden,
                code,
            )
        };
        let found = regression("", 1);
        let actual = found["actual"].as_str().unwrap();
        assert!(
            actual.starts_with("brick QkvProjection is gone; 0 slower"),
            "{actual}"
        );
        regression("name_pattern = \"Qkv*\"", 1);
        regression("kinds = [\"brick\"]", 1);
        regression("kinds = [\"iteration\"]", 0);
        let found = regression("name_pattern = \"Softmax\"", 1);
        assert_eq!(found["actual"], "no name of either run matches the pattern");
    }
    // What is new is no regression.
    one(&dir, &base, "type = \"regression\"", &["--golden", run], 0);
    let compared = |fail_on: &str| {
        let plugins = standard_plugins(&dir);
        dir.command(&[
            "compare",
            &base,
            run,
            "--no-default-plugins",
            "--plugin-dir",
            plugins.to_str().unwrap(),
            "--single",
            "--fail-on",
            fail_on,
        ])
    };
    compared("slower")
        .exits(0)
        .stderr_has("only in the base, and not judged: brick QkvProjection");
    compared("changed").exits(1);
}

#[test]
fn a_pattern_that_matches_nothing_is_a_violation_unless_none_are_allowed() {
    let dir = Dir::new();
    let run = dataset("simd.run");
    let misspelt = format!("{COUNT}span_name_pattern = \"DownProjektion\"\nmax_spans = 100");
    let found = one(&dir, &run, &misspelt, &[], 1);
    let actual = found["actual"].as_str().unwrap();
    assert!(actual.contains("did you mean DownProjection?"), "{actual}");
    let named = format!("{COUNT}span_name_pattern = \"nobody\"\n");
    let found = one(&dir, &run, &format!("{named}max_spans = 5"), &[], 1);
    let actual = found["actual"].as_str().unwrap();
    assert!(
        actual.starts_with("0: no name matches the pattern"),
        "{actual}"
    );
    one(&dir, &run, &format!("{named}max_spans = 0"), &[], 0);
    one(
        &dir,
        &run,
        &format!("{named}min_spans = 0\nmax_spans = 5"),
        &[],
        0,
    );
    let category = "type = \"category_share\"\ncategory = \"Atention\"\n";
    let found = one(&dir, &run, &format!("{category}max_share = 0.5"), &[], 1);
    let actual = found["actual"].as_str().unwrap();
    assert!(actual.contains("did you mean Attention?"), "{actual}");
    one(&dir, &run, &format!("{category}max_share = 0"), &[], 0);
}

#[test]
fn a_tensor_that_is_gone_is_a_violation_unless_it_is_allowed() {
    let dir = Dir::new();
    let recorded = |name: &str, tensors: &[&'static str]| {
        let path = dir.join(name);
        let rec = trueno_recorder::Recorder::create(&path).expect("a recorder");
        for tensor in tensors {
            rec.checksum(*tensor, Some(0), &[1.0_f32, 2.0], &[2]);
        }
        rec.finish().expect("the recording ends");
        path.to_str().expect("a path in UTF-8").to_owned()
    };
    let base = recorded("base.run", &["attention", "ffn"]);
    let run = recorded("run.run", &["attention"]);
    let library = built_library("trueno_plugin_divergence");
    let args = ["--plugin", library.to_str().unwrap(), "--golden", &base];
    let body = "type = \"divergence\"\n";
    let found = one(&dir, &run, body, &args, 1);
    let actual = found["actual"].as_str().unwrap();
    assert!(
        actual.contains("no tensor of the run is named ffn"),
        "{actual}"
    );
    one(&dir, &run, &format!("{body}max_only_in_one = 1"), &args, 0);
    one(&dir, &base, body, &args, 0);
}

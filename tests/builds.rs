//! Gates of a build: severities, who fails it, annotations, several runs, a project file.

use std::fs;

use crate::harness::Dir;

#[test]
fn what_fails_is_named_on_standard_error() {
    let dir = Dir::new();
    let run = dir.run();
    let report = |more: &[&str]| dir.report(&run, &[&["-q"], more].concat());
    report(&["--fail-on", "critical"]).exits(0);
    let failed = report(&["--fail-on", "info"]).exits(1);
    let said = failed.stderr_has("failed: info: no allocation was recorded");
    let order = |word: &str| said.stderr.find(&format!("failed: {word}"));
    assert!(
        order("low").is_none_or(|low| Some(low) < order("info")),
        "worst first"
    );
    // The levels of findings are on the scale too.
    for (level, severity) in [("warning", "medium"), ("error", "high")] {
        let of = |word: &str| {
            report(&["--fail-on", word])
                .command
                .output()
                .expect("it runs")
        };
        let (level, severity) = (of(level), of(severity));
        assert_eq!(
            (level.status, level.stderr),
            (severity.status, severity.stderr)
        );
    }
}

#[test]
fn annotations_are_commands_of_github() {
    let dir = Dir::new();
    let run = dir.run();
    let all = ["-q", "--annotations", "github", "--fail-on", "info"];
    dir.report(&run, &all)
        .exits(1)
        .stderr_has("::error title=memory (info)::no allocation was recorded");
    fs::write(dir.join("rules.toml"), MANY).expect("a file");
    dir.command(&[
        "check",
        "test.run",
        "--assert",
        "rules.toml",
        "--annotations",
        "github",
    ])
    .exits(1)
    .stderr_has("::error title=few%3A rows::test.run: FAILED: expected at most 1 row,");
}

const MANY: &str = "[[assertion]]\nname = \"few: rows\"\ntype = \"span_count\"\nmax_spans = 1\n";
const FEW: &str = "[[assertion]]\nname = \"rows\"\ntype = \"span_count\"\nmin_spans = 1\n";

#[test]
fn several_runs_are_checked_and_the_worst_counts() {
    let dir = Dir::new();
    let first = dir.run();
    let second = dir.join("second.run");
    crate::harness::copy(&first, &second);
    fs::remove_dir_all(second.join("kernels")).ok();
    fs::write(dir.join("few.toml"), FEW).expect("a file");
    fs::write(dir.join("many.toml"), MANY).expect("a file");
    let check = |file: &str, more: &[&str]| {
        let all = ["check", "test.run", "second.run", "--assert", file];
        dir.command(&[&all[..], more].concat())
    };
    check("few.toml", &[]).exits(0).stdout_has("second.run\n");
    check("many.toml", &[]).exits(1);
    let json = check("few.toml", &["--format", "json"]).exits(0).json();
    let runs = json["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[0]["assertions"][0]["status"], "passed");
    let junit = check("few.toml", &["--format", "junit"]).exits(0);
    assert_eq!(junit.stdout.matches("<testsuite name=").count(), 2);
    let wall_ns = runs[0]["wall_ns"].as_i64().expect("a wall time");
    junit.stdout_has(&format!(" time=\"{:.9}\">", wall_ns as f64 / 1e9));
}

#[test]
fn a_project_file_gives_flags_and_assertions() {
    let dir = Dir::new();
    dir.run();
    fs::write(dir.join("rules.txt"), "").expect("a file");
    let project = format!("[check]\nformat = \"json\"\n{FEW}");
    fs::write(dir.join("trueno.toml"), project).expect("a file");
    dir.command(&["check", "test.run"])
        .exits(0)
        .stderr_has("trueno.toml sets --format=json --assert=")
        .stdout_has("\"name\": \"trueno-check\"");
    dir.command(&["check", "test.run", "--format", "text"])
        .exits(0)
        .stdout_has("passed          rows (span_count)");
    dir.command(&["check", "test.run", "--no-project"])
        .exits(2)
        .stderr_has("--assert FILE");
    fs::write(dir.join("trueno.toml"), "[report]\nfail-no = \"high\"\n").expect("a file");
    dir.command(&["report", "test.run"])
        .exits(2)
        .stderr_has("report has no flag --fail-no");
    dir.command(&["info", "test.run"]).exits(0);
}

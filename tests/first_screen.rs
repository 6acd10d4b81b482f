//! First lines of a report of each kind of run, as a terminal of 80 columns shows them.

use std::path::{Path, PathBuf};

use trueno_testing::Made;

use crate::harness::Dir;
use crate::kineto::{self, Work};

/// Lines that fit on a screen without scrolling.
const LINES: usize = 20;

fn screen(dir: &Dir, run: &Path, code: i32) -> String {
    let page = dir.report(run, &[]).exits(code).stdout;
    // The folder of the test has another name each time.
    let page = page.replace(dir.path().to_str().expect("a path in UTF-8"), "DIR");
    let lines = without_commands(&page);
    let lines: Vec<&str> = lines
        .iter()
        .take(LINES)
        .map(|line| line.trim_end())
        .collect();
    lines.join("\n")
}

/// Drops the commands, whose length depends on the path of the test's folder.
fn without_commands(page: &str) -> Vec<String> {
    let mut is_continued = false;
    let mut lines = Vec::new();
    for line in page.lines() {
        let is_part = is_continued;
        let command = line.find("  trueno-analyze ");
        is_continued = (is_part || command.is_some()) && line.ends_with('\\');
        match command {
            _ if is_part => {}
            Some(at) => lines.push(format!("{}  trueno-analyze …", &line[..at])),
            None => lines.push(line.to_owned()),
        }
    }
    lines
}

fn dataset(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../datasets")
        .join(name)
}

fn imported(dir: &Dir, from: &[PathBuf]) -> PathBuf {
    let run = dir.join("imported.run");
    let mut args = vec!["import", "-o", run.to_str().expect("a path in UTF-8")];
    args.extend(
        from.iter()
            .map(|file| file.to_str().expect("a path in UTF-8")),
    );
    dir.command(&args).exits(0);
    run
}

#[test]
fn simd_on_a_cpu() {
    let dir = Dir::new();
    insta::assert_snapshot!(screen(&dir, &dataset("decode/simd.run"), 0));
}

#[test]
fn operators_on_a_cpu() {
    let dir = Dir::new();
    let run = imported(&dir, &[dataset("pytorch/cpu_training.json.gz")]);
    insta::assert_snapshot!(screen(&dir, &run, 0));
}

#[test]
fn inference_on_a_gpu() {
    let dir = Dir::new();
    let trace = kineto::write(dir.path(), Work::Inference, 0, 1);
    let run = imported(&dir, &[trace]);
    let screen = screen(&dir, &run, 0);
    // 1 µs of each 30: the host launches too slowly.
    assert!(screen.contains("bound by launches"), "{screen}");
    insta::assert_snapshot!(screen);
}

#[test]
fn training_on_a_gpu() {
    let dir = Dir::new();
    let trace = kineto::write(dir.path(), Work::Training, 0, 1);
    let run = imported(&dir, &[trace]);
    let screen = screen(&dir, &run, 0);
    // 580 µs of 1,000 compute, 300 communicate with nothing beside them.
    assert!(
        screen.contains("exposed communication 1.20 ms, 30."),
        "{screen}"
    );
    insta::assert_snapshot!(screen);
}

#[test]
fn a_trace_of_another_tool_gets_no_advice_for_our_recorder() {
    for work in [Work::Inference, Work::Training] {
        let dir = Dir::new();
        let trace = kineto::write(dir.path(), work, 0, 1);
        let page = dir.join("it.html");
        let html = page.to_str().expect("a path in UTF-8");
        let json = dir.report(&trace, &["--format", "json", "--html", html]);
        let reports = [
            json.exits(0).stdout,
            std::fs::read_to_string(&page).unwrap(),
        ];
        for report in reports {
            let at = report.find("Recorder::").or(report.find("Builder::"));
            let around = at.map(|at| report[at..].chars().take(100).collect::<String>());
            assert_eq!(around, None);
        }
    }
}

#[test]
fn several_ranks() {
    let dir = Dir::new();
    let traces = [0, 1].map(|rank| kineto::write(dir.path(), Work::Training, rank, 2));
    let run = imported(&dir, &traces);
    let screen = screen(&dir, &run, 0);
    assert!(screen.contains("rank 1 gpu0"), "{screen}");
    insta::assert_snapshot!(screen);
}

#[test]
fn an_empty_run() {
    let dir = Dir::new();
    let run = dir.join("empty.run");
    Made::new(&run).finish(1_000);
    let screen = screen(&dir, &run, 3);
    assert!(screen.contains("no events were recorded"), "{screen}");
    insta::assert_snapshot!(screen);
}

#[test]
fn a_program_that_was_killed() {
    let dir = Dir::new();
    let run = dir.run();
    crate::harness::change_json(&run.join("run.json"), |json| {
        json["state"] = "recording".into();
        json["wall_ns"] = serde_json::Value::Null;
        // No process has this number.
        json["program"]["pid"] = 4_000_000_000_u32.into();
    });
    let screen = screen(&dir, &run, 0);
    assert!(screen.starts_with("INCOMPLETE: "), "{screen}");
    insta::assert_snapshot!(screen);
}

#[test]
fn a_trace_that_was_imported_in_part() {
    let dir = Dir::new();
    let event = |ts: serde_json::Value| serde_json::json!({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": ts, "dur": 8});
    let good = (0..20).map(|at| event((100 + 10 * at).into()));
    let bad = (0..9).map(|_| event("late".into()));
    let events: Vec<_> = good.chain(bad).collect();
    let trace = serde_json::json!({"schemaVersion": 1, "traceEvents": events});
    std::fs::write(dir.join("app.json"), trace.to_string()).expect("a file");
    let screen = screen(&dir, &dir.join("app.json"), 0);
    assert!(screen.starts_with("INCOMPLETE: "), "{screen}");
    insta::assert_snapshot!(screen);
}

//! `import`: another profiler's trace becomes a run like any other.

use std::fs;

use serde_json::json;

use crate::harness::{Dir, ends, heed_interrupts, section, until};

/// A step with an operator that launches one kernel. Times are microseconds.
fn trace() -> serde_json::Value {
    let event = |cat: &str, name: &str, tid: u64, ts: f64, dur: f64, args: serde_json::Value| json!({"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args});
    json!({
        "schemaVersion": 1,
        "displayTimeUnit": "ms",
        "traceEvents": [
            event("user_annotation", "ProfilerStep#4", 1, 100.0, 900.0, json!({})),
            event("cpu_op", "aten::mm", 1, 200.0, 300.5, json!({"External id": 5})),
            event("cuda_runtime", "cudaLaunchKernel", 1, 250.0, 10.0, json!({"correlation": 7})),
            event("kernel", "sgemm<float>", 0, 400.25, 80.125, json!({
                "correlation": 7, "device": 0, "stream": 7,
                "grid": [4, 2, 1], "block": [128, 1, 1], "registers per thread": 32,
            })),
        ],
    })
}

fn imported(dir: &Dir) {
    fs::write(dir.join("trace.json"), trace().to_string()).unwrap();
    dir.command(&["import", "trace.json", "-o", "trace.run"])
        .exits(0)
        .stdout_has("(kineto) converted to the run trace.run");
}

#[test]
fn a_trace_becomes_a_run_that_every_verb_reads() {
    let dir = Dir::new();
    imported(&dir);
    let kernels = dir
        .command(&[
            "query",
            "trace.run",
            "SELECT k.name, k.dur_ns, k.grid_x, k.stream, b.name AS brick FROM kernels k JOIN bricks b ON k.brick = b.id",
            "--format",
            "json",
        ])
        .exits(0)
        .json();
    assert_eq!(
        kernels,
        json!([{"name": "sgemm<float>", "dur_ns": 80_125, "grid_x": 4, "stream": 7, "brick": "aten::mm"}])
    );
    let steps = dir
        .command(&[
            "query",
            "trace.run",
            "SELECT kind, iteration, start_ns, dur_ns FROM bricks WHERE kind = 'iteration'",
            "--format",
            "json",
        ])
        .exits(0)
        .json();
    assert_eq!(
        steps,
        json!([{"kind": "iteration", "iteration": 4, "start_ns": 0, "dur_ns": 900_000}])
    );
    let report = dir
        .report(&dir.join("trace.run"), &["--json", "-"])
        .exits(0)
        .json();
    for plugin in crate::harness::STANDARD.iter() {
        assert_eq!(section(&report, plugin)["status"], "ok", "{plugin}");
    }
    // The trace does not say what its profiler dropped, nor when it ended.
    dir.report(&dir.join("trace.run"), &["--plugin-id", "sanity"])
        .exits(0)
        .stdout_has("drops not known")
        .stdout_has("complete  not known: how many events were dropped is not known")
        .stdout_has("up to the last event");
    let threads = dir
        .command(&[
            "query",
            "trace.run",
            "SELECT DISTINCT dropped FROM threads",
            "--format",
            "json",
        ])
        .exits(0)
        .json();
    assert_eq!(threads, json!([{"dropped": null}]));
}

#[test]
fn the_same_trace_gives_the_same_bytes() {
    let dir = Dir::new();
    imported(&dir);
    let first = fs::read(dir.join("trace.run/kernels/000000.arrow")).unwrap();
    let described = fs::read(dir.join("trace.run/run.json")).unwrap();
    dir.command(&["import", "trace.json", "-o", "trace.run"])
        .exits(2)
        .stderr_has("--overwrite");
    dir.command(&["import", "trace.json", "-o", "trace.run", "--overwrite"])
        .exits(0);
    assert_eq!(
        fs::read(dir.join("trace.run/kernels/000000.arrow")).unwrap(),
        first
    );
    assert_eq!(fs::read(dir.join("trace.run/run.json")).unwrap(), described);
}

#[test]
fn a_folder_that_holds_something_else_is_not_overwritten() {
    let dir = Dir::new();
    imported(&dir);
    fs::create_dir_all(dir.join("program/src")).unwrap();
    fs::write(dir.join("program/run.json"), "{}").unwrap();
    fs::write(dir.join("program/src/main.c"), "int main;").unwrap();
    let refused = |command: &[&str], to: &str, words: &str| {
        let all = [command, &["-o", to, "--overwrite"]].concat();
        dir.command(&all).exits(2).stderr_has(words);
    };
    let import = ["import", "trace.json"];
    let export = ["export", "parquet", "trace.run"];
    for command in [&import[..], &export] {
        refused(command, "program", "whose run.json is that of a run");
    }
    dir.command(&["import", "trace.json", "-o", "other.run"])
        .exits(0);
    fs::write(dir.join("other.run/notes.txt"), "mine").unwrap();
    for command in [&import[..], &export] {
        refused(command, "other.run", "do not belong to a run: notes.txt");
    }
    assert_eq!(dir.read("program/src/main.c"), "int main;");
    assert_eq!(dir.read("other.run/notes.txt"), "mine");
    fs::remove_file(dir.join("other.run/notes.txt")).unwrap();
    dir.command(&[&import[..], &["-o", "other.run", "--overwrite"]].concat())
        .exits(0);
}

#[test]
fn a_run_that_is_being_recorded_or_reached_by_a_link_is_not_overwritten() {
    let dir = Dir::new();
    imported(&dir);
    let import = ["import", "trace.json"];
    let export = ["export", "parquet", "trace.run"];
    let refused = |command: &[&str], to: &str, words: &str| {
        let all = [command, &["-o", to, "--overwrite"]].concat();
        dir.command(&all).exits(2).stderr_has(words);
    };
    let rec = trueno_recorder::Recorder::create(dir.join("live.run")).unwrap();
    drop(rec.brick("kept"));
    for command in [&import[..], &export] {
        refused(command, "live.run", "a run is being recorded there now");
    }
    rec.finish().unwrap();
    dir.command(&["info", "live.run"]).exits(0);

    std::os::unix::fs::symlink("live.run", dir.join("link.run")).unwrap();
    for command in [&import[..], &export] {
        refused(command, "link.run", "link.run: is a link to a run");
    }
    let live = dir.read("live.run/run.json");
    assert!(live.contains("\"finished\""), "{live}");
    // Nothing is left of what was refused.
    let left = fs::read_dir(dir.join("")).unwrap().flatten();
    let hidden: Vec<_> = left
        .map(|entry| entry.file_name())
        .filter(|name| name.to_string_lossy().starts_with('.'))
        .collect();
    assert!(hidden.is_empty(), "{hidden:?}");
}

#[test]
fn what_is_no_trace_or_cut_is_refused_and_leaves_nothing() {
    let dir = Dir::new();
    let whole = trace().to_string();
    fs::write(dir.join("cut.json"), &whole[..whole.len() - 60]).unwrap();
    fs::write(dir.join("text.json"), "not a trace").unwrap();
    fs::write(dir.join("empty.json"), "").unwrap();
    for (file, word) in [
        ("cut.json", "cut.json"),
        ("text.json", "not a known format"),
        ("empty.json", "empty"),
        ("missing.json", "cannot be read"),
    ] {
        dir.command(&["import", file, "-o", "new.run"])
            .exits(2)
            .stderr_has(word);
        assert!(!dir.join("new.run").exists(), "{file}");
    }
    dir.command(&["import", "cut.json", "-o", "new.run", "--partial"])
        .exits(0);
    let rows = dir
        .command(&[
            "query",
            "new.run",
            "SELECT COUNT(*) AS n FROM bricks",
            "--format",
            "json",
        ])
        .exits(0)
        .json();
    assert_eq!(rows, json!([{"n": 2}]), "what stands before the cut");
    let left: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert!(
        !left
            .iter()
            .any(|name| name.to_string_lossy().contains("importing")),
        "{left:?}"
    );
}

/// The file is a pipe that nobody writes to, so the import waits.
#[test]
fn an_interrupted_import_leaves_nothing_behind() {
    use std::os::unix::process::ExitStatusExt;
    let dir = Dir::new();
    let pipe = dir.join("trace.json");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let args = ["import", "trace.json", "--format", "kineto", "-o", "x.run"];
    let mut command = dir.command(&args).command;
    heed_interrupts(&mut command);
    let mut child = command.spawn().unwrap();
    // Opened for both, it does not wait for a child that may be gone.
    let pipe = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(&pipe);
    let mut writer = pipe.unwrap();
    std::io::Write::write_all(&mut writer, b"[{\"ph\":\"X\",").unwrap();
    let entries = || std::fs::read_dir(dir.path()).unwrap().count();
    until("the import has begun to write", || {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        (entries() > 1).then_some(())
    });
    // SAFETY: the process is our child, and not waited for yet.
    assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGINT) }, 0);
    let status = ends(&mut child, "an interrupted import");
    assert_eq!(status.signal(), Some(libc::SIGINT));
    assert_eq!(entries(), 1, "more than the pipe is left");
}

/// A trace with `good` operators, and `bad` ones whose time is not a number.
fn with_times_out_of_range(good: usize, bad: usize) -> String {
    let event = |ts: serde_json::Value| json!({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": ts, "dur": 3});
    let good = (0..good).map(|at| event(json!(100 + 10 * at)));
    let bad = (0..bad).map(|_| event(json!("late")));
    let events: Vec<serde_json::Value> = good.chain(bad).collect();
    json!({"schemaVersion": 1, "traceName": "/tmp/tmp1a2b3c.json", "traceEvents": events})
        .to_string()
}

#[test]
fn what_an_import_left_out_is_in_each_report_of_the_file() {
    let dir = Dir::new();
    fs::write(dir.join("app.json"), with_times_out_of_range(10, 6)).unwrap();
    let warning = "INCOMPLETE: the import of app.json left out 6 records and kept 10 rows: 6 × ts is not a number";
    // The second report takes the run from the cache.
    for _ in 0..2 {
        let done = dir
            .report(&dir.join("app.json"), &["--width", "200"])
            .exits(0);
        assert!(done.stdout.starts_with(warning), "{}", done.stdout);
        let json = dir
            .report(&dir.join("app.json"), &["--json", "-"])
            .exits(0)
            .json();
        assert!(
            json["headline"].as_str().unwrap().starts_with(warning),
            "{}",
            json["headline"]
        );
        let problems = json["problems"].as_array().unwrap();
        let codes: Vec<&str> = problems
            .iter()
            .filter_map(|one| one["code"].as_str())
            .collect();
        assert!(codes.contains(&"import_left_out"), "{codes:?}");
    }
    // So does a run that was imported before.
    dir.command(&["import", "app.json", "-o", "app.run"])
        .exits(0);
    dir.report(&dir.join("app.run"), &["--width", "200"])
        .exits(0)
        .stdout_starts(warning);
    // A few of many are named, and cost no confidence.
    fs::write(dir.join("few.json"), with_times_out_of_range(400, 1)).unwrap();
    let few = dir.report(&dir.join("few.json"), &[]).exits(0).stdout;
    assert!(!few.contains("INCOMPLETE"), "{few}");
    assert!(
        few.contains("the import of few.json left out 1 record"),
        "{few}"
    );
}

#[test]
fn a_file_of_which_nothing_can_be_used_is_not_analysed() {
    let dir = Dir::new();
    fs::write(dir.join("none.json"), with_times_out_of_range(0, 5)).unwrap();
    for _ in 0..2 {
        let done = dir.report(&dir.join("none.json"), &[]).exits(2);
        let said = done.stdout + &done.stderr;
        assert!(said.contains("5 records"), "{said}");
        assert!(said.contains("ts is not a number"), "{said}");
    }
}

#[test]
fn a_trace_is_called_by_the_name_of_its_file() {
    let dir = Dir::new();
    fs::write(dir.join("resnet.json"), with_times_out_of_range(10, 0)).unwrap();
    let file = dir.join("resnet.json");
    for _ in 0..2 {
        let page = dir.report(&file, &[]).exits(0).stdout;
        assert!(page.contains("\nrun       resnet.json ("), "{page}");
        assert!(!page.contains("tmp1a2b3c"), "{page}");
        dir.report(&file, &["--markdown", "-"])
            .exits(0)
            .stdout_starts("## resnet.json\n");
        let json = dir.report(&file, &["--json", "-"]).exits(0).json();
        assert_eq!(json["run"]["title"], "resnet.json");
    }
    dir.report(&file, &["--html", "-"])
        .exits(0)
        .stdout_has("<title>resnet.json");
}

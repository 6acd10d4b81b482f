//! `import`: another profiler's trace becomes a run like any other.

use std::fs;

use serde_json::json;

use crate::harness::{Dir, ends, section, until};

/// A step with an operator that launches one kernel; times in microseconds.
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
        .stdout_has("(kineto) is now the run trace.run");
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
        refused(command, "other.run", "not of a run: notes.txt");
    }
    assert_eq!(dir.read("program/src/main.c"), "int main;");
    assert_eq!(dir.read("other.run/notes.txt"), "mine");
    fs::remove_file(dir.join("other.run/notes.txt")).unwrap();
    dir.command(&[&import[..], &["-o", "other.run", "--overwrite"]].concat())
        .exits(0);
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
        ("text.json", "no format"),
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

/// The file is a pipe, so that the import waits for what never comes.
#[test]
fn an_interrupted_import_leaves_nothing_behind() {
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    let dir = Dir::new();
    let pipe = dir.join("trace.json");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let args = ["import", "trace.json", "--format", "kineto", "-o", "x.run"];
    let mut command = dir.command(&args).command;
    // Who starts the tests in the background may have the signal ignored, which a child inherits.
    let heed = || {
        // SAFETY: `signal` may be called between fork and exec, and the default has no handler.
        unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
        Ok(())
    };
    // SAFETY: the closure does nothing but that call.
    unsafe { command.pre_exec(heed) };
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

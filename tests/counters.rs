//! Counters of Nsight Compute join the kernels of a run.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::Dir;

const HEAD: &str = "==PROF== Connected to process 9\n\"ID\",\"Process ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"Device\",\
\"dram__bytes_read.sum\",\"dram__bytes_write.sum\",\"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum\",\
\"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum\",\"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum\",\"gpu__time_duration.sum\"\n\
\"\",\"\",\"\",\"\",\"\",\"\",\"byte\",\"byte\",\"inst\",\"inst\",\"inst\",\"nsecond\"\n";

/// Two launches of one kernel, a third with another shape, and one of another kernel.
fn run(dir: &Dir) {
    let kernel = |name: &str, ts: f64, correlation: u64, grid: u64| {
        json!({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": 10.0,
        "args": {"correlation": correlation, "device": 0, "stream": 7, "grid": [grid, 1, 1], "block": [128, 1, 1]}})
    };
    let trace = json!({"schemaVersion": 1, "traceEvents": [
        kernel("void lib::gemm<float>(float*)", 10.0, 1, 4),
        kernel("void lib::gemm<float>(float*)", 30.0, 2, 4),
        kernel("void lib::gemm<float>(float*)", 50.0, 3, 8),
        kernel("copy", 70.0, 4, 1),
    ]});
    fs::write(dir.join("trace.json"), trace.to_string()).unwrap();
    dir.command(&["import", "trace.json", "-o", "trace.run"])
        .exits(0);
}

fn profile(dir: &Dir, launches: &[(&str, u64, u64)]) {
    let mut csv = HEAD.to_owned();
    for (id, (name, grid, bytes)) in launches.iter().enumerate() {
        csv.push_str(&format!(
            "\"{id}\",\"9\",\"{name}\",\"(128, 1, 1)\",\"({grid}, 1, 1)\",\"0\",\"{bytes}\",\"{}\",\"1\",\"2\",\"1,000\",\"99,000\"\n",
            2 * bytes
        ));
    }
    fs::write(dir.join("ncu.csv"), csv).unwrap();
}

fn ask(dir: &Dir, run: &str, sql: &str) -> Vec<Value> {
    let rows = dir
        .command(&["query", run, sql, "--format", "json"])
        .exits(0)
        .json();
    rows.as_array().unwrap().clone()
}

fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path)
            } else {
                all.push((path.display().to_string(), fs::read(path).unwrap()))
            }
        }
    }
    all.sort();
    all
}

const WORK: &str = "SELECT k.start_ns AS start_ns, k.dur_ns AS dur_ns, f.value AS flops, b.value AS bytes FROM kernels AS k \
    JOIN counters AS f ON f.span = k.id JOIN counters AS b ON b.span = k.id \
    WHERE f.source = 'ncu' AND f.name = 'flops_f32' AND b.source = 'ncu' AND b.name = 'dram_bytes' ORDER BY start_ns";

#[test]
fn measured_work_meets_its_kernels_in_a_new_run() {
    let dir = Dir::new();
    run(&dir);
    profile(
        &dir,
        &[
            ("gemm", 4, 100),
            ("gemm", 4, 200),
            ("gemm", 16, 1),
            ("gone", 1, 1),
            ("copy", 1, 5),
            ("copy", 1, 5),
        ],
    );
    let before = files(&dir.join("trace.run"));
    let summary = dir
        .command(&[
            "import",
            "ncu.csv",
            "--into",
            "trace.run",
            "-o",
            "counted.run",
            "--json",
        ])
        .exits(0)
        .json();
    assert_eq!(summary["kernels"], 2);
    let unmatched: Vec<(&str, &str)> = summary["unmatched"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (
                one["name"].as_str().unwrap(),
                one["reason"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        unmatched,
        [
            (
                "copy",
                "profile and run have different numbers of them, so they cannot be matched"
            ),
            (
                "gemm",
                "the run has this kernel in other launch shapes only"
            ),
            ("gone", "no kernel of this name is in the run"),
        ]
    );
    assert_eq!(
        ask(&dir, "counted.run", WORK),
        [
            json!({"start_ns": 0, "dur_ns": 10_000, "flops": 2003.0, "bytes": 300.0}),
            json!({"start_ns": 20_000, "dur_ns": 10_000, "flops": 2003.0, "bytes": 600.0}),
        ],
        "and no duration is ncu's"
    );
    // The old run is as it was; the new one is whole, and says what was joined.
    assert!(files(&dir.join("trace.run")) == before);
    let info = dir
        .command(&["info", "counted.run", "--json"])
        .exits(0)
        .json();
    assert_eq!(damage(&info), [""; 0]);
    assert_eq!(info["joined"][0]["tool"], "ncu");
    assert_eq!(info["joined"][0]["matched"], json!({"kernels": 2}));
    dir.command(&["info", "counted.run"])
        .exits(0)
        .stdout_has("ncu.csv");
    let verified = "SELECT COUNT(*) AS n FROM segments WHERE verified = FALSE";
    assert_eq!(ask(&dir, "counted.run", verified), [json!({"n": 0})]);
    dir.report(&dir.join("counted.run"), &[]).exits(0);
}

#[test]
fn counters_join_those_that_are_there() {
    let dir = Dir::new();
    run(&dir);
    profile(&dir, &[("gemm", 8, 7)]);
    dir.command(&["import", "ncu.csv", "--into", "trace.run", "-o", "one.run"])
        .exits(0)
        .stdout_has("and counters of ncu.csv for 1 of its kernels");
    profile(&dir, &[("copy", 1, 9)]);
    dir.command(&["import", "ncu.csv", "--into", "one.run", "-o", "two.run"])
        .exits(0);
    // Removing the first takes nothing from the second.
    fs::remove_dir_all(dir.join("one.run")).unwrap();
    let bytes = "SELECT value FROM counters WHERE name = 'dram_bytes' ORDER BY value";
    assert_eq!(
        ask(&dir, "two.run", bytes),
        [json!({"value": 21.0}), json!({"value": 27.0})]
    );
    let info = dir.command(&["info", "two.run", "--json"]).exits(0).json();
    assert_eq!(info["joined"].as_array().unwrap().len(), 2);
    assert_eq!(damage(&info), [""; 0]);
}

/// Problems of a run, without those of its import.
fn damage(info: &Value) -> Vec<&str> {
    let problems = info["problems"].as_array().unwrap().iter();
    let own = problems.filter(|problem| problem["code"] != "import");
    own.filter_map(|problem| problem["text"].as_str()).collect()
}

#[test]
fn what_cannot_be_joined_makes_no_run() {
    let dir = Dir::new();
    run(&dir);
    profile(&dir, &[("gone", 4, 100)]);
    dir.command(&["import", "ncu.csv", "--into", "trace.run", "-o", "new.run"])
        .exits(3)
        .stdout_has("not joined")
        .stderr_has("no run was made");
    let into = |file: &str, run: &str, more: &[&str], word: &str| {
        let args = [&["import", file, "--into", run, "-o", "new.run"], more].concat();
        dir.command(&args).exits(2).stderr_has(word);
        assert!(!dir.join("new.run").exists());
    };
    into("ncu.csv", "missing.run", &[], "no such run");
    into("missing.csv", "trace.run", &[], "cannot be read");
    into("trace.json", "trace.run", &[], "Kernel Name");
    into(
        "ncu.csv",
        "trace.run",
        &["--format", "kineto"],
        "Nsight Compute",
    );
    into(
        "ncu.csv",
        "trace.run",
        &["--process", "7"],
        "found those of 9",
    );
    into("ncu.csv", "trace.run", &["--ranks", "1"], "--ranks");
    dir.command(&["import", "ncu.csv", "-o", "new.run"])
        .exits(2)
        .stderr_has("--into RUN");
    dir.command(&[
        "import",
        "ncu.csv",
        "--into",
        "trace.run",
        "-o",
        "./trace.run",
        "--overwrite",
    ])
    .exits(2)
    .stderr_has("choose another path");
    assert!(dir.join("trace.run/kernels").is_dir());
    fs::write(dir.join("trace.run/run.json"), "{").unwrap();
    into(
        "ncu.csv",
        "trace.run",
        &[],
        "run.json is missing or damaged",
    );
    let left: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

//! Several traces where one run is asked for: a folder of ranks, several files, standard input. They become a job, or one
//! run if one process wrote them, and a line says which rank is which.

use std::fs;
use std::fs::File;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::harness::{Dir, Done, copy};

/// A trace with one operator and one kernel of this name and process. It begins at `ts` microseconds.
fn trace(kernel: &str, pid: u32, ts: f64, more: Value) -> String {
    let event = |cat: &str, name: &str, ts: f64, dur: f64, args: Value| json!({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": 1, "ts": ts, "dur": dur, "args": args});
    let mut trace = json!({
        "schemaVersion": 1,
        "traceEvents": [
            event("cpu_op", "aten::mm", ts, 300.5, json!({"External id": 5})),
            event("cuda_runtime", "cudaLaunchKernel", ts + 50.0, 10.0, json!({"correlation": 7, "External id": 5})),
            event("kernel", kernel, ts + 200.0, 80.125, json!({"correlation": 7, "device": 0, "stream": 7})),
        ],
    });
    for (key, value) in more.as_object().unwrap() {
        trace[key] = value.clone();
    }
    trace.to_string()
}

fn put(dir: &Dir, path: &str, text: &str) {
    let path = dir.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    if path.extension().is_some_and(|ending| ending == "gz") {
        let mut to = GzEncoder::new(File::create(path).unwrap(), Compression::fast());
        to.write_all(text.as_bytes()).unwrap();
        to.finish().unwrap();
    } else {
        fs::write(path, text).unwrap();
    }
}

fn ranks(dir: &Dir, path: &str) -> (Value, String) {
    let sql = "SELECT rank, name FROM kernels ORDER BY rank, name";
    let done = dir
        .command(&["query", path, sql, "--format", "json"])
        .exits(0);
    (done.json(), done.stderr)
}

fn expected(rows: &[(u32, &str)]) -> Value {
    let rows = rows
        .iter()
        .map(|(rank, name)| json!({"rank": rank, "name": name}));
    rows.collect()
}

fn stated(rank: u32, size: u32) -> Value {
    json!({"distributedInfo": {"rank": rank, "world_size": size, "backend": "nccl"}})
}

#[test]
fn a_folder_of_ranks_is_a_job_and_what_is_no_trace_is_named() {
    let dir = Dir::new();
    // Times and process numbers alike, as of containers; the ranks are not in the order of the names.
    put(
        &dir,
        "logs/a/worker1.pt.trace.json.gz",
        &trace("one", 50, 10.0, json!({})),
    );
    put(
        &dir,
        "logs/b/worker0.pt.trace.json",
        &trace("zero", 50, 10.0, json!({})),
    );
    put(&dir, "logs/README.md", "about these traces");
    put(&dir, "logs/config.json", "{\"layers\": 12}");
    put(&dir, "logs/.hidden.json", "{\"traceEvents\": []}");
    let rows = expected(&[(0, "zero"), (1, "one")]);
    let (found, said) = ranks(&dir, "logs");
    assert_eq!(found, rows);
    for words in [
        "logs: 2 traces are a job of 2 ranks, numbered by file names",
        "0 = worker0.pt.trace.json, 1 = worker1.pt.trace.json.gz",
        "skipped 2 files that are not traces of this kind: README.md, config.json",
    ] {
        assert!(said.contains(words), "{words}\n{said}");
    }
    let (found, said) = ranks(&dir, "logs");
    assert_eq!(found, rows);
    let words = "logs: a job of 2 ranks (0 = worker0.pt.trace.json, 1 = worker1.pt.trace.json.gz), taken from ";
    assert!(said.contains(words), "{said}");
    let report = dir.report(Path::new("logs"), &["--json", "-"]).exits(0);
    let ranks = report.json()["run"]["ranks"].as_array().map(Vec::len);
    assert_eq!(ranks, Some(2));
    // A file that is new is a rank more.
    put(
        &dir,
        "logs/worker2.json",
        &trace("two", 50, 10.0, json!({})),
    );
    let (found, _) = self::ranks(&dir, "logs");
    assert_eq!(found, expected(&[(0, "zero"), (1, "one"), (2, "two")]));
}

#[test]
fn ranks_are_as_stated_or_by_names_or_in_order() {
    let dir = Dir::new();
    put(
        &dir,
        "said/rank0.json",
        &trace("one", 1, 10.0, stated(1, 2)),
    );
    put(
        &dir,
        "said/rank1.json",
        &trace("zero", 1, 10.0, stated(0, 2)),
    );
    let (found, said) = ranks(&dir, "said");
    assert_eq!(found, expected(&[(0, "zero"), (1, "one")]));
    assert!(said.contains("numbered as the traces state"), "{said}");
    // Names of TensorBoard: host and process.
    put(
        &dir,
        "tb/node_41.17.pt.trace.json.gz",
        &trace("first", 41, 10.0, json!({})),
    );
    put(
        &dir,
        "tb/node_42.17.pt.trace.json.gz",
        &trace("second", 42, 10.0, json!({})),
    );
    let (found, said) = ranks(&dir, "tb");
    assert_eq!(found, expected(&[(0, "first"), (1, "second")]));
    assert!(
        said.contains("numbered in the order of file names"),
        "{said}"
    );
    put(
        &dir,
        "nested/rank_1/trace.json",
        &trace("one", 1, 10.0, json!({})),
    );
    put(
        &dir,
        "nested/rank_0/trace.json",
        &trace("zero", 1, 10.0, json!({})),
    );
    let (found, _) = ranks(&dir, "nested");
    assert_eq!(found, expected(&[(0, "zero"), (1, "one")]));
    // One trace in a folder is a run.
    put(&dir, "one/rank3.json", &trace("alone", 1, 10.0, json!({})));
    let sql = "SELECT name FROM kernels";
    let done = dir
        .command(&["query", "one", sql, "--format", "json"])
        .exits(0);
    assert_eq!(done.json(), json!([{"name": "alone"}]));
}

#[test]
fn several_files_are_a_job_or_the_run_of_one_process() {
    let dir = Dir::new();
    put(&dir, "a.json", &trace("first", 50, 10.0, json!({})));
    put(&dir, "b.json", &trace("second", 50, 5000.0, json!({})));
    put(&dir, "c.json", &trace("third", 60, 5000.0, json!({})));
    let report = |files: &[&str]| -> Done {
        let args = [
            &["report"],
            files,
            &["--json", "-", "--plugin-id", "sanity"],
        ]
        .concat();
        dir.command_with_plugins(&args).exits(0)
    };
    let one = report(&["b.json", "a.json"]);
    assert!(
        one.stderr.contains("2 traces are of one process"),
        "{}",
        one.stderr
    );
    assert_eq!(
        one.json()["run"]["ranks"]
            .as_array()
            .map(Vec::len)
            .unwrap_or(0),
        0
    );
    // From the first start to the last end: the ids of both files stay apart.
    assert_eq!(one.json()["run"]["wall_ns"], json!(5_290_500));
    let job = report(&["a.json", "c.json"]);
    assert!(job.stderr.contains("a job of 2 ranks"), "{}", job.stderr);
    assert_eq!(job.json()["run"]["ranks"].as_array().map(Vec::len), Some(2));
    let run = dir.run();
    let refused = dir.report(&run, &["a.json"]).exits(2);
    refused.stderr_has("is a run").stderr_has("compare");
    // Links of both files, each to its own call.
    put(&dir, "steps/a.json", &trace("first", 50, 10.0, json!({})));
    put(
        &dir,
        "steps/b.json",
        &trace("second", 50, 5000.0, json!({})),
    );
    let sql = "SELECT k.name, b.start_ns FROM kernels k JOIN bricks b ON k.brick = b.id ORDER BY k.start_ns";
    let done = dir
        .command(&["query", "steps", sql, "--format", "json"])
        .exits(0);
    let rows = json!([{"name": "first", "start_ns": 0}, {"name": "second", "start_ns": 4_990_000}]);
    assert_eq!(done.json(), rows);
    // Two ranks at once cannot be one process.
    put(&dir, "twice/rank0_a.json", &trace("a", 50, 10.0, json!({})));
    put(&dir, "twice/rank0_b.json", &trace("b", 50, 20.0, json!({})));
    let refused = dir.command(&["info", "twice"]).exits(2);
    refused
        .stderr_has("would both be rank 0")
        .stderr_has("--ranks");
}

#[test]
fn a_file_that_is_cut_costs_its_rank() {
    let dir = Dir::new();
    put(&dir, "logs/rank0.json", &trace("zero", 1, 10.0, json!({})));
    let whole = trace("one", 1, 10.0, json!({}));
    put(&dir, "logs/rank1.json", &whole[..whole.len() - 70]);
    put(
        &dir,
        "logs/rank2.json.gz",
        &trace("two", 1, 10.0, json!({})),
    );
    let packed = fs::read(dir.join("logs/rank2.json.gz")).unwrap();
    fs::write(dir.join("logs/rank2.json.gz"), &packed[..packed.len() - 20]).unwrap();
    let (found, said) = ranks(&dir, "logs");
    assert_eq!(found, expected(&[(0, "zero")]));
    for words in [
        "logs/rank1.json",
        "logs/rank2.json.gz",
        "its rank is missing",
        "which may be truncated",
    ] {
        assert!(said.contains(words), "{words}\n{said}");
    }
    // Also from the cache.
    let (found, said) = ranks(&dir, "logs");
    assert_eq!(found, expected(&[(0, "zero")]));
    assert!(said.contains("taken from "), "{said}");
    dir.command(&["info", "logs"])
        .exits(0)
        .stdout_has("ranks 1, 2 of the run are missing");
}

#[test]
fn a_folder_without_traces_says_what_it_holds() {
    let dir = Dir::new();
    put(&dir, "docs/notes.txt", "dear diary");
    let refused = dir.report(Path::new("docs"), &[]).exits(2);
    refused
        .stderr_has("docs: not a run directory")
        .stderr_has("trueno-analyze import")
        .stderr_has("found one file that is not a trace");
    fs::write(dir.join("docs/all.zip"), "PK\x03\x04 and so on").unwrap();
    let refused = dir.report(Path::new("docs"), &[]).exits(2);
    refused.stderr_has("`unzip all.zip -d FOLDER`");
    fs::create_dir(dir.join("empty")).unwrap();
    let refused = dir.report(Path::new("empty"), &[]).exits(2);
    refused.stderr_has("found no files");
    copy(&dir.run(), &dir.join("runs/a.run"));
    let refused = dir.report(Path::new("runs"), &[]).exits(2);
    refused
        .stderr_has("a folder of 1 runs")
        .stderr_has("runs/a.run");
}

#[test]
fn import_takes_a_folder_as_report_does() {
    let dir = Dir::new();
    put(&dir, "logs/rank0.json", &trace("zero", 1, 10.0, json!({})));
    put(&dir, "logs/rank1.json", &trace("one", 1, 10.0, json!({})));
    put(&dir, "logs/notes.txt", "dear diary");
    dir.command(&["import", "logs", "-o", "job.run"])
        .exits(0)
        .stderr_has("a job of 2 ranks, numbered by file names")
        .stderr_has("skipped 1 file that is not a trace of this kind: notes.txt")
        .stdout_has("job.run holds these 2 ranks");
    assert_eq!(
        ranks(&dir, "job.run").0,
        expected(&[(0, "zero"), (1, "one")])
    );
    put(&dir, "steps/a.json", &trace("first", 50, 10.0, json!({})));
    put(
        &dir,
        "steps/b.json",
        &trace("second", 50, 5000.0, json!({})),
    );
    dir.command(&["import", "steps/a.json", "steps/b.json", "-o", "one.run"])
        .exits(0)
        .stderr_has("of one process")
        .stdout_has("converted to the run one.run");
    let left: Vec<_> = fs::read_dir(dir.join("one.run")).unwrap().collect();
    assert!(left.iter().all(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        !name.to_string_lossy().starts_with("file=")
    }));
    dir.command(&["info", "one.run"]).exits(0);
}

#[test]
fn standard_input_is_a_trace() {
    let dir = Dir::new();
    put(&dir, "t.json.gz", &trace("piped", 1, 10.0, json!({})));
    put(&dir, "cut.json", "{\"traceEvents\": [{\"ph\": \"X\",");
    let piped = |file: &str, args: &[&str]| {
        let mut command = dir.command(args).command;
        let output = command.stdin(File::open(dir.join(file)).unwrap()).output();
        let output = output.unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (
            output.status.code(),
            text(&output.stdout),
            text(&output.stderr),
        )
    };
    let sql = "SELECT name FROM kernels";
    for words in [
        "standard input: imported into ",
        "standard input: taken from ",
    ] {
        let (code, out, err) = piped("t.json.gz", &["query", "-", sql, "--format", "csv"]);
        assert_eq!(
            (code, out.as_str()),
            (Some(0), "name\r\npiped\r\n"),
            "{err}"
        );
        assert!(err.contains(words), "{err}");
    }
    let (code, out, err) = piped("t.json.gz", &["import", "-", "-o", "kept.run"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(
        out.contains("standard input (kineto) converted to the run kept.run"),
        "{out}"
    );
    assert!(!out.contains("/input-"), "{out}");
    for args in [&["info", "-"][..], &["import", "-", "-o", "cut.run"]] {
        let (code, _, err) = piped("cut.json", args);
        assert_eq!(code, Some(2));
        assert!(err.contains("standard input: "), "{err}");
        assert!(!err.contains("/input-"), "{err}");
    }
}

//! Files of other tools, changed by seeds: each becomes a run with a page, or is refused in words.
//!
//! A page must not take longer than a case may. Cases are small, so what takes that long hangs.

use std::fs;
use std::path::Path;
use std::time::Duration;

use trueno_testing::damage::{Seeded, change_bytes, change_text};

use crate::harness::{Dir, PATIENCE};

const KINETO: &str = r#"{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "gpu"}], "traceEvents": [
{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 1, "tid": 1, "ts": 10, "dur": 90},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10.5, "dur": 20, "args": {"Input Dims": [[8, 16], [16, 8]], "Input type": ["float", "float"], "External id": 4}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 12, "dur": 3, "args": {"correlation": 5}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 30, "dur": 4, "args": {"device": 0, "stream": 7, "correlation": 5, "External id": 4, "grid": [1, 2, 3], "block": [32, 1, 1]}},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 7, "ts": 36, "dur": 4, "args": {"device": 0, "stream": 7, "correlation": 6, "bytes": 64}},
{"ph": "X", "cat": "cuda_sync", "name": "Event Sync", "pid": 0, "tid": 1, "ts": 40, "dur": 4, "args": {"device": 0, "stream": -1, "correlation": 7, "wait_on_stream": 7, "wait_on_cuda_event_id": 2, "wait_on_cuda_event_record_corr_id": 8}},
{"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": 13, "args": {"Bytes": -64, "Addr": 77, "Device Id": 0, "Device Type": 1}}]}
"#;

const CHROME: &str = r#"[{"ph": "B", "name": "outer", "pid": "a", "tid": "b", "ts": 1},
{"ph": "B", "name": "inner\n", "pid": "a", "tid": "b", "ts": 2},
{"ph": "E", "pid": "a", "tid": "b", "ts": 5}, {"ph": "E", "pid": "a", "tid": "b", "ts": 9},
{"ph": "b", "cat": "net", "id": 1, "name": "get", "ts": 2}, {"ph": "e", "cat": "net", "id": 1, "name": "get", "ts": 6},
{"ph": "s", "id": 1, "pid": "a", "tid": "b", "ts": 3}, {"ph": "f", "id": 1, "pid": "a", "tid": "b", "ts": 7, "bp": "e"},
{"ph": "C", "name": "c", "pid": "a", "ts": 3, "args": {"v": 1e3}}]
"#;

const NCU: &str = "==PROF== Connected to process 9\n\"ID\",\"Process ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"Device\",\
\"dram__bytes_read.sum\",\"gpu__time_duration.sum\"\n\"\",\"\",\"\",\"\",\"\",\"\",\"byte\",\"nsecond\"\n\
\"0\",\"9\",\"gemm\",\"(128, 1, 1)\",\"(4, 1, 1)\",\"0\",\"64,000\",\"99,000\"\n\
\"1\",\"9\",\"copy\",\"(128, 1, 1)\",\"(8, 1, 1)\",\"0\",\"32\",\"1,000\"\n";

const STRACE: &str = "[pid 7] 12:01:02.000001 openat(AT_FDCWD, \"a\", O_RDONLY) = 3 <0.000021>\n\
[pid 7] 12:01:02.000100 read(3, \"\\1\\2\", 4096) = 2 <0.000009>\n\
[pid 8] 12:01:02.000150 futex(0x7f00, FUTEX_WAIT, 2, NULL <unfinished ...>\n\
[pid 7] 12:01:02.000200 write(1, \"x\", 1) = -1 EPIPE (Broken pipe) <0.000003>\n\
[pid 8] 12:01:02.000900 <... futex resumed>) = 0 <0.000750>\n";

const RENACER: &str = r#"{"version": "0.6.2", "format": "renacer-json-v1", "syscalls": [
{"name": "openat", "args": ["AT_FDCWD", "\"a\"", "0x0"], "result": 3, "duration_us": 21},
{"name": "read", "args": ["3", "0x7f", "4096"], "result": 2, "duration_us": 9,
 "source": {"file": "src/main.rs", "line": 9, "function": "main"}}],
"summary": {"total_syscalls": 2, "total_time_us": 30, "exit_code": 0}}
"#;

const AXONML: &str = r#"[
{"name": "step", "event_type": "Start", "timestamp_ns": 1000, "thread_id": 7, "metadata": "batch 32"},
{"name": "Softmax", "event_type": "Start", "timestamp_ns": 1200, "thread_id": 7, "metadata": null},
{"name": "flushed", "event_type": "Instant", "timestamp_ns": 1300, "thread_id": 8, "metadata": null},
{"name": "Softmax", "event_type": "End", "timestamp_ns": 1500, "thread_id": 7, "metadata": null},
{"name": "step", "event_type": "End", "timestamp_ns": 1900, "thread_id": 7, "metadata": null}]
"#;

const OTLP: &str = r#"{"resourceSpans": [{"resource": {"attributes": [
{"key": "service.name", "value": {"stringValue": "shop"}}]}, "scopeSpans": [{"spans": [
{"traceId": "0af7651916cd43dd8448eb211c80319c", "spanId": "0000000000000002", "parentSpanId": "0000000000000001",
"name": "query", "startTimeUnixNano": "1700000000000000120", "endTimeUnixNano": "1700000000000000150",
"events": [{"timeUnixNano": "1700000000000000130", "name": "retry"}]},
{"traceId": "0af7651916cd43dd8448eb211c80319c", "spanId": "0000000000000001", "name": "request",
"startTimeUnixNano": "1700000000000000100", "endTimeUnixNano": "1700000000000000200",
"attributes": [{"key": "count", "value": {"intValue": "7"}}],
"links": [{"traceId": "0af7651916cd43dd8448eb211c80319c", "spanId": "0000000000000002"}]}]}]}]}
"#;

const BRICKS: &str =
    include_str!("../analyzer/import/src/brick_profiler/samples/original_bricks.json");
const CGP: &str = include_str!("../analyzer/import/src/cgp/samples/kernel.json");

const NSYS: &str = "PRAGMA page_size = 1024;
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (5, 'saxpy'), (8, 'layer');
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.13.2');
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER, globalTid INTEGER);
INSERT INTO NVTX_EVENTS VALUES (110, 600, 59, NULL, 8, 83886085), (100, 1000, 60, 'step', NULL, 83886085);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (110, 115, 83886085, 1, 1, 0), (130, 135, 83886085, 2, 1, 0);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, shortName INTEGER, gridX INTEGER, graphNodeId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (120, 126, 0, 1, 13, 1, 83886080, 5, 1, 0), (140, 140, 0, 1, 13, 2, 83886080, 5, 2, 0);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, bytes INTEGER, copyKind INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (400, 500, 0, 13, 8, 4096, 1);";

/// One file of each format, with its name.
fn originals() -> Vec<(&'static str, Vec<u8>)> {
    let dir = Dir::new();
    let database = dir.join("a.sqlite");
    let connection = rusqlite::Connection::open(&database).expect("a database");
    connection.execute_batch(NSYS).expect("its tables");
    drop(connection);
    let run = dir.run();
    let exported = dir.join("own.json");
    let paths = [&run, &exported].map(|path| path.to_str().expect("a path in UTF-8"));
    dir.command(&["export", "chrome", paths[0], "-o", paths[1]])
        .exits(0);
    vec![
        ("kineto.json", KINETO.into()),
        ("chrome.json", CHROME.into()),
        ("ncu.csv", NCU.into()),
        ("strace.txt", STRACE.into()),
        ("renacer.json", RENACER.into()),
        ("axonml.json", AXONML.into()),
        ("bricks.json", BRICKS.into()),
        ("cgp.json", CGP.into()),
        ("otlp.json", OTLP.into()),
        ("nsys.sqlite", fs::read(database).expect("a file")),
        ("own.json", fs::read(exported).expect("a file")),
    ]
}

/// A case of the long test that takes longer hangs: the files are small.
const LONG_PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, Default)]
struct Counts {
    cases: u64,
    imported: u64,
    refused: u64,
}

/// Imports the file and makes a report page. The error describes what went wrong.
fn import_and_report(
    dir: &Dir,
    file: &str,
    patience: Duration,
    counts: &mut Counts,
) -> Result<(), String> {
    let ends = |arguments: &[&str]| {
        let done = dir.command_with_plugins(arguments).ends_within(patience);
        let done = done.map_err(|error| format!("{}: {error}", arguments[0]))?;
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        match done.status.code() {
            Some(0..=3) if !said.contains("panicked") => Ok((done.status.code(), said)),
            _ => Err(format!("{}: {}: {said}", arguments[0], done.status)),
        }
    };
    let (code, said) = ends(&["import", file, "--partial", "--overwrite", "-o", "a.run"])?;
    counts.cases += 1;
    if code != Some(0) {
        counts.refused += 1;
        return if said.is_empty() {
            Err("refused without a word".to_owned())
        } else {
            Ok(())
        };
    }
    counts.imported += 1;
    ends(&["report", "a.run", "-q", "--html", "a.html"])?;
    let page = fs::read_to_string(dir.join("a.html")).unwrap_or_default();
    if page.contains("panicked") {
        Err("the page tells of a panic".to_owned())
    } else {
        Ok(())
    }
}

/// Tries each file with a mutation for each seed.
fn all_kinds(seeds: std::ops::Range<u64>, patience: Duration) {
    let mut faults = Vec::new();
    let mut all = Counts::default();
    for (file, original) in originals() {
        let dir = Dir::new();
        let mut counts = Counts::default();
        for seed in seeds.clone() {
            let mut numbers = Seeded::new(seed);
            let mut bytes = original.clone();
            let what = if file.ends_with(".sqlite") {
                change_bytes(&mut numbers, &mut bytes)
            } else {
                change_text(&mut numbers, &mut bytes)
            };
            fs::write(dir.join(file), &bytes).expect("a file of the test");
            if let Err(fault) = import_and_report(&dir, file, patience, &mut counts) {
                faults.push(format!("{file}: seed {seed}: {what}: {fault}"));
            }
        }
        println!("{file}: {counts:?}");
        all.cases += counts.cases;
        all.imported += counts.imported;
    }
    println!("{all:?}, {} faults", faults.len());
    assert!(
        all.imported > all.cases / 8,
        "too few are imported: {all:?}"
    );
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn mutated_files_become_pages_or_are_refused() {
    all_kinds(0..2, PATIENCE);
}

/// `cargo test -p trueno-analyze --test e2e -- --ignored --nocapture many_mutated_files`
#[test]
#[ignore = "minutes: many seeds of each kind of file, each with a page"]
fn many_mutated_files_become_pages_or_are_refused() {
    let cases = std::env::var("TRUENO_TEST_MUTATIONS").ok();
    let cases = cases.and_then(|cases| cases.parse().ok());
    all_kinds(2..cases.unwrap_or(150), LONG_PATIENCE);
}

fn nested(path: &Path, depth: usize) {
    let event = |phase: &str, at: usize| {
        // Microseconds since the epoch: without, OTLP has no times.
        let ts = 1_700_000_000_000_000 + at;
        format!(
            r#"{{"ph":"{phase}","name":"f{}","pid":1,"tid":1,"ts":{ts}}}"#,
            at % 7
        )
    };
    let begins = (0..depth).map(|at| event("B", at));
    let ends = (0..depth).map(|at| event("E", depth + at));
    let events: Vec<String> = begins.chain(ends).collect();
    fs::write(path, format!("[{}]", events.join(",\n"))).expect("a file of the test");
}

fn deep(depth: usize) {
    let dir = Dir::new();
    nested(&dir.join("deep.json"), depth);
    let mut counts = Counts::default();
    import_and_report(&dir, "deep.json", PATIENCE, &mut counts).expect("a page");
    assert_eq!(counts.imported, 1);
    dir.command(&["export", "chrome", "a.run", "-o", "again.json"])
        .exits(0);
    import_and_report(&dir, "again.json", PATIENCE, &mut counts).expect("a page of the export");
    assert_eq!(counts.imported, 2);
    for (format, file) in [
        ("perfetto", "a.perfetto"),
        ("otlp", "a.otlp"),
        ("folded", "a.folded"),
    ] {
        dir.command(&["export", format, "a.run", "-o", file])
            .exits(0);
    }
}

#[test]
fn deep_nesting_becomes_a_page() {
    deep(3_000);
}

/// `cargo test -p trueno-analyze --test e2e -- --ignored deepest_nesting`
#[test]
#[ignore = "minutes: spans nested 100,000 deep, exported and imported again"]
fn deepest_nesting_becomes_a_page() {
    deep(100_000);
}

//! Files to begin with.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

pub struct Trace {
    pub head: Vec<u8>,
    pub events: Vec<Vec<u8>>,
    pub tail: Vec<u8>,
}

const SMALL: &str = r#"{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "gpu"}], "traceEvents": [
{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 1, "tid": 1, "ts": 10, "dur": 90},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10.5, "dur": 20, "args": {"flops": 8, "External id": 4}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 12, "dur": 3, "args": {"correlation": 5}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 30, "dur": 4, "args": {"device": 0, "stream": 7, "correlation": 5, "External id": 4, "grid": [1, 2, 3], "block": [32, 1, 1], "registers per thread": 32, "graph node id": 9}},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 7, "ts": 36, "dur": 4, "args": {"device": 0, "stream": 7, "correlation": 6, "External id": 4, "bytes": 64}},
{"ph": "X", "cat": "cuda_sync", "name": "Event Sync", "pid": 0, "tid": 1, "ts": 40, "dur": 4, "args": {"device": 0, "stream": -1, "correlation": 7, "wait_on_stream": 7, "wait_on_cuda_event_id": 2, "wait_on_cuda_event_record_corr_id": 8}},
{"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": 13, "args": {"Bytes": -64, "Addr": 77, "Device Id": 0, "Device Type": 1}},
{"ph": "B", "name": "é\n", "pid": "a", "tid": "b", "ts": 1}, {"ph": "E", "pid": "a", "tid": "b", "ts": 2},
{"ph": "b", "cat": "net", "id": 1, "name": "get", "ts": 2}, {"ph": "e", "cat": "net", "id": 1, "name": "get", "ts": 6},
{"ph": "s", "id": 1, "pid": 1, "tid": 1, "ts": 11}, {"ph": "f", "id": 1, "pid": 1, "tid": 1, "ts": 13, "bp": "e"},
{"ph": "C", "name": "c", "pid": 1, "ts": 3, "args": {"v": 1e3}}], "traceName": "t"}"#;

const OWN: &str = r#"{"otherData": {"trueno": {"format": 1, "run": {"run_id": "00c0ffee", "wall_ns": 9000, "wall_source": "recorded"}}}, "traceEvents": [
{"ph":"X","cat":"bricks","name":"norm","pid":1,"tid":1,"ts":-0.001,"dur":2.345,"args":{"id":"18446744073709551615","kind":"brick","thread":0,"timing":"host"}},
{"ph":"b","cat":"syncs","name":"stream","pid":1,"tid":1,"ts":3.000,"id":"0x2","trueno":{"untimed":"impossible"},"args":{"id":2,"kind":"stream","start_ns":3000,"dur_ns":-1}},
{"ph":"C","cat":"counters","name":"load","pid":1,"ts":3.5,"args":{"value":2},"trueno":{"value":2.5,"source":"declared"}},
{"ph":"M","cat":"ptx","name":"trueno_row","pid":1,"args":{"hash":"0123456789abcdef","source_bytes":2},"trueno":{"ptx_source":"//"}},
{"ph":"M","cat":"edges","name":"trueno_row","pid":1,"args":{"from":1,"to":2,"kind":"joins"}}]}"#;

const EXPORT: &str = "
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (4, 'cudaEventSynchronize'), (5, 'saxpy'), (8, 'layer'), (9, '[Max depth]');
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.13.2');
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER, globalTid INTEGER);
INSERT INTO NVTX_EVENTS VALUES (110, 600, 59, NULL, 8, 83886085), (100, 1000, 60, 'step', NULL, 83886085);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT 100 + 10 * i, 105 + 10 * i, 83886085, i, 1 + 3 * (i % 2), 0 FROM n;
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, shortName INTEGER, gridX INTEGER, graphNodeId INTEGER);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 120 + 10 * i, 126 + 10 * i, 0, 1, 13, i, 83886080, 5, i, 0 FROM n;
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, bytes INTEGER, copyKind INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (400, 500, 0, 13, 8, 4096, 1);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER, eventId INTEGER, eventSyncId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (205, 505, 0, 13, 9, 83886080, 1, 3, 4), (206, 505, 0, 13, 10, 83886080, 3, -1, NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (timestamp INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, eventId INTEGER, eventSyncId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (510, 0, 13, 7, 83886080, 3, 4);
CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, globalPid INTEGER, deviceId INTEGER, bytes INTEGER, memKind INTEGER, memoryOperationType INTEGER, address INTEGER);
INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (110, 83886080, 0, 512, 2, 0, 4096);
CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INTEGER, metricId INTEGER, metricName TEXT);
INSERT INTO TARGET_INFO_GPU_METRICS VALUES (1, 1, 'SMs Active [Throughput %]');
CREATE TABLE GPU_METRICS (timestamp INTEGER, typeId INTEGER, metricId INTEGER, value INTEGER);
INSERT INTO GPU_METRICS VALUES (900, 1, 1, 70);
CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);
INSERT INTO META_DATA_CAPTURE VALUES ('LINUX_PERF_OPTIONS:SAMPLING_PERIOD', '2000000');
CREATE TABLE COMPOSITE_EVENTS (id INTEGER PRIMARY KEY, start INTEGER, cpu INTEGER, threadState INTEGER, globalTid INTEGER, cpuCycles INTEGER);
INSERT INTO COMPOSITE_EVENTS VALUES (1, 130, 0, 1, 83886085, 1), (2, 140, 0, 2, 83886085, 1);
CREATE TABLE SAMPLING_CALLCHAINS (id INTEGER, symbol INTEGER, module INTEGER, kernelMode INTEGER, unresolved INTEGER, specialEntry INTEGER, originalIP INTEGER, stackDepth INTEGER);
INSERT INTO SAMPLING_CALLCHAINS VALUES (1, 5, 8, 0, 0, NULL, 4096, 0), (1, 8, 8, 1, 1, NULL, -4096, 1), (1, 9, 9, 0, 0, NULL, NULL, 2), (2, 5, 8, 0, 0, 0, 4096, 0);
CREATE TABLE SCHED_EVENTS (start INTEGER, cpu INTEGER, isSchedIn INTEGER, globalTid INTEGER);
INSERT INTO SCHED_EVENTS VALUES (50, 0, 1, 83886085), (150, 0, 0, 83886085), (400, 1, 1, 83886085), (500, 1, 0, 83886086);
CREATE TABLE TARGET_INFO_CUDA_CONTEXT_INFO (processId INTEGER, deviceId INTEGER, contextId INTEGER);
INSERT INTO TARGET_INFO_CUDA_CONTEXT_INFO VALUES (5, 0, 1);
CREATE TABLE TARGET_INFO_CUDA_STREAM (streamId INTEGER, processId INTEGER, contextId INTEGER, flag INTEGER);
INSERT INTO TARGET_INFO_CUDA_STREAM VALUES (13, 5, 1, 2);";

fn files(endings: &[&str]) -> Vec<PathBuf> {
    let Some(folder) = std::env::var_os("TRUENO_FUZZ_CORPUS") else {
        return Vec::new();
    };
    let (mut out, mut folders) = (Vec::new(), vec![PathBuf::from(folder)]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                out.push(path);
            }
        }
    }
    out.sort();
    out
}

fn unpacked(path: &Path) -> Vec<u8> {
    let bytes = fs::read(path).unwrap();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut out = Vec::new();
        let mut packed = flate2::read::MultiGzDecoder::new(bytes.as_slice());
        packed.read_to_end(&mut out).unwrap();
        return out;
    }
    bytes
}

pub fn traces() -> Vec<Trace> {
    let mut all: Vec<_> = [SMALL, OWN].map(|text| in_pieces(text.as_bytes())).into();
    let files = files(&[".json", ".json.gz"]);
    all.extend(files.iter().map(|path| in_pieces(&unpacked(path))));
    all
}

/// Objects in the first array of objects are events.
fn in_pieces(bytes: &[u8]) -> Trace {
    let (mut depth, mut is_text, mut is_escaped) = (0, false, false);
    let key = b"\"traceEvents\"";
    let found = bytes.windows(key.len()).position(|window| window == key);
    let open = bytes[found.unwrap_or(0)..].iter().position(|b| *b == b'[');
    let begin = found.unwrap_or(0) + open.unwrap_or(0) + 1;
    let (mut events, mut start, mut last) = (Vec::new(), begin, begin);
    for (at, byte) in bytes.iter().enumerate().skip(begin) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'{' | b'[' => {
                if depth == 0 {
                    start = at;
                }
                depth += 1;
            }
            b']' if depth == 0 => break,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    events.push(bytes[start..=at].to_vec());
                    last = at + 1;
                }
            }
            _ => {}
        }
    }
    Trace {
        head: bytes[..begin.min(bytes.len())].to_vec(),
        events,
        tail: bytes[last.min(bytes.len())..].to_vec(),
    }
}

pub fn databases() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("export.sqlite");
    let sql = format!("PRAGMA page_size=1024; {EXPORT}");
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch(&sql)
        .unwrap();
    let mut all = vec![fs::read(&path).unwrap()];
    all.extend(
        files(&[".sqlite"])
            .iter()
            .map(|path| fs::read(path).unwrap()),
    );
    all
}

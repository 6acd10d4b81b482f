//! No section of ours fails: over all committed runs, runs with every table, and traces of kinds that these lack.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use trueno_format::schema::TABLES;

use crate::harness::{Dir, built_library};

/// Failed sections of a report with all standard plugins. A run is its own baseline.
#[track_caller]
fn failed(dir: &Dir, run: &Path) -> Vec<String> {
    let divergence = built_library("trueno_plugin_divergence");
    let run_text = run.to_str().expect("a path in UTF-8");
    let mut args = vec!["--plugin", divergence.to_str().expect("a path in UTF-8")];
    args.extend(["--json", "-"]);
    if run.is_dir() {
        args.extend(["--baseline", run_text]);
    }
    let output = dir.report(run, &args).command.output().expect("it runs");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        let said = String::from_utf8_lossy(&output.stderr);
        panic!("{run_text}: {error}\n{said}")
    });
    let sections = report["sections"].as_array().expect("sections are a list");
    assert!(!sections.is_empty(), "{run_text}");
    let failed = sections.iter().filter(|one| one["status"] == "failed");
    failed
        .map(|one| format!("{run_text}: {}: {}", one["plugin"], one["message"]))
        .collect()
}

fn datasets() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets")
}

/// Runs, and files that a report can import, below a folder.
fn inputs(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).expect("a folder of the repository");
    let mut entries: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry of it").path())
        .collect();
    entries.sort();
    for path in entries {
        let name = path.to_string_lossy();
        if path.join("run.json").exists() || name.ends_with(".json.gz") {
            found.push(path);
        } else if path.is_dir() {
            inputs(&path, found);
        }
    }
}

#[test]
fn no_section_fails_over_a_committed_run() {
    let dir = Dir::new();
    let mut all = Vec::new();
    inputs(&datasets(), &mut all);
    assert!(all.len() > 20, "{all:?}");
    let failed: Vec<String> = all.iter().flat_map(|run| failed(&dir, run)).collect();
    assert_eq!(failed, [""; 0]);
}

#[test]
fn no_section_fails_over_a_run_with_every_table_and_without_each() {
    let dir = Dir::new();
    let made = |name: &str| {
        let path = dir.join(name);
        trueno_testing::full(&path, []);
        path
    };
    let mut runs = vec![made("full.run"), dir.folder("job.run")];
    for rank in ["job.run/rank=0", "job.run/rank=1"] {
        made(rank);
    }
    let sample = dir.join("sample.run");
    trueno_testing::sample(&sample);
    runs.push(sample);
    for table in TABLES {
        let run = made(&format!("without_{}.run", table.name));
        fs::remove_dir_all(run.join(table.name)).expect("a table that is filled");
        runs.push(run);
    }
    let failed: Vec<String> = runs.iter().flat_map(|run| failed(&dir, run)).collect();
    assert_eq!(failed, [""; 0]);
}

/// What a trace may have besides operators, launches and kernels.
const FEATURES: [&str; 9] = [
    "collectives",
    "memory",
    "shapes",
    "devices",
    "steps",
    "python",
    "syncs",
    "graphs",
    "copies",
];

fn row(category: &str, name: &str, place: (i64, i64), time: (i64, i64), args: Value) -> Value {
    json!({
        "ph": "X", "cat": category, "name": name, "pid": place.0, "tid": place.1,
        "ts": 1_000 + time.0, "dur": time.1, "args": args
    })
}

const HOST: (i64, i64) = (1, 1);

fn kernel(name: &str, device: i64, time: (i64, i64), correlation: i64) -> Value {
    let args = json!({
        "device": device, "stream": 7, "context": 1, "correlation": correlation,
        "grid": [864, 1, 1], "block": [256, 1, 1]
    });
    row("kernel", name, (device, 7), time, args)
}

fn launch(call: &str, at: i64, correlation: i64) -> Value {
    let args = json!({"correlation": correlation});
    row("cuda_runtime", call, HOST, (at, 5), args)
}

/// Rows of a step of 1 ms that begins at `from`.
fn step(from: i64, features: &[&str]) -> Vec<Value> {
    let has = |feature: &str| features.contains(&feature);
    let gemm = "ampere_sgemm_128x64_nn";
    let mut shapes = json!({});
    if has("shapes") {
        shapes["Input Dims"] = json!([[64, 64], [64, 64]]);
        shapes["Input type"] = json!(["float", "float"]);
    }
    let mut rows = vec![
        row("cpu_op", "aten::mm", HOST, (from + 10, 30), shapes),
        launch("cudaLaunchKernel", from + 15, from + 1),
        kernel(gemm, 0, (from + 50, 100), from + 1),
    ];
    if has("collectives") {
        let stated = json!({
            "Collective name": "allreduce", "In msg nelems": 1024, "Out msg nelems": 1024, "dtype": "Float",
            "Group size": 8, "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2, 3, 4, 5, 6, 7]"
        });
        rows.push(row(
            "cpu_op",
            "record_param_comms",
            HOST,
            (from + 60, 20),
            stated.clone(),
        ));
        rows.push(launch("cudaLaunchKernel", from + 65, from + 2));
        let name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
        let mut reduce = kernel(name, 0, (from + 160, 80), from + 2);
        for (key, value) in stated.as_object().expect("an object") {
            reduce["args"][key] = value.clone();
        }
        rows.push(reduce);
    }
    if has("memory") {
        for (at, bytes) in [(12, 4096), (400, -4096)] {
            let args = json!({
                "Device Type": 1, "Device Id": 0, "Addr": 64, "Bytes": bytes, "Total Allocated": 8192 + bytes,
                "Total Reserved": 1 << 20
            });
            rows.push(json!({
                "ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": HOST.0, "tid": HOST.1,
                "ts": 1_000 + from + at, "args": args
            }));
        }
    }
    if has("devices") {
        rows.push(launch("cudaLaunchKernel", from + 85, from + 3));
        rows.push(kernel(gemm, 1, (from + 110, 90), from + 3));
    }
    if has("steps") {
        let name = format!("ProfilerStep#{}", from / 1_000);
        rows.push(row("user_annotation", &name, HOST, (from, 990), json!({})));
    }
    if has("python") {
        let args = json!({"Python id": from + 1, "Python parent id": null});
        rows.push(row(
            "python_function",
            "model.py(7): forward",
            HOST,
            (from + 5, 500),
            args,
        ));
    }
    if has("syncs") {
        rows.push(launch("cudaDeviceSynchronize", from + 300, from + 4));
        let args = json!({"device": 0, "context": 1, "stream": 7, "correlation": from + 4});
        rows.push(row(
            "cuda_sync",
            "Context Sync",
            (0, 7),
            (from + 300, 5),
            args,
        ));
    }
    if has("graphs") {
        rows.push(launch("cudaGraphLaunch", from + 320, from + 5));
        for nth in 0..3 {
            rows.push(kernel(gemm, 0, (from + 340 + nth * 20, 15), from + 5));
        }
    }
    if has("copies") {
        rows.push(launch("cudaMemcpyAsync", from + 420, from + 6));
        let args =
            json!({"device": 0, "stream": 7, "context": 1, "correlation": from + 6, "bytes": 4096});
        rows.push(row(
            "gpu_memcpy",
            "Memcpy HtoD (Pageable -> Device)",
            (0, 7),
            (from + 440, 30),
            args,
        ));
    }
    rows
}

fn trace(file: &Path, features: &[&str], rank: u32) {
    let rows = (0..3).flat_map(|nth| step(nth * 1_000, features));
    let trace = json!({
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 85_000_000_000_u64,
            "computeMajor": 8, "computeMinor": 0, "numSms": 108}],
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2},
        "traceEvents": rows.collect::<Vec<_>>(),
    });
    fs::write(file, trace.to_string()).expect("a writable folder");
}

#[test]
fn no_section_fails_over_a_trace_of_a_kind_that_no_committed_run_has() {
    let dir = Dir::new();
    let mut all: Vec<PathBuf> = Vec::new();
    let mut one = |name: &str, features: &[&str]| {
        let file = dir.join(&format!("{name}.pt.trace.json"));
        trace(&file, features, 0);
        all.push(file);
    };
    one("bare", &[]);
    one("everything", &FEATURES);
    for feature in FEATURES {
        one(feature, &[feature]);
        if feature == "collectives" {
            continue;
        }
        one(
            &format!("collectives_and_{feature}"),
            &["collectives", feature],
        );
    }
    for rank in 0..2 {
        trace(&dir.join(&format!("rank{rank}.json")), &FEATURES, rank);
    }
    dir.command(&["import", "rank0.json", "rank1.json", "-o", "job.run"])
        .exits(0);
    all.push(dir.join("job.run"));
    let failed: Vec<String> = all.iter().flat_map(|run| failed(&dir, run)).collect();
    assert_eq!(failed, [""; 0]);
}

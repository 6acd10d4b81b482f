//! What is true of a trace stands in its first line: traces made so that the truth is known, and what must not change it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::Dir;

/// A trace as Kineto writes it. Times are microseconds.
#[derive(Clone, Default)]
struct Trace {
    events: Vec<Value>,
    correlation: u64,
}

impl Trace {
    fn row(&mut self, category: &str, name: &str, (ts, dur): (f64, f64), args: Value) {
        let is_device = matches!(category, "kernel" | "gpu_memcpy");
        let stream = args["stream"].as_u64().unwrap_or(7);
        let (pid, tid) = if is_device { (0, stream) } else { (1, 1) };
        self.events.push(json!({
            "ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args
        }));
    }

    fn operator(&mut self, name: &str, times: (f64, f64)) {
        self.row("cpu_op", name, times, json!({}));
    }

    /// A call. Device work added after it gets its correlation.
    fn call(&mut self, name: &str, times: (f64, f64)) {
        self.correlation += 1;
        let args = json!({"correlation": self.correlation});
        self.row("cuda_runtime", name, times, args);
    }

    fn kernel_on(&mut self, stream: u32, name: &str, times: (f64, f64)) {
        let args = json!({"device": 0, "context": 1, "stream": stream, "correlation": self.correlation, "grid": [864, 1, 1], "block": [256, 1, 1]});
        self.row("kernel", name, times, args);
    }

    /// A kernel with this many blocks and threads per block.
    fn kernel_of(&mut self, name: &str, (grid, block): (u32, u32), times: (f64, f64)) {
        self.kernel(name, times);
        let last = self.events.last_mut().expect("the kernel");
        last["args"]["grid"] = json!([grid, 1, 1]);
        last["args"]["block"] = json!([block, 1, 1]);
    }

    fn kernel(&mut self, name: &str, times: (f64, f64)) {
        self.kernel_on(7, name, times);
    }

    fn copy_within(&mut self, times: (f64, f64), bytes: u64) {
        let args = json!({"device": 0, "context": 1, "stream": 7, "correlation": self.correlation, "bytes": bytes});
        self.row("gpu_memcpy", "Memcpy DtoD (Device -> Device)", times, args);
    }

    fn copy_back(&mut self, to: &str, times: (f64, f64), bytes: u64) {
        let args = json!({"device": 0, "context": 1, "stream": 7, "correlation": self.correlation, "bytes": bytes});
        let name = format!("Memcpy DtoH (Device -> {to})");
        self.row("gpu_memcpy", &name, times, args);
    }

    /// An operator that launches a kernel, which runs at `device` (start, duration).
    fn launch(&mut self, name: &str, host_us: f64, device: (f64, f64)) {
        self.operator("aten::mm", (host_us, 9.0));
        self.call("cudaLaunchKernel", (host_us + 1.0, 5.0));
        self.kernel(name, device);
    }

    fn write(&self, dir: &Dir, name: &str) -> String {
        let properties = json!([{"id": 0, "name": "NVIDIA H100 80GB HBM3"}]);
        let trace =
            json!({"schemaVersion": 1, "deviceProperties": properties, "traceEvents": self.events});
        fs::write(dir.join(name), trace.to_string()).unwrap();
        name.to_owned()
    }

    /// Replaces the times of each event. `to` also gets whether the event is a device's.
    fn retimed(&self, mut to: impl FnMut(bool, f64, f64) -> (f64, f64)) -> Self {
        let mut out = self.clone();
        for event in &mut out.events {
            let is_device = event["pid"] == 0;
            let times = [&event["ts"], &event["dur"]].map(|of| of.as_f64().unwrap());
            let (ts, dur) = to(is_device, times[0], times[1]);
            (event["ts"], event["dur"]) = (json!(ts), json!(dur));
        }
        out
    }
}

#[track_caller]
fn query(dir: &Dir, file: &str, sql: &str) -> Vec<Value> {
    ask(dir, file, sql).unwrap_or_else(|| panic!("{file}: {sql}"))
}

/// Rows of a query; `None` if the run has no such table.
fn ask(dir: &Dir, file: &str, sql: &str) -> Option<Vec<Value>> {
    let mut run = dir.command(&["query", file, sql, "--format", "json"]);
    let output = run.command.output().expect("the command runs");
    let json: Value = match output.status.success() {
        true => serde_json::from_slice(&output.stdout).expect("JSON"),
        false => return None,
    };
    let rows = json.as_array().cloned();
    Some(rows.unwrap_or_else(|| json["rows"].as_array().cloned().unwrap_or_default()))
}

fn headline(dir: &Dir, trace: &Trace) -> Value {
    let file = trace.write(dir, "trace.json");
    let rows = query(dir, &file, "SELECT * FROM summary.headline");
    rows.into_iter().next().expect("a headline")
}

#[track_caller]
fn says(headline: &Value, by: &str, words: &str) {
    let sentence = headline["sentence"].as_str().unwrap();
    assert_eq!(headline["bound_by"], by, "{sentence}");
    assert!(sentence.contains(words), "{sentence}");
}

/// The host waits in a copy behind work that was launched before the recording; a short decode follows.
fn behind_unrecorded_work() -> Trace {
    let mut trace = Trace::default();
    trace.call("cudaLaunchKernel", (10.0, 5.0));
    trace.kernel("resolve_future(long*)", (460_000.0, 8.0));
    trace.operator("aten::copy_", (30.0, 460_000.0));
    trace.call("cudaMemcpyAsync", (35.0, 459_990.0));
    trace.copy_back("Pageable", (460_010.0, 4.0), 8);
    for at in 0..100 {
        let at = f64::from(at);
        trace.launch(
            "gemm",
            460_040.0 + 14.0 * at,
            (460_060.0 + 100.5 * at, 100.0),
        );
    }
    trace
}

/// Steps in which the device delays launched work for 120 of 200 ms.
fn device_holds_work() -> Trace {
    let mut trace = Trace::default();
    for step in 0..5 {
        let from = 200_000.0 * f64::from(step);
        let name = format!("ProfilerStep#{step}");
        trace.row("user_annotation", &name, (from, 199_900.0), json!({}));
        for at in 0..400 {
            let at = f64::from(at);
            trace.launch(
                "gemm",
                from + 12.0 * at,
                (from + 130_000.0 + 161.0 * at, 160.0),
            );
        }
        trace.call("cudaMemcpyAsync", (from + 5_000.0, 189_500.0));
        trace.copy_back("Pageable", (from + 194_480.0, 4.0), 8);
    }
    trace
}

#[test]
fn work_that_is_not_recorded_bounds_what_it_holds() {
    let dir = Dir::new();
    let words = "an unrecorded cause that delayed launched device work for 98 % of the wall";
    says(
        &headline(&dir, &behind_unrecorded_work()),
        "not recorded",
        words,
    );
    let held = device_holds_work();
    let words = "an unrecorded cause that delayed launched device work for 6";
    says(&headline(&dir, &held), "not recorded", words);
    // A gap has a part after the call: calls of 5 µs hold nothing up.
    let sql = "SELECT launching_ns, not_started_ns FROM device.idle WHERE stream IS NULL";
    let idle = query(&dir, "trace.json", sql).remove(0);
    let ns = |name: &str| idle[name].as_i64().unwrap();
    assert!(ns("launching_ns") < 100_000, "{idle}");
    assert!(ns("not_started_ns") > 500_000_000, "{idle}");
}

/// Kernels, then `item()`, in every iteration of 250 µs. 165 µs of the host's time are not recorded.
fn item_in_every_iteration() -> Trace {
    let mut trace = Trace::default();
    for step in 0..40 {
        let from = 250.0 * f64::from(step);
        trace.operator("aten::mm", (from, 30.0));
        trace.call("cudaLaunchKernel", (from + 5.0, 5.0));
        trace.kernel("gemm", (from + 15.0, 20.0));
        trace.operator("aten::item", (from + 40.0, 45.0));
        trace.call("cudaMemcpyAsync", (from + 44.0, 8.0));
        trace.copy_back("Pageable", (from + 60.0, 2.0), 4);
        trace.call("cudaStreamSynchronize", (from + 53.0, 28.0));
    }
    trace
}

#[test]
fn unrecorded_host_time_stays_in_every_prediction() {
    let dir = Dir::new();
    let headline = headline(&dir, &item_in_every_iteration());
    says(
        &headline,
        "not recorded",
        "deciding on the device, or testing only every few iterations, saves at most",
    );
    // 28 of 250 µs.
    let share = headline["gain_share"].as_f64().unwrap();
    assert!((0.10..=0.12).contains(&share), "{share}");
}

/// Thirty times: fifty kernels of 100 µs that the host launches ahead, and a copy that it waits for.
fn waits_for_copies(late_us: f64) -> Trace {
    let mut trace = Trace::default();
    let (mut host, mut device) = (0.0, 0.0_f64);
    for _ in 0..30 {
        for _ in 0..50 {
            let start = (device + 0.5).max(host + 8.0);
            trace.launch("gemm", host, (start + late_us, 100.0));
            (host, device) = (host + 10.0, start + 100.0);
        }
        let end = device + 12.0;
        trace.call("cudaMemcpyAsync", (host + 2.0, end - host - 2.0));
        trace.copy_back("Pinned", (device + 0.5 + late_us, 3.0), 4);
        (host, device) = (end + 12.0, device + 3.5);
    }
    trace
}

#[test]
fn a_clock_of_a_device_that_is_off_costs_no_prediction() {
    let dir = Dir::new();
    for late_us in [-20.0, 0.0, 10.0, 15.0, 20.0, 40.0] {
        let headline = headline(&dir, &waits_for_copies(late_us));
        says(&headline, "computation", "in half the time saves at most");
        let share = headline["gain_share"].as_f64().unwrap();
        assert!((0.48..=0.5).contains(&share), "{late_us} µs: {share}");
        let done = dir.command(&["report", "trace.json", "--plugin-id", "critical_path"]);
        let page = done.exits(0).stdout.clone();
        let is_told = page.contains("ahead of that of the host");
        assert_eq!(is_told, late_us >= 10.0, "{late_us} µs: {page}");
    }
}

#[test]
fn idle_time_is_not_known_where_launched_graphs_have_no_kernels() {
    let dir = Dir::new();
    let mut trace = Trace::default();
    for launch in 0..10 {
        let from = 1_000.0 * f64::from(launch);
        trace.call("cudaGraphLaunch", (from, 10.0));
        for node in 0..if launch % 5 == 0 { 20 } else { 0 } {
            trace.kernel("gemm", (from + 20.0 + 48.0 * f64::from(node), 47.0));
        }
    }
    let sentence = headline(&dir, &trace)["sentence"].to_string();
    assert!(sentence.contains("GPU at least 21 % busy"), "{sentence}");
    let words = "idle time not known: 8 of 10 graph launches have no kernel";
    assert!(sentence.contains(words), "{sentence}");
    assert!(!sentence.contains("saves"), "{sentence}");
}

#[test]
fn of_launches_without_a_kernel_nothing_blames_the_host() {
    let dir = Dir::new();
    let mut trace = Trace::default();
    for at in 0..100 {
        let from = 100.0 * f64::from(at);
        trace.operator("aten::mm", (from, 90.0));
        trace.call("cudaLaunchKernel", (from + 5.0, 10.0));
    }
    trace.call("cudaDeviceSynchronize", (10_000.0, 30_000.0));
    let headline = headline(&dir, &trace);
    let words = "100 launches and 1 wait for a device were recorded, but no device work";
    says(&headline, "not recorded", words);
    let sentence = headline["sentence"].as_str().unwrap();
    assert!(!sentence.contains("saves"), "{sentence}");
    let gains = query(
        &dir,
        "trace.json",
        "SELECT sentence FROM bottleneck.top WHERE gain_ns > 0",
    );
    assert!(gains.is_empty(), "{gains:?}");
}

#[test]
fn launches_without_a_kernel_are_an_incomplete_recording_also_beside_copies() {
    let dir = Dir::new();
    let mut trace = Trace::default();
    for at in 0..20 {
        let from = 100.0 * f64::from(at);
        trace.call("cudaLaunchKernel", (from, 90.0));
    }
    trace.call("cudaMemcpy", (2_000.0, 100.0));
    trace.copy_back("Pageable", (2_050.0, 40.0), 4);
    let headline = headline(&dir, &trace);
    let words = "20 launches for a device were recorded, but no kernel";
    says(&headline, "not recorded", words);
}

#[test]
fn collectives_of_gpus_without_a_gpu_are_an_incomplete_recording() {
    let dir = Dir::new();
    let mut trace = Trace::default();
    for at in 0..100 {
        let from = 100.0 * f64::from(at);
        trace.operator("aten::mm", (from, 80.0));
        trace.operator("nccl:all_reduce", (from + 80.0, 10.0));
    }
    let headline = headline(&dir, &trace);
    let words = "100 collectives for a device were recorded, but no device work";
    says(&headline, "not recorded", words);
}

#[test]
fn the_wait_with_which_a_profiler_stops_is_no_wait_of_the_program() {
    let dir = Dir::new();
    let with = |after: bool| {
        let mut trace = Trace::default();
        for at in 0..20 {
            let from = 100.0 * f64::from(at);
            trace.launch("gemm", from, (from + 10.0, 80.0));
        }
        trace.call("cudaDeviceSynchronize", (2_000.0, 10_000.0));
        if after {
            trace.operator("aten::mm", (12_001.0, 10.0));
        }
        headline(&dir, &trace)
    };
    let stopped = with(false);
    says(
        &stopped,
        "profiler",
        "the profiler's stop takes 83 % of the wall",
    );
    // A wait of the program, whatever it is for.
    let waited = with(true);
    assert_ne!(waited["bound_by"], "profiler");
}

#[test]
fn a_profiler_s_wait_for_a_buffer_is_its_own_time() {
    let dir = Dir::new();
    let mut trace = Trace::default();
    trace.operator("aten::mm", (0.0, 10_000.0));
    trace.events.push(json!({
        "ph": "X", "cat": "overhead", "name": "Activity Buffer Request", "pid": -1, "tid": 0, "ts": 1_000, "dur": 8_900
    }));
    trace.call("cudaLaunchKernel", (9_950.0, 10.0));
    trace.kernel("gemm", (9_970.0, 10.0));
    let first_line = headline(&dir, &trace);
    let sentence = first_line["sentence"].as_str().unwrap();
    assert!(!sentence.contains("warm start"), "{sentence}");
    let sql =
        "SELECT category, self_ns FROM category.by_brick WHERE name = 'Activity Buffer Request'";
    let rows = query(&dir, "trace.json", sql);
    assert_eq!(
        rows,
        [json!({"category": "profiler", "self_ns": 8_900_000})]
    );

    // With a second thread it is not known which one waited.
    trace.events.push(json!({
        "ph": "X", "cat": "cpu_op", "name": "aten::relu", "pid": 1, "tid": 2, "ts": 0, "dur": 10_000
    }));
    trace.write(&dir, "threads.json");
    assert!(query(&dir, "threads.json", sql).is_empty());
}

/// Rows of threads: name, thread, start and duration in microseconds.
fn threads(rows: &[(&str, u32, f64, f64)]) -> Value {
    let event = |(name, tid, ts, dur): &(&str, u32, f64, f64)| json!({"ph": "X", "cat": "c", "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur});
    json!(rows.iter().map(event).collect::<Vec<_>>())
}

fn headline_of(dir: &Dir, trace: &Value) -> Value {
    fs::write(dir.join("threads.json"), trace.to_string()).unwrap();
    query(dir, "threads.json", "SELECT * FROM summary.headline").remove(0)
}

#[test]
fn a_request_gains_nothing_from_those_that_only_overlap_it() {
    let dir = Dir::new();
    let requests = [
        ("first", 1, 0.0, 30_000.0),
        ("second", 1, 10_000.0, 40_000.0),
        ("third", 1, 25_000.0, 60_000.0),
        ("fourth", 1, 60_000.0, 90_000.0),
    ];
    headline_of(&dir, &threads(&requests));
    let sql = "SELECT name, gain_100pct_ns AS ns FROM critical_path.opportunity";
    for row in query(&dir, "threads.json", sql) {
        let (_, _, _, dur) = requests.iter().find(|of| row["name"] == of.0).unwrap();
        assert!(row["ns"].as_f64().unwrap() <= dur * 1e3, "{row}");
    }
}

#[test]
fn idle_workers_and_negotiations_are_waits() {
    let dir = Dir::new();
    for wait in ["worker_idle", "NEGOTIATE_ALLREDUCE", "time.sleep"] {
        let rows = [
            (wait, 1, 0.0, 800.0),
            ("work", 1, 800.0, 200.0),
            (wait, 2, 0.0, 1_000.0),
        ];
        let headline = headline_of(&dir, &threads(&rows));
        let sentence = headline["sentence"].as_str().unwrap();
        assert_eq!(headline["threads_busy_share"], 0.1, "{sentence}");
        assert_eq!(headline["bound_by"], "waits", "{sentence}");
        assert!(!sentence.contains(&format!("{wait} in half")), "{sentence}");
    }
}

#[test]
fn copies_of_unknown_size_have_no_bytes() {
    let dir = Dir::new();
    let mut trace = Trace::default();
    for at in 0..20 {
        let from = 1_000.0 * f64::from(at);
        trace.call("cudaMemcpyAsync", (from, 5.0));
        let args =
            json!({"device": 0, "context": 1, "stream": 7, "correlation": trace.correlation});
        trace.row(
            "gpu_memcpy",
            "Memcpy HtoD (Pinned -> Device)",
            (from + 10.0, 900.0),
            args,
        );
    }
    let sentence = headline(&dir, &trace)["sentence"].to_string();
    assert!(
        sentence.contains("(bytes not recorded in 20 copies)"),
        "{sentence}"
    );
}

#[test]
fn a_product_of_a_convolution_is_a_convolution() {
    let dir = Dir::new();
    let mut trace = Trace::default();
    for at in 0..50 {
        let from = 100.0 * f64::from(at);
        trace.operator("aten::cudnn_convolution", (from, 20.0));
        trace.call("cudaLaunchKernel", (from + 2.0, 5.0));
        trace.kernel("volta_sgemm_128x64_nn", (from + 10.0, 60.0));
        let arguments = "void fft2d_r2c_32x32<float>(float2*, cudnn::reduced_divisor)";
        trace.call("cudaLaunchKernel", (from + 8.0, 5.0));
        trace.kernel(arguments, (from + 71.0, 25.0));
    }
    let headline = headline(&dir, &trace);
    says(&headline, "computation", "computation: 100 % convolution");
}

#[test]
fn moving_a_cache_or_weights_is_no_data_loading() {
    let dir = Dir::new();
    for (name, by) in [("kv_fetch", "host"), ("fetch_batch", "data_load_bound")] {
        let mut trace = Trace::default();
        for at in 0..20 {
            let from = 1_000.0 * f64::from(at);
            trace.row("user_annotation", name, (from, 800.0), json!({}));
            trace.launch("gemm", from + 810.0, (from + 820.0, 150.0));
        }
        let headline = headline(&dir, &trace);
        let is_loading = headline["bound_by"] == "data_load_bound";
        assert_eq!(is_loading, by == "data_load_bound", "{headline}");
    }
}

#[test]
fn blocks_smaller_than_a_warp_are_told() {
    let dir = Dir::new();
    let found = |grid: u32, block: u32| {
        let mut trace = Trace::default();
        for at in 0..100 {
            let from = 200.0 * f64::from(at);
            trace.call("cudaLaunchKernel", (from + 1.0, 5.0));
            trace.kernel_of("Fan2", (grid, block), (from + 10.0, 150.0));
        }
        headline(&dir, &trace);
        let sql = "SELECT sentence FROM bottleneck.bottlenecks WHERE code = 'partial_warps'";
        let rows = query(&dir, "trace.json", sql);
        rows.first().map(|row| row["sentence"].to_string())
    };
    let sentence = found(1 << 20, 16).expect("a finding");
    assert!(sentence.contains("most in Fan2 with 16"), "{sentence}");
    assert_eq!(found(1 << 20, 32), None);
    // Of a grid of one block that is the smaller fault.
    assert_eq!(found(1, 16), None);
}

/// What the host does while a graph is captured runs nothing, and happens once.
#[test]
fn a_recorded_capture_is_set_up() {
    let dir = Dir::new();
    let mut trace = Trace::default();
    trace.launch("fill", 0.0, (10.0, 5.0));
    trace.call("hipStreamBeginCapture", (20.0, 1.0));
    for at in 0..50 {
        trace.operator("aten::mm", (25.0 + 100.0 * f64::from(at), 95.0));
    }
    trace.call("hipStreamEndCapture", (5_030.0, 1.0));
    trace.launch("fill", 5_040.0, (5_050.0, 5.0));
    let headline = headline(&dir, &trace);
    says(
        &headline,
        "set_up",
        "set-up: host work while 1 graph is captured takes",
    );
}

#[test]
fn products_in_fp32_are_told_where_tensor_cores_could_run_them() {
    let dir = Dir::new();
    let found = |kernel: &str| {
        let mut trace = Trace::default();
        for at in 0..100 {
            let from = 200.0 * f64::from(at);
            trace.launch(kernel, from, (from + 10.0, 150.0));
        }
        headline(&dir, &trace);
        let sql = "SELECT gain_ns FROM bottleneck.bottlenecks WHERE code = 'fp32_gemm'";
        query(&dir, "trace.json", sql)
    };
    assert_eq!(found("ampere_sgemm_128x64_nn"), [json!({"gain_ns": null})]);
    assert_eq!(
        found("sm80_xmma_gemm_f32f32_f32tf32_tn"),
        Vec::<Value>::new()
    );
    // Of Volta, which has no TF32.
    assert_eq!(found("volta_sgemm_128x64_nn"), Vec::<Value>::new());
}

#[test]
fn one_call_like_no_other_is_no_pattern() {
    let dir = Dir::new();
    let mut trace = Trace::default();
    trace.call("cudaLaunchKernel", (0.0, 5.0));
    trace.kernel("ncclDevKernel_AllReduce", (10.0, 17_000_000.0));
    for at in 0..600 {
        let from = 17_000_100.0 + 100.0 * f64::from(at);
        trace.call("cudaLaunchKernel", (from, 5.0));
        trace.kernel_on(8, "gemm", (from + 10.0, 60.0));
        if at % 10 == 0 {
            trace.call("cudaLaunchKernel", (from + 6.0, 5.0));
            trace.kernel("ncclDevKernel_AllReduce", (from + 12.0, 14.0));
        }
    }
    let headline = headline(&dir, &trace);
    says(
        &headline,
        "one call",
        "the first of 61 collectives, ncclDevKernel_AllReduce",
    );
    let sentence = headline["sentence"].as_str().unwrap();
    assert!(
        sentence.contains("of the other 60.1 ms, 60 % is computation"),
        "{sentence}"
    );
}

/// Kernels of 30 µs, one every 50 µs.
fn rows() -> Trace {
    let mut trace = Trace::default();
    for at in 0..80 {
        let from = 1_000_000_000.0 + 50.0 * f64::from(at);
        trace.launch("gemm", from, (from + 12.0, 30.0));
    }
    trace
}

#[test]
fn rows_that_cannot_be_are_set_aside_and_counted() {
    let dir = Dir::new();
    let figures = |name: &str, trace: &Trace, more: &[&str]| {
        let file = trace.write(&dir, &format!("{name}.json"));
        let run = format!("{name}.run");
        let import = dir.command(&[&["import", &file, "-o", &run, "--overwrite"], more].concat());
        let said = import.exits(0).stderr.clone();
        let sql = "SELECT COUNT(*) AS kernels, (SELECT wall_ns FROM run) AS wall_ns FROM kernels WHERE valid";
        (query(&dir, &run, sql).remove(0), said)
    };
    let (plain, _) = figures("plain", &rows(), &[]);
    let mut far = rows();
    far.call("cudaLaunchKernel", (0.0, 0.0));
    let mut over = rows();
    let last = over
        .events
        .iter_mut()
        .find(|event| event["cat"] == "kernel");
    last.unwrap()["dur"] = json!(1_600_000.0);
    let mut twice = rows();
    twice.events.extend(rows().events);
    for (name, trace, words) in [
        (
            "far",
            far,
            "1 event has a time far from that of all other events",
        ),
        (
            "over",
            over,
            "1 kernel lasts longer than several next kernels of its stream",
        ),
        ("twice", twice, "every event is in the file twice"),
    ] {
        let (found, said) = figures(name, &trace, &[]);
        assert!(said.contains(words), "{name}: {said}");
        assert_eq!(found["wall_ns"], plain["wall_ns"], "{name}");
        let missing = if name == "over" { 1 } else { 0 };
        let kernels = |of: &Value| of["kernels"].as_i64().unwrap();
        assert_eq!(kernels(&found), kernels(&plain) - missing, "{name}");
        // `--keep-doubtful` keeps all of it.
        let (kept, said) = figures(name, &trace, &["--keep-doubtful"]);
        assert!(!said.contains(words), "{name}: {said}");
        assert_ne!(kept, found, "{name}");
    }
}

#[test]
fn sleeping_is_no_work() {
    let dir = Dir::new();
    let mut trace = Trace::default();
    let event = |name: &str, times| (name.to_owned(), times);
    for (name, times) in [
        event("time.sleep", (0.0, 500.0)),
        event("epoll.poll", (500.0, 400.0)),
        event("sort (a.py:1)", (900.0, 100.0)),
    ] {
        trace.row("FEE", &name, times, json!({}));
    }
    let headline = headline(&dir, &trace);
    says(
        &headline,
        "waits",
        "waits: 90 % of the wall, in time.sleep, epoll.poll",
    );
    let sentence = headline["sentence"].as_str().unwrap();
    assert!(!sentence.contains("sleep in half"), "{sentence}");
    // Nothing says that `sort` looks up embeddings.
    let sql = "SELECT category FROM category.by_brick WHERE name LIKE 'sort%'";
    let rows = query(&dir, "trace.json", sql);
    assert_eq!(rows[0]["category"], "uncategorised");
}

/// A device that is idle for half of each 50 µs, because the host launches kernels one by one.
fn launch_bound() -> Trace {
    let mut trace = Trace::default();
    for at in 0..400 {
        let from = 50.0 * f64::from(at) + 20.0 * f64::from(at / 100);
        trace.operator("aten::linear", (from, 38.0));
        trace.launch("gemm", from + 20.0, (from + 32.0, 25.0));
        // Without any wait nothing would tell a late clock from slow launches.
        if at % 100 == 99 {
            trace.call("cudaDeviceSynchronize", (from + 40.0, 22.0));
        }
    }
    trace
}

fn findings(dir: &Dir, trace: &Trace) -> Vec<(String, String, f64)> {
    let file = trace.write(dir, "changed.json");
    let sql = "SELECT class, severity, gain_share FROM bottleneck.top ORDER BY rank";
    let rows = query(dir, &file, sql).into_iter();
    let text = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let row = |row: Value| {
        let share = row["gain_share"].as_f64().unwrap_or(0.0);
        (text(&row, "class"), text(&row, "severity"), share)
    };
    rows.map(row).collect()
}

/// Pseudo-random numbers between 0 and 1, always the same.
fn random() -> impl FnMut() -> f64 {
    let mut state = 1_u64;
    move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1_u64 << 24) as f64
    }
}

#[test]
fn what_changes_nothing_that_matters_changes_no_verdict() {
    let dir = Dir::new();
    let small = back_to_back(200, 50.0, |trace, _, times| {
        trace.kernel_of("gemm", (8, 64), times);
    });
    let copies = back_to_back(200, 50.0, |trace, at, times| {
        if at % 4 == 0 {
            trace.copy_within(times, 1 << 20);
        } else {
            trace.kernel("gemm", times);
        }
    });
    for trace in [
        launch_bound(),
        item_in_every_iteration(),
        waits_for_copies(0.0),
        small,
        copies,
    ] {
        let before = findings(&dir, &trace);
        let has_tiny_copies = before
            .first()
            .is_some_and(|first| first.0 == "blocking_copies");
        let mut next = random();
        let mut shuffled = trace.clone();
        for at in (1..shuffled.events.len()).rev() {
            let other = (next() * (at + 1) as f64) as usize;
            shuffled.events.swap(at, other);
        }
        let mut renumbered = trace.clone();
        for event in &mut renumbered.events {
            for (name, number) in [("device", 5), ("stream", 23)] {
                if event["args"].get(name).is_some() {
                    event["args"][name] = json!(number);
                }
            }
        }
        let mut fewer = trace.clone();
        fewer
            .events
            .retain(|event| event["name"] != "cudaLaunchKernel" || next() >= 0.05);
        let scaled = |by: f64| trace.retimed(|_, ts, dur| (ts * by, dur * by));
        let moved =
            |by: f64| trace.retimed(|device, ts, dur| (if device { ts + by } else { ts }, dur));
        let mut jitter = random();
        let jittered = trace.retimed(|_, ts, dur| (ts + jitter(), dur));
        for (what, changed) in [
            ("a tenth of all times", scaled(0.1)),
            ("ten times all times", scaled(10.0)),
            ("1 µs of jitter", jittered),
            ("5 % of the launches lost", fewer),
            ("the device's clock 20 µs early", moved(-20.0)),
            ("the device's clock 20 µs late", moved(20.0)),
            ("other numbers", renumbered),
            ("another order", shuffled),
        ] {
            let after = findings(&dir, &changed);
            // Behind the first, a wait that no row states may be inferred at one scale and not at another: waking a
            // host takes microseconds at any.
            let (after, before) = (after.first(), before.first());
            let verdict =
                |of: Option<&(String, String, f64)>| of.map(|of| (of.0.clone(), of.1.clone()));
            // Causes of gaps go by the times as recorded. A copy of 2 µs that is 20 µs off its call looks like the wait for
            // it, or like a launch.
            if has_tiny_copies && what.contains("clock") {
                continue;
            }
            assert_eq!(verdict(after), verdict(before), "{what}");
            if let Some((a, b)) = after.zip(before) {
                assert!((a.2 - b.2).abs() <= 0.05, "{what}: {a:?}, {b:?}");
            }
        }
    }
}

fn sentences(dir: &Dir, file: &str) -> Vec<String> {
    let sql = "SELECT sentence FROM bottleneck.bottlenecks ORDER BY rank";
    let rows = query(dir, file, sql);
    let text = |row: Value| row["sentence"].as_str().unwrap().to_owned();
    rows.into_iter().map(text).collect()
}

#[track_caller]
fn found(dir: &Dir, trace: &Trace, words: &str) -> String {
    let file = trace.write(dir, "found.json");
    keeps_its_promises(dir, &file);
    let all = sentences(dir, &file);
    let found = all.iter().find(|sentence| sentence.contains(words));
    found.unwrap_or_else(|| panic!("{words}: {all:#?}")).clone()
}

/// Kernels back to back, launched far ahead.
fn back_to_back(count: u32, us: f64, mut kernel: impl FnMut(&mut Trace, u32, (f64, f64))) -> Trace {
    let mut trace = Trace::default();
    for at in 0..count {
        trace.call("cudaLaunchKernel", (5.0 * f64::from(at), 4.0));
        let start = 10.0 + us * f64::from(at);
        kernel(&mut trace, at, (start, us - 0.5));
    }
    trace
}

#[test]
fn a_grid_that_leaves_the_device_empty_comes_first() {
    let dir = Dir::new();
    // One thread is under 1 % of any device, so nearly all its time can go.
    for (grid, block, words, gains) in [
        (1, 1, "1 block of 1 thread", 0.99..=1.0),
        (100, 1, "100 blocks of 1 thread", 0.0..=0.5),
        (1, 512, "1 block of 512 threads", 0.0..=0.5),
    ] {
        let trace = back_to_back(1, 9e6, |trace, _, times| {
            trace.kernel_of("solve", (grid, block), times);
        });
        let headline = headline(&dir, &trace);
        says(&headline, "small_batches", "grids too small for the GPU");
        says(&headline, "small_batches", words);
        let gain = headline["gain_share"].as_f64().unwrap();
        assert!(gains.contains(&gain), "{words}: {gain}");
    }
    let full = back_to_back(1, 9e6, |trace, _, times| {
        trace.kernel_of("solve", (864, 256), times);
    });
    says(&headline(&dir, &full), "computation", "computation");
}

/// Findings with a gain or a severity above low, and the headline's gain.
fn promises(dir: &Dir, file: &str) -> (Vec<Value>, Value) {
    let sql = "SELECT sentence, severity FROM bottleneck.bottlenecks WHERE gain_ns IS NOT NULL OR severity <> 'low'";
    let headline = query(dir, file, "SELECT gain_share FROM summary.headline").remove(0);
    (query(dir, file, sql), headline["gain_share"].clone())
}

#[test]
fn one_or_two_short_rows_promise_nothing() {
    let dir = Dir::new();
    let csv = "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\",\"Workgroup_Size_X\",\"Workgroup_Size_Y\",\"Workgroup_Size_Z\",\"Grid_Size_X\",\"Grid_Size_Y\",\"Grid_Size_Z\"
\"KERNEL_DISPATCH\",\"Agent 4\",1,\"gemm\",1,1000,3000,64,1,1,1024,1,1
";
    fs::write(dir.join("one_kernel_trace.csv"), csv).unwrap();
    let nvprof = rusqlite::Connection::open(dir.join("five.sqlite")).unwrap();
    nvprof
        .execute_batch(
            "CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value TEXT);
             INSERT INTO StringTable VALUES (1, 'gemm');
             CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (_id_ INTEGER PRIMARY KEY, start INT, end INT, completed INT,
                deviceId INT, contextId INT, streamId INT, gridX INT, gridY INT, gridZ INT, blockX INT, blockY INT, blockZ INT,
                correlationId INT, name INT);
             CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (_id_ INTEGER PRIMARY KEY, cbid INT, start INT, end INT, processId INT,
                threadId INT, correlationId INT, returnValue INT);",
        )
        .unwrap();
    for at in 1..=5 {
        let start = 1_000 + 100 * at;
        let kernel = format!(
            "INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES
                ({at}, {start}, {}, 0, 0, 1, 7, 8, 1, 1, 128, 1, 1, {at}, 1);
             INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({at}, 13, {}, {}, 77, 78, {at}, 0);",
            start + 60,
            start - 90,
            start - 50
        );
        nvprof.execute_batch(&kernel).unwrap();
    }
    drop(nvprof);
    // Two kernels in half of 800 µs.
    let two = back_to_back(2, 400.0, |trace, at, (start, _)| {
        let times = (start + 200.0 * f64::from(at), 200.0);
        trace.kernel_of("gemm", (8, 64), times);
    });
    let two = two.write(&dir, "two.json");
    for file in ["one_kernel_trace.csv", "five.sqlite", &two] {
        let (findings, gain) = promises(&dir, file);
        assert!(findings.is_empty(), "{file}: {findings:?}");
        assert!(gain.is_null(), "{file}: {gain}");
    }
    // Twenty of them are a pattern, and one that lasts is the run.
    let many = back_to_back(20, 40.0, |trace, _, times| {
        trace.kernel_of("gemm", (8, 64), times);
    });
    let long = back_to_back(1, 9e6, |trace, _, times| {
        trace.kernel_of("gemm", (8, 64), times);
    });
    for trace in [many, long] {
        let file = trace.write(&dir, "enough.json");
        let (findings, gain) = promises(&dir, &file);
        assert!(!findings.is_empty() && gain.is_f64(), "{gain}");
    }
}

#[test]
fn what_one_step_of_many_has_alone_promises_nothing() {
    let dir = Dir::new();
    // Launches are late in one step, and ahead in the others.
    let trace = |late: &dyn Fn(i32) -> bool| {
        let mut trace = Trace::default();
        let mut from = 0.0;
        for step in 0..8 {
            let each = if late(step) { 100.0 } else { 50.0 };
            let name = format!("ProfilerStep#{step}");
            trace.row("user_annotation", &name, (from, 40.0 * each), json!({}));
            for at in 0..40 {
                let at = from + each * f64::from(at);
                trace.operator("aten::linear", (at, each - 12.0));
                trace.launch("gemm", at + each - 11.0, (at + each, 49.0));
            }
            from += 40.0 * each + 20.0;
        }
        trace.write(&dir, "steps.json")
    };
    let of_device = |file: &str| {
        let sql = "SELECT severity, gain_share, sentence FROM bottleneck.bottlenecks WHERE class IN ('launch_bound', 'serialisation')";
        query(&dir, file, sql)
    };
    for row in of_device(&trace(&|step| step == 3)) {
        assert!(
            row["gain_share"].is_null() && row["severity"] == "low",
            "{row}"
        );
    }
    let all = of_device(&trace(&|step| step % 2 == 1));
    assert!(all.iter().any(|row| row["gain_share"].is_f64()), "{all:?}");
}

#[test]
fn communication_on_the_stream_of_the_computation_is_told() {
    let dir = Dir::new();
    let trace = |stream: u32| {
        back_to_back(60, 100.0, move |trace, at, times| {
            if at % 3 == 0 {
                trace.kernel_on(stream, "ncclDevKernel_AllReduce", times);
            } else {
                trace.kernel("gemm", times);
            }
        })
    };
    let words = "on the stream of the computation (7), where nothing can overlap it";
    found(&dir, &trace(7), words);
    let apart = found(&dir, &trace(20), "exposed communication");
    assert!(!apart.contains("on the stream"), "{apart}");
}

#[test]
fn many_copies_within_the_device_are_a_finding() {
    let dir = Dir::new();
    let trace = back_to_back(400, 50.0, |trace, at, times| {
        if at % 4 == 0 {
            trace.copy_within(times, 1 << 20);
        } else {
            trace.kernel("gemm", times);
        }
    });
    let sentence = found(&dir, &trace, "copies within gpu0 take 25 % of the wall");
    assert!(
        sentence.contains("leaving out copies within the device saves up to"),
        "{sentence}"
    );
}

#[test]
fn elementwise_kernels_in_a_row_could_be_one() {
    let dir = Dir::new();
    let name = |at: u32| match at % 4 {
        0 => "gemm",
        1 => "vectorized_elementwise_kernel<add>",
        2 => "vectorized_elementwise_kernel<mul>",
        _ => "vectorized_elementwise_kernel<gelu>",
    };
    let trace = back_to_back(400, 50.0, |trace, at, times| trace.kernel(name(at), times));
    let words = "300 elementwise kernels follow one another on gpu0 with equal grids";
    let sentence = found(&dir, &trace, words);
    // Two of three kernels, which are three quarters of the time.
    assert!(
        sentence.contains("fusing elementwise kernels saves up to"),
        "{sentence}"
    );
    assert!(
        sentence.contains("(50 %)") || sentence.contains("(49 %)"),
        "{sentence}"
    );
    // Grids that differ tell that they do not work on the same elements.
    let trace = back_to_back(400, 50.0, |trace, at, times| {
        trace.kernel_of(name(at), (864 + at % 4, 256), times);
    });
    let file = trace.write(&dir, "other.json");
    let all = sentences(&dir, &file);
    assert!(
        !all.iter().any(|sentence| sentence.contains("elementwise")),
        "{all:?}"
    );
}

#[test]
fn steps_that_are_cut_off_are_no_sample() {
    let dir = Dir::new();
    let trace = |steps: &[f64]| {
        let mut trace = Trace::default();
        let mut from = 0.0;
        for (at, us) in steps.iter().enumerate() {
            trace.operator(&format!("ProfilerStep#{at}"), (from, *us));
            trace.launch("gemm", from + 1.0, (from + 12.0, us - 14.0));
            from += us + 10.0;
        }
        trace
    };
    let told = |steps: &[f64]| headline(&dir, &trace(steps))["sentence"].to_string();
    let (cut_end, cut_start) = (told(&[9_290.0, 50.0]), told(&[60.0, 9_290.0, 9_290.0]));
    assert!(cut_end.contains("step 9.29 ms (the only one)"), "{cut_end}");
    assert!(
        cut_start.contains("step 9.29 ms (median of 2"),
        "{cut_start}"
    );
    let whole = told(&[9_290.0, 6_000.0]);
    assert!(whole.contains("median of 2"), "{whole}");
}

#[test]
fn the_profiler_s_own_time_bounds_no_run() {
    let dir = Dir::new();
    let mut trace = launch_bound();
    trace.operator("aten::linear", (20_100.0, 50.0));
    trace.call("cudaProfilerStop", (20_200.0, 30_000.0));
    let sentence = headline(&dir, &trace)["sentence"].to_string();
    assert!(
        sentence.contains("the profiler itself takes 6"),
        "{sentence}"
    );
    let bound = sentence.split("bound by").nth(1).unwrap();
    assert!(!bound.contains("ProfilerStop"), "{sentence}");
}

#[test]
fn launches_that_a_profiler_serialises_bound_no_program() {
    let dir = Dir::new();
    let mut trace = Trace::default();
    for at in 0..40 {
        let from = 2_120.0 * f64::from(at);
        trace.operator("aten::mm", (from, 2_100.0));
        trace.call("cudaLaunchKernel", (from + 10.0, 2_000.0));
        trace.kernel("gemm", (from + 1_900.0, 50.0));
    }
    let serialised = headline(&dir, &trace);
    let words =
        "bound by serialised launches: 40 of 40 launches of gpu0 last until their kernel has ended";
    says(&serialised, "profiler", words);
    assert!(serialised["gain_ns"].is_null(), "{serialised}");
    // Counters of a profiler that gives no times.
    let mut counted = Trace::default();
    for at in 0..20 {
        let from = 5_300.0 * f64::from(at);
        counted.operator("aten::mm", (from, 5_200.0));
        counted.call("cudaLaunchKernel", (from + 10.0, 5_100.0));
        let counters =
            json!({"device": 0, "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": 1_000});
        counted.row("cuda_profiler_range", "gemm", (from, 40.0), counters);
    }
    let counted = headline(&dir, &counted);
    says(&counted, "profiler", "none of 20 kernels has valid times");
    assert!(counted["gain_ns"].is_null(), "{counted}");
}

#[test]
fn devices_of_all_makers_are_devices() {
    let dir = Dir::new();
    for (work, call) in [
        ("mtia_ccp_events", "mtia_runtime"),
        ("hpu_op", "cuda_runtime"),
        ("privateuse1_runtime", "privateuse1_driver"),
        ("kernel", "xpu_driver"),
    ] {
        let mut trace = Trace::default();
        for at in 0..10 {
            let from = 100.0 * f64::from(at);
            trace.operator("aten::mm", (from, 60.0));
            trace.correlation += 1;
            let args = json!({"correlation": trace.correlation});
            trace.row(call, "launch", (from + 5.0, 20.0), args);
            trace.kernel("gemm", (from + 30.0, 40.0));
            trace.events.last_mut().unwrap()["cat"] = json!(work);
        }
        let headline = headline(&dir, &trace);
        says(&headline, "host", "GPU 41 % busy · bound by the host: 5");
    }
}

/// Asserts that no finding promises more than the run would save without all the work that its fix reduces.
#[track_caller]
fn keeps_its_promises(dir: &Dir, file: &str) {
    let sql = "SELECT target, gain_ns FROM critical_path.without";
    let without = ask(dir, file, sql).unwrap_or_default();
    let most = |target: &str| {
        let row = without.iter().find(|row| row["target"] == target);
        row.and_then(|row| row["gain_ns"].as_i64())
    };
    let rows = ask(
        dir,
        file,
        "SELECT name, gain_100pct_ns FROM critical_path.opportunity",
    );
    let names = rows.unwrap_or_default();
    let free = |name: &str| {
        let row = names.iter().find(|row| row["name"] == name);
        row.and_then(|row| row["gain_100pct_ns"].as_i64())
    };
    let sql = "SELECT b.class AS class, b.code AS code, b.scope AS scope, b.gain_ns AS gain_ns, b.evidence AS evidence, \
               r.wall_ns AS wall_ns FROM bottleneck.bottlenecks AS b CROSS JOIN run AS r WHERE b.gain_ns IS NOT NULL";
    let findings = query(dir, file, sql);
    for row in &findings {
        let ns = |name: &str| row[name].as_i64().unwrap();
        let text = |name: &str| row[name].as_str().unwrap();
        assert!(
            (0..=ns("wall_ns")).contains(&ns("gain_ns")),
            "{file}: {row}"
        );
        // All names in the rows that the finding rests on.
        let of_rows = || {
            let rows = ask(dir, file, text("evidence"))?;
            let mut names: Vec<&str> = rows.iter().filter_map(|row| row["name"].as_str()).collect();
            names.sort_unstable();
            names.dedup();
            names.into_iter().map(free).sum::<Option<i64>>()
        };
        let most = match text("code") {
            "blocking_copies" | "device_waits" => most("waits"),
            "launch_bound" | "host_prepares" | "first_launches" | "file_access" | "tear_down" => {
                most("host")
            }
            "set_up" => {
                let of_host = most("host").max(most("before devices"));
                of_host
                    .zip(most("copies"))
                    .map(|(host, copies)| host + copies)
            }
            "cpu_preprocessing" => most("before devices"),
            "transfer_bound" | "round_trips" | "device_copies" => most("copies"),
            "exposed_communication" => most("category:communication"),
            "data_load_bound" => most("category:data loading"),
            "elementwise_chains" => most("category:elementwise"),
            "unexplained_wait" | "join_cost" | "no_processor_free" => free("kind:sync_wait"),
            "memory_bound" | "compute_bound" | "unoptimised" | "latency_bound" | "tight_loop"
            | "recomputation" | "fixed_cost" => free(text("scope")),
            "small_grids" => of_rows(),
            "device_memory" => of_rows().min(most("host")),
            "category" => None,
            // A part has no more than the whole.
            "category_part" => {
                let of_class = findings.iter().filter(|of| of["class"] == row["class"]);
                let whole = of_class.filter(|of| of["code"] != "category_part");
                whole.filter_map(|of| of["gain_ns"].as_i64()).max()
            }
            // What is spread or joined differently stays, so no target is its bound.
            "joins" | "one_lane" | "threads" | "streams" | "devices" | "ranks" | "late_ranks"
            | "stragglers" => None,
            other => panic!("{file}: nothing bounds the gain of {other}"),
        };
        assert!(
            most.is_none_or(|most| ns("gain_ns") <= most),
            "{file}: {row} of {most:?}"
        );
    }
    let sql = "SELECT MAX(busy_ns) AS busy_ns, (SELECT wall_ns FROM run) AS wall_ns FROM device.idle WHERE stream IS NULL";
    let Some(mut busy) = ask(dir, file, sql) else {
        return;
    };
    let busy = busy.remove(0);
    if let (Some(busy_ns), Some(wall_ns)) = (busy["busy_ns"].as_i64(), busy["wall_ns"].as_i64()) {
        let idle_ns = wall_ns - busy_ns;
        for target in ["host", "waits", "before devices"] {
            let most = most(target).unwrap_or(0);
            assert!(
                most <= idle_ns,
                "{file}: {most} without {target}, idle {idle_ns}"
            );
        }
    }
}

#[test]
fn no_more_is_promised_than_taking_it_away_would_save() {
    let dir = Dir::new();
    for trace in [
        behind_unrecorded_work(),
        device_holds_work(),
        item_in_every_iteration(),
        waits_for_copies(0.0),
        waits_for_copies(15.0),
        launch_bound(),
        rows(),
    ] {
        let file = trace.write(&dir, "trace.json");
        keeps_its_promises(&dir, &file);
    }
    let datasets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets");
    for path in files_below(datasets) {
        let run = path.parent().expect("a folder");
        if path.ends_with("run.json") {
            keeps_its_promises(&dir, run.to_str().unwrap());
        }
    }
}

fn files_below(folder: PathBuf) -> Vec<PathBuf> {
    let (mut folders, mut files) = (vec![folder], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let of_kind = if path.is_dir() {
                &mut folders
            } else {
                &mut files
            };
            of_kind.push(path);
        }
    }
    files.sort();
    files
}

#[test]
#[ignore = "needs a folder of traces: TRUENO_TRACES=FOLDER"]
fn no_more_is_promised_of_traces_of_others() {
    let dir = Dir::new();
    let folder = std::env::var("TRUENO_TRACES").expect("TRUENO_TRACES=FOLDER");
    for path in files_below(folder.into()) {
        let file = path.to_str().unwrap();
        if ask(&dir, file, "SELECT wall_ns FROM run").is_some() {
            keeps_its_promises(&dir, file);
        }
    }
}

//! The sentence of each kind of run, from tables as the other plugins give them.

use trueno_plugin::testing::{Output, run};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_summary::Summary;

fn wall(wall_ns: i64, rows: u64) -> TableBuilder {
    Table::build("run")
        .i64("wall_ns", [wall_ns])
        .u64("rows", [rows])
}

/// Devices: name, span, computation, communication and copies. The rest of the span is idle.
fn devices(rows: &[(&str, i64, i64, i64, i64)]) -> [TableBuilder; 2] {
    let busy = |row: &(&str, i64, i64, i64, i64)| row.2 + row.3 + row.4;
    let none = || rows.iter().map(|_| None::<i64>);
    let idle = Table::build("idle")
        .text("place", rows.iter().map(|row| row.0))
        .i64("span_ns", rows.iter().map(|row| row.1))
        .i64("idle_ns", rows.iter().map(|row| row.1 - busy(row)))
        .i64("busy_ns", rows.iter().map(busy))
        .i64("not_queued_ns", none())
        .i64("launching_ns", none())
        .i64("not_started_ns", none())
        .i64("not_known_ns", none())
        .u64("gaps", rows.iter().map(|_| 0_u64))
        .i64("longest_ns", none())
        .u64("operations", rows.iter().map(|_| 5_u64))
        .i64("dur_ns", rows.iter().map(busy));
    let parts = rows.iter().flat_map(|row| {
        [
            (row.0, "computation", row.2),
            (row.0, "communication", row.3),
            (row.0, "copy", row.4),
            (row.0, "idle", row.1 - busy(row)),
        ]
    });
    let parts: Vec<(&str, &str, i64)> = parts.collect();
    let exposure = Table::build("exposure")
        .text("scope", parts.iter().map(|part| part.0))
        .text("kind", parts.iter().map(|part| part.1))
        .i64("split_ns", parts.iter().map(|part| part.2));
    [idle, exposure]
}

fn categories(rows: &[(&str, &str, i64)]) -> TableBuilder {
    Table::build("by_category")
        .text("lane_kind", rows.iter().map(|row| row.0))
        .text("category", rows.iter().map(|row| row.1))
        .u64("calls", rows.iter().map(|_| 1_u64))
        .i64("self_ns", rows.iter().map(|row| row.2))
}

fn lanes(rows: &[(&str, i64, i64)]) -> TableBuilder {
    Table::build("by_lane")
        .text("lane", rows.iter().map(|row| row.0))
        .text("lane_kind", rows.iter().map(|_| "host"))
        .i64("busy_ns", rows.iter().map(|row| row.1))
        .i64("waiting_ns", rows.iter().map(|row| row.1 / 4))
        .text("most_name", rows.iter().map(|_| "aten::mm"))
        .i64("most_ns", rows.iter().map(|row| row.1 / 2))
        .i64("wall_ns", rows.iter().map(|row| row.2))
}

/// Series: name, number of iterations, and median of the steady ones.
fn series(rows: &[(&str, u64, f64)]) -> TableBuilder {
    Table::build("series")
        .text("series", rows.iter().map(|row| row.0))
        .u64("iterations", rows.iter().map(|row| row.1))
        .u64("steady", rows.iter().map(|row| row.1))
        .f64("median_ns", rows.iter().map(|row| row.2))
        .f64("tokens_per_s", rows.iter().map(|_| None::<f64>))
        .f64("samples_per_s", rows.iter().map(|_| None::<f64>))
}

fn bottleneck(class: &str, gain: (i64, f64), sentence: &str) -> TableBuilder {
    Table::build("bottlenecks")
        .text("class", [class])
        .text("code", [class])
        .i64("gain_ns", [gain.0])
        .f64("gain_share", [gain.1])
        .text("sentence", [sentence])
}

fn halved(rows: &[(&str, i64)]) -> TableBuilder {
    Table::build("opportunity")
        .text("name", rows.iter().map(|row| row.0))
        .i64("gain_50pct_ns", rows.iter().map(|row| row.1))
}

fn kernels(rows: &[(&str, u64, i64)]) -> TableBuilder {
    Table::build("launches")
        .text("name", rows.iter().map(|row| row.0))
        .u64("operations", rows.iter().map(|row| row.1))
        .i64("dur_ns", rows.iter().map(|row| row.2))
}

/// Runs with a `bottleneck` that found nothing, unless its table is among the inputs.
fn summary(inputs: impl IntoIterator<Item = TableBuilder>) -> Output {
    let mut inputs: Vec<TableBuilder> = inputs.into_iter().collect();
    if !inputs.iter().any(|input| input.name() == "bottlenecks") {
        inputs.push(nothing_found());
    }
    run::<Summary>(inputs, "{}").unwrap()
}

fn nothing_found() -> TableBuilder {
    Table::build("bottlenecks")
        .text("class", [] as [&str; 0])
        .text("code", [] as [&str; 0])
        .i64("gain_ns", [] as [i64; 0])
        .f64("gain_share", [] as [f64; 0])
        .text("sentence", [] as [&str; 0])
}

fn sentence(output: &Output) -> String {
    let table = output.table("headline");
    table.text("sentence").unwrap().get(0).unwrap().to_owned()
}

const MS: i64 = 1_000_000;

#[test]
fn kernels_that_the_profiler_ran_one_by_one_bound_nothing() {
    let said = "40 kernels ran one by one while the profiler collected counters, so the time between kernels is the profiler's; \
        record a trace without counters to see what limits the program";
    let finding = Table::build("bottlenecks")
        .text("class", ["sync_bound"])
        .text("code", ["kernels_one_by_one"])
        .i64("gain_ns", [None::<i64>])
        .f64("gain_share", [None::<f64>])
        .text("sentence", [said]);
    let [idle, exposure] = devices(&[("gpu0", 100 * MS, 5 * MS, 0, 0)]);
    let path = Table::build("path_kinds")
        .text("kind", ["work", "gap"])
        .f64("wall_share", [0.05, 0.95]);
    let output = summary([wall(100 * MS, 40), idle, exposure, path, finding]);
    assert_eq!(
        sentence(&output),
        "wall 100 ms · GPU 5 % busy · what bounds the program was not measured: 40 kernels ran one by one while the profiler \
         collected counters, so the time between kernels is the profiler's"
    );
    let by = output.table("headline");
    assert_eq!(by.text("bound_by").unwrap().get(0), Some("profiler"));
}

/// A run of samples only, of two events. The first counts time.
fn sampled(samples: u64, module: Option<&'static str>) -> [TableBuilder; 2] {
    [
        Table::build("sampled_functions")
            .text("event", ["cpu-clock", "cpu-clock", "cycles"])
            .text("function", ["not known", "app::leaf", "other"])
            .text("module", [module, Some("/bin/app"), None])
            .f64("self_share", [0.5, 0.4, 0.9])
            .f64("low_share", [0.45, 0.35, 0.8])
            .f64("high_share", [0.55, 0.45, 0.95]),
        Table::build("sampled_threads")
            .text("event", ["cpu-clock", "cpu-clock", "cycles"])
            .u64("samples", [samples, 50, 9_000])
            .i64("estimated_ns", [Some(12 * MS), Some(3 * MS), None]),
    ]
}

#[test]
fn the_wait_of_a_sampled_thread_comes_before_what_ran() {
    let of_event = |event: &'static str| {
        let mut inputs = vec![wall(10 * MS, 7)];
        inputs.extend(sampled(950, None));
        inputs.push(
            Table::build("sampled_waits")
                .text("event", [event])
                .text("name", ["Thread 0x1F \"MainThread\""])
                .text("function", ["join (threading.py)"])
                .f64("thread_share", [0.75]),
        );
        sentence(&summary(inputs)).to_owned()
    };
    let text = of_event("cpu-clock");
    let waits = "wall 10.0 ms · MainThread waits in join (threading.py) in 75 % of its samples (inferred from the name) · 2 threads";
    assert!(text.starts_with(waits), "{text}");
    let text = of_event("cycles");
    assert!(!text.contains("waits in"), "{text}");
}

#[test]
fn samples_alone_say_how_long_threads_ran_and_which_function_most() {
    let mut inputs = vec![wall(10 * MS, 7)];
    inputs.extend(sampled(950, None));
    assert_eq!(
        sentence(&summary(inputs)),
        "wall 10.0 ms · 2 threads used 15.0 ms of CPU time (1.50 processors on average) · app::leaf ran in 40 % of it \
         (35 to 45 %), estimated from 1,000 samples"
    );
    // A file whose functions have no names is named itself.
    let mut inputs = vec![wall(10 * MS, 7)];
    inputs.extend(sampled(950, Some("/usr/lib/libcrypto.so.3")));
    let told = sentence(&summary(inputs));
    assert!(
        told.contains(" · libcrypto.so.3 (functions not known) ran in 50 % of it (45 to 55 %)"),
        "{told}"
    );
    // Too few for shares.
    let mut inputs = vec![wall(10 * MS, 7)];
    inputs.extend(sampled(10, None));
    assert_eq!(
        sentence(&summary(inputs)),
        "wall 10.0 ms · 2 threads used 15.0 ms of CPU time (1.50 processors on average), estimated from 60 samples"
    );
}

#[test]
fn a_library_of_nvidia_is_called_what_it_is() {
    let mut inputs = vec![wall(10 * MS, 7)];
    inputs.extend(sampled(950, Some("/usr/lib64/libcuda.so.560.35.03")));
    let line = sentence(&summary(inputs));
    assert!(line.contains("the CUDA driver ran in 50 %"), "{line}");
}

#[test]
fn of_several_events_the_one_that_counts_time_is_told() {
    let events = |events: [&'static str; 2]| {
        let functions = Table::build("sampled_functions")
            .text("event", events)
            .text("function", ["of_first", "of_second"])
            .text("module", [None::<&str>, None])
            .f64("self_share", [0.8, 0.6])
            .f64("low_share", [0.7, 0.5])
            .f64("high_share", [0.9, 0.7]);
        let threads = Table::build("sampled_threads")
            .text("event", events)
            .u64("samples", [900, 800])
            .i64("estimated_ns", [None::<i64>, None]);
        sentence(&summary([wall(10 * MS, 7), functions, threads]))
    };
    let told = events(["instructions", "cycles:u"]);
    assert!(
        told.contains("of_second ran in 60 % of the samples ("),
        "{told}"
    );
    // A file that says nothing of what was counted.
    let told = events(["samples", "instructions"]);
    assert!(
        told.contains("of_first ran in 80 % of the samples (70 to 90 %)"),
        "{told}"
    );
    let told = events(["instructions", "cache-misses"]);
    assert!(
        told.contains("of_first ran in 80 % of the samples of instructions ("),
        "{told}"
    );
}

#[test]
fn threads_are_listed_by_the_time_in_which_they_work() {
    let of_host = || categories(&[("host", "GEMM", 90 * MS)]);
    let named = |lanes| summary([wall(100 * MS, 7), of_host(), lanes]);
    let output = named(lanes(&[
        ("thread 1", 40 * MS, 100 * MS),
        ("thread 2", 80 * MS, 100 * MS),
    ]));
    let threads = output.table("threads");
    let names: Vec<_> = threads.text("thread").unwrap().iter().collect();
    assert_eq!(names, [Some("thread 2"), Some("thread 1")]);
    // A fourth of it they wait.
    assert_eq!(threads.i64("work_ns").unwrap().get(0), Some(60 * MS));
    assert_eq!(threads.f64("share").unwrap().get(1), Some(0.3));
    assert_eq!(threads.text("mostly_in").unwrap().get(0), Some("aten::mm"));
    // The sentence says it of a single one.
    let output = named(lanes(&[("thread 1", 40 * MS, 100 * MS)]));
    assert!(output.tables.iter().all(|table| table.name() != "threads"));
}

#[test]
fn memory_or_counters_alone_are_told() {
    let places = Table::build("memory")
        .text("place", ["gpu0", "host"])
        .i64("peak_bytes", [13_800_000_000, 5]);
    let owners = Table::build("memory_owners")
        .text("place", ["gpu0"])
        .text("tag", ["train.py:12 forward"])
        .text("name", ["outside bricks"])
        .f64("peak_share", [0.75]);
    assert_eq!(
        sentence(&summary([wall(MS, 7), places, owners])),
        "peak memory 13.8 GB on gpu0, 75 % of it held by train.py:12 forward · only memory was recorded, no work"
    );
    let before = Table::build("memory")
        .text("place", ["gpu0"])
        .i64("peak_bytes", [2_000_000_000]);
    let owners = Table::build("memory_owners")
        .text("place", ["gpu0"])
        .text("tag", ["allocated before the recording began"])
        .text("name", ["outside bricks"])
        .f64("peak_share", [0.87]);
    assert_eq!(
        sentence(&summary([wall(MS, 7), before, owners])),
        "peak memory 2.0 GB on gpu0, 87 % of it allocated before the recording began · only memory was recorded, no work"
    );
    let counters = Table::build("counters")
        .text("name", ["cycles", "instructions", "misses"])
        .i64("readings", [600, 500, 100])
        .f64("least", [0.0; 3])
        .f64("most", [9.0; 3]);
    assert_eq!(
        sentence(&summary([wall(MS, 7), counters])),
        "only counters were recorded: 1,200 readings of 3 counters"
    );
    let allocator = |most: f64| {
        let counters = Table::build("counters")
            .text("name", ["gpu0 allocated", "gpu0 reserved"])
            .i64("readings", [1, 1])
            .f64("least", [6e9, 16e9])
            .f64("most", [6e9, most]);
        sentence(&summary([wall(MS, 7), counters]))
    };
    assert_eq!(
        allocator(16e9),
        "6.0 GB of 16.0 GB reserved memory of gpu0 is allocated, 62 % is not · \
         only the state of the memory was recorded, no work"
    );
    assert!(allocator(17e9).starts_with("only counters"));
    let sums = Table::build("sums")
        .text(
            "name",
            [
                "sum: a/b/gemm (gpu 0) time (ns)",
                "sum: conv/Conv2D total",
                "sum: tiny total [ns]",
            ],
        )
        .f64("value", [6e6, 3.9e6, 1e5]);
    assert_eq!(
        sentence(&summary([wall(MS, 7), sums])),
        "only sums were recorded: 10.0 ms over 3 names, most in gemm 60 %, conv/Conv2D 39 %"
    );
}

fn bricks(rows: &[(&str, i64)]) -> TableBuilder {
    Table::build("by_brick")
        .text("lane_kind", rows.iter().map(|_| "host"))
        .text("name", rows.iter().map(|row| row.0))
        .text("category", rows.iter().map(|_| "waiting"))
        .i64("self_ns", rows.iter().map(|row| row.1))
        .u64("calls", rows.iter().map(|_| 1_u64))
        .i64("inclusive_ns", rows.iter().map(|row| row.1))
        .i64("max_ns", rows.iter().map(|row| row.1))
}

fn path(kind: &str, share: f64) -> TableBuilder {
    Table::build("path_kinds")
        .text("kind", [kind])
        .f64("wall_share", [share])
}

#[test]
fn waits_beside_samples_bound_nothing_and_their_path_is_told_where_it_is_known() {
    let of_samples = "wall 10.0 ms · 2 threads used 15.0 ms of CPU time (1.50 processors on average) · app::leaf ran in 40 % of it \
                      (35 to 45 %), estimated from 1,000 samples";
    let no_path = Table::build("path_kinds")
        .text("kind", [""; 0])
        .f64("wall_share", [0.0; 0]);
    let mut inputs = vec![wall(10 * MS, 7), no_path];
    inputs.push(categories(&[("host", "waiting", 8 * MS)]));
    inputs.push(bricks(&[("off_cpu", 7 * MS), ("runnable", MS)]));
    inputs.push(lanes(&[("thread 0", 8 * MS, 10 * MS)]));
    inputs.extend(sampled(950, None));
    assert_eq!(
        sentence(&summary(inputs)),
        format!(
            "{of_samples} · critical path: not measurable from samples alone (record `--calls` too)"
        )
    );
    let mut inputs = vec![wall(10 * MS, 7), path("gap", 0.1)];
    inputs.push(categories(&[
        ("host", "waiting", 8 * MS),
        // Stretches in which threads ran are in no brick.
        ("host", "outside bricks", 2 * MS),
    ]));
    inputs.push(bricks(&[("off_cpu", 8 * MS), ("running", 2 * MS)]));
    inputs.push(lanes(&[("thread 0", 10 * MS, 10 * MS)]));
    let work = Table::build("path_names")
        .text("name", ["running"])
        .text("category", [None::<&str>])
        .f64("wall_share", [0.6]);
    inputs.push(work);
    inputs.extend(sampled(950, None));
    assert_eq!(
        sentence(&summary(inputs)),
        format!("{of_samples} · on the critical path threads ran 60 % of the wall")
    );
    // Between recorded calls, samples say what ran.
    let mut inputs = vec![wall(10 * MS, 7), path("gap", 0.8)];
    inputs.push(categories(&[("host", "Other", MS)]));
    inputs.push(bricks(&[("read", MS)]));
    inputs.push(lanes(&[("thread 0", MS, 10 * MS)]));
    inputs.extend(sampled(950, None));
    let told = sentence(&summary(inputs));
    assert!(
        told.contains("unrecorded time: 80 % of the wall · app::leaf ran in 40 % of 1,000 samples (35 to 45 %)"),
        "{told}"
    );
    // Work of the program's own is told before what samples say.
    let mut inputs = vec![wall(10 * MS, 7)];
    inputs.push(categories(&[
        ("host", "waiting", MS),
        ("host", "FFN", 8 * MS),
    ]));
    inputs.push(lanes(&[("thread 0", 9 * MS, 10 * MS)]));
    inputs.extend(sampled(950, None));
    assert!(sentence(&summary(inputs)).contains("FFN"));
}

#[test]
fn a_pause_of_the_recorder_is_no_gap_that_bounds_the_run() {
    let with = |paused_ns: i64| {
        let mut inputs = vec![wall(10 * MS, 7), path("gap", 0.8)];
        inputs.push(categories(&[("host", "FFN", 2 * MS)]));
        inputs.push(lanes(&[("thread 0", 2 * MS, 10 * MS)]));
        let pauses = Table::build("pauses")
            .i64("time_ns", [MS, 5 * MS])
            .i64("dur_ns", [paused_ns / 2, paused_ns / 2]);
        inputs.push(pauses);
        sentence(&summary(inputs))
    };
    let told = with(0);
    assert!(
        told.contains("unrecorded time: 80 %") && !told.contains("paused"),
        "{told}"
    );
    let told = with(8 * MS);
    assert!(
        told.contains("recording paused for 80 % of the wall") && !told.contains("not recorded"),
        "{told}"
    );
}

#[test]
fn unrecorded_time_in_which_a_thread_ran_is_work_of_the_host() {
    let with = |on_cpu_ns: Option<i64>| {
        let mut inputs = vec![wall(10 * MS, 7), path("gap", 0.8)];
        inputs.push(categories(&[("host", "FFN", 2 * MS)]));
        inputs.push(lanes(&[("thread 0", 2 * MS, 10 * MS)]));
        inputs.push(Table::build("sampled_scheduling").i64("on_cpu_ns", [Some(MS), on_cpu_ns]));
        sentence(&summary(inputs))
    };
    let ran = with(Some(9_500_000));
    assert!(
        ran.contains("bound by host code that ran without records: 80 % of the wall"),
        "{ran}"
    );
    // 2 ms of the 9 may be those with records.
    let mostly = with(Some(9 * MS));
    assert!(
        mostly.contains("unrecorded time: 80 % of the wall, of which a thread ran at least 88 %"),
        "{mostly}"
    );
    for ns in [None, Some(5 * MS)] {
        let text = with(ns);
        assert!(
            text.contains("unrecorded time: 80 %") && !text.contains(" ran "),
            "{text}"
        );
    }
}

#[test]
fn time_that_threads_ran_is_told_as_measured_where_all_their_switches_are_known() {
    let with = |on_cpu_ns: [Option<i64>; 3], samples| {
        let mut inputs = vec![wall(10 * MS, 7)];
        inputs.push(Table::build("sampled_scheduling").i64("on_cpu_ns", on_cpu_ns));
        inputs.extend(sampled(samples, None));
        sentence(&summary(inputs))
    };
    let all = [Some(12 * MS), Some(2 * MS), Some(0)];
    assert_eq!(
        with(all, 950),
        "wall 10.0 ms · 3 threads used 14.0 ms of CPU time, measured (1.40 processors on average) · app::leaf ran in 40 % \
         of it (35 to 45 %), estimated from 1,000 samples"
    );
    assert_eq!(
        with(all, 10),
        "wall 10.0 ms · 3 threads used 14.0 ms of CPU time, measured (1.40 processors on average)"
    );
    let some = [Some(12 * MS), None, Some(0)];
    assert!(with(some, 10).contains("2 threads used 15.0 ms of CPU time (1.50"));
}

#[test]
fn threads_of_a_sampled_run_are_not_busy_while_they_wait() {
    let mut inputs = vec![wall(10 * MS, 7)];
    inputs.push(categories(&[("host", "waiting", 8 * MS)]));
    inputs.push(bricks(&[("off_cpu", 7 * MS), ("runnable", MS)]));
    inputs.push(lanes(&[("thread 0", 8 * MS, 10 * MS)]));
    inputs.extend(sampled(950, None));
    let output = summary(inputs);
    let table = output.table("headline");
    assert_eq!(table.f64("threads_busy_share").unwrap().get(0), None);
}

#[test]
fn calls_without_durations_are_counted() {
    let calls = Table::build("untimed_calls").i64("calls", [1_460]);
    assert_eq!(
        sentence(&summary([calls])),
        "1,460 calls of the operating system, without durations"
    );
}

#[test]
fn an_empty_run_says_that_nothing_was_recorded() {
    let output = summary([]);
    assert_eq!(sentence(&output), "no events were recorded");
    assert_eq!(output.tables.len(), 1);
    let only_counters = summary([wall(MS, 7)]);
    assert_eq!(
        sentence(&only_counters),
        "no bricks, kernels or calls were recorded"
    );
}

#[test]
fn nothing_is_said_of_the_host_where_a_process_may_be_a_device() {
    let inputs = |unclear: &[&str]| {
        [
            wall(10 * MS, 9),
            categories(&[("host", "FFN", 6 * MS)]),
            lanes(&[("thread 0", 6 * MS, 10 * MS)]),
            bottleneck("host_bound", (4 * MS, 0.4), "half of FFN saves 4 ms"),
            Table::build("unclear_devices").text("code", unclear.iter().copied()),
        ]
    };
    let judged = summary(inputs(&[]));
    assert!(
        sentence(&judged).contains("bound by"),
        "{}",
        sentence(&judged)
    );
    let unclear = summary(inputs(&["device_unclear"]));
    let text = sentence(&unclear);
    assert!(text.contains("what limits it was not determined"), "{text}");
    assert!(!text.contains("saves"), "{text}");
}

#[test]
fn most_of_the_time_is_no_limit_where_nobody_looked_for_bottlenecks() {
    let inputs = || {
        [
            wall(10 * MS, 9),
            categories(&[("host", "FFN", 6 * MS), ("host", "Attention", 2 * MS)]),
            lanes(&[("thread 0", 6 * MS, 10 * MS), ("thread 1", 2 * MS, 10 * MS)]),
        ]
    };
    let bound_by = |output: &Output| {
        output
            .table("headline")
            .text("bound_by")
            .unwrap()
            .get(0)
            .map(str::to_owned)
    };
    assert_eq!(bound_by(&summary(inputs())).as_deref(), Some("computation"));
    let not_judged = run::<Summary>(inputs(), "{}").unwrap();
    assert_eq!(bound_by(&not_judged), None);
    let text = sentence(&not_judged);
    assert!(
        text.ends_with(
            "most time in computation: 75 % FFN, 25 % Attention; what limits it was not determined"
        ),
        "{text}"
    );
}

#[test]
fn a_run_of_threads_names_its_categories_and_how_busy_they_were() {
    let output = summary([
        wall(10 * MS, 9),
        categories(&[("host", "FFN", 6 * MS), ("host", "Attention", 2 * MS)]),
        lanes(&[("thread 0", 6 * MS, 10 * MS), ("thread 1", 2 * MS, 10 * MS)]),
        series(&[("thread 0", 5, 2e6)]),
    ]);
    assert_eq!(
        sentence(&output),
        "step 2.00 ms (median of 5 steady, 500/s) · 2 threads 40 % busy · \
         bound by computation: 75 % FFN, 25 % Attention"
    );
}

#[test]
fn a_busy_device_is_bound_by_computation_and_is_promised_nothing_from_gaps() {
    let [idle, exposure] = devices(&[("gpu0", 100 * MS, 99 * MS, 0, 0)]);
    let output = summary([
        wall(101 * MS, 9),
        idle,
        exposure,
        categories(&[("device", "GEMM", 66 * MS), ("device", "Norm", 33 * MS)]),
        kernels(&[("void gemm<float>(int)", 3, 66 * MS), ("norm", 3, 33 * MS)]),
        Table::build("occupancy")
            .text(
                "name",
                [
                    "void gemm<float>(int)",
                    "void gemm<float>(int)",
                    "norm",
                    "norm",
                ],
            )
            .i64("dur_ns", [44 * MS, 22 * MS, 30 * MS, 3 * MS])
            .f64("occupancy", [Some(0.25), Some(1.0), Some(0.5), None]),
        // A frame that holds everything is nothing that can be made faster.
        halved(&[("<module>", 50 * MS), ("void gemm<float>(int)", 33 * MS)]),
    ]);
    assert_eq!(
        sentence(&output),
        "wall 101 ms · GPU 98 % busy · bound by computation: 67 % GEMM, 33 % Norm · \
         largest single gain: gemm<float> in half the time saves at most 33.0 ms (33 %)"
    );
    let kernels = output.table("kernels");
    assert_eq!(kernels.text("kernel").unwrap().get(0), Some("gemm<float>"));
    assert_eq!(kernels.f64("share").unwrap().get(1), Some(1.0 / 3.0));
    // By time, and only where it is known of all launches.
    let occupancy: Vec<_> = kernels.f64("occupancy").unwrap().iter().collect();
    assert_eq!(occupancy, [Some(0.5), None]);
}

#[test]
fn a_path_beside_busy_devices_names_no_small_gain_of_the_host() {
    let line = |gain_ms: i64| {
        let [idle, exposure] = devices(&[("gpu0", 100 * MS, 90 * MS, 0, 0)]);
        sentence(&summary([
            wall(100 * MS, 9),
            idle,
            exposure,
            path("work", 1.0),
            Table::build("path_names")
                .text("name", ["prepare"])
                .text("category", [None::<&str>])
                .f64("wall_share", [0.7]),
            categories(&[("device", "GEMM", 90 * MS)]),
            kernels(&[("gemm", 300, 90 * MS)]),
            halved(&[("aten::copy_", gain_ms * MS)]),
        ]))
    };
    assert_eq!(
        line(3),
        "wall 100 ms · GPU 90 % busy · bound by computation: 100 % GEMM"
    );
    assert!(line(8).ends_with("aten::copy_ in half the time saves at most 8.00 ms (8 %)"));
}

#[test]
fn a_fix_that_saves_little_is_not_named_before_the_kernel_that_takes_most() {
    for (fix_ms, named) in [
        (
            1,
            "largest single gain: gemm in half the time saves at most 33.0 ms (33 %)",
        ),
        (7, "best fix found: fusing them saves at most 7.00 ms (7 %)"),
    ] {
        let [idle, exposure] = devices(&[("gpu0", 100 * MS, 99 * MS, 0, 0)]);
        let gain = (fix_ms * MS, fix_ms as f64 / 101.0);
        let text = sentence(&summary([
            wall(101 * MS, 9),
            idle,
            exposure,
            categories(&[("device", "GEMM", 99 * MS)]),
            kernels(&[("gemm", 3, 66 * MS), ("norm", 3, 33 * MS)]),
            halved(&[("gemm", 33 * MS)]),
            bottleneck(
                "fragments",
                gain,
                "kernels are short; fusing them saves up to some time",
            ),
        ]));
        assert!(text.ends_with(named), "{text}");
    }
}

#[test]
fn half_the_time_of_what_holds_the_profiler_is_no_gain() {
    for (category, share, has_gain) in [
        ("profiler", 0.5, false),
        ("profiler", 0.1, true),
        ("GEMM", 0.5, true),
    ] {
        let names = Table::build("path_names")
            .text("name", ["inner", "aten::mm"])
            .text("category", [category, "GEMM"])
            .f64("wall_share", [share, 0.4]);
        let text = sentence(&summary([
            wall(100 * MS, 2),
            categories(&[("host", "GEMM", 90 * MS)]),
            lanes(&[("thread 0", 100 * MS, 100 * MS)]),
            names,
            halved(&[("aten::mm", 45 * MS)]),
        ]));
        assert_eq!(text.contains("in half the time"), has_gain, "{text}");
    }
}

#[test]
fn gaps_that_the_host_leaves_bound_nothing_where_the_device_computes_for_twice_as_long() {
    for (gain_ms, by_computation) in [(25, true), (40, false)] {
        let [idle, exposure] = devices(&[("gpu0", 100 * MS, 75 * MS, 0, 0)]);
        let output = summary([
            wall(100 * MS, 9),
            idle,
            exposure,
            categories(&[("device", "GEMM", 75 * MS)]),
            bottleneck(
                "launch_bound",
                (gain_ms * MS, gain_ms as f64 / 100.0),
                "the host launches too slowly; larger kernels save some",
            ),
        ]);
        let text = sentence(&output);
        assert_eq!(
            text.contains("bound by computation"),
            by_computation,
            "{text}"
        );
    }
}

#[test]
fn gaps_that_the_host_leaves_bound_nothing_where_communication_takes_longer() {
    let [idle, exposure] = devices(&[("gpu0", 100 * MS, 6 * MS, 49 * MS, 0)]);
    let with = |gain_ms: i64| {
        let launches = bottleneck(
            "launch_bound",
            (gain_ms * MS, gain_ms as f64 / 100.0),
            "the host launches too slowly; larger kernels save some",
        );
        // The path runs along the host.
        let path = path("gap", 0.4);
        let inputs = [
            wall(100 * MS, 9),
            idle.clone(),
            exposure.clone(),
            launches,
            path,
        ];
        sentence(&summary(inputs))
    };
    let text = with(29);
    assert!(
        text.contains("bound by exposed communication: 49 % of the wall"),
        "{text}"
    );
    assert!(with(45).contains("bound by launches"));
}

/// Set-up happens once, so what happens all along bounds the run if it takes clearly longer.
#[test]
fn set_up_bounds_nothing_where_what_recurs_takes_longer() {
    let set_up = |share: f64| {
        let sentence =
            "one-time setup takes some (aten::empty 30 ms); a warm start saves up to some";
        bottleneck("set_up", ((share * 1e8) as i64, share), sentence)
    };
    let of_device = |share: f64| {
        let [idle, exposure] = devices(&[("gpu0", 60 * MS, 55 * MS, 0, 0)]);
        let computing = categories(&[("device", "GEMM", 55 * MS)]);
        sentence(&summary([
            wall(100 * MS, 9),
            idle,
            exposure,
            computing,
            set_up(share),
        ]))
    };
    assert!(
        of_device(0.32).contains("bound by computation: 100 % GEMM · best fix found: a warm start"),
        "{}",
        of_device(0.32)
    );
    assert!(of_device(0.5).contains("bound by set-up"));

    let of_host = |name: &str, calls: u64| {
        let path = Table::build("path_names")
            .text("name", ["aten::zeros", name])
            .text("category", ["memory", "random numbers"])
            .f64("wall_share", [0.3, 0.6]);
        let bricks = Table::build("by_brick")
            .text("lane_kind", ["host"])
            .text("name", [name])
            .text("category", ["random numbers"])
            .i64("self_ns", [60 * MS])
            .u64("calls", [calls])
            .i64("inclusive_ns", [60 * MS])
            .i64("max_ns", [10 * MS]);
        sentence(&summary([
            wall(100 * MS, 9),
            categories(&[
                ("host", "random numbers", 60 * MS),
                ("host", "memory", 30 * MS),
            ]),
            lanes(&[("thread 0", 90 * MS, 100 * MS)]),
            path,
            bricks,
            set_up(0.3),
        ]))
    };
    assert!(
        of_host("aten::normal_", 10).contains("bound by computation: 67 % random numbers"),
        "{}",
        of_host("aten::normal_", 10)
    );
    // One call need not happen again, and the first call of `aten::empty` is the set-up itself.
    assert!(of_host("aten::normal_", 1).contains("bound by set-up"));
    assert!(of_host("aten::empty", 10).contains("bound by set-up"));
}

/// A name with one call takes more than the named one, so the named one is not the largest.
#[test]
fn a_gain_beside_a_larger_one_of_a_single_call_is_not_the_largest() {
    let with = |calls: u64| {
        let bricks = Table::build("by_brick")
            .text("lane_kind", ["host"; 2])
            .text("name", ["aten::conv2d", "aten::mm"])
            .text("category", ["convolution", "GEMM"])
            .i64("self_ns", [58 * MS, 30 * MS])
            .u64("calls", [calls, 9])
            .i64("inclusive_ns", [58 * MS, 30 * MS])
            .i64("max_ns", [58 * MS, 4 * MS]);
        sentence(&summary([
            wall(100 * MS, 9),
            categories(&[("host", "convolution", 58 * MS), ("host", "GEMM", 30 * MS)]),
            lanes(&[("thread 0", 88 * MS, 100 * MS)]),
            bricks,
            halved(&[("aten::conv2d", 29 * MS), ("aten::mm", 15 * MS)]),
        ]))
    };
    assert!(
        with(1).ends_with("largest gain of a repeated name: aten::mm in half the time saves at most 15.0 ms (15 %)"),
        "{}",
        with(1)
    );
    assert!(with(9).contains("largest single gain: aten::conv2d in half the time"));
}

/// Of one rank alone it is not known what is communication.
#[test]
fn communication_of_one_rank_may_be_waiting() {
    let [idle, exposure] = devices(&[("gpu0", 100 * MS, 20 * MS, 70 * MS, 0)]);
    let found = bottleneck(
        "exposed_communication",
        (5 * MS, 0.05),
        "exposed communication is 70 % of the wall on gpu0 (70.0 ms of 70.0 ms of communication, or of waiting for \
         other ranks: record them all); overlapping communication with compute saves up to 5.00 ms (5 %)",
    );
    let text = sentence(&summary([wall(100 * MS, 9), idle, exposure, found]));
    assert!(
        text.contains(
            "bound by exposed communication: 70 % of the wall (some of it may be waiting for other ranks)"
        ),
        "{text}"
    );
}

#[test]
fn set_up_of_the_host_is_named_whatever_was_recorded_of_the_device() {
    let text = |gain: Option<i64>| {
        let found = Table::build("bottlenecks")
            .text("class", ["set_up", "sync_bound"])
            .text("code", ["set_up", "no_device_work"])
            .i64("gain_ns", [gain.map(|ms| ms * MS), None])
            .f64("gain_share", [gain.map(|ms| ms as f64 / 100.0), None])
            .text(
                "sentence",
                [
                    "one-time setup takes much; a warm start saves up to some",
                    "40 operators for a device were recorded, but no device work; record it too",
                ],
            );
        let host = categories(&[("host", "convolution", 90 * MS)]);
        let lanes = lanes(&[("thread 0", 90 * MS, 100 * MS)]);
        sentence(&summary([wall(100 * MS, 9), host, lanes, found]))
    };
    assert!(
        text(Some(37)).contains("bound by set-up"),
        "{}",
        text(Some(37))
    );
    for gain in [None, Some(5)] {
        assert!(text(gain).contains("bound by an incomplete recording"));
    }
}

#[test]
fn copies_are_no_part_of_what_devices_compute() {
    let [idle, exposure] = devices(&[("gpu0", 100 * MS, 60 * MS, 0, 38 * MS)]);
    let copies = Table::build("device_copies")
        .text("category", ["memory"])
        .i64("self_ns", [58 * MS]);
    let kinds = [
        ("memory", 60 * MS),
        ("convolution", 45 * MS),
        ("GEMM", 13 * MS),
    ];
    let text = sentence(&summary([
        wall(100 * MS, 9),
        idle,
        exposure,
        categories(&kinds.map(|(name, ns)| ("device", name, ns))),
        copies,
    ]));
    assert!(
        text.contains("(38 % exposed copies) · bound by computation: 75 % convolution, 22 % GEMM"),
        "{text}"
    );
}

#[test]
fn a_path_that_passes_busy_devices_by_shows_what_was_not_recorded() {
    let [idle, exposure] = devices(&[("gpu0", 90 * MS, 48 * MS, 0, 0)]);
    let text = sentence(&summary([
        wall(100 * MS, 9),
        idle,
        exposure,
        lanes(&[("main", 11 * MS, 100 * MS)]),
        categories(&[
            ("device", "GEMM", 48 * MS),
            ("host", "outside bricks", 11 * MS),
        ]),
        Table::build("path_kinds")
            .text("kind", ["work", "gap"])
            .f64("wall_share", [0.11, 0.89]),
        Table::build("path_names")
            .text("name", ["cudaLaunchKernel"])
            .text("category", [None::<&str>])
            .f64("wall_share", [0.11]),
        Table::build("coverage").text("found", ["0.5800"]),
    ]));
    assert!(
        text.ends_with("bound by unrecorded time: 42 % of the wall, then 11 % in cudaLaunchKernel"),
        "{text}"
    );
}

#[test]
fn threads_of_a_pool_count_as_they_are_alive_at_once() {
    let text = sentence(&summary([
        wall(100 * MS, 9),
        lanes(&[
            ("thread 0", 10 * MS, 100 * MS),
            ("threads of pread (8 at once)", 240 * MS, 800 * MS),
        ]),
        categories(&[("host", "outside bricks", 250 * MS)]),
        Table::build("by_brick")
            .text("lane_kind", ["host", "host"])
            .text("name", ["pread", "open"])
            .text("category", ["outside bricks", "outside bricks"])
            .i64("self_ns", [240 * MS, 10 * MS])
            .u64("calls", [50, 2])
            .i64("inclusive_ns", [240 * MS, 10 * MS])
            .i64("max_ns", [8 * MS, 6 * MS]),
        Table::build("path_kinds")
            .text("kind", ["work", "gap"])
            .f64("wall_share", [0.08, 0.92]),
        Table::build("path_names")
            .text("name", ["pread"])
            .text("category", [None::<&str>])
            .f64("wall_share", [0.08]),
        Table::build("coverage").text("found", ["0.4100"]),
    ]));
    assert!(text.contains("9 threads 28 % busy"), "{text}");
    // Most of what is recorded lies in gaps of the path.
    assert!(
        text.ends_with("unrecorded time: 59 % of the wall, then 96 % of recorded time in pread"),
        "{text}"
    );
}

#[test]
fn training_that_waits_for_its_loader_says_so() {
    let [idle, exposure] = devices(&[("gpu0", 100 * MS, 60 * MS, 0, 0)]);
    let output = summary([
        wall(100 * MS, 9),
        idle,
        exposure,
        bottleneck(
            "data_load_bound",
            (39 * MS, 0.39),
            "the GPU waits for next 33 % of the wall; loading ahead saves up to 39.0 ms (39 %)",
        ),
        series(&[("thread 0", 2, 5e7)]),
    ]);
    assert_eq!(
        sentence(&output),
        "step 50.0 ms (median of 2 steady, 20.0/s) · GPU 60 % busy · \
         bound by data loading: the GPU waits for next 33 % of the wall · \
         best fix found: loading ahead saves at most 39 % of the wall"
    );
}

#[test]
fn a_gain_found_in_a_part_of_the_run_is_a_share_of_that_part() {
    let [idle, exposure] = devices(&[("gpu0", 100 * MS, 60 * MS, 0, 0)]);
    let part = Table::build("part")
        .text("name", ["iteration 32"])
        .i64("from_ns", [50 * MS])
        .i64("until_ns", [51 * MS]);
    let output = summary([
        wall(100 * MS, 9),
        idle,
        exposure,
        part,
        bottleneck(
            "data_load_bound",
            (MS / 4, 0.25),
            "the GPU waits for next 25 % of the wall; loading ahead saves up to 250 µs (25 %)",
        ),
    ]);
    let text = sentence(&output);
    let end = "the GPU waits for next 25 % of iteration 32 · best fix found: loading ahead saves at most 25 % of iteration 32";
    assert!(text.ends_with(end), "{text}");
    let share = output.table("headline").f64("gain_share").unwrap().get(0);
    assert_eq!(share, Some(0.25));
}

#[test]
fn steps_of_a_host_that_runs_ahead_are_no_rate() {
    for (step_ms, told) in [
        (
            10,
            "host step 10.0 ms (median of 3 steady, the GPU takes longer)",
        ),
        (32, "step 32.0 ms (median of 3 steady, 31.2/s)"),
    ] {
        let [idle, exposure] = devices(&[("gpu0", 100 * MS, 99 * MS, 0, 0)]);
        let walls = Table::build("iterations")
            .text("series", ["thread 0"; 3])
            .i64("wall_ns", [step_ms * MS; 3])
            .u64("iteration", [0, 1, 2])
            .text("phase", ["steady"; 3]);
        let output = summary([
            wall(101 * MS, 9),
            idle,
            exposure,
            categories(&[("device", "GEMM", 66 * MS)]),
            series(&[("thread 0", 3, (step_ms * MS) as f64)]),
            walls,
        ]);
        let sentence = sentence(&output);
        assert!(sentence.starts_with(told), "{sentence}");
    }
}

/// Of a run that is mostly start-up the sentence says where the steps are; of its steps alone, and of a host that runs ahead,
/// it does not.
/// Steps of 10, 10 and 40 ms that begin 12 ms after the end of the one before: 84 ms in all.
#[test]
fn a_rate_counts_all_steps_and_what_lies_between() {
    let walls = |between_ms: i64| {
        let starts = [0, 10 + between_ms, 20 + 2 * between_ms];
        Table::build("iterations")
            .text("series", ["thread 0"; 3])
            .i64("start_ns", starts.map(|ms| ms * MS))
            .i64("wall_ns", [10 * MS, 10 * MS, 40 * MS])
            .u64("iteration", [0, 1, 2])
            .text("phase", [None::<&str>; 3])
    };
    let series = Table::build("series")
        .text("series", ["thread 0"])
        .u64("iterations", [3_u64])
        .u64("steady", [None::<u64>])
        .f64("median_ns", [None::<f64>])
        .f64("tokens_per_s", [None::<f64>])
        .f64("samples_per_s", [None::<f64>]);
    let host = || categories(&[("host", "GEMM", 60 * MS)]);
    for (between_ms, every) in [(0, "20.0 ms"), (12, "28.0 ms")] {
        let text = sentence(&summary([
            wall(100 * MS, 9),
            host(),
            series.clone(),
            walls(between_ms),
        ]));
        let start = format!("step 10.0 ms (median of 3, one every {every})");
        assert!(text.starts_with(&start), "{text}");
    }
}

#[test]
fn steps_that_are_little_of_a_run_are_pointed_at() {
    let [idle, exposure] = devices(&[("gpu0", 1000 * MS, 20 * MS, 0, 0)]);
    let steps = || {
        let walls = Table::build("iterations")
            .text("series", ["thread 0"; 4])
            .i64("wall_ns", [50 * MS, 10 * MS, 10 * MS, 10 * MS])
            .u64("iteration", [5, 6, 7, 8])
            .text("phase", ["warm-up", "steady", "steady", "steady"]);
        [series(&[("thread 0", 3, (10 * MS) as f64)]), walls]
    };
    let told = |length_ms: i64| {
        let all = [wall(length_ms * MS, 9), idle.clone(), exposure.clone()];
        sentence(&summary(all.into_iter().chain(steps())))
    };
    let pointed = "steady steps are 3 % of the wall (--window iteration=6..8 is about them alone)";
    assert!(told(1000).contains(pointed), "{}", told(1000));
    assert!(!told(150).contains("--window"), "{}", told(150));
}

#[test]
fn ranks_tell_the_longest_and_what_communication_costs() {
    let [idle, exposure] = devices(&[
        ("gpu0", 100 * MS, 20 * MS, 50 * MS, 0),
        ("rank 1 gpu0", 100 * MS, 20 * MS, 70 * MS, 0),
    ]);
    let output = summary([
        wall(100 * MS, 9),
        Table::build("ranks").u64("rank", [0_u64, 1]),
        idle,
        exposure,
        series(&[("rank 0 thread 0", 4, 2e7), ("rank 1 thread 0", 4, 2.5e7)]),
    ]);
    assert_eq!(
        sentence(&output),
        "step 25.0 ms (median of 4 steady, 40.0/s, rank 1, longest of 2, shortest 20.0 ms) · \
         2 GPUs 70 % to 90 % busy · bound by exposed communication: 60 % of the wall"
    );
}

#[test]
fn only_findings_predict_beside_what_was_not_recorded() {
    let [idle, exposure] = devices(&[("gpu0", 10 * MS, MS, 0, 0)]);
    let output = summary([
        wall(100 * MS, 9),
        idle,
        exposure,
        Table::build("path_kinds")
            .text("kind", ["work", "gap"])
            .f64("wall_share", [0.2, 0.8]),
        bottleneck(
            "launch_bound",
            (10 * MS, 0.1),
            "a; b saves up to 10 ms (10 %)",
        ),
    ]);
    assert_eq!(
        sentence(&output),
        "wall 100 ms · GPU 1 % busy (10 % from first to last work) · \
         bound by unrecorded time: 80 % of the wall · best fix found: b saves at most 10.0 ms (10 %)"
    );
    let headline = output.table("headline");
    assert_eq!(headline.i64("gain_ns").unwrap().get(0), Some(10 * MS));
    assert!(headline.text("gain_not_known").unwrap().get(0).is_none());
}

#[test]
fn threads_of_which_little_was_recorded_are_bound_by_nothing_that_is_known() {
    let told = |gap: f64| {
        let output = summary([
            wall(100 * MS, 9),
            lanes(&[("main", 20 * MS, 100 * MS)]),
            categories(&[
                ("host", "waiting", 15 * MS),
                ("host", "outside bricks", 5 * MS),
            ]),
            Table::build("path_kinds")
                .text("kind", ["work", "gap"])
                .f64("wall_share", [1.0 - gap, gap]),
        ]);
        sentence(&output).to_owned()
    };
    assert!(told(0.8).ends_with("bound by unrecorded time: 80 % of the wall"));
    assert!(told(0.2).ends_with("bound by waiting: 75 % of recorded time, 25 % outside bricks"));
}

/// A kernel that starts long after its launch, with no recorded work before it, does not make a run compute-bound.
#[test]
fn work_that_something_unrecorded_held_bounds_nothing() {
    // Held, the host's work, and gaps.
    let told = |[held, host, gaps]: [f64; 3]| {
        let [idle, exposure] = devices(&[("gpu0", 100 * MS, 98 * MS, 0, 0)]);
        let output = summary([
            wall(100 * MS, 9),
            idle,
            exposure,
            Table::build("bottlenecks")
                .text("class", [] as [&str; 0])
                .text("code", [] as [&str; 0])
                .i64("gain_ns", [] as [i64; 0])
                .f64("gain_share", [] as [f64; 0])
                .text("sentence", [] as [&str; 0]),
            Table::build("path_kinds")
                .text("kind", ["work", "gap", "launch_delay", "queue"])
                .f64("wall_share", [host, gaps, held - 0.1, 0.1]),
            Table::build("path_names")
                .text("name", ["prepare"])
                .text("category", [None::<&str>])
                .f64("wall_share", [host]),
        ]);
        sentence(&output).to_owned()
    };
    for (held, host, gaps) in [(0.9, 0.05, 0.05), (0.4, 0.3, 0.3)] {
        let text = told([held, host, gaps]);
        let share = 100.0 * held;
        let words = format!(
            "bound by an unrecorded cause that delayed launched device work for {share:.0} % of the wall"
        );
        assert!(text.contains(&words), "{text}");
    }
    for parts in [[0.3, 0.5, 0.2], [0.3, 0.2, 0.5], [0.15, 0.1, 0.1]] {
        let text = told(parts);
        assert!(!text.contains("delayed launched"), "{text}");
    }
}

#[test]
fn a_host_that_prepares_and_launches_is_one_limit() {
    let [idle, exposure] = devices(&[("gpu0", 100 * MS, 24 * MS, 0, 0)]);
    let both = Table::build("bottlenecks")
        .text("class", ["launch_bound", "serialisation"])
        .text("code", ["launch_bound", "host_prepares"])
        .i64("gain_ns", [24 * MS, 23 * MS])
        .f64("gain_share", [0.24, 0.23])
        .text(
            "sentence",
            [
                "gpu0 waits for launches 24 %; capturing the launches in a graph saves up to 24 ms (24 %)",
                "gpu0 idles 50 %; preparing ahead saves up to 23 ms (23 %)",
            ],
        );
    assert_eq!(
        sentence(&summary([wall(100 * MS, 9), idle, exposure, both])),
        "wall 100 ms · GPU 24 % busy · bound by host work between launches: gpu0 idles 50 %, and gpu0 waits for \
         launches 24 % · best fix found: capturing the launches in a graph saves at most 24.0 ms (24 %)"
    );
}

#[test]
fn the_best_fix_may_be_one_that_another_finding_explains() {
    let [idle, exposure] = devices(&[("gpu0", 100 * MS, 6 * MS, 0, 0)]);
    let top = [
        (
            "launch_bound",
            None,
            "gpu0 waits for launches 20 %; capture the loop in a graph",
        ),
        (
            "sync_bound",
            Some(4),
            "the host waits for 4 %; removing the waits saves up to 4.00 ms (4 %)",
        ),
    ];
    let nested = (
        "blocking_copies",
        Some(9),
        "gpu0 is idle after copies; copying asynchronously saves up to 9.00 ms (9 %)",
    );
    let table = |name: &str, rows: &[(&str, Option<i64>, &str)]| {
        Table::build(name)
            .text("class", rows.iter().map(|row| row.0))
            .text("code", rows.iter().map(|row| row.0))
            .i64("gain_ns", rows.iter().map(|row| row.1.map(|ms| ms * MS)))
            .f64(
                "gain_share",
                rows.iter().map(|row| row.1.map(|ms| ms as f64 / 100.0)),
            )
            .text("sentence", rows.iter().map(|row| row.2))
    };
    let output = summary([
        wall(100 * MS, 9),
        idle,
        exposure,
        table("bottlenecks", &top),
        table("all_bottlenecks", &[nested, top[1]]),
    ]);
    let text = sentence(&output);
    assert!(
        text.ends_with("best fix found: copying asynchronously saves at most 9.00 ms (9 %)"),
        "{text}"
    );
    let source = output.table("headline").text("gain_source").unwrap();
    assert_eq!(source.get(0), Some("bottleneck.bottlenecks"));
}

#[test]
fn an_iteration_in_which_nothing_is_recorded_is_not_work() {
    let [idle, exposure] = devices(&[("gpu0", 100 * MS, MS, 0, 0)]);
    let path = |iteration: f64| {
        [
            Table::build("path_kinds")
                .text("kind", ["work", "gap"])
                .f64("wall_share", [0.7, 0.3]),
            Table::build("path_names")
                .text("name", ["ProfilerStep#*", "aten::empty"])
                .text("category", [None::<&str>, None])
                .f64("wall_share", [iteration, 0.7 - iteration]),
            Table::build("iteration_names").text("name", ["ProfilerStep#5", "ProfilerStep#6"]),
        ]
    };
    let told = |iteration| {
        let [kinds, names, iterations] = path(iteration);
        sentence(&summary([
            wall(100 * MS, 9),
            idle.clone(),
            exposure.clone(),
            kinds,
            names,
            iterations,
        ]))
    };
    assert!(told(0.69).ends_with("bound by unrecorded time: 99 % of the wall"));
    let host = told(0.1);
    assert!(
        host.ends_with(
            "bound by the host: 70 % of the wall, 60 % in aten::empty, 10 % outside operators"
        ),
        "{host}"
    );
}

/// TensorFlow names kernels like the operators of the host that launch them.
#[test]
fn operators_named_like_their_kernels_are_work_of_the_host() {
    let [idle, exposure] = devices(&[("gpu0", 100 * MS, 5 * MS, 0, 0)]);
    let path_of = |host: f64| {
        [
            Table::build("path_kinds")
                .text("kind", ["work", "gap"])
                .f64("wall_share", [0.95, 0.05]),
            Table::build("path_names")
                .text("name", ["Conv2D", "IteratorGetNext"])
                .text("category", [Some("convolution"), None])
                .f64("wall_share", [host, 0.95 - host]),
            kernels(&[("Conv2D", 3, 4 * MS)]),
        ]
    };
    let [kinds, names, kernels] = path_of(0.85);
    let inputs = [wall(100 * MS, 9), idle, exposure, kinds, names, kernels];
    let told = sentence(&summary(inputs));
    assert!(
        told.contains(
            "bound by the host: 91 % of the wall, 81 % in Conv2D, 10 % in IteratorGetNext"
        ),
        "{told}"
    );
}

#[test]
fn a_device_is_called_what_its_makers_call_it() {
    let [idle, exposure] = devices(&[("gpu0", 10 * MS, 9 * MS, 0, 0)]);
    let of = Table::build("devices")
        .text("device", ["gpu:0"])
        .text("name", ["Ascend910B"])
        .u64("memory_bytes", [None::<u64>]);
    let output = summary([wall(10 * MS, 1), idle, exposure, of]);
    let text = sentence(&output);
    assert!(text.starts_with("wall 10.0 ms · NPU 90 % busy"), "{text}");
}

#[test]
fn instances_of_a_template_are_one_part() {
    let [idle, exposure] = devices(&[("gpu0", 10 * MS, 10 * MS, 0, 0)]);
    let names = kernels(&[
        ("void mul_mat_q<12, 128>(float*)", 10, 5 * MS),
        ("void mul_mat_q<13, 64>(float*)", 10, 3 * MS),
        (
            "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, float, false>(float*)",
            10,
            2 * MS,
        ),
    ]);
    let output = summary([wall(10 * MS, 3), idle, exposure, names]);
    let text = sentence(&output);
    assert!(
        text.contains("bound by computation: 80 % mul_mat_q, 20 % gemvx::kernel"),
        "{text}"
    );
}

#[test]
fn all_shares_of_devices_are_of_the_same_time() {
    let all = [
        ("gpu0", 10 * MS, 4 * MS, 0, 0),
        ("gpu1", 10 * MS, 4 * MS, 0, 0),
        ("all", 10 * MS, 8 * MS, 0, 0),
    ];
    let [idle, _] = devices(&all[..2]);
    let [_, exposure] = devices(&all);
    let text = sentence(&summary([wall(100 * MS, 1), idle, exposure]));
    let shares = "2 GPUs 4 % busy (at least one 8 %, 40 % from first to last work)";
    assert!(text.contains(shares), "{text}");
}

#[test]
fn of_a_single_operation_no_share_of_its_own_time_is_told() {
    let [idle, exposure] = devices(&[("gpu0", 1_000, 1_000, 0, 0)]);
    let text = sentence(&summary([wall(10 * MS, 1), idle, exposure]));
    assert!(!text.contains("from first to last work"), "{text}");
}

#[test]
fn lanes_that_are_no_threads_are_not_called_so() {
    let text = |source: &'static str| {
        let run = wall(100 * MS, 2).text("clock_source", [source]);
        let lanes = lanes(&[("a", 10 * MS, 100 * MS), ("b", 10 * MS, 100 * MS)]);
        let host = categories(&[("host", "GEMM", 20 * MS)]);
        let covered = Table::build("coverage").text("found", ["0.9900"]);
        sentence(&summary([run, host, lanes, covered]))
    };
    let timeline = text("imported: tensorflow timeline");
    assert!(
        timeline.contains("2 lanes 10 % busy (at least one 99 %)"),
        "{timeline}"
    );
    assert!(text("perf").contains("2 threads 10 % busy ·"));
}

#[test]
fn a_device_that_was_called_and_shows_no_work_is_named_beside_unrecorded_time() {
    let text = |name: &'static str| {
        let brick = Table::build("by_brick")
            .text("lane_kind", ["host"])
            .text("category", ["outside bricks"])
            .text("name", [name])
            .u64("calls", [2_u64])
            .i64("self_ns", [10])
            .i64("inclusive_ns", [10])
            .i64("max_ns", [10]);
        let lanes = lanes(&[("a", 10, 100 * MS)]);
        let host = categories(&[("host", "outside bricks", 10)]);
        sentence(&summary([
            wall(100 * MS, 2),
            host,
            lanes,
            brick,
            path("gap", 0.99),
        ]))
    };
    let called = text("hipGetDeviceCount");
    let said = "99 % of the wall; a device was called, and no work of it was recorded";
    assert!(called.contains(said), "{called}");
    assert!(!text("parse").contains("device"));
}

/// As a timeline of Horovod: what a step computes is not in it.
#[test]
fn communication_alone_is_not_bound_by_what_lies_between() {
    let host = categories(&[
        ("host", "waiting", 70 * MS),
        ("host", "communication", 30 * MS),
    ]);
    let names = Table::build("path_names")
        .text("name", ["NEGOTIATE_ALLREDUCE", "MPI_ALLREDUCE"])
        .text("category", ["waiting", "communication"])
        .f64("wall_share", [0.25, 0.2]);
    let output = summary([
        wall(100 * MS, 2),
        host,
        lanes(&[("thread 0", 100 * MS, 100 * MS)]),
        path("gap", 0.55),
        names,
    ]);
    let text = sentence(&output);
    assert!(
        text.contains("bound by communication: 45 % of the wall"),
        "{text}"
    );
}

#[test]
fn that_no_name_gains_is_said_only_where_none_does() {
    let reason = |name: &str, calls: u64, gain_ns: i64| {
        let [idle, exposure] = devices(&[("gpu0", 10 * MS, 6 * MS, 0, 0)]);
        let bricks = Table::build("by_brick")
            .text("lane_kind", ["device"])
            .text("name", [name])
            .text("category", ["GEMM"])
            .i64("self_ns", [6 * MS])
            .u64("calls", [calls])
            .i64("inclusive_ns", [6 * MS])
            .i64("max_ns", [6 * MS / calls as i64]);
        let path = path("work", 1.0);
        let launched = kernels(&[("gemm", calls, 6 * MS)]);
        let gains = halved(&[(name, gain_ns)]);
        let output = summary([
            wall(10 * MS, 9),
            idle,
            exposure,
            bricks,
            path,
            launched,
            gains,
        ]);
        let table = output.table("headline");
        let texts = table.text("gain_not_known").unwrap();
        texts.get(0).map(str::to_owned)
    };
    let none = reason("gemm", 1, 1);
    let none = none.as_deref();
    assert_eq!(
        none,
        Some("no name on the critical path gains more than 1 % of the wall")
    );
    let few = reason("aten::mm", 1, 3 * MS);
    let few = few.as_deref();
    assert_eq!(
        few,
        Some("the names that would gain more have too few calls to predict from")
    );
    // A range holds the work of others: nothing is said of it, neither that it gains nor that it does not.
    assert_eq!(reason("work (a.py:1)", 40, MS), None);
}

#[test]
fn a_device_states_its_kernels_and_copies_with_their_times() {
    let [idle, exposure] = devices(&[
        ("gpu0", 10 * MS, 4 * MS, 0, MS),
        ("gpu1", 10 * MS, 2 * MS, 0, 0),
    ]);
    let copies = Table::build("copies")
        .text("place", ["gpu0", "gpu0"])
        .u64("operations", [1_u64, 2])
        .i64("dur_ns", [MS / 2, MS / 2])
        .u64("bytes", [Some(1_000_u64), None])
        .u64("stated", [1_u64, 0]);
    let launched = kernels(&[("gemm", 4, 5 * MS), ("relu", 3, MS)]);
    let output = summary([wall(10 * MS, 9), idle, exposure, copies, launched]);
    let table = output.table("devices");
    let counts = |column: &str| -> Vec<_> { table.u64(column).unwrap().iter().collect() };
    let times = |column: &str| -> Vec<_> { table.i64(column).unwrap().iter().collect() };
    assert_eq!(counts("kernels"), [Some(2), Some(5)], "what is no copy");
    assert_eq!(times("kernels_ns"), [Some(4 * MS), Some(2 * MS)]);
    assert_eq!(counts("copies"), [Some(3), Some(0)]);
    assert_eq!(times("copies_ns"), [Some(MS), Some(0)]);
    assert_eq!(counts("copies_stated"), [Some(1), Some(0)]);
    assert_eq!(counts("copies_bytes"), [Some(1_000), None]);
    let headline = output.table("headline");
    let count = |column: &str| headline.u64(column).unwrap().get(0);
    assert_eq!(
        (count("kernel_names"), count("kernels")),
        (Some(2), Some(7))
    );
    assert_eq!(headline.i64("kernels_ns").unwrap().get(0), Some(6 * MS));
    assert_eq!(headline.bool("busy_at_least").unwrap().get(0), Some(false));
}

/// A device of 100 ms, 30 ms of which it computes, with these gaps; `rows` say what else was recorded.
fn idle_device(gaps: u64, longest_ns: i64, rows: Vec<TableBuilder>) -> String {
    let exposure = Table::build("exposure")
        .text("scope", ["gpu0", "gpu0"])
        .text("kind", ["computation", "idle"])
        .i64("split_ns", [30 * MS, 70 * MS]);
    let none = || [None::<i64>];
    let idle = Table::build("idle")
        .text("place", ["gpu0"])
        .i64("span_ns", [100 * MS])
        .i64("idle_ns", [70 * MS])
        .i64("busy_ns", [30 * MS])
        .i64("not_queued_ns", none())
        .i64("launching_ns", none())
        .i64("not_started_ns", none())
        .i64("not_known_ns", none())
        .u64("gaps", [gaps])
        .i64("longest_ns", [longest_ns])
        .u64("operations", [2_u64])
        .i64("dur_ns", [30 * MS]);
    let kinds = Table::build("path_kinds")
        .text("kind", ["work", "gap"])
        .f64("wall_share", [0.3, 0.7]);
    let mut inputs = vec![wall(100 * MS, 9), idle, exposure, kinds];
    inputs.extend(rows);
    sentence(&summary(inputs))
}

#[test]
fn a_device_recorded_alone_says_how_it_idles() {
    let text = idle_device(1_400, MS, Vec::new());
    assert!(
        text.ends_with(
            "unrecorded time: 70 % of the wall, while the GPU was idle 1,400 times for 50.0 µs on average; nothing of \
             the host was recorded"
        ),
        "{text}"
    );
    let text = idle_device(1_400, 60 * MS, Vec::new());
    assert!(
        text.ends_with("most of it one gap of 60.0 ms; of the other 40.0 ms, 75 % is computation"),
        "{text}"
    );
}

#[test]
fn unrecorded_time_comes_with_the_largest_recorded_part() {
    let names = Table::build("path_names")
        .text("name", ["poll", "cuModuleUnload", "cudaFree"])
        .text("category", [Some("waiting"), None, None])
        .f64("wall_share", [0.3, 0.2, 0.02]);
    let rows = vec![lanes(&[("main", 22 * MS, 100 * MS)]), names];
    let text = idle_device(1_400, 60 * MS, rows);
    assert!(
        text.ends_with("unrecorded time: 70 % of the wall, then 20 % in cuModuleUnload"),
        "{text}"
    );
}

#[test]
fn waits_of_the_host_are_named() {
    let of = |beside: &[(&str, f64)]| {
        let [idle, exposure] = devices(&[("gpu0", 100 * MS, 3 * MS, 0, 0)]);
        sentence(&summary([
            wall(100 * MS, 9),
            idle,
            exposure,
            Table::build("path_kinds")
                .text("kind", ["work", "gap"])
                .f64("wall_share", [0.9, 0.1]),
            Table::build("path_names")
                .text("name", ["try_to_block", "prepare"])
                .text("category", [Some("waiting"), None])
                .f64("wall_share", [0.6, 0.3]),
            Table::build("beside_waits")
                .text("name", beside.iter().map(|row| row.0))
                .f64("wall_share", beside.iter().map(|row| row.1)),
        ]))
    };
    let executor = of(&[("ThunkExecutor::Execute", 0.5), ("dot", 0.1)]);
    assert!(
        executor.ends_with(
            "; what they wait for was not recorded, and other threads ran ThunkExecutor::Execute meanwhile (50 % of the wall)"
        ),
        "{executor}"
    );
    let text = of(&[("ThunkExecutor::Execute", 0.2)]);
    assert!(
        text.ends_with(
            "bound by host waits: 60 % of the wall, most in try_to_block; what they wait for was not recorded"
        ),
        "{text}"
    );
}

#[test]
fn devices_that_only_communicate_say_nothing_of_what_they_could_hide() {
    let parts = |computation_ns| {
        let [idle, exposure] = devices(&[
            ("gpu0", 100 * MS, computation_ns, 80 * MS, 0),
            ("gpu1", 100 * MS, computation_ns, 60 * MS, 0),
        ]);
        sentence(&summary([wall(100 * MS, 9), idle, exposure]))
    };
    let text = parts(0);
    assert!(
        text.ends_with(
            "communication: 70 % of the wall; only communication was recorded, not the work between"
        ),
        "{text}"
    );
    assert!(parts(MS).contains("exposed communication"), "{}", parts(MS));
}

#[test]
fn copies_of_a_host_are_a_part_beside_its_computation() {
    let text = sentence(&summary([
        wall(100 * MS, 9),
        lanes(&[("main", 100 * MS, 100 * MS)]),
        categories(&[
            ("host", "random numbers", 50 * MS),
            ("host", "memory", 30 * MS),
            ("host", "elementwise", 20 * MS),
        ]),
    ]));
    assert!(
        text.ends_with(
            "computation: 50 % random numbers, 30 % copies and allocation, 20 % elementwise"
        ),
        "{text}"
    );
}

/// Profilers record calls of the system, such as `poll`, beside work.
#[test]
fn a_thread_in_a_waiting_call_is_not_busy() {
    let call = |name: &str| {
        sentence(&summary([
            wall(100 * MS, 9),
            lanes(&[("thread 0", 80 * MS, 100 * MS)]),
            categories(&[("host", "outside bricks", 80 * MS)]),
            Table::build("by_brick")
                .text("lane_kind", ["host"])
                .text("name", [name])
                .text("category", ["outside bricks"])
                .i64("self_ns", [80 * MS])
                .u64("calls", [1])
                .i64("inclusive_ns", [80 * MS])
                .i64("max_ns", [80 * MS]),
        ]))
        .to_owned()
    };
    assert!(
        call("ioctl").contains("1 thread 80 % busy"),
        "{}",
        call("ioctl")
    );
    assert!(
        call("poll").contains("1 thread 0 % busy"),
        "{}",
        call("poll")
    );
}

#[test]
fn waits_without_any_work_are_told_as_such() {
    let wait = "NEGOTIATE_ALLREDUCE";
    let output = summary([
        wall(100 * MS, 9),
        lanes(&[("rank", 40 * MS, 100 * MS)]),
        categories(&[("host", "waiting", 40 * MS)]),
        Table::build("by_brick")
            .text("lane_kind", ["host"])
            .text("name", [wait])
            .text("category", ["waiting"])
            .i64("self_ns", [40 * MS])
            .u64("calls", [2])
            .i64("inclusive_ns", [40 * MS])
            .i64("max_ns", [30 * MS]),
        Table::build("path_kinds")
            .text("kind", ["gap"])
            .f64("wall_share", [1.0]),
        Table::build("coverage").text("found", ["0.4000"]),
    ]);
    let told = sentence(&output);
    assert!(
        told.contains(
            "bound by waits: 40 % of the wall, in NEGOTIATE_ALLREDUCE; only waits were recorded, not the work between"
        ),
        "{told}"
    );
}

/// Columns of the headline that conclude something from times.
fn concluded(output: &Output) -> [bool; 4] {
    let table = output.table("headline");
    [
        table.f64("gpu_busy_share").unwrap().get(0).is_some(),
        table.text("bound_by").unwrap().get(0).is_some(),
        table.i64("wall_ns").unwrap().get(0).is_some(),
        table.f64("threads_busy_share").unwrap().get(0).is_some(),
    ]
}

#[test]
fn nothing_follows_from_times_that_carry_no_information() {
    let told = |check: &str, found: &str, more: Vec<TableBuilder>| {
        let [idle, exposure] = devices(&[("gpu0", 100 * MS, 90 * MS, 0, 0)]);
        let mut tables = vec![
            wall(100 * MS, 9),
            idle,
            exposure,
            categories(&[("device", "GEMM", 90 * MS), ("host", "FFN", 90 * MS)]),
            lanes(&[("thread 0", 90 * MS, 100 * MS)]),
            kernels(&[("gemm", 3, 90 * MS)]),
            Table::build("meaningless")
                .text("check", [check])
                .text("found", [found]),
            bottleneck("x_bound", (50 * MS, 0.5), "slow; do it saves"),
        ];
        tables.extend(more);
        summary(tables)
    };
    let alike = told("durations_differ", "25 rows of 100 µs", Vec::new());
    assert_eq!(
        sentence(&alike),
        "all rows have one duration (25 rows of 100 µs): nothing follows from their times"
    );
    assert_eq!(concluded(&alike), [false; 4]);
    assert_eq!(
        alike
            .table("headline")
            .text("gain_not_known")
            .unwrap()
            .get(0),
        Some("the times of the run carry no information")
    );
    let apart = told("one_timeline", "1 hole, 100.00 % of wall", Vec::new());
    assert!(sentence(&apart).starts_with("times of several clocks"));
    assert_eq!(concluded(&apart), [false; 4]);
    // The part that a window shows has no hole.
    let window = Table::build("report_window")
        .i64("from_ns", [0])
        .i64("until_ns", [100 * MS]);
    let part = told("one_timeline", "1 hole", vec![window]);
    assert_eq!(concluded(&part), [true; 4]);
}

#[test]
fn intervals_that_were_only_open_are_no_work() {
    let open = Table::build("open_intervals").u64("bound_calls", [5_u64, 7]);
    assert_eq!(
        sentence(&summary([wall(100 * MS, 12), open])),
        "12 intervals only bound the work in them; the work itself was not recorded"
    );
}

#[test]
fn a_request_that_failed_comes_first() {
    let failed = Table::build("out_of_memory").text(
        "sentence",
        ["gpu1 ran out of memory: 5.31 GB requested", "again"],
    );
    let places = Table::build("memory")
        .text("place", ["gpu1"])
        .i64("peak_bytes", [84_000_000_000]);
    let told = summary([wall(100 * MS, 9), failed, places]);
    assert_eq!(
        sentence(&told),
        "gpu1 ran out of memory: 5.31 GB requested · peak memory 84.0 GB on gpu1 · only memory was recorded, no work"
    );
}

/// The path follows one lane: in its gaps, others may work.
#[test]
fn a_gap_of_the_path_in_which_other_threads_work_is_not_unrecorded() {
    let told = |coverage: &str, waits_ns: i64| {
        let output = summary([
            wall(100 * MS, 9),
            lanes(&[("main", 20 * MS, 100 * MS), ("other", 100 * MS, 100 * MS)]),
            categories(&[("host", "GEMM", 60 * MS), ("host", "optimizer", 30 * MS)]),
            Table::build("by_brick")
                .text("lane_kind", ["host"])
                .text("name", ["wait"])
                .text("category", ["waiting"])
                .i64("self_ns", [waits_ns])
                .u64("calls", [1])
                .i64("inclusive_ns", [waits_ns])
                .i64("max_ns", [waits_ns]),
            Table::build("path_kinds")
                .text("kind", ["work", "gap"])
                .f64("wall_share", [0.2, 0.8]),
            Table::build("coverage").text("found", [coverage]),
        ]);
        sentence(&output).to_owned()
    };
    assert!(told("0.9000", 0).ends_with("bound by computation: 67 % GEMM, 33 % optimizer"));
    assert!(told("0.4000", 0).ends_with("bound by unrecorded time: 60 % of the wall"));
    // More is recorded than not.
    assert!(told("0.6000", 0).ends_with("bound by computation: 67 % GEMM, 33 % optimizer"));
    // A thread that waits all the time covers the wall, and works for none of it.
    assert!(told("1.0000", 100 * MS).ends_with("bound by unrecorded time: 80 % of the wall"));
}

fn path_kinds(waits: f64, work: f64, gap: f64) -> TableBuilder {
    path_kinds_and(waits, work, gap, 0.0)
}

fn path_kinds_and(waits: f64, work: f64, gap: f64, held: f64) -> TableBuilder {
    Table::build("path_kinds")
        .text("kind", ["sync_wait", "work", "gap", "launch_delay"])
        .f64("wall_share", [waits, work, gap, held])
}

fn path_names(rows: &[(&'static str, &'static str, f64)]) -> TableBuilder {
    Table::build("path_names")
        .text("name", rows.iter().map(|row| row.0))
        .text("category", rows.iter().map(|row| row.1))
        .f64("wall_share", rows.iter().map(|row| row.2))
}

#[test]
fn set_up_and_small_grids_do_not_hide_more_time_without_records() {
    let text_of = |class: &str, set_up: f64, gap: f64, covered: &'static str| {
        let [idle, exposure] = devices(&[("gpu0", 10 * MS, 4 * MS, 0, 0)]);
        let coverage = Table::build("coverage").text("found", [covered]);
        let gain = (set_up * 100.0 * MS as f64) as i64;
        let found = bottleneck(
            class,
            (gain, set_up),
            "one-time setup takes much of the wall (cudaEventCreate 26.0 ms); a warm start saves up to some",
        );
        let rest = 1.0 - gap;
        sentence(&summary([
            wall(100 * MS, 9),
            idle,
            exposure,
            found,
            lanes(&[("thread 0", 36 * MS, 100 * MS)]),
            coverage,
            path_kinds(0.0, rest, gap),
            path_names(&[
                ("cudaEventCreate", "outside bricks", set_up),
                ("solve", "outside bricks", rest - set_up),
            ]),
        ]))
    };
    let text = |set_up, gap, covered| text_of("set_up", set_up, gap, covered);
    let grids = text_of("small_grids", 0.26, 0.64, "0.36");
    assert!(
        grids.contains("bound by unrecorded time: 64 % of the wall"),
        "{grids}"
    );
    let most = text(0.26, 0.64, "0.36");
    assert!(
        most.contains("bound by unrecorded time: 64 % of the wall, then 26 % in cudaEventCreate"),
        "{most}"
    );
    let set_up = text(0.56, 0.34, "0.66");
    assert!(
        set_up.contains("bound by set-up: one-time setup takes much of the wall"),
        "{set_up}"
    );
}

#[test]
fn beside_unrecorded_time_copies_are_named_if_they_are_most_of_the_rest() {
    let text = |copies: f64| {
        let [idle, exposure] = devices(&[("gpu0", 100 * MS, 10 * MS, 0, 30 * MS)]);
        let kinds = Table::build("path_kinds")
            .text("kind", ["gap", "transfer", "work"])
            .f64("wall_share", [0.55, copies, 0.45 - copies]);
        sentence(&summary([
            wall(100 * MS, 9),
            idle,
            exposure,
            lanes(&[("thread 0", 5 * MS, 100 * MS)]),
            categories(&[("host", "memory", 5 * MS)]),
            kinds,
            path_names(&[("gemm", "GEMM", 0.45 - copies)]),
        ]))
    };
    let most = text(0.3);
    assert!(
        most.contains("bound by unrecorded time: 55 % of the wall, then 30 % in copies"),
        "{most}"
    );
    let few = text(0.05);
    assert!(
        few.contains("bound by unrecorded time: 55 % of the wall, then 40 % in gemm"),
        "{few}"
    );
}

#[test]
fn how_kernels_compute_comes_before_their_names() {
    let text = |severity: &'static str| {
        let [idle, exposure] = devices(&[("gpu0", 100 * MS, 80 * MS, 0, 0)]);
        let found = Table::build("bottlenecks")
            .text("class", ["unoptimised"])
            .text("code", ["partial_warps"])
            .text("severity", [severity])
            .i64("gain_ns", [None::<i64>])
            .f64("gain_share", [None::<f64>])
            .text("sentence", ["100 % of the busy time of gpu0 is in blocks of fewer than 32 threads; give blocks a multiple of 32 threads"]);
        let kernels = kernels(&[("insert", 5, 80 * MS)]);
        sentence(&summary([
            wall(100 * MS, 9),
            idle,
            exposure,
            found,
            kernels,
        ]))
    };
    let high = text("high");
    assert!(high.contains("bound by computation: 100 % of the busy time of gpu0 is in blocks of fewer than 32 threads"), "{high}");
    let medium = text("medium");
    assert!(
        medium.contains("bound by computation: 100 % insert"),
        "{medium}"
    );
}

#[test]
fn the_wait_of_the_first_collective_stands_beside_what_follows() {
    let text = |code: &'static str| {
        let [idle, exposure] = devices(&[("gpu0", 500 * MS, 50 * MS, 340 * MS, 0)]);
        let bricks = Table::build("by_brick")
            .text("lane_kind", ["device", "device", "device"])
            .text("name", ["hcom_broadcast", "hcom_allReduce", "MatMul"])
            .text(
                "category",
                [Some("communication"), Some("communication"), None],
            )
            .u64("calls", [1_u64, 9, 20])
            .i64("self_ns", [300 * MS, 40 * MS, 50 * MS])
            .i64("inclusive_ns", [300 * MS, 40 * MS, 50 * MS])
            .i64("max_ns", [300 * MS, 6 * MS, 4 * MS]);
        let found = Table::build("bottlenecks")
            .text("class", ["exposed_communication"])
            .text("code", [code])
            .i64("gain_ns", [None::<i64>])
            .f64("gain_share", [None::<f64>])
            .text(
                "sentence",
                ["the first of 10 communication kernels takes 300 ms; check it"],
            );
        sentence(&summary([wall(500 * MS, 9), idle, exposure, found, bricks]))
    };
    let first = text("first_collective");
    assert!(
        first.contains(
            "bound by the first of 10 collectives, hcom_broadcast: it takes 300 ms, 60 % of the wall, more than all others together \
             (start-up, or late ranks); of the other 200 ms, 55 % is idle, 25 % is computation, 20 % is exposed communication"
        ),
        "{first}"
    );
    let other = text("exposed_communication");
    assert!(
        other.contains("bound by exposed communication: 68 % of the wall"),
        "{other}"
    );
}

#[test]
fn set_up_does_not_hide_a_larger_wait() {
    let text = |waits: f64, code: &'static str| {
        let [idle, exposure] = devices(&[("gpu0", 30 * MS, MS, 0, 0)]);
        let found = Table::build("bottlenecks")
            .text("class", ["set_up", "sync_bound"])
            .text("code", ["set_up", code])
            .i64("gain_ns", [Some(31 * MS), None])
            .f64("gain_share", [Some(0.31), None])
            .text(
                "sentence",
                [
                    "host work while 25 graphs are captured takes 31 % of the wall; a warm start saves up to 31.0 ms (31 %)",
                    "the host waits before the first recorded device work; record it too",
                ],
            );
        sentence(&summary([
            wall(100 * MS, 9),
            idle,
            exposure,
            found,
            path_kinds(waits, 1.0 - waits, 0.0),
            path_names(&[("prepare", "uncategorised", 0.99 - waits)]),
        ]))
    };
    let larger = text(0.66, "earlier_work");
    assert!(
        larger.contains("bound by waits: the host waits before the first recorded device work ·"),
        "{larger}"
    );
    assert!(
        larger.ends_with("a warm start saves at most 31.0 ms (31 %)"),
        "{larger}"
    );
    let other = text(0.66, "idle_gaps");
    assert!(
        other.contains("bound by host waits without a recorded cause: 66 %"),
        "{other}"
    );
    // It is not the largest part of the path.
    assert!(text(0.40, "idle_gaps").contains("bound by set-up"));
}

/// A device busy for `busy` of 100 ms beside a host that works in `covered` of it, and no dependency that joins them.
fn beside_host(busy: i64, covered: &'static str) -> String {
    beside_host_and(busy, covered, 0.0, &[])
}

/// The same with further rows on the path, and work that is held for that share of the wall.
fn beside_host_and(
    busy: i64,
    covered: &'static str,
    held: f64,
    on_path: &[(&'static str, &'static str, f64)],
) -> String {
    let [idle, exposure] = devices(&[("gpu0", 98 * MS, busy * MS, 0, 0)]);
    let share = busy as f64 / 100.0;
    let bricks = Table::build("by_brick")
        .text("lane_kind", ["host", "host"])
        .text("name", ["LookupTableFindV2", "Unique"])
        .text("category", ["uncategorised", "uncategorised"])
        .i64("self_ns", [30 * MS, 20 * MS])
        .u64("calls", [50, 50])
        .i64("inclusive_ns", [30 * MS, 20 * MS])
        .i64("max_ns", [MS, MS]);
    sentence(&summary([
        wall(100 * MS, 9),
        idle,
        exposure,
        lanes(&[("lane 0", 50 * MS, 100 * MS)]),
        categories(&[
            ("device", "convolution", busy * MS),
            ("host", "uncategorised", 50 * MS),
        ]),
        bricks,
        kernels(&[("Conv2D", 20, busy * MS)]),
        path_kinds_and(0.0, share, 1.0 - share - held, held),
        path_names(&[&[("Conv2D", "convolution", share)], on_path].concat()),
        Table::build("coverage").text("found", [covered]),
    ]))
}

/// Its path is the device's work and gaps, which does not make a device that mostly idles the limit.
#[test]
fn a_host_whose_work_is_beside_the_path_may_be_the_limit() {
    let idles = beside_host(44, "0.9300");
    assert!(
        idles.ends_with(
            "bound by the host: it works for 49 % of the wall while the GPU is idle, 60 % of recorded time in LookupTableFindV2, 40 % in Unique"
        ),
        "{idles}"
    );
    for (busy, covered) in [(44, "0.6000"), (55, "0.9900")] {
        let works = beside_host(busy, covered);
        assert!(
            works.contains("bound by computation: 100 % convolution"),
            "{works}"
        );
    }
    // Here the path knows the host: it waits in a copy, or has launched what is held.
    let copies = [("hipMemcpyWithStream", "memory", 0.49)];
    for works in [
        beside_host_and(49, "0.9900", 0.0, &copies),
        beside_host_and(49, "0.9900", 0.49, &[]),
    ] {
        assert!(
            works.contains("bound by computation: 100 % convolution"),
            "{works}"
        );
    }
}

#[test]
fn loading_on_the_path_is_the_limit_even_if_no_gain_is_known() {
    let [idle, exposure] = devices(&[("gpu0", 98 * MS, 13 * MS, 0, 0)]);
    let found = Table::build("bottlenecks")
        .text("class", ["data_load_bound"])
        .text("code", ["data_load_bound"])
        .i64("gain_ns", [None::<i64>])
        .f64("gain_share", [None::<f64>])
        .text(
            "sentence",
            ["the program waits for IteratorGetNext for 66 % of the wall; no gain can be predicted: dependencies were not recorded"],
        );
    let text = sentence(&summary([
        wall(100 * MS, 9),
        idle,
        exposure,
        found,
        path_kinds(0.0, 0.95, 0.05),
        path_names(&[
            ("IteratorGetNext", "data loading", 0.66),
            ("Unique", "uncategorised", 0.15),
        ]),
    ]));
    assert!(
        text.ends_with(
            "bound by data loading: the program waits for IteratorGetNext for 66 % of the wall"
        ),
        "{text}"
    );
}

#[test]
fn a_moment_of_device_work_has_no_busy_share_of_its_own() {
    let text = |count: u64, span_us: i64| {
        let [idle, exposure] = devices(&[("gpu0", span_us * 1_000, span_us * 900, 0, 0)]);
        let kernels = kernels(&[("fill", count, span_us * 900)]);
        sentence(&summary([wall(100 * MS, 9), idle, exposure, kernels]))
    };
    assert!(
        !text(2, 12).contains("from first to last work"),
        "{}",
        text(2, 12)
    );
    for text in [text(2, 5_000), text(40, 900)] {
        assert!(text.contains("(90 % from first to last work)"), "{text}");
    }
}

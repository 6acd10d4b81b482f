//! Measurements that were not recorded are not 0.

use crate::inputs::{Work, categories, facts, kernels, path, slow_loop, texts, transfers};
use trueno_plugin::Table;
use trueno_plugin::testing::run;
use trueno_plugin_bottleneck::Bottleneck;

/// Kernels of 10 and 40 µs that start together on two streams: streams that ran one after the other would gain nothing.
fn uneven(stream: impl Fn(usize) -> Option<i64>) -> Vec<Work> {
    let row = |n: usize| Work {
        stream: stream(n % 2),
        ..Work::at("step", n as i64 / 2 * 100, [10, 40][n % 2])
    };
    (0..40).map(row).collect()
}

#[test]
fn a_stream_that_is_not_recorded_is_not_stream_0() {
    let of = |stream: fn(usize) -> Option<i64>| {
        let inputs = [facts(2_000), kernels(&uneven(stream))];
        run::<Bottleneck>(inputs, "{}").expect("it ends well")
    };
    let (known, unknown) = (
        of(|which| Some(which as i64)),
        of(|which| (which == 0).then_some(7)),
    );
    assert_eq!(texts(&known, "bottlenecks", "scope"), ["gpu0/stream 1"]);
    assert_eq!(texts(&unknown, "bottlenecks", "scope"), [""; 0]);
}

/// Two streams look uneven, but for half of the work the stream is unknown.
#[test]
fn work_of_unknown_streams_may_be_what_the_others_lack() {
    let row = |n: usize| Work {
        stream: [Some(1), Some(2), None][n % 3],
        ..Work::at("step", n as i64 * 50, [10, 40, 30][n % 3])
    };
    let rows: Vec<Work> = (0..60).map(row).collect();
    let output = run::<Bottleneck>([facts(3_000), kernels(&rows)], "{}").expect("it ends well");
    assert_eq!(texts(&output, "bottlenecks", "scope"), [""; 0]);
    let missing = texts(&output, "not_measurable", "missing");
    let said = "the streams of 600 µs of kernels";
    assert!(missing.iter().any(|one| one == said), "{missing:?}");
}

#[test]
fn a_copy_of_an_unknown_device_is_not_one_of_gpu0() {
    let row = |n: i64| Work {
        device: None,
        ..Work::at("h2d", n * 50, 20)
    };
    let rows: Vec<Work> = (0..20).map(row).collect();
    let inputs = [facts(1_000), transfers(&rows)];
    let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
    assert_eq!(texts(&output, "bottlenecks", "scope"), ["a GPU"]);
    let evidence = &texts(&output, "bottlenecks", "evidence")[0];
    assert!(evidence.contains("device IS NULL"), "{evidence}");
}

#[test]
fn operators_for_a_device_without_its_work_are_an_incomplete_recording() {
    let found = |operators: u64| {
        let devices = Table::build("unrecorded_devices").u64("count", [operators]);
        let output = run::<Bottleneck>([facts(1_000), devices], "{}").expect("it ends well");
        let codes = texts(&output, "bottlenecks", "code");
        (codes, texts(&output, "bottlenecks", "sentence"))
    };
    let (codes, sentences) = found(1_319);
    assert_eq!(codes, ["no_device_work"]);
    let said = "1,319 operators for a device were recorded, but no device work";
    assert!(sentences[0].contains(said), "{sentences:?}");
    assert!(found(1).0.is_empty());
}

#[test]
fn kernels_that_the_profiler_ran_one_by_one_leave_no_gap_of_the_program() {
    let rows: Vec<Work> = (0..40).map(|n| Work::at("step", n * 100, 5)).collect();
    let of = |fact: bool| {
        let fact = Table::build("kernels_one_by_one").u64("count", fact.then_some(1));
        let inputs = [facts(4_000), kernels(&rows), fact];
        let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
        let codes = texts(&output, "bottlenecks", "code");
        (codes, texts(&output, "bottlenecks", "sentence"))
    };
    let (codes, sentences) = of(true);
    assert_eq!(codes, ["kernels_one_by_one"]);
    assert_eq!(
        sentences,
        [
            "40 kernels ran one by one while the profiler collected counters, so the time between kernels is the profiler's; record a trace without counters to see what limits the program"
        ]
    );
    assert!(!of(false).0.contains(&"kernels_one_by_one".to_owned()));
}

#[test]
fn operators_of_device_libraries_alone_are_an_incomplete_recording() {
    let codes = |name| {
        let inputs = [facts(1_000), categories(&[(name, "convolution")])];
        let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
        texts(&output, "bottlenecks", "code")
    };
    assert_eq!(codes("aten::cudnn_convolution"), ["no_device_work"]);
    assert_eq!(codes("aten::mkldnn_convolution"), [""; 0]);
}

/// While a copy of an unknown device ran, gpu0 does not count as idle.
#[test]
fn a_device_is_not_idle_while_an_unknown_one_copies() {
    let steps: Vec<Work> = (0..20).map(|n| Work::at("step", n * 50, 30)).collect();
    let copies: Vec<Work> = (0..20)
        .map(|n| Work {
            device: None,
            ..Work::at("h2d", n * 50 + 30, 20)
        })
        .collect();
    let inputs = |with_copies: bool| {
        let mut out = vec![facts(1_000), kernels(&steps)];
        if with_copies {
            out.push(transfers(&copies));
        }
        out
    };
    let of = |with_copies| run::<Bottleneck>(inputs(with_copies), "{}").expect("it ends well");
    assert_eq!(texts(&of(false), "idle", "device"), ["gpu0"]);
    assert!(!of(true).tables.iter().any(|table| table.name() == "idle"));
}

/// A point without bytes must not count as moving 0 GB/s and waiting for single accesses.
#[test]
fn a_rate_that_is_not_known_is_no_slow_one() {
    let of = |bytes_per_s: Option<f64>| {
        let [points, opportunity] = slow_loop("walk", bytes_per_s, 0.01);
        let inputs = [facts(1_000), points, opportunity];
        let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
        texts(&output, "bottlenecks", "class")
    };
    assert_eq!(of(Some(1e8)), ["latency_bound"]);
    assert_eq!(of(None), [""; 0]);
}

#[test]
fn growth_tells_only_the_bytes_that_are_known() {
    let growth = Table::build("growth")
        .text("place", ["host"])
        .text("tag", ["all tags"])
        .u64("iterations", [20_u64])
        .i64("first_bytes", [None::<i64>])
        .i64("last_bytes", [Some(4_000_000_i64)])
        .f64("bytes_per_iteration", [None::<f64>])
        .f64("growth_share", [0.5])
        .f64("p", [None::<f64>])
        .text("verdict", ["grows"]);
    let output = run::<Bottleneck>([facts(1_000), growth], "{}").expect("it ends well");
    assert_eq!(
        texts(&output, "bottlenecks", "sentence"),
        ["host memory grows; free it, or bound it"]
    );
    assert_eq!(
        texts(&output, "bottlenecks", "confidence_why"),
        ["a trend over 20 iterations"]
    );
}

/// A path with 6 of 10 ms in gaps, in a run of which `covered` has any row.
fn gaps_missing(covered: Option<&'static str>) -> Vec<String> {
    let coverage = Table::build("coverage").text("found", covered);
    let inputs = [
        facts(10_000),
        path(&[("work", 4_000), ("gap", 6_000)]),
        coverage,
    ];
    let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
    let missing = texts(&output, "not_measurable", "missing");
    let of_path = |one: &String| one.contains("of the critical path");
    missing.into_iter().filter(of_path).collect()
}

#[test]
fn a_gap_of_the_path_beside_other_rows_is_not_called_unrecorded() {
    let nothing = "what the host did in 6.00 ms of the critical path (60 % of the wall), where nothing was recorded";
    assert_eq!(gaps_missing(None), [nothing]);
    assert_eq!(gaps_missing(Some("0.4000")), [nothing]);
    let beside = gaps_missing(Some("0.9000"));
    assert_eq!(
        beside,
        [
            "what the next work waited for in 5.00 ms of the critical path (50 % of the wall): other lanes have rows there, and which of them it depends on is not recorded"
        ]
    );
}

/// A wait of 6 ms for a device, in 10 ms, that ends before the only kernel begins. `started`: the process began to use the device.
fn waits_first(started: bool) -> Vec<(String, String)> {
    let waits = Table::build("waits")
        .u64("id", [1_u64])
        .text("kind", ["device"])
        .i64("thread", [0_i64])
        .i64("start_ns", [500_000_i64])
        .i64("dur_ns", [6_000_000_i64]);
    let calls = Table::build("call_names")
        .text("name", ["cuModuleGetLoadingMode"])
        .u64("calls", [1_u64])
        .i64("dur_ns", [1_000_i64])
        .i64("longest_ns", [1_000_i64])
        .i64("first_ns", [0_i64])
        .i64("first_end_ns", [1_000_i64]);
    let kernel = Work {
        called_us: Some(6_600),
        ..Work::at("step", 7_000, 500)
    };
    let mut inputs = vec![
        facts(10_000),
        path(&[("work", 4_000), ("sync_wait", 6_000)]),
        waits,
        kernels(&[kernel]),
    ];
    inputs.extend(started.then_some(calls));
    let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
    let codes = texts(&output, "bottlenecks", "code");
    let sentences = texts(&output, "bottlenecks", "sentence");
    let rows = codes.into_iter().zip(sentences);
    rows.filter(|row| ["earlier_work", "unexplained_wait"].contains(&row.0.as_str()))
        .collect()
}

#[test]
fn a_wait_before_the_first_device_work_is_for_work_that_is_not_in_the_file() {
    let found = waits_first(false);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        found[0].1,
        "the host waits for a device for 60 % of the wall before the first recorded device work, so for work that is not in the file; record from before that work is launched"
    );
    // Then the call may have started the device.
    assert!(waits_first(true).iter().all(|row| row.0 != "earlier_work"));
}

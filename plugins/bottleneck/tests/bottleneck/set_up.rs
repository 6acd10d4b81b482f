//! Gains of a warm start.

use crate::inputs::{US, Work, categories, facts, gains, kernels, path, pieces, texts};
use trueno_plugin::testing::{Output, run};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_bottleneck::Bottleneck;

/// A kernel that starts after 5 of 10 ms, with as much host work after it; `rows` are the host's work before it.
fn first_at_half(rows: Vec<TableBuilder>) -> Output {
    let first = Work {
        called_us: Some(5_000),
        ..Work::at("step", 5_000, 1_000)
    };
    let mut inputs = vec![
        facts(10_000),
        kernels(&[first]),
        path(&[("work", 7_000), ("gap", 3_000)]),
    ];
    inputs.extend(rows);
    run::<Bottleneck>(inputs, "{}").expect("it ends well")
}

#[test]
fn time_of_which_nothing_is_on_record_is_not_saved() {
    let rows = pieces(&[
        ("gap", None, "thread 0", 0, 0, 1_000),
        ("work", Some("open"), "thread 0", 0, 1_000, 3_000),
        ("gap", None, "thread 0", 0, 4_000, 500),
        // Of this piece 500 µs are before the kernel.
        ("work", Some("prepare"), "thread 0", 0, 4_500, 5_500),
    ]);
    let output = first_at_half(vec![rows]);
    let codes = texts(&output, "bottlenecks", "code");
    let at = codes.iter().position(|code| code == "set_up");
    let at = at.expect("it is found");
    assert_eq!(gains(&output)[at], Some(3_500 * US));
    assert_eq!(
        texts(&output, "bottlenecks", "sentence")[at],
        "the host launches the first device work after 50 % of the wall, with 3.50 ms of host work before it; a warm start saves up to 3.50 ms (35 %)"
    );
}

#[test]
fn what_is_short_before_the_first_kernel_is_no_set_up() {
    let rows = pieces(&[
        ("gap", None, "thread 0", 0, 0, 4_900),
        ("work", Some("open"), "thread 0", 0, 4_900, 100),
        ("work", Some("step"), "gpu0/stream 7", 0, 5_000, 1_000),
        ("work", Some("close"), "thread 0", 0, 6_000, 4_000),
    ]);
    let codes = texts(&first_at_half(vec![rows]), "bottlenecks", "code");
    assert!(!codes.iter().any(|code| code == "set_up"), "{codes:?}");
}

/// No start is faster for someone who types more slowly, and none without a profiler has to start one.
#[test]
fn waiting_for_input_and_starting_a_profiler_are_no_set_up() {
    for (name, is_set_up) in [
        ("prepare", true),
        ("getc", false),
        ("IteratorGetNext", false),
        ("start_trace", false),
    ] {
        let rows = pieces(&[
            ("work", Some(name), "thread 0", 0, 0, 4_500),
            ("work", Some("open"), "thread 0", 0, 4_500, 500),
            ("work", Some("step"), "gpu0/stream 7", 0, 5_000, 1_000),
            ("work", Some("close"), "thread 0", 0, 6_000, 4_000),
        ]);
        let categories = categories(&[("start_trace", "profiler")]);
        let output = first_at_half(vec![rows, categories]);
        let codes = texts(&output, "bottlenecks", "code");
        assert_eq!(
            codes.iter().any(|code| code == "set_up"),
            is_set_up,
            "{codes:?}"
        );
    }
}

/// A call of 6 ms that gives memory back, from 2 ms on of 10.
fn gives_back(
    launched_us: Option<i64>,
    work: Option<Work>,
    is_in_use: bool,
) -> Option<Option<i64>> {
    let launch = launched_us.map(|us| ("cudaLaunchKernel", 10, us));
    let rows: Vec<_> = [("cudaFree", 6_000, 2_000)]
        .into_iter()
        .chain(launch)
        .collect();
    let calls = Table::build("call_names")
        .text("name", rows.iter().map(|row| row.0))
        .u64("calls", rows.iter().map(|_| 1_u64))
        .i64("dur_ns", rows.iter().map(|row| row.1 * US))
        .i64("longest_ns", rows.iter().map(|row| row.1 * US))
        .i64("first_ns", rows.iter().map(|row| row.2 * US));
    let on_path = pieces(&[
        ("work", Some("prepare"), "thread 0", 0, 0, 2_000),
        ("work", Some("cudaFree"), "thread 0", 0, 2_000, 6_000),
        ("work", Some("close"), "thread 0", 0, 8_000, 2_000),
    ]);
    let by_name = Table::build("path_names")
        .text("name", ["cudaFree"])
        .text("kind", ["work"])
        .text("category", ["memory"])
        .i64("dur_ns", [6_000 * US]);
    let in_use = is_in_use.then_some("gpu0");
    let live_before = Table::build("live_before").text("place", in_use);
    let inputs = vec![
        facts(10_000),
        calls,
        path(&[("work", 10_000)]),
        on_path,
        by_name,
        live_before,
        kernels(work.as_slice()),
    ];
    let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
    let codes = texts(&output, "bottlenecks", "code");
    let at = codes.iter().position(|code| code == "set_up");
    at.map(|at| gains(&output)[at])
}

/// It waits for the work that was launched before; with nothing to wait for, it starts the device.
#[test]
fn a_call_that_may_wait_is_set_up_where_there_is_nothing_to_wait_for() {
    let all = Some(Some(6_000 * US));
    assert_eq!(gives_back(None, None, false), all);
    assert_eq!(gives_back(Some(9_000), None, false), all);
    assert_eq!(gives_back(Some(1_000), None, false), None);
    // The process ran before the recording.
    assert_eq!(gives_back(None, None, true), None);
    // What the device did is recorded.
    let work = |dur_us| {
        Some(Work {
            called_us: Some(1_000),
            ..Work::at("step", 1_010, dur_us)
        })
    };
    assert_eq!(
        gives_back(Some(1_000), work(1_990), true),
        Some(Some(5_000 * US))
    );
    assert_eq!(gives_back(Some(1_000), work(6_000), true), None);
}

/// The first batch takes long, with what its loader calls; another thread works beside it.
#[test]
fn loading_the_first_input_is_no_set_up() {
    let gain = |loader: &'static str| {
        let rows = pieces(&[
            ("work", Some("open"), "thread 1", 0, 0, 600),
            ("work", Some(loader), "thread 0", 0, 600, 900),
            ("work", Some("stack"), "thread 0", 0, 1_500, 2_000),
            ("work", Some("build"), "thread 0", 0, 3_500, 1_500),
            ("work", Some("step"), "gpu0/stream 7", 0, 5_000, 1_000),
            ("work", Some("close"), "thread 0", 0, 6_000, 4_000),
        ]);
        let names = Table::build("brick_names")
            .i64("name_id", [1_i64])
            .text("name", [loader])
            .text("category", [None::<&str>])
            .text("kind", ["brick"])
            .i64("dur_ns", [3_500 * US])
            .i64("end_ns", [3_500 * US]);
        let loaders = Table::build("loader_rows")
            .i64("name_id", [1_i64])
            .i64("thread", [0_i64])
            .i64("start_ns", [0_i64])
            .i64("dur_ns", [3_500 * US]);
        let inputs = [
            facts(10_000),
            kernels(&[Work {
                called_us: Some(5_000),
                ..Work::at("step", 5_000, 1_000)
            }]),
            path(&[("work", 10_000)]),
            rows,
            names,
            loaders,
        ];
        let options = r#"{"set_up_share": 0.1}"#;
        let output = run::<Bottleneck>(inputs, options).expect("it ends well");
        let codes = texts(&output, "bottlenecks", "code");
        let at = codes.iter().position(|code| code == "set_up");
        gains(&output)[at.expect("found")]
    };
    assert_eq!(gain("DataLoader.__next__"), Some(2_100 * US));
    assert_eq!(gain("build the model"), Some(5_000 * US));
}

/// From its launch on, a kernel waits for the device and not for the host.
#[test]
fn work_that_was_launched_early_waits_for_no_set_up() {
    for (called_us, is_set_up) in [(4_900, true), (900, false)] {
        let first = Work {
            called_us: Some(called_us),
            ..Work::at("step", 5_000, 1_000)
        };
        let rows = pieces(&[
            ("work", Some("open"), "thread 0", 0, 0, 5_000),
            ("work", Some("step"), "gpu0/stream 7", 0, 5_000, 1_000),
            ("work", Some("close"), "thread 0", 0, 6_000, 4_000),
        ]);
        let inputs = [
            facts(10_000),
            kernels(&[first]),
            path(&[("work", 10_000)]),
            rows,
        ];
        let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
        let codes = texts(&output, "bottlenecks", "code");
        assert_eq!(codes.contains(&"set_up".to_owned()), is_set_up, "{codes:?}");
    }
}

/// Ten calls of `name`, the `long`th of 6 ms and the others of 100 µs.
fn unlike_the_others(name: &'static str, long: i64) -> Vec<String> {
    let start_us = |call: i64| call * 100 + if call > long { 5_900 } else { 0 };
    let dur_us = |call: i64| if call == long { 6_000 } else { 100 };
    let by_brick = Table::build("by_brick")
        .text("lane_kind", ["host"])
        .text("kind", ["brick"])
        .text("name", [name])
        .text("category", ["convolution"])
        .u64("calls", [10_u64])
        .i64("inclusive_ns", [6_900 * US])
        .i64("min_ns", [100 * US])
        .i64("median_ns", [100 * US])
        .i64("max_ns", [6_000 * US]);
    let end_us = (0..10).map(|call| start_us(call) + dur_us(call)).min();
    let first_rows = Table::build("first_rows")
        .text("name", [name])
        .i64("start_ns", [0_i64])
        .i64("end_ns", [end_us.map(|us| us * US)]);
    let on_path: Vec<_> = (0..10)
        .map(|call| {
            (
                "work",
                Some(name),
                "thread 0",
                0,
                start_us(call),
                dur_us(call),
            )
        })
        .collect();
    let by_name = Table::build("path_names")
        .text("name", [name])
        .text("kind", ["work"])
        .text("category", ["convolution"])
        .i64("dur_ns", [6_900 * US]);
    let inputs = [
        facts(10_000),
        by_brick,
        first_rows,
        path(&[("work", 6_900), ("gap", 3_100)]),
        by_name,
        pieces(&on_path),
    ];
    let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
    texts(&output, "bottlenecks", "code")
}

#[test]
fn a_first_call_that_is_unlike_all_others_is_set_up() {
    let is_set_up = |name, long| unlike_the_others(name, long).contains(&"set_up".to_owned());
    assert!(is_set_up("aten::cudnn_convolution", 0));
    assert!(!is_set_up("aten::cudnn_convolution", 4));
    assert!(!is_set_up("wait for the others", 0));
}

/// Calls of one thread: name, start and length in microseconds.
fn captures(rows: &[(&str, i64, i64)]) -> TableBuilder {
    Table::build("captures")
        .text("name", rows.iter().map(|row| row.0))
        .i64("thread", rows.iter().map(|_| 1_i64))
        .i64("start_ns", rows.iter().map(|row| row.1 * US))
        .i64("dur_ns", rows.iter().map(|row| row.2 * US))
}

/// Launches in a capture run nothing: the host's work there is set-up, wherever it lies.
#[test]
fn the_capture_of_graphs_is_set_up() {
    let told = |calls: TableBuilder| {
        let first = Work {
            called_us: Some(0),
            ..Work::at("fill", 10, 10)
        };
        let rows = pieces(&[
            ("work", Some("run"), "thread 0", 0, 0, 1_000),
            ("work", Some("trace"), "thread 0", 0, 1_000, 6_000),
            ("work", Some("run"), "thread 0", 0, 7_000, 3_000),
        ]);
        let path = path(&[("work", 10_000)]);
        let without = Table::build("path_without")
            .text("target", ["host"])
            .i64("gain_ns", [9_000 * US]);
        let inputs = vec![facts(10_000), kernels(&[first]), path, rows, without, calls];
        let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
        let codes = texts(&output, "bottlenecks", "code");
        let at = codes.iter().position(|code| code == "set_up");
        at.map(|at| texts(&output, "bottlenecks", "sentence")[at].clone())
    };
    let sentence = told(captures(&[
        ("hipStreamBeginCapture", 1_000, 5),
        ("hipStreamEndCapture", 6_990, 10),
    ]));
    assert_eq!(
        sentence.as_deref(),
        Some(
            "host work while 1 graph is captured takes 60 % of the wall; a warm start saves up to 6.00 ms (60 %)"
        )
    );
    // Two captures, and what prepares the second.
    let sentence = told(captures(&[
        ("cudaStreamBeginCapture_v10000", 1_000, 5),
        ("cudaStreamEndCapture_v10000", 2_000, 10),
        ("cudaStreamBeginCapture_v10000", 5_000, 5),
        ("cudaStreamEndCapture_v10000", 6_990, 10),
    ]));
    assert!(sentence.is_some_and(|text| text.contains("2 graphs are captured takes 60 %")));
    // The first graph was launched between: it runs.
    let sentence = told(captures(&[
        ("cudaStreamBeginCapture_v10000", 1_000, 5),
        ("cudaStreamEndCapture_v10000", 2_000, 10),
        ("cudaGraphLaunch_v10000", 2_100, 10),
        ("cudaStreamBeginCapture_v10000", 6_000, 5),
        ("cudaStreamEndCapture_v10000", 6_990, 10),
    ]));
    assert_eq!(sentence, None);
}

/// Starting a profiler imports modules, and more, under other names.
#[test]
fn what_a_profiler_does_as_it_starts_is_no_set_up() {
    let rows = || {
        pieces(&[
            ("work", Some("import"), "thread 0", 0, 0, 4_800),
            ("work", Some("open"), "thread 0", 0, 4_800, 200),
            ("work", Some("step"), "gpu0/stream 7", 0, 5_000, 1_000),
            ("work", Some("close"), "thread 0", 0, 6_000, 4_000),
        ])
    };
    let first_rows = Table::build("first_rows")
        .text("name", ["start_trace"])
        .i64("start_ns", [0])
        .i64("end_ns", [4_800 * US]);
    let of = |more: Vec<TableBuilder>| {
        let inputs = [vec![rows()], more].concat();
        let codes = texts(&first_at_half(inputs), "bottlenecks", "code");
        codes.iter().any(|code| code == "set_up")
    };
    assert!(of(Vec::new()));
    assert!(!of(vec![
        categories(&[("start_trace", "profiler")]),
        first_rows
    ]));
}

//! Gains of a warm start.

use crate::inputs::{
    US, Work, blocking_each, categories, facts, gains, kernels, path, pieces, texts,
};
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
        "the host launches the first device work after 50 % of the wall, with 3.50 ms of host work before it (3.00 ms of it in open); a warm start saves up to 3.50 ms (35 %)"
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
        ("pthread_join", false),
        ("sem_wait", false),
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
        .i64("first_ns", rows.iter().map(|row| row.2 * US))
        .i64("first_end_ns", rows.iter().map(|row| (row.1 + row.2) * US));
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
    let mut codes = codes.iter();
    let at = codes.position(|code| ["set_up", "tear_down"].contains(&code.as_str()));
    at.map(|at| gains(&output)[at])
}

/// It waits for the work that was launched before; with nothing to wait for, it starts the device, or ends its use.
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

/// Ten calls of `name` in `wall_us`, the `long`th of 6 ms and the others of 100 µs.
fn unlike_the_others(name: &'static str, long: i64, wall_us: i64) -> Vec<String> {
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
        facts(wall_us),
        by_brick,
        first_rows,
        path(&[("work", 6_900), ("gap", wall_us - 6_900)]),
        by_name,
        pieces(&on_path),
    ];
    let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
    texts(&output, "bottlenecks", "code")
}

#[test]
fn a_first_call_that_is_unlike_all_others_is_set_up() {
    let is_set_up =
        |name, long, wall_us| unlike_the_others(name, long, wall_us).contains(&"set_up".to_owned());
    assert!(is_set_up("aten::cudnn_convolution", 0, 10_000));
    assert!(!is_set_up("aten::cudnn_convolution", 4, 10_000));
    assert!(!is_set_up("wait for the others", 0, 10_000));
    // What happens once for certain counts from a tenth of the run on.
    assert!(is_set_up("aten::cudnn_convolution", 0, 50_000));
    assert!(!is_set_up("aten::cudnn_convolution", 0, 70_000));
}

/// Two rounds of three operators of which the first takes `first_us` each and the second `later_us`, in 10 ms.
fn two_rounds(first_us: i64, later_us: i64, source: &'static str) -> Option<(String, String)> {
    const NAMES: [&str; 3] = [
        "conv1_kernel_time",
        "gemm2_kernel_time",
        "pool3_kernel_time",
    ];
    let at = |n: i64| n % 3 * first_us + n / 3 * 9_000 + if n > 2 { (n - 3) * later_us } else { 0 };
    let facts = Table::build("run")
        .i64("wall_ns", [10_000 * US])
        .text("clock_source", [source]);
    let all = || NAMES.iter().map(|_| (first_us + later_us) * US);
    let by_brick = Table::build("by_brick")
        .text("lane_kind", NAMES.map(|_| "host"))
        .text("kind", NAMES.map(|_| "function"))
        .text("name", NAMES)
        .text("category", ["convolution", "GEMM", "pooling"])
        .u64("calls", NAMES.map(|_| 2_u64))
        .i64("inclusive_ns", all())
        .i64("min_ns", NAMES.map(|_| later_us * US))
        .i64("median_ns", NAMES.map(|_| (first_us + later_us) / 2 * US))
        .i64("max_ns", NAMES.map(|_| first_us * US));
    let first_rows = Table::build("first_rows")
        .text("name", NAMES)
        .i64("start_ns", (0..3).map(|n| at(n) * US))
        .i64("end_ns", (0..3).map(|n| (at(n) + first_us) * US));
    let by_name = Table::build("path_names")
        .text("name", NAMES)
        .text("kind", NAMES.map(|_| "work"))
        .text("category", ["convolution", "GEMM", "pooling"])
        .i64("dur_ns", all());
    let inputs = [
        facts,
        by_brick,
        first_rows,
        path(&[("work", 10_000)]),
        by_name,
    ];
    let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
    let codes = texts(&output, "bottlenecks", "code");
    let at = codes.iter().position(|code| code == "set_up")?;
    let of = |column: &str| texts(&output, "bottlenecks", column)[at].clone();
    Some((of("sentence"), of("confidence_why")))
}

#[test]
fn a_first_round_that_is_unlike_the_few_later_ones_is_set_up() {
    let (sentence, why) = two_rounds(2_000, 4, "imported: chrome").expect("it is found");
    assert!(
        sentence.starts_with("one-time setup takes 60 % of the wall (conv1_kernel_time 2.00 ms)"),
        "{sentence}"
    );
    assert!(why.starts_with("inferred: "), "{why}");
    // The second round takes too long, or may be other work of the same operators.
    assert_eq!(two_rounds(2_000, 400, "imported: chrome"), None);
    assert_eq!(two_rounds(2_000, 4, "imported: kineto"), None);
}

#[test]
fn a_session_of_onnx_runtime_that_begins_is_set_up() {
    let is_set_up = |name, us| {
        let output = run::<Bottleneck>(host_row(name, us), "{}").expect("it ends well");
        texts(&output, "bottlenecks", "code").contains(&"set_up".to_owned())
    };
    assert!(is_set_up("session_initialization", 2_000));
    assert!(is_set_up("model_loading_uri", 2_000));
    assert!(!is_set_up("session_initialization", 900));
    assert!(!is_set_up("model_run", 2_000));
}

/// What a name of the host has of the path, in a run of 10 ms.
fn host_row(name: &'static str, us: i64) -> Vec<TableBuilder> {
    let by_brick = Table::build("by_brick")
        .text("lane_kind", ["host"])
        .text("kind", ["brick"])
        .text("name", [name])
        .text("category", [None::<&str>])
        .u64("calls", [1_u64])
        .i64("inclusive_ns", [us * US])
        .i64("min_ns", [us * US])
        .i64("median_ns", [us * US])
        .i64("max_ns", [us * US]);
    let by_name = Table::build("path_names")
        .text("name", [name])
        .text("kind", ["work"])
        .text("category", [None::<&str>])
        .i64("dur_ns", [us * US]);
    let path = path(&[("work", 10_000)]);
    vec![facts(10_000), by_brick, by_name, path]
}

#[test]
fn code_that_is_compiled_for_a_device_is_set_up() {
    let is_set_up = |name, us| {
        let output = run::<Bottleneck>(host_row(name, us), "{}").expect("it ends well");
        texts(&output, "bottlenecks", "code").contains(&"set_up".to_owned())
    };
    assert!(is_set_up("executor::Nvrtc::CompileProgram", 2_000));
    assert!(is_set_up("Runtime Triggered Module Loading", 2_000));
    assert!(!is_set_up("executor::Nvrtc::CompileProgram", 900));
    assert!(!is_set_up("compile a report", 2_000));
}

/// The longest single call of a run is no set-up if it only waits.
#[test]
fn one_call_that_waits_is_no_set_up() {
    let is_set_up = |name: &'static str| {
        let mut inputs = host_row(name, 5_000);
        inputs.retain(|table| table.name() != "by_brick");
        inputs.push(
            Table::build("call_names")
                .text("name", [name])
                .u64("calls", [1_u64])
                .i64("dur_ns", [5_000 * US])
                .i64("longest_ns", [5_000 * US])
                .i64("first_ns", [0_i64])
                .i64("first_end_ns", [5_000 * US]),
        );
        let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
        texts(&output, "bottlenecks", "code").contains(&"set_up".to_owned())
    };
    assert!(is_set_up("mmap"));
    assert!(!is_set_up("pthread_join"));
    assert!(!is_set_up("futex"));
}

/// A name of a device's API with eleven calls; the first takes 2 of 10 ms, the others `other_us` each.
fn first_of_api(name: &'static str, other_us: i64) -> Vec<String> {
    let all_us = 2_000 + 10 * other_us;
    let calls = Table::build("call_names")
        .text("name", [name])
        .u64("calls", [11_u64])
        .i64("dur_ns", [all_us * US])
        .i64("longest_ns", [2_000 * US])
        .i64("first_ns", [0_i64])
        .i64("first_end_ns", [2_000 * US]);
    let mut inputs = host_row(name, all_us);
    inputs.retain(|table| table.name() != "by_brick");
    inputs.push(calls);
    let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
    texts(&output, "bottlenecks", "code")
}

#[test]
fn the_first_call_of_an_api_is_set_up_if_it_is_unlike_the_others() {
    let is_set_up = |name, other_us| first_of_api(name, other_us).contains(&"set_up".to_owned());
    assert!(is_set_up("cudaMalloc", 5));
    assert!(!is_set_up("cudaMalloc", 250));
    assert!(!is_set_up("allocate", 5));
}

/// What a process called before.
#[derive(Clone, Copy)]
enum Before {
    Nothing,
    /// The runtime's own calls as it starts.
    LoadingMode,
    Stream,
}

/// A process that calls `first` twice, for 2 of 10 ms and for `later_us`, then launches ten kernels from `launched_us` on.
fn first_of_process(
    first: &'static str,
    later_us: i64,
    launched_us: i64,
    before: Before,
) -> Option<Option<i64>> {
    let name = match before {
        Before::Stream => "cudaStreamCreate",
        _ => "cuModuleGetLoadingMode",
    };
    let rows = [
        (name, 1, 1, 0, 1),
        (first, 2, 2_000 + later_us, 10, 2_000),
        ("cudaLaunchKernel", 10, 60, launched_us, 6),
    ];
    let rows = &rows[usize::from(matches!(before, Before::Nothing))..];
    let calls = Table::build("call_names")
        .text("name", rows.iter().map(|row| row.0))
        .u64("calls", rows.iter().map(|row| row.1))
        .i64("dur_ns", rows.iter().map(|row| row.2 * US))
        .i64("longest_ns", rows.iter().map(|row| row.4 * US))
        .i64("first_ns", rows.iter().map(|row| row.3 * US))
        .i64("first_end_ns", rows.iter().map(|row| (row.3 + row.4) * US));
    let mut inputs = host_row(first, 2_000 + later_us);
    inputs.retain(|table| table.name() != "by_brick");
    inputs.push(calls);
    inputs.push(pieces(&[
        ("work", Some(first), "thread 0", 0, 10, 2_000),
        ("work", Some(first), "thread 0", 0, 2_010, later_us),
    ]));
    let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
    let codes = texts(&output, "bottlenecks", "code");
    let at = codes.iter().position(|code| code == "set_up");
    at.map(|at| gains(&output)[at])
}

/// Contexts are created in the first call that needs one, whatever it is called.
#[test]
fn the_call_in_which_a_process_begins_to_use_a_device_is_set_up() {
    let all = Some(Some(2_000 * US));
    for first in [
        "cudaEventCreate",
        "cudaMalloc",
        "cudaFree",
        "hipStreamCreate",
    ] {
        assert_eq!(
            first_of_process(first, 100, 3_000, Before::LoadingMode),
            all,
            "{first}"
        );
    }
    assert_eq!(
        first_of_process("cudaEventCreate", 100, 3_000, Before::Nothing),
        all
    );
    let none = |first, later_us, launched_us, before| {
        assert_eq!(
            first_of_process(first, later_us, launched_us, before),
            None,
            "{first}"
        );
    };
    // It is as long as the other, or may have waited for work.
    none("cudaEventCreate", 1_500, 3_000, Before::LoadingMode);
    none("cudaEventCreate", 100, 5, Before::LoadingMode);
    none("cudaFree", 100, 3_000, Before::Nothing);
    // Another call had a context before.
    assert_eq!(
        first_of_process("cudaHostAlloc", 100, 3_000, Before::Stream),
        None
    );
    none("create_rows", 100, 3_000, Before::LoadingMode);
}

/// A range in which the process starts to use a device after 2 ms; of the rest `own_us` are in no call of the device's API.
/// Later calls are short.
fn range_around_start(start: &'static str, own_us: i64) -> Option<Option<i64>> {
    let rows = [
        (start, 2_000, 10, 0),
        ("cudaMalloc", 2_010 + own_us, 2_500, 50),
        ("cudaLaunchKernel", 6_000, 6, 0),
    ];
    let calls = Table::build("call_names")
        .text("name", rows.iter().map(|row| row.0))
        .u64("calls", rows.iter().map(|row| 1 + u64::from(row.3 > 0)))
        .i64("dur_ns", rows.iter().map(|row| (row.2 + row.3) * US))
        .i64("longest_ns", rows.iter().map(|row| row.2 * US))
        .i64("first_ns", rows.iter().map(|row| row.1 * US))
        .i64("first_end_ns", rows.iter().map(|row| (row.1 + row.2) * US));
    let mut inputs = vec![
        facts(20_000),
        kernels(&[Work {
            called_us: Some(6_000),
            ..Work::at("step", 6_006, 100)
        }]),
        path(&[("work", 6_000), ("gap", 14_000)]),
    ];
    inputs.push(calls);
    inputs.push(categories(&[("allocate", "uncategorised")]));
    inputs.push(
        Table::build("path_names")
            .text("name", ["allocate", "cudaMalloc"])
            .text("kind", ["work", "work"])
            .text("category", [None::<&str>, None])
            .i64("dur_ns", [(2_000 + own_us) * US, 2_500 * US]),
    );
    inputs.push(pieces(&[
        ("work", Some("allocate"), "thread 0", 0, 0, 2_000),
        ("work", Some(start), "thread 0", 0, 2_000, 10),
        ("work", Some("allocate"), "thread 0", 0, 2_010, own_us),
        (
            "work",
            Some("cudaMalloc"),
            "thread 0",
            0,
            2_010 + own_us,
            2_500,
        ),
        ("gap", None, "thread 0", 0, 4_510 + own_us, 1_490 - own_us),
    ]));
    let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
    let codes = texts(&output, "bottlenecks", "code");
    let at = codes.iter().position(|code| code == "set_up")?;
    let column = |name| texts(&output, "bottlenecks", name)[at].clone();
    let is_of_range = column("considered").contains("allocate until its first call 2.00 ms");
    assert_eq!(
        is_of_range,
        column("confidence_why").starts_with("inferred: a range")
    );
    Some(gains(&output)[at])
}

/// The API starts in the first call of a range of the program, before that call is recorded.
#[test]
fn a_range_of_nothing_but_calls_is_set_up_until_the_first() {
    assert_eq!(
        range_around_start("cuModuleGetLoadingMode", 20),
        Some(Some(4_500 * US))
    );
    // The range works besides, or that the API started is not recorded.
    assert_eq!(
        range_around_start("cuModuleGetLoadingMode", 900),
        Some(Some(2_500 * US))
    );
    assert_eq!(
        range_around_start("cudaGetDevice", 20),
        Some(Some(2_500 * US))
    );
}

/// A copy up that takes `first_us` in a call of `call_us`, then others of a megabyte and 30 µs between kernels, in 10 ms.
fn first_copy(
    (call_us, first_us): (i64, i64),
    bytes: Option<u64>,
    others: i64,
    is_start: bool,
) -> Output {
    let copy = |n: i64| match n {
        0 => Work {
            called_us: Some(0),
            ..Work::at("h2d", call_us - first_us, first_us)
        },
        n => Work {
            called_us: Some(4_000 + n * 300),
            ..Work::at("h2d", 4_000 + n * 300, 30)
        },
    };
    let copies: Vec<Work> = (0..=others).map(copy).collect();
    let steps: Vec<Work> = (0..20)
        .map(|n| Work::at("step", 4_030 + n * 300, 270))
        .collect();
    let rows = [
        ("work", Some("cudaMemcpy"), "thread 0", 0, 0, call_us),
        (
            "work",
            Some("run"),
            "thread 0",
            0,
            call_us,
            10_000 - call_us,
        ),
    ];
    let started = is_start.then_some(0_i64);
    let calls = Table::build("call_names")
        .text("name", started.map(|_| "cuInit"))
        .u64("calls", started.map(|_| 1_u64))
        .i64("dur_ns", started.map(|_| 1_i64))
        .i64("longest_ns", started.map(|_| 1_i64))
        .i64("first_ns", started)
        .i64("first_end_ns", started);
    let inputs = [
        facts(10_000),
        kernels(&steps),
        blocking_each(&copies, |at| if at == 0 { bytes } else { Some(1_000_000) }),
        path(&[("work", 10_000 - call_us), ("transfer", call_us)]),
        pieces(&rows),
        calls,
    ];
    run::<Bottleneck>(inputs, r#"{"least_share": 0.06}"#).expect("it ends well")
}

#[test]
fn a_first_copy_that_takes_far_longer_than_copying_is_set_up() {
    let found = |output: Output| {
        let codes = texts(&output, "bottlenecks", "code");
        let confidences = texts(&output, "bottlenecks", "confidence");
        let of = |code: &str| {
            let at = codes.iter().position(|one| one == code)?;
            Some((confidences[at].clone(), gains(&output)[at]))
        };
        (of("set_up"), of("transfer_bound").is_some())
    };
    let set_up = |confidence: &str, us: i64| (Some((confidence.to_owned(), Some(us * US))), false);
    let slow = (2_000, 2_000);
    // For its bytes.
    let mb = Some(1_000_000);
    assert_eq!(
        found(first_copy(slow, mb, 19, false)),
        set_up("high", 1_970)
    );
    // As many bytes more as it takes longer.
    let all = Some(66_000_000);
    assert_eq!(found(first_copy(slow, all, 19, false)), (None, true));
    // Its bytes are not known: ten times as long as all others together.
    assert_eq!(
        found(first_copy(slow, None, 3, false)),
        set_up("medium", 1_910)
    );
    assert_eq!(found(first_copy(slow, None, 19, false)), (None, true));
    // A few bytes in a call that starts the device; of a running process it may wait for what was launched before.
    let tiny = Some(4);
    assert_eq!(
        found(first_copy((2_000, 1), tiny, 19, true)),
        set_up("high", 1_999)
    );
    assert_eq!(
        found(first_copy((2_000, 1), tiny, 19, false)),
        (None, false)
    );
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

/// Two kernels of 10 ms with 100 ms between them, of which the host spends `setting_up_ms` in a call that happens once.
#[test]
fn an_idle_gap_that_set_up_fills_is_part_of_its_finding() {
    let found = |setting_up_ms: i64| {
        let setting_up_us = setting_up_ms * 1_000;
        let kernel = |start_us: i64| Work {
            called_us: Some(start_us - 10),
            ..Work::at("gemm", start_us, 10_000)
        };
        let rows = pieces(&[
            ("work", Some("gemm"), "gpu0/stream 7", 0, 0, 10_000),
            (
                "work",
                Some("cudaMalloc"),
                "thread 0",
                0,
                10_000,
                setting_up_us,
            ),
            (
                "work",
                Some("work"),
                "thread 0",
                0,
                10_000 + setting_up_us,
                100_000 - setting_up_us,
            ),
            ("work", Some("gemm"), "gpu0/stream 7", 0, 110_000, 10_000),
        ]);
        let calls = Table::build("call_names")
            .text("name", ["cudaMalloc"])
            .u64("calls", [1_u64])
            .i64("dur_ns", [setting_up_us * US])
            .i64("longest_ns", [setting_up_us * US])
            .i64("first_ns", [10_000 * US])
            .i64("first_end_ns", [(10_000 + setting_up_us) * US]);
        let names = Table::build("path_names")
            .text("name", ["cudaMalloc"])
            .text("kind", ["work"])
            .text("category", [None::<&str>])
            .i64("dur_ns", [setting_up_us * US]);
        let inputs = [
            facts(120_000),
            kernels(&[kernel(0), kernel(110_000)]),
            path(&[("work", 120_000)]),
            rows,
            calls,
            names,
        ];
        let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
        (
            texts(&output, "bottlenecks", "code"),
            texts(&output, "top", "class"),
        )
    };
    let (codes, top) = found(80);
    assert_eq!(codes, ["set_up", "set_up_gap"]);
    assert_eq!(top, ["set_up"]);
    let (codes, top) = found(45);
    assert_eq!(codes, ["set_up", "idle_stretch"]);
    assert_eq!(top, ["set_up", "idle_stretch"]);
}

/// A kernel until 1 ms, a copy of its result until 5 ms, and what the program gives back behind it.
#[test]
fn what_is_freed_after_the_last_work_is_tear_down() {
    let in_part = |name: &'static str, last_us: i64, part: Option<TableBuilder>| {
        let first = Work {
            called_us: Some(0),
            ..Work::at("step", 10, 1_000)
        };
        let last = Work {
            called_us: Some(1_000),
            ..Work::at("step", last_us, 100)
        };
        let rows = pieces(&[
            ("work", Some("step"), "gpu0/stream 7", 0, 0, 1_010),
            ("work", Some("save"), "thread 0", 0, 1_010, 3_990),
            ("work", Some(name), "thread 0", 0, 5_000, 4_000),
            ("work", Some("close"), "thread 0", 0, 9_000, 1_000),
        ]);
        let mut inputs = vec![
            facts(10_000),
            kernels(&[first, last]),
            path(&[("work", 10_000)]),
            rows,
        ];
        inputs.extend(part);
        let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
        let codes = texts(&output, "bottlenecks", "code");
        let at = codes.iter().position(|code| code == "tear_down")?;
        Some(texts(&output, "bottlenecks", "sentence")[at].clone())
    };
    let with = |name, last_us| in_part(name, last_us, None);
    assert_eq!(
        with("cuModuleUnload", 4_900).as_deref(),
        Some(
            "freeing and unloading takes 40 % of the wall after the last device work (cuModuleUnload 4.00 ms); \
             leaving that to the end of the process saves up to 4.00 ms (40 %)"
        )
    );
    // A part of a run has work after it.
    let part = Table::build("report_window")
        .i64("from_ns", [0])
        .i64("until_ns", [9_500 * US]);
    assert_eq!(in_part("cuModuleUnload", 4_900, Some(part)), None);
    // What the program writes is no tear-down, and what is freed between work is none either.
    for (name, last_us) in [("write", 4_900), ("free", 4_900), ("cudaFree", 9_500)] {
        assert_eq!(with(name, last_us), None, "{name} {last_us}");
    }
}

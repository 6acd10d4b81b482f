//! Single events, which are no pattern, and work of an iteration, which is no set-up.

use trueno_plugin::testing::{Output, run};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_bottleneck::Bottleneck;

use crate::inputs::{
    US, Work, facts, gains, kernels, kernels_of_blocks, launched_at_once, path, pieces, texts,
};

/// Twenty kernels of 5 µs with gaps of `gap_us`, each launched 10 µs before it starts. Kernel 10 comes after a gap of
/// `long_us` and is launched 15 µs into it.
fn launches(gap_us: i64, long_us: i64) -> (Vec<Work>, i64) {
    let mut now_us = 0;
    let mut rows = Vec::new();
    for n in 0..20 {
        now_us += if n == 10 { long_us } else { gap_us };
        rows.push(Work {
            // Of the long gap the call comes soon, and what it does takes long.
            called_us: Some(if n == 10 {
                now_us - long_us + 15
            } else {
                now_us - 10
            }),
            ..Work::at("small", now_us, 5)
        });
        now_us += 5;
    }
    (rows, now_us)
}

fn classes(rows: &[Work], wall_us: i64) -> Output {
    let path = path(&[("work", wall_us)]);
    run::<Bottleneck>([facts(wall_us), kernels(rows), path], "{}").expect("it ends well")
}

#[test]
fn many_short_gaps_are_a_pattern() {
    let (rows, wall_us) = launches(50, 50);
    let output = classes(&rows, wall_us);
    assert!(texts(&output, "bottlenecks", "class").contains(&"launch_bound".to_owned()));
}

#[test]
fn one_long_gap_is_a_single_event_and_not_launch_bound() {
    let (rows, wall_us) = launches(2, 100_000);
    let output = classes(&rows, wall_us);
    assert_eq!(texts(&output, "bottlenecks", "class"), ["idle_stretch"]);
    assert_eq!(texts(&output, "bottlenecks", "severity"), ["medium"]);
    // What happened once may be needed: nobody knows what its end would buy.
    assert_eq!(gains(&output), [None]);
    let sentence = &texts(&output, "bottlenecks", "sentence")[0];
    assert!(
        sentence.starts_with(
            "gpu0 has one idle gap of 100 ms (>99 % of the wall) after the launch of small"
        ),
        "{sentence}"
    );
}

#[test]
fn the_first_work_of_a_stream_may_be_held_by_work_from_before_the_recording() {
    let (mut rows, wall_us) = launches(2, 100_000);
    rows[10..].iter_mut().for_each(|row| row.stream = Some(9));
    let output = classes(&rows, wall_us);
    let sentence = &texts(&output, "bottlenecks", "sentence")[0];
    assert!(
        sentence.ends_with(
            "the device held the first work of that stream, probably behind work from before the recording (inferred)"
        ),
        "{sentence}"
    );
}

/// Devices that run `gemm` twice, 110 ms and 20 ms less for each further device from the first start to the second, while the host
/// is in `does` for all of it.
fn idle_devices(devices: i64, does: &'static str) -> Output {
    let mut rows: Vec<Work> = (0..devices)
        .flat_map(|device| {
            [0, 110_000 - 20_000 * device].map(|start_us| Work {
                device: Some(device),
                called_us: Some(start_us - 10),
                ..Work::at("gemm", start_us, 10_000)
            })
        })
        .collect();
    rows.sort_by_key(|row| row.start_us);
    let on_path = pieces(&[
        ("work", Some("gemm"), "gpu0/stream 7", 0, 0, 10_000),
        ("work", Some(does), "thread 0", 0, 10_000, 100_000),
        ("work", Some("gemm"), "gpu0/stream 7", 0, 110_000, 10_000),
    ]);
    let inputs = [
        facts(120_000),
        kernels(&rows),
        path(&[("work", 120_000)]),
        on_path,
    ];
    run::<Bottleneck>(inputs, "{}").expect("it ends well")
}

fn sentences_of_top(output: &Output) -> Vec<String> {
    texts(output, "top", "sentence")
}

/// What the host waits for made the device wait: to start the wait earlier changes nothing.
#[test]
fn a_wait_is_not_to_blame_for_a_gap() {
    let waits = &sentences_of_top(&idle_devices(1, "api.py:3165 try_to_block"))[0];
    assert!(
        waits.ends_with(
            "before gemm, while the host waits (>99 % of it in api.py:3165 try_to_block); find out what it waits for"
        ) || waits.ends_with(
            "before gemm, while the host waits (100 % of it in api.py:3165 try_to_block); find out what it waits for"
        ),
        "{waits}"
    );
    let works = &sentences_of_top(&idle_devices(1, "prepare"))[0];
    assert!(works.contains("start this earlier"), "{works}");
}

#[test]
fn devices_that_idle_alike_are_one_finding() {
    let output = idle_devices(3, "prepare");
    let top = sentences_of_top(&output);
    assert_eq!(top.len(), 1, "{top:?}");
    assert!(
        top[0].starts_with(
            "on 3 devices (50 % to 83 % of the wall each): gpu0 has one idle gap of 100 ms"
        ),
        "{top:?}"
    );
    // Each device has its row.
    let scopes = texts(&output, "bottlenecks", "scope");
    assert_eq!(scopes, ["gpu0", "gpu1", "gpu2"]);
}

/// A gap of 100 ms that two calls fill but for 40 ms, or a third.
#[test]
fn what_fills_a_long_gap_is_named() {
    let sentence = |most_ms: i64| {
        let rows: Vec<Work> = [0, 110_000]
            .into_iter()
            .map(|start_us| Work {
                called_us: Some(start_us - 10),
                ..Work::at("gemm", start_us, 10_000)
            })
            .collect();
        let on_path = pieces(&[
            ("work", Some("gemm"), "gpu0/stream 7", 0, 0, 10_000),
            (
                "work",
                Some("cudaFree"),
                "thread 0",
                0,
                10_000,
                most_ms * 1_000,
            ),
            (
                "work",
                Some("cudaStreamCreate"),
                "thread 0",
                0,
                60_000,
                20_000,
            ),
            ("work", Some("gemm"), "gpu0/stream 7", 0, 110_000, 10_000),
        ]);
        let inputs = [
            facts(120_000),
            kernels(&rows),
            path(&[("work", 120_000)]),
            on_path,
        ];
        let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
        let codes = texts(&output, "bottlenecks", "code");
        let at = codes.iter().position(|code| code == "idle_stretch");
        texts(&output, "bottlenecks", "sentence")[at.expect("found")].clone()
    };
    assert_eq!(
        sentence(40),
        "gpu0 has one idle gap of 100 ms (83 % of the wall) before gemm (40 % of it in cudaFree, 20 % of it in \
         cudaStreamCreate); start this earlier if it happens once, or on another thread"
    );
    assert_eq!(
        sentence(10),
        "gpu0 has one idle gap of 100 ms (83 % of the wall) before gemm; find out what the host does in it"
    );
}

/// Four kernels of 10 µs, between which the host works for 100 ms in the same call.
#[test]
fn a_few_gaps_that_are_alike_are_one_finding() {
    let found_of = |kernels_ms: i64, (kind, name): (&'static str, Option<&'static str>)| {
        let (work_us, gap_us) = (kernels_ms * 1_000 + 10, 100_000);
        let start_us = |n: i64| n * (work_us + gap_us);
        let kernel = |n: i64| Work {
            called_us: Some(start_us(n) - 10),
            ..Work::at("add", start_us(n), work_us)
        };
        let rows: Vec<Work> = (0..5).map(kernel).collect();
        let draw = |n: i64| (kind, name, "thread 0", 0, start_us(n) + work_us, gap_us);
        let on_path: Vec<_> = (0..4).map(draw).collect();
        let wall_us = start_us(4) + work_us;
        let inputs = [
            facts(wall_us),
            kernels(&rows),
            path(&[("work", wall_us)]),
            pieces(&on_path),
        ];
        let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
        (
            texts(&output, "bottlenecks", "code"),
            texts(&output, "bottlenecks", "sentence"),
        )
    };
    let found = |kernels_ms: i64| found_of(kernels_ms, ("work", Some("normal")));
    let (codes, sentences) = found(0);
    assert_eq!(codes, ["idle_gaps"]);
    assert_eq!(
        sentences,
        [
            "gpu0 has 4 idle gaps of 100 ms on average (>99 % of the wall) (100 % of it in normal); do this on the device, or in less time"
        ]
    );
    // With enough to hide it behind, it is to be overlapped.
    assert_eq!(found(50).0, ["host_prepares"]);
    // What the host did is said only where it is known.
    let unrecorded = &found_of(50, ("gap", None)).1[0];
    assert!(
        unrecorded.contains("(4 gaps, 100 % of that time without a record)"),
        "{unrecorded}"
    );
}

/// The launch comes 12 ms into a gap of 132 ms. For the other 120 ms the device had work queued, so the host is not
/// to blame.
#[test]
fn a_gap_after_a_launch_is_not_the_host_s() {
    let cause = |launched_us: i64| {
        let mut rows: Vec<Work> = (0..2)
            .map(|n| Work::at("gemm", n * 200_000, 68_000))
            .collect();
        rows[0].called_us = Some(0);
        rows[1].called_us = Some(68_000 + launched_us);
        let output = classes(&rows, 268_000);
        texts(&output, "idle", "cause")
    };
    assert_eq!(cause(12_000), ["device"]);
    assert_eq!(cause(120_000), ["host"]);
}

/// Twenty kernels of 500 µs, launched at the start, with `gap_us` between them in which nothing runs.
fn held_kernels(gap_us: i64, calls: &'static str) -> Option<(Option<i64>, String, String)> {
    held_beside(gap_us, calls, None, None)
}

/// `name` is what the host does in the gaps, `operator` what launched the kernels if no call did.
fn held_beside(
    gap_us: i64,
    calls: &'static str,
    name: Option<&'static str>,
    operator: Option<&'static str>,
) -> Option<(Option<i64>, String, String)> {
    let of = |n: i64| Work {
        called_us: operator.is_none().then_some(n),
        brick: operator,
        ..Work::at("solve", 100 + n * (500 + gap_us), 500)
    };
    let rows: Vec<Work> = (0..20).map(of).collect();
    let wall_us = 100 + 20 * (500 + gap_us);
    let call = Table::build("call_names")
        .text("name", [calls])
        .u64("calls", [1_u64])
        .i64("dur_ns", [US])
        .i64("longest_ns", [US])
        .i64("first_ns", [0_i64])
        .i64("first_end_ns", [US]);
    let kind = if name.is_some() { "work" } else { "gap" };
    let in_gap = |n: i64| {
        let start_us = 600 + n * (500 + gap_us);
        (kind, name, "thread 0", 0, start_us, gap_us)
    };
    let in_gaps: Vec<_> = (0..19).map(in_gap).collect();
    let inputs = [
        facts(wall_us),
        kernels(&rows),
        path(&[("work", wall_us)]),
        call,
        pieces(&in_gaps),
    ];
    let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
    let codes = texts(&output, "bottlenecks", "code");
    let at = codes.iter().position(|code| code == "not_started")?;
    let text = |column| texts(&output, "bottlenecks", column)[at].clone();
    Some((gains(&output)[at], text("sentence"), text("suggestion")))
}

#[test]
fn launched_work_that_does_not_start_on_an_idle_device_is_found() {
    let (gain, sentence, suggestion) = held_kernels(200, "cudaLaunchKernel").expect("a finding");
    assert_eq!(gain, None);
    assert_eq!(
        sentence,
        "launched work does not start on gpu0 although it is idle, for 27 % of the wall (19 gaps of 200 µs on average, most before \
         solve); what holds it was not recorded"
    );
    assert!(
        suggestion.starts_with("look for what is not recorded"),
        "{suggestion}"
    );
    let (_, _, suggestion) = held_kernels(200, "cuMemAllocManaged").expect("a finding");
    assert!(
        suggestion.starts_with("the program takes managed memory"),
        "{suggestion}"
    );
    let (_, sentence, _) =
        held_beside(200, "cudaLaunchKernel", Some("compile"), None).expect("a finding");
    assert!(
        sentence.ends_with(
            " (100 % of it in compile); find out whether what the host does meanwhile holds it"
        ),
        "{sentence}"
    );
    // Another thread may launch what an operator left to it.
    let of_operator = held_beside(200, "cudaLaunchKernel", None, Some("aten::mm"));
    assert_eq!(of_operator, None);
    // A launch may be on its way for as long.
    assert_eq!(held_kernels(90, "cudaLaunchKernel"), None);
}

/// A typical first CUDA program: one kernel of one block is the whole run.
#[test]
fn one_kernel_of_one_block_is_found_if_it_is_much_of_the_run() {
    let code = |dur_us: i64, blocks: i64| {
        let rows = [Work::at("gemm", 0, dur_us)];
        let on_path = Table::build("path_names")
            .text("name", ["gemm"])
            .text("kind", ["work"])
            .text("category", ["GEMM"])
            .i64("dur_ns", [dur_us * US]);
        let inputs = [
            facts(1_000),
            kernels_of_blocks(&rows, blocks),
            path(&[("work", 1_000)]),
            on_path,
        ];
        let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
        (texts(&output, "bottlenecks", "code"), gains(&output))
    };
    assert_eq!(
        code(900, 1),
        (vec!["small_grids".to_owned()], vec![Some(450 * US)])
    );
    assert_eq!(code(900, 4096).0, [""; 0]);
    assert_eq!(code(300, 1).0, ["small_grids"]);
    assert_eq!(code(100, 1).0, [""; 0]);
}

/// Of the whole device: a long kernel of few threads can be divided over it, a short one takes its time anyway.
#[test]
fn a_long_kernel_on_under_1_percent_of_the_device_gains_what_dividing_it_would() {
    let gain_share = |kernels: i64, dur_us: i64| {
        let (all_us, wall_us) = (kernels * dur_us, kernels * dur_us * 10 / 9);
        let on_path = Table::build("path_names")
            .text("name", ["gemm"])
            .text("kind", ["work"])
            .text("category", ["GEMM"])
            .i64("dur_ns", [all_us * US]);
        let sizes = Table::build("device_sizes")
            .text("device", ["gpu:0"])
            .text("name", ["a device"])
            .i64("multiprocessors", [108_i64])
            .text("compute_capability", [None::<&str>]);
        let rows: Vec<Work> = (0..kernels)
            .map(|n| Work::at("gemm", n * dur_us, dur_us))
            .collect();
        let inputs = [
            facts(wall_us),
            kernels_of_blocks(&rows, 1),
            path(&[("work", wall_us)]),
            on_path,
            sizes,
        ];
        let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
        let codes = texts(&output, "bottlenecks", "code");
        let at = codes.iter().position(|code| code == "small_grids").unwrap();
        gains(&output)[at].unwrap() as f64 / (all_us * US) as f64
    };
    // 256 threads of 108 × 1,024.
    let held = 256.0 / (108.0 * 1024.0);
    assert!((gain_share(1, 900_000) - (1.0 - held)).abs() < 1e-6);
    assert!((gain_share(100, 90) - 0.5).abs() < 1e-6);
}

/// A launch of 256 threads takes its time on any part of a run.
#[test]
fn one_tiny_grid_gains_what_dividing_it_would_however_short_its_share_of_the_run() {
    let found = |wall_us: i64, multiprocessors: Option<i64>| {
        let rows = [Work::at("add", 0, 100_000)];
        let on_path = Table::build("path_names")
            .text("name", ["add"])
            .text("kind", ["work"])
            .text("category", [None::<&str>])
            .i64("dur_ns", [100_000 * US]);
        let sizes = Table::build("device_sizes")
            .text("device", ["gpu:0"])
            .text("name", ["a device"])
            .i64("multiprocessors", [multiprocessors])
            .text("compute_capability", [None::<&str>]);
        let inputs = [
            facts(wall_us),
            kernels_of_blocks(&rows, 1),
            path(&[("work", wall_us)]),
            on_path,
            sizes,
        ];
        let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
        let severities = texts(&output, "bottlenecks", "severity").into_iter();
        let sentences = texts(&output, "bottlenecks", "sentence").into_iter();
        let all: Vec<_> = gains(&output)
            .into_iter()
            .zip(severities.zip(sentences))
            .collect();
        all
    };
    for (wall_us, severity) in [(250_000, "high"), (500_000, "medium"), (1_100_000, "low")] {
        let all = found(wall_us, Some(108));
        let (gain, (found, sentence)) = &all[0];
        assert!(gain.is_some_and(|gain| gain > 99_000 * US), "{sentence}");
        assert_eq!(found, severity);
    }
    // A quarter of a device with one multiprocessor: long, but only once.
    let all = found(250_000, Some(1));
    assert_eq!(all[0].0, None);
    assert!(
        all[0]
            .1
            .1
            .ends_with("; no gain is predicted from 1 instance"),
        "{all:?}"
    );
}

/// Kernels of four names, each launched twice; each first launch call takes `first_us`.
fn warming_up(first_us: i64) -> Output {
    let mut now_us = 0;
    let mut rows = Vec::new();
    for name in ["gemm", "norm", "copy", "add", "gemm", "norm", "copy", "add"] {
        let call_us = if rows.len() < 4 { first_us } else { 12 };
        rows.push(Work {
            called_us: Some(now_us),
            ..Work::at(name, now_us + call_us, 5)
        });
        now_us += call_us + 5;
    }
    let inputs = [
        facts(now_us),
        launched_at_once(&rows),
        path(&[("work", now_us)]),
    ];
    run::<Bottleneck>(inputs, "{}").expect("it ends well")
}

#[test]
fn first_launches_that_load_code_are_set_up() {
    let output = warming_up(1_000);
    assert_eq!(texts(&output, "bottlenecks", "code"), ["first_launches"]);
    let sentence = &texts(&output, "bottlenecks", "sentence")[0];
    assert!(
        sentence.starts_with(
            "gpu0 is idle for 3.00 ms (73 % of the wall) during the first launches of 3 kernels, 1.00 ms at most in one"
        ),
        "{sentence}"
    );
    // The first of all comes before any work of the device: no gap of it.
    assert_eq!(gains(&output), [Some(3_000 * US)]);
    assert!(!texts(&warming_up(12), "bottlenecks", "code").contains(&"first_launches".to_owned()));
}

/// Twelve kernels, none of which comes again: no loop that a graph could hold.
#[test]
fn first_launches_are_not_launch_bound() {
    const NAMES: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    let of = |names: [&'static str; 12]| {
        let mut now_us = 0;
        let rows = names.map(|name| {
            let row = Work {
                called_us: Some(now_us),
                ..Work::at(name, now_us + 1_000, 5)
            };
            now_us += 1_005;
            row
        });
        let inputs = [
            facts(now_us),
            launched_at_once(&rows),
            path(&[("work", now_us)]),
        ];
        // The usual launch of the machine is shorter than these.
        let output = run::<Bottleneck>(inputs, r#"{"prepare_ns": 200000, "launch_ns": 10000}"#);
        texts(&output.expect("it ends well"), "bottlenecks", "code")
    };
    assert_eq!(of(NAMES), ["first_launches"]);
    assert!(of(["a"; 12]).contains(&"launch_bound".to_owned()));
}

/// A kernel after 600 of 1,000 µs, preceded by 600 µs of host work in `calls` calls.
fn input_first(step: Option<i64>, calls: i64) -> Output {
    input_of("decode_jpeg", step, calls)
}

fn input_of(name: &'static str, step: Option<i64>, calls: i64) -> Output {
    let late = Work {
        called_us: Some(590),
        ..Work::at("forward", 600, 400)
    };
    let steps = Table::build("first_step").i64("first_ns", [step.map(|us| us * US)]);
    let each_us = 600 / calls;
    let decode = |call| ("work", Some(name), "thread 0", 0, call * each_us, each_us);
    let mut on_path: Vec<_> = (0..calls).map(decode).collect();
    on_path.push(("work", Some("forward"), "gpu0/stream 7", 0, 600, 400));
    let on_path: TableBuilder = pieces(&on_path);
    let inputs = [
        facts(1_000),
        kernels(&[late]),
        path(&[("work", 1_000)]),
        on_path,
        steps,
        Table::build("by_brick")
            .text("lane_kind", ["host"])
            .text("kind", ["iteration"])
            .text("name", ["step 7"])
            .text("category", [""])
            .u64("calls", [1_u64])
            .i64("inclusive_ns", [1_000 * US])
            .i64("min_ns", [1_000 * US])
            .i64("median_ns", [1_000 * US])
            .i64("max_ns", [1_000 * US]),
    ];
    run::<Bottleneck>(inputs, "{}").expect("it ends well")
}

#[test]
fn an_iteration_is_not_named_as_what_it_prepares() {
    let sentence = |name| texts(&input_of(name, Some(0), 4), "bottlenecks", "sentence");
    let [named] = &sentence("decode_jpeg")[..] else {
        panic!("one finding");
    };
    assert!(named.contains("before the device starts, mostly in decode_jpeg"));
    let [unnamed] = &sentence("step 7")[..] else {
        panic!("one finding");
    };
    assert!(unnamed.contains("before the device starts; "), "{unnamed}");
}

#[test]
fn host_work_in_an_iteration_is_input_work() {
    let output = input_first(Some(0), 4);
    assert_eq!(
        texts(&output, "bottlenecks", "class"),
        ["cpu_preprocessing"]
    );
    assert_eq!(texts(&output, "bottlenecks", "scope"), ["decode_jpeg"]);
    // 600 µs of preparing beside the 400 µs that the device works.
    assert_eq!(gains(&output), [Some(400 * US)]);
}

#[test]
fn one_call_before_the_first_work_is_no_pattern() {
    let classes = texts(&input_first(Some(0), 1), "bottlenecks", "class");
    assert!(
        !classes.contains(&"cpu_preprocessing".to_owned()),
        "{classes:?}"
    );
}

#[test]
fn host_work_before_any_iteration_is_set_up() {
    let output = input_first(None, 1);
    assert_eq!(texts(&output, "bottlenecks", "class"), ["set_up"]);
}

fn fragments(moment: &str, free_share: f64) -> Vec<String> {
    let output = in_pieces(moment, free_share, None, Some(1 << 20));
    texts(&output, "bottlenecks", "class")
}

fn in_pieces(
    moment: &str,
    free_share: f64,
    free_segments: Option<i64>,
    largest: Option<i64>,
) -> Output {
    let table = Table::build("fragmentation")
        .text("place", ["gpu0"])
        .text("moment", [moment])
        .i64("footprint_bytes", [100 << 20])
        .i64("free_bytes", [(free_share * 100.0) as i64 * (1 << 20)])
        .i64("free_segments_bytes", [free_segments])
        .i64("largest_free_bytes", [largest])
        .f64("fragmentation_share", [largest.map(|_| 0.94)])
        .f64("free_share", [free_share]);
    run::<Bottleneck>([facts(1_000), table], "{}").expect("it ends well")
}

#[test]
fn free_pieces_do_no_harm_when_most_was_freed() {
    assert_eq!(fragments("peak", 0.84), ["fragmented_memory"]);
    assert_eq!(fragments("end", 0.5), ["fragmented_memory"]);
    assert!(fragments("end", 0.84).is_empty());
}

#[test]
fn memory_with_known_segments_is_judged_at_the_peak() {
    let found = |moment| {
        let output = in_pieces(moment, 0.5, Some(30 << 20), Some(1 << 20));
        texts(&output, "bottlenecks", "sentence")
    };
    assert_eq!(
        found("peak"),
        [
            "50 % of the 104.9 MB footprint of gpu0 memory is free, in pieces of at most 1.0 MB; pool blocks by size"
        ]
    );
    assert!(found("end").is_empty());
    // Addresses alone do not show the pieces of what an allocator has reserved.
    let output = in_pieces("peak", 0.5, None, None);
    assert!(texts(&output, "bottlenecks", "class").is_empty());
    let missing = texts(&output, "not_measurable", "missing");
    assert!(
        missing.contains(&"the segments of the allocator".to_owned()),
        "{missing:?}"
    );
}

#[test]
fn a_request_that_failed_is_critical() {
    let failed = |requested: i64, reserved: Option<i64>| {
        let table = Table::build("out_of_memory")
            .text("place", ["gpu1", "gpu1"])
            .i64("requested_bytes", [requested, 1])
            .i64("live_bytes", [80, 80])
            .i64("reserved_bytes", [reserved, reserved])
            .i64("largest_free_bytes", [None::<i64>, None])
            .text("sentence", ["gpu1 ran out of memory", "again"]);
        let output = run::<Bottleneck>([facts(1_000), table], "{}").expect("it ends well");
        assert_eq!(texts(&output, "top", "severity"), ["critical"]);
        texts(&output, "top", "sentence").remove(0)
    };
    assert_eq!(
        failed(50, Some(90)),
        "gpu1 ran out of memory; free what is not needed, or request less"
    );
    assert!(failed(5, Some(90)).contains("; pool blocks by size"));
    assert!(failed(5, None).contains("; free what"));
}

//! The plugin on tables as queries would give them.

use crate::inputs::{US, gains, texts};
use trueno_plugin::testing::run;
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_bottleneck::Bottleneck;

/// Kernels of 30 µs, one every 50 µs; `called` gives the time of the launch from the kernel's start.
fn kernels(number: i64, called: impl Fn(i64) -> Option<i64>) -> TableBuilder {
    let start = |n: i64| n * 50 * US;
    let none = || (0..number).map(|_| None::<i64>);
    Table::build("kernels")
        .u64("id", 1..=number as u64)
        .text("name", (0..number).map(|_| "step"))
        .i64("device", (0..number).map(|_| 0))
        .i64("stream", (0..number).map(|_| 7))
        .i64("start_ns", (0..number).map(start))
        .i64("dur_ns", (0..number).map(|_| 30 * US))
        .bool("valid", (0..number).map(|_| true))
        .bool("is_bound", (0..number).map(|_| false))
        .i64("blocks", (0..number).map(|_| 4096))
        .i64("threads", (0..number).map(|_| 256))
        .i64("called_ns", (0..number).map(|n| called(start(n))))
        .i64(
            "returned_ns",
            (0..number).map(|n| called(start(n)).map(|ns| ns + 5 * US)),
        )
        .i64("brick_ns", none())
        .i64("brick_end_ns", none())
        .text("brick_name", (0..number).map(|_| None::<&str>))
}

/// A wait around each of those kernels that returns 5 µs after it.
fn waits(number: i64, kind: &'static str) -> TableBuilder {
    Table::build("waits")
        .u64("id", (1..=number as u64).map(|id| id + 1000))
        .text("kind", (0..number).map(|_| kind))
        .i64("thread", (0..number).map(|_| 0))
        .i64("start_ns", (0..number).map(|n| n * 50 * US))
        .i64("dur_ns", (0..number).map(|_| 35 * US))
}

fn facts(wall_ns: i64) -> TableBuilder {
    Table::build("run")
        .i64("wall_ns", [wall_ns])
        .u64("dropped", [0_u64])
        .f64("cost_ns_per_span", [20.0])
}

fn window(from_ns: i64, until_ns: i64) -> TableBuilder {
    Table::build("report_window")
        .i64("from_ns", [from_ns])
        .i64("until_ns", [until_ns])
}

#[test]
fn without_any_input_there_is_no_verdict() {
    let output = run::<Bottleneck>([], "{}").unwrap();
    assert_eq!(output.table("top").rows(), 0);
    assert!(output.findings.is_empty());
    assert!(texts(&output, "not_measurable", "class").contains(&"memory_growth".to_owned()));
}

/// What launches is XLA, which the program does not capture into graphs.
#[test]
fn late_launches_of_jax_are_compiled_as_one_program() {
    let late = |start: i64| Some(start - 10 * US);
    let of = |source: &'static str| {
        let facts = facts(100 * 50 * US).text("clock_source", [source]);
        let output = run::<Bottleneck>([facts, kernels(100, late)], "{}").unwrap();
        let text = |column| texts(&output, "bottlenecks", column)[0].clone();
        (text("sentence"), text("suggestion"))
    };
    let (sentence, suggestion) = of("imported: xplane");
    assert!(
        sentence.contains("; compiling the launches as one program saves"),
        "{sentence}"
    );
    assert!(suggestion.contains("jax.jit"), "{suggestion}");
    let (sentence, suggestion) = of("imported: tensorflow xplane");
    assert!(
        sentence.contains("; compiling the launches as one program saves"),
        "{sentence}"
    );
    assert!(suggestion.contains("tf.function(jit_compile=True)"));
    assert!(!suggestion.contains("jax"), "{suggestion}");
    let (sentence, _) = of("imported: kineto");
    assert!(
        sentence.contains("; capturing the launches in a graph saves"),
        "{sentence}"
    );
}

#[test]
fn waits_before_launches_are_sync_bound_and_late_launches_are_launch_bound() {
    let late = |start: i64| Some(start - 10 * US);
    let with = |kind| {
        let inputs = [facts(100 * 50 * US), kernels(100, late), waits(100, kind)];
        run::<Bottleneck>(inputs, "{}").unwrap()
    };
    // That a thread did not run does not say that it waited for the device.
    let (waiting, launching) = (with("device"), with("off_cpu"));
    assert_eq!(texts(&waiting, "bottlenecks", "class"), ["sync_bound"]);
    assert_eq!(texts(&launching, "bottlenecks", "class"), ["launch_bound"]);
    // 99 gaps of 20 µs.
    assert_eq!(gains(&waiting), [Some(99 * 20 * US)]);
    assert_eq!(gains(&launching), [Some(99 * 20 * US)]);
    // Nothing is known of a path, and the finding says so.
    assert_eq!(texts(&waiting, "top", "confidence"), ["low"]);
    let sentence = &texts(&waiting, "top", "sentence")[0];
    assert_eq!(
        sentence,
        "gpu0 is idle after 99 host synchronisations; waiting less often saves up to 1.98 ms (40 %)"
    );
}

#[test]
fn work_that_was_asked_for_long_before_is_nobodys_fault() {
    let ahead = |start: i64| Some(start - 1_000 * US);
    let output = run::<Bottleneck>([facts(5_000 * US), kernels(100, ahead)], "{}").unwrap();
    assert_eq!(output.table("bottlenecks").rows(), 0);
    assert_eq!(texts(&output, "idle", "cause"), ["device"]);
}

#[test]
fn launches_that_are_not_on_record_give_no_verdict_but_a_request() {
    let output = run::<Bottleneck>([facts(5_000 * US), kernels(100, |_| None)], "{}").unwrap();
    assert_eq!(output.table("bottlenecks").rows(), 0);
    let classes = texts(&output, "not_measurable", "class");
    assert!(classes.contains(&"launch_bound".to_owned()), "{classes:?}");
}

#[test]
fn a_window_has_its_own_gaps_and_its_own_wall() {
    let late = |start: i64| Some(start - 10 * US);
    let inputs = [
        facts(5_000 * US),
        kernels(100, late),
        window(1_000 * US, 2_000 * US),
    ];
    let output = run::<Bottleneck>(inputs, "{}").unwrap();
    // 20 kernels begin within; the one before ends before.
    assert_eq!(gains(&output), [Some(19 * 20 * US)]);
}

#[test]
fn thresholds_are_options() {
    let late = |start: i64| Some(start - 10 * US);
    let of = |options: &str| {
        run::<Bottleneck>([facts(5_000 * US), kernels(100, late)], options).unwrap()
    };
    assert_eq!(of(r#"{"least_share": 0.5}"#).table("bottlenecks").rows(), 0);
    assert_eq!(of(r#"{"least_gaps": 200}"#).table("bottlenecks").rows(), 0);
    assert_eq!(
        texts(&of(r#"{"high_share": 0.5}"#), "top", "severity"),
        ["medium"]
    );
    assert_eq!(
        texts(&of(r#"{"prepare_ns": 5000}"#), "top", "class"),
        ["serialisation"]
    );
}

#[test]
fn the_same_tables_give_the_same_words() {
    let late = |start: i64| Some(start - 10 * US);
    let once = || {
        run::<Bottleneck>(
            [facts(5_000 * US), kernels(100, late), waits(100, "device")],
            "{}",
        )
        .unwrap()
    };
    assert_eq!(once(), once());
}

/// Eight runs of a brick with two equal results each; the second result is recorded only for the first `known`
/// runs.
fn equal_tensors(known: usize) -> TableBuilder {
    let rows = 0..16_usize;
    let run = |n: usize| n / 2;
    let is_known = |n: usize| n.is_multiple_of(2) || run(n) < known;
    Table::build("checksums")
        .text("tensor", rows.clone().map(|n| ["mask", "scale"][n % 2]))
        .u64("hash", rows.clone().map(|n| is_known(n).then_some(77_u64)))
        .u64("elements", rows.clone().map(|_| 64_u64))
        .u64("zeros", rows.clone().map(|_| 0_u64))
        .i64(
            "time_ns",
            rows.clone().map(|n| run(n) as i64 * 100 * US + 90 * US),
        )
        .u64("span", rows.clone().map(|n| run(n) as u64 + 1))
        .text("brick", rows.clone().map(|_| "make mask"))
        .i64("dur_ns", rows.clone().map(|_| 80 * US))
        .i64("start_ns", rows.map(|n| run(n) as i64 * 100 * US))
}

#[test]
fn results_known_in_part_are_not_the_same_again() {
    let classes = |known| {
        let opportunity = Table::build("opportunity")
            .text("name", ["make mask"])
            .i64("path_ns", [640 * US])
            .i64("gain_50pct_ns", [320 * US])
            .i64("gain_100pct_ns", [640 * US]);
        let inputs = [facts(800 * US), opportunity, equal_tensors(known)];
        let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
        texts(&output, "bottlenecks", "class")
    };
    assert_eq!(classes(8), ["recomputation"]);
    assert_eq!(classes(0), [""; 0]);
}

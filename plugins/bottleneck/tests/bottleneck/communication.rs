//! Collectives, and what runs beside them on the device.

use trueno_plugin::testing::{Output, run};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_bottleneck::Bottleneck;

use crate::inputs::{US, Work, facts, gains, kernels, path, texts};

const COLLECTIVE: &str = "ncclDevKernel_AllReduce_Sum_f32";

/// Ten rounds of 100 µs: a kernel of `gemm_us`, and a collective from `from_us` on that is entirely on the path.
fn rounds(gemm_us: i64, from_us: i64, collective_us: i64) -> Output {
    run::<Bottleneck>(inputs(gemm_us, from_us, collective_us), "{}").expect("it ends well")
}

fn inputs(gemm_us: i64, from_us: i64, collective_us: i64) -> Vec<TableBuilder> {
    inputs_of(&rows(gemm_us, from_us, collective_us), collective_us)
}

fn rows(gemm_us: i64, from_us: i64, collective_us: i64) -> Vec<Work> {
    let round = |n: i64| {
        let collective = Work {
            stream: Some(20),
            ..Work::at(COLLECTIVE, n * 100 + from_us, collective_us)
        };
        [Work::at("gemm", n * 100, gemm_us), collective]
    };
    (0..10).flat_map(round).collect()
}

fn inputs_of(rows: &[Work], collective_us: i64) -> Vec<TableBuilder> {
    let on_path = Table::build("path_names")
        .text("name", [COLLECTIVE])
        .text("kind", ["work"])
        .text("category", ["communication"])
        .i64("dur_ns", [10 * collective_us * US]);
    let rules = Table::build("category_rules")
        .text("name", [COLLECTIVE])
        .text("category", ["communication"]);
    let path = path(&[("work", 1_000)]);
    vec![facts(1_000), kernels(rows), path, on_path, rules]
}

fn one(output: &Output, column: &str) -> String {
    assert_eq!(
        texts(output, "bottlenecks", "class"),
        ["exposed_communication"]
    );
    texts(output, "bottlenecks", column)[0].clone()
}

#[test]
fn a_collective_that_nothing_runs_beside_is_exposed() {
    let output = rounds(40, 40, 50);
    assert_eq!(one(&output, "severity"), "critical");
    assert_eq!(one(&output, "scope"), "gpu0");
    // 40 of each 50 µs could hide behind the computing of the round.
    assert_eq!(gains(&output), [Some(400 * US)]);
    assert_eq!(
        one(&output, "sentence"),
        "exposed communication is 50 % of the wall on gpu0 (500 µs of 500 µs of communication, or of waiting for other \
         ranks: record them all); overlapping communication with compute saves up to 400 µs (40 %)"
    );
}

/// Ten rounds of 100 µs, with a collective of 40 µs in each, after one of `first_us` from 1 ms on.
fn after_a_first(first_us: i64, is_first: bool) -> Output {
    let first = Work {
        stream: Some(20),
        ..Work::at(COLLECTIVE, if is_first { 1_000 } else { 11_000 }, first_us)
    };
    let round = |n: i64| {
        let collective = Work {
            stream: Some(20),
            ..Work::at(COLLECTIVE, 10_000 + n * 100 + 40, 40)
        };
        [Work::at("gemm", 10_000 + n * 100, 40), collective]
    };
    let mut rows: Vec<Work> = (0..10).flat_map(round).collect();
    rows.push(first);
    rows.sort_by_key(|row| row.start_us);
    let mut inputs = inputs_of(&rows, 40);
    inputs.retain(|table| !["run", "path_kinds"].contains(&table.name()));
    inputs.extend([facts(12_000), path(&[("work", 12_000)])]);
    run::<Bottleneck>(inputs, r#"{"exposed_share": 0.02, "least_share": 0.01}"#)
        .expect("it ends well")
}

#[test]
fn the_first_collective_stands_apart_if_it_takes_longer_than_all_others() {
    let sentences = |first_us, is_first| {
        let output = after_a_first(first_us, is_first);
        let codes = texts(&output, "bottlenecks", "code").into_iter();
        let of = codes.zip(texts(&output, "bottlenecks", "sentence"));
        let of =
            of.filter(|(code, _)| code.contains("collective") || code.contains("communication"));
        let all: Vec<_> = of.collect();
        all
    };
    let apart = sentences(800, true);
    assert!(
        apart.contains(&(
            "first_collective".to_owned(),
            "the first of 11 communication kernels, ncclDevKernel_…educe_Sum_f32, takes 800 µs (7 % of the wall), longer than \
             all others together; check whether other ranks arrive late, as they do when a job starts"
                .to_owned()
        )),
        "{apart:?}"
    );
    // The rest is judged by itself.
    let has_rest = |(_, sentence): &(String, String)| {
        sentence.starts_with("exposed communication is 3 % of the wall")
    };
    assert!(apart.iter().any(has_rest), "{apart:?}");
    for (first_us, is_first) in [(300, true), (800, false)] {
        let codes: Vec<String> = sentences(first_us, is_first)
            .into_iter()
            .map(|row| row.0)
            .collect();
        assert!(
            codes.iter().all(|code| code == "exposed_communication"),
            "{codes:?}"
        );
    }
}

#[test]
fn a_collective_whose_tasks_wait_is_no_communication() {
    let of_waits = |wait_us: i64| {
        let waits = Table::build("collective_waits")
            .u64("id", (0..10).map(|n| 2 * n + 2))
            .i64("wait_ns", (0..10).map(|_| wait_us * US));
        let mut inputs = inputs(40, 40, 50);
        inputs.push(waits);
        run::<Bottleneck>(inputs, "{}").expect("it ends well")
    };
    let output = of_waits(45);
    assert_eq!(texts(&output, "bottlenecks", "code"), ["collective_waits"]);
    assert_eq!(gains(&output), [None]);
    assert_eq!(
        one(&output, "sentence"),
        "gpu0 waits 450 µs in collectives while no data moves (45 % of the wall, 90 % of its communication), 45.0 µs of it \
         in ncclDevKernel_…educe_Sum_f32; find the rank that it waits for"
    );
    // Where most of it moves data, the rest could be hidden.
    let output = of_waits(15);
    assert_eq!(
        texts(&output, "bottlenecks", "code"),
        ["exposed_communication"]
    );
    assert_eq!(gains(&output), [Some(350 * US)]);
}

#[test]
fn what_runs_beside_computing_costs_nothing() {
    // 35 of 50 µs are beside it, and 15 % of the wall are exposed.
    let output = rounds(50, 15, 50);
    assert_eq!(one(&output, "severity"), "medium");
    assert_eq!(gains(&output), [Some(150 * US)]);
    let considered = one(&output, "considered");
    assert!(
        considered.starts_with(
            "350 µs of communication is hidden behind other work; 150 µs of compute has no"
        ),
        "{considered}"
    );
    let output = rounds(60, 10, 50);
    assert!(
        !output
            .tables
            .iter()
            .any(|table| table.name() == "bottlenecks" && table.rows() > 0)
    );
}

#[test]
fn no_more_is_promised_than_the_run_would_save_without_it() {
    let with = |most_us: i64| {
        let without = Table::build("path_without")
            .text("target", ["category:communication"])
            .i64("gain_ns", [most_us * US]);
        let mut inputs = inputs(40, 40, 50);
        inputs.push(without);
        run::<Bottleneck>(inputs, "{}").expect("it ends well")
    };
    assert_eq!(gains(&with(900)), [Some(400 * US)]);
    assert_eq!(gains(&with(150)), [Some(150 * US)]);
    // It is exposed, and still nothing would be saved: other work holds the run up.
    assert_eq!(gains(&with(0)), [None]);
}

#[test]
fn no_gain_is_promised_where_nothing_could_hide_it() {
    let output = rounds(2, 40, 50);
    assert_eq!(one(&output, "severity"), "critical");
    assert_eq!(gains(&output), [None]);
    let sentence = one(&output, "sentence");
    assert!(
        sentence.ends_with("overlapping it with compute would save next to nothing"),
        "{sentence}"
    );
}

/// Another device in the same run communicates with it, or tasks say how long it waited.
#[test]
fn waiting_for_others_is_named_where_they_are_not_recorded() {
    let says = |rows: &[Work], more: Option<TableBuilder>| {
        let inputs = inputs_of(rows, 50).into_iter().chain(more);
        let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
        texts(&output, "bottlenecks", "sentence")[0]
            .contains("waiting for other ranks: record them all")
    };
    let alone = rows(40, 40, 50);
    assert!(says(&alone, None));
    let on_another = |work: &Work| Work {
        device: Some(1),
        ..work.clone()
    };
    let both: Vec<Work> = alone
        .iter()
        .flat_map(|work| [work.clone(), on_another(work)])
        .collect();
    assert!(!says(&both, None));
    let waits = Table::build("collective_waits")
        .u64("id", [2_u64])
        .i64("wait_ns", [5 * US]);
    assert!(!says(&alone, Some(waits)));
    let ranks = Table::build("ranks").u64("rank", [0_u64, 1]);
    assert!(!says(&alone, Some(ranks)));
}

/// Nothing says what would start earlier: no host, no launch, no dependency.
#[test]
fn no_gain_is_predicted_of_a_device_whose_dependencies_are_not_recorded() {
    let mut unlaunched = rows(40, 40, 50);
    for work in &mut unlaunched {
        work.called_us = None;
    }
    let of = |more: Option<TableBuilder>| {
        let inputs = inputs_of(&unlaunched, 50).into_iter().chain(more);
        run::<Bottleneck>(inputs, "{}").expect("it ends well")
    };
    let output = of(None);
    assert_eq!(gains(&output), [None]);
    assert_eq!(one(&output, "severity"), "high");
    let sentence = one(&output, "sentence");
    assert!(
        sentence.ends_with("no gain can be predicted: dependencies were not recorded"),
        "{sentence}"
    );
    let edge = Table::build("any_edge").text("kind", ["depends_on"]);
    assert_eq!(gains(&of(Some(edge))), [Some(400 * US)]);
}

#[test]
fn what_shares_the_stream_of_the_computation_must_first_leave_it() {
    let mut shared = rows(40, 40, 50);
    for work in &mut shared {
        work.stream = Some(7);
    }
    let output = run::<Bottleneck>(inputs_of(&shared, 50), "{}").expect("it ends well");
    let sentence = one(&output, "sentence");
    let words = "on the stream of the computation (7), where nothing can overlap it; moving it to a stream of its own and \
                 overlapping it with compute saves up to 400 µs (40 %)";
    assert!(sentence.ends_with(words), "{sentence}");
}

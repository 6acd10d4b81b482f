//! Memory that grows: how much it matters.

use crate::inputs::{US, facts, slow_loop, texts};
use trueno_plugin::testing::{Output, run};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_bottleneck::Bottleneck;

/// Ten iterations in which memory grows from 1 kB by `bytes`.
fn growth(bytes: i64) -> TableBuilder {
    growth_to(bytes, Some(1_000 + bytes))
}

fn growth_to(bytes: i64, last_bytes: Option<i64>) -> TableBuilder {
    Table::build("growth")
        .text("place", ["host"])
        .text("tag", ["all tags"])
        .u64("iterations", [10_u64])
        .i64("first_bytes", [1_000_i64])
        .i64("last_bytes", [last_bytes])
        .f64("bytes_per_iteration", [bytes as f64 / 9.0])
        .f64("growth_share", [1.8])
        .f64("p", [0.001])
        .text("verdict", ["grows"])
}

fn analyse(bytes: i64, wall_us: i64, options: &str) -> Output {
    run::<Bottleneck>([facts(wall_us), growth(bytes)], options).expect("it ends well")
}

fn severity(bytes: i64, wall_us: i64, options: &str) -> String {
    let output = analyse(bytes, wall_us, options);
    texts(&output, "bottlenecks", "severity").concat()
}

#[test]
fn growth_matters_by_how_soon_memory_is_full() {
    // In 10 s: 16 GiB are full after 29 minutes, 4.8 hours and 20 days.
    let wall_us = 10_000_000;
    let given = r#"{"memory_bytes": 17179869184}"#;
    assert_eq!(severity(100_000_000, wall_us, given), "high");
    assert_eq!(severity(10_000_000, wall_us, given), "medium");
    // As fast, but next to nothing so far.
    assert_eq!(severity(25_000, 1_000, given), "low");
    assert_eq!(severity(25_000, wall_us, given), "low");
    assert_eq!(severity(1_100_000, 100_000_000, given), "low");
    let considered = &texts(
        &analyse(10_000_000, wall_us, given),
        "bottlenecks",
        "considered",
    )[0];
    assert!(
        considered.ends_with(
            "it is 10.0 MB in 10.0 s; at that rate 17.2 GB of memory would be full after 4.8 h"
        ),
        "{considered}"
    );
}

#[test]
fn without_the_size_of_memory_it_is_said_that_its_end_is_not_known() {
    assert_eq!(severity(100_000_000, 10_000_000, "{}"), "medium");
    assert_eq!(severity(25_000, 1_000, "{}"), "low");
    let considered = &texts(
        &analyse(10_000_000, 1_000, "{}"),
        "bottlenecks",
        "considered",
    )[0];
    assert!(
        considered.contains(
            "the time until memory is full is not known (hint: --set bottleneck.memory_bytes"
        ),
        "{considered}"
    );
}

#[test]
fn without_what_is_taken_already_it_is_not_known_either() {
    let inputs = [facts(10_000_000), growth_to(100_000_000, None)];
    let output = run::<Bottleneck>(inputs, r#"{"memory_bytes": 17179869184}"#).unwrap();
    let considered = &texts(&output, "bottlenecks", "considered")[0];
    assert!(considered.contains("is not known"), "{considered}");
}

#[test]
fn its_thresholds_are_options() {
    let wall_us = 10_000_000;
    let of = |options| severity(10_000_000, wall_us, options);
    assert_eq!(of(r#"{"memory_bytes": 1000000000}"#), "high");
    assert_eq!(
        of(r#"{"memory_bytes": 17179869184, "full_soon_s": 20000}"#),
        "high"
    );
    assert_eq!(
        of(r#"{"memory_bytes": 17179869184, "full_later_s": 10000}"#),
        "low"
    );
    assert_eq!(of(r#"{"least_growth_bytes": 20000000}"#), "low");
}

/// A loop that takes most of a millisecond ranks above a leak of 25 kB.
#[test]
fn what_costs_time_comes_before_a_few_bytes() {
    let [points, opportunity] = slow_loop("walk", Some(1e8), 0.01);
    let inputs = [facts(1_000), points, opportunity, growth(25 * US)];
    let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
    assert_eq!(
        texts(&output, "top", "class"),
        ["latency_bound", "memory_growth"]
    );
}

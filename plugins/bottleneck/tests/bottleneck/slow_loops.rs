//! Loops far below the memory's roof: whether each access waits for the one before.

use crate::inputs::{US, facts, slow_loop, texts};
use trueno_plugin::Table;
use trueno_plugin::testing::run;
use trueno_plugin_bottleneck::Bottleneck;

/// Runs the plugin on a loop of that rate and number of misses. Returns class, sentence up to the fix, and other
/// explanations.
fn said(gb_per_s: f64, misses: Option<f64>) -> (String, String, String) {
    let [points, opportunity] = slow_loop("walk", Some(gb_per_s * 1e9), 0.1);
    let of = || misses.into_iter();
    let misses = Table::build("misses")
        .text("name", of().map(|_| "walk"))
        .f64("misses", of())
        .i64("dur_ns", of().map(|_| 900 * US));
    let diverged = Table::build("diverged")
        .text("brick", ["walk"])
        .u64("tensors", [3_u64]);
    let inputs = [facts(1_000), points, opportunity, misses, diverged];
    let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
    let one = |column: &str| texts(&output, "bottlenecks", column)[0].clone();
    let sentence = one("sentence");
    let lead = sentence.split(';').next().expect("a part").to_owned();
    (one("class"), lead, one("considered"))
}

#[test]
fn without_counters_it_is_not_asserted_that_it_does_not_wait() {
    let (class, lead, considered) = said(3.0, None);
    assert_eq!(class, "unoptimised");
    assert_eq!(
        lead,
        "walk reaches 10 % of its roof, or waits for single accesses"
    );
    assert!(
        considered.contains("misses were not counted"),
        "{considered}"
    );
    // What differs from the baseline is said where it matters.
    assert!(
        considered.contains("3 of its tensors differ from the baseline"),
        "{considered}"
    );
}

#[test]
fn what_is_too_fast_for_a_chain_is_none() {
    let (class, lead, _) = said(20.0, None);
    assert_eq!(
        (class.as_str(), lead.as_str()),
        ("unoptimised", "walk reaches 10 % of its roof")
    );
}

#[test]
fn counted_misses_tell() {
    // 10,000 in 900 µs are one each 90 ns; of 100,000 several are under way at once.
    let (class, lead, _) = said(3.0, Some(10_000.0));
    assert_eq!(class, "latency_bound");
    assert_eq!(
        lead,
        "walk waits for single memory accesses (a cache miss every 90 ns)"
    );
    let (class, lead, _) = said(3.0, Some(100_000.0));
    assert_eq!(
        (class.as_str(), lead.as_str()),
        ("unoptimised", "walk reaches 10 % of its roof")
    );
    // Hardly any: what it waits for, if it waits, nearer caches answer.
    let (class, lead, _) = said(3.0, Some(100.0));
    assert_eq!(class, "unoptimised");
    assert!(lead.ends_with("or waits for single accesses"), "{lead}");
}

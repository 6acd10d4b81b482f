//! Parts of a device's time by category, and when in the run they were.

use crate::inputs::{US, Work, categories, facts, gains, iterations, kernels, texts, transfers};
use trueno_plugin::testing::{Output, run};
use trueno_plugin_bottleneck::Bottleneck;

/// Kernels of 30 µs, each launched 10 µs before it starts and after a gap of 20 µs.
fn late(number: i64, brick: impl Fn(i64) -> Option<&'static str>) -> Vec<Work> {
    let row = |n: i64| Work {
        called_us: Some(n * 50 - 10),
        brick: brick(n),
        ..Work::at("step", n * 50, 30)
    };
    (0..number).map(row).collect()
}

fn names() -> trueno_plugin::TableBuilder {
    categories(&[
        ("head", "Attention"),
        ("up", "FFN"),
        ("odd", "uncategorised"),
    ])
}

fn analyse(rows: &[Work]) -> Output {
    let inputs = [facts(5_000), kernels(rows), names()];
    run::<Bottleneck>(inputs, "{}").expect("it ends well")
}

#[test]
fn gaps_belong_to_the_category_whose_launches_leave_the_device_idle() {
    // Of 99 gaps (the first kernel follows nothing) 49 before `head`, 25 each before `up` and before what has none.
    let brick = |n| Some(["head", "up", "head", "odd"][n as usize % 4]);
    let output = analyse(&late(100, brick));
    let kinds = texts(&output, "bottlenecks", "scope_kind");
    assert_eq!(kinds, ["device", "category", "category"]);
    assert_eq!(
        texts(&output, "bottlenecks", "scope"),
        ["gpu0", "Attention", "FFN"]
    );
    let classes = texts(&output, "bottlenecks", "class");
    assert!(
        classes.iter().all(|class| class == "launch_bound"),
        "{classes:?}"
    );
    let parts = [99, 49, 25].map(|gaps| Some(gaps * 20 * US));
    assert_eq!(gains(&output), parts);
    // The same time is found once: one group, of which the device speaks.
    assert_eq!(texts(&output, "top", "scope"), ["gpu0"]);
    let considered = &texts(&output, "bottlenecks", "considered")[0];
    let by = "by category 49 % Attention, 25 % FFN, 25 % uncategorised";
    assert!(considered.ends_with(by), "{considered}");
    assert_eq!(
        texts(&output, "bottlenecks", "sentence")[1],
        "Attention: gpu0 waits 980 µs for launches of it (49 gaps); capturing the launches in a graph saves up to 980 µs (20 %)"
    );
}

#[test]
fn what_is_all_in_one_category_is_said_once() {
    let output = analyse(&late(100, |_| Some("head")));
    assert_eq!(texts(&output, "bottlenecks", "scope"), ["gpu0"]);
    let considered = &texts(&output, "bottlenecks", "considered")[0];
    assert!(
        considered.ends_with("by category 100 % Attention"),
        "{considered}"
    );
}

#[test]
fn copies_belong_to_the_category_they_are_made_in() {
    let row = |n: i64| Work {
        brick: Some(["head", "up", "up"][n as usize % 3]),
        ..Work::at("h2d", n * 50, 20)
    };
    let rows: Vec<Work> = (0..30).map(row).collect();
    let inputs = [facts(1_500), transfers(&rows), names()];
    let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
    assert_eq!(
        texts(&output, "bottlenecks", "scope"),
        ["gpu0", "FFN", "Attention"]
    );
    // Half the bytes of 600 µs, of 400 and of 200.
    assert_eq!(gains(&output), [300, 200, 100].map(|us| Some(us * US)));
    let evidence = &texts(&output, "bottlenecks", "evidence")[2];
    assert!(evidence.contains("id IN (1, 4, 7,"), "{evidence}");
}

/// Gaps of 20 µs in the first ten iterations of 200 µs and in none of the others.
fn in_the_first(phases: &[(i64, &str, Option<&'static str>)]) -> Output {
    let mut rows = late(40, |_| None);
    rows.push(Work::at("step", 1_980, 3_020));
    let inputs = [facts(5_000), kernels(&rows), iterations(phases)];
    run::<Bottleneck>(inputs, "{}").expect("it ends well")
}

fn lead(output: &Output) -> String {
    let sentence = &texts(output, "top", "sentence")[0];
    sentence.split(" (").next().expect("a part").to_owned()
}

#[test]
fn what_concerns_only_warm_up_says_so() {
    let phases = |warming: usize| {
        let phase = |n: usize| if n < warming { "warm-up" } else { "steady" };
        (0..25).map(|n| (200, phase(n), None)).collect::<Vec<_>>()
    };
    let (all, half, few) = (
        in_the_first(&phases(10)),
        in_the_first(&phases(6)),
        in_the_first(&phases(2)),
    );
    assert_eq!(
        lead(&all),
        "in warm-up gpu0 waits for kernel launches for 16 % of the wall"
    );
    let sentence = &texts(&half, "top", "sentence")[0];
    assert!(
        sentence.contains("), 62 % of it before the steady state; "),
        "{sentence}"
    );
    assert_eq!(
        lead(&few),
        "gpu0 waits for kernel launches for 16 % of the wall"
    );
    let considered = &texts(&few, "bottlenecks", "considered")[0];
    assert!(
        considered.contains("before the steady state"),
        "{considered}"
    );
}

#[test]
fn slow_iterations_are_told_where_they_hold_the_time() {
    let mut phases = vec![(100, "steady", None); 50];
    phases.splice(
        0..20,
        [
            (1_000, "steady", Some("step")),
            (1_000, "steady", Some("other")),
        ],
    );
    // Two of 1 ms hold all gaps; they would be no few in 5 ms, but are in 11.
    phases.extend(vec![(100, "steady", None); 60]);
    let output = in_the_first(&phases);
    let sentence = &texts(&output, "top", "sentence")[0];
    assert!(
        sentence.contains("), mostly in 2 slow iterations; "),
        "{sentence}"
    );
}

/// Kernels of 30 µs, each followed by a copy of 10 µs, in half of the window.
#[test]
fn kernels_that_wait_for_launches_have_their_own_mean() {
    let copy = |n: i64| Work {
        called_us: Some(n * 50 + 20),
        ..Work::at("d2d", n * 50 + 30, 10)
    };
    let copies: Vec<Work> = (0..100).map(copy).collect();
    let kernels = kernels(&late(100, |_| None));
    let inputs = [facts(10_000), kernels, transfers(&copies)];
    let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
    let sentences = texts(&output, "top", "sentence");
    // 99 gaps of 10 µs.
    let expected = "gpu0 waits for kernel launches for 10 % of the wall (100 kernels of 30.0 µs); capturing the launches in a graph saves up to 990 µs (10 %)";
    assert!(sentences.iter().any(|one| one == expected), "{sentences:?}");
}

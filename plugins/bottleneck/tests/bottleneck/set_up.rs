//! Gains of a warm start.

use crate::inputs::{US, Work, facts, gains, kernels, path, pieces, texts};
use trueno_plugin::TableBuilder;
use trueno_plugin::testing::{Output, run};
use trueno_plugin_bottleneck::Bottleneck;

/// A kernel that starts after 5 of 10 ms, with as much host work after it; `rows` are the host's work before it.
fn first_at_half(rows: Vec<TableBuilder>) -> Output {
    let mut inputs = vec![
        facts(10_000),
        kernels(&[Work::at("step", 5_000, 1_000)]),
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
        "the first device work starts after 50 % of the wall, with 3.50 ms of host work before it; a warm start saves up to 3.50 ms (35 %)"
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

/// No start is faster for someone who types more slowly.
#[test]
fn waiting_for_input_is_no_set_up() {
    for (name, is_set_up) in [
        ("prepare", true),
        ("getc", false),
        ("IteratorGetNext", false),
    ] {
        let rows = pieces(&[
            ("work", Some(name), "thread 0", 0, 0, 4_500),
            ("work", Some("open"), "thread 0", 0, 4_500, 500),
            ("work", Some("step"), "gpu0/stream 7", 0, 5_000, 1_000),
            ("work", Some("close"), "thread 0", 0, 6_000, 4_000),
        ]);
        let codes = texts(&first_at_half(vec![rows]), "bottlenecks", "code");
        assert_eq!(
            codes.iter().any(|code| code == "set_up"),
            is_set_up,
            "{codes:?}"
        );
    }
}

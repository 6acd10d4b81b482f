//! Gains of a warm start.

use crate::inputs::{US, Work, facts, gains, kernels, path, pieces, texts};
use trueno_plugin::TableBuilder;
use trueno_plugin::testing::{Output, run};
use trueno_plugin_bottleneck::Bottleneck;

/// A kernel after 500 of 1,000 µs, and as much work of the host after it; before it as `rows` say.
fn first_at_500(rows: Vec<TableBuilder>) -> Output {
    let mut inputs = vec![
        facts(1_000),
        kernels(&[Work::at("step", 500, 100)]),
        path(&[("work", 700), ("gap", 300)]),
    ];
    inputs.extend(rows);
    run::<Bottleneck>(inputs, "{}").expect("it ends well")
}

#[test]
fn time_of_which_nothing_is_on_record_is_not_saved() {
    let rows = pieces(&[
        ("gap", None, "thread 0", 0, 0, 100),
        ("work", Some("open"), "thread 0", 0, 100, 300),
        ("gap", None, "thread 0", 0, 400, 50),
        // Of this piece 50 µs are before the kernel.
        ("work", Some("prepare"), "thread 0", 0, 450, 550),
    ]);
    let output = first_at_500(vec![rows]);
    let codes = texts(&output, "bottlenecks", "code");
    let at = codes.iter().position(|code| code == "set_up");
    let at = at.expect("it is found");
    assert_eq!(gains(&output)[at], Some(350 * US));
    assert_eq!(
        texts(&output, "bottlenecks", "sentence")[at],
        "the first device work starts after 50 % of the wall, 350 µs of it host work; a warm start saves up to 350 µs (35 %)"
    );
}

#[test]
fn what_is_short_before_the_first_kernel_is_no_set_up() {
    let rows = pieces(&[
        ("gap", None, "thread 0", 0, 0, 490),
        ("work", Some("open"), "thread 0", 0, 490, 10),
        ("work", Some("step"), "gpu0/stream 7", 0, 500, 100),
        ("work", Some("close"), "thread 0", 0, 600, 400),
    ]);
    let codes = texts(&first_at_500(vec![rows]), "bottlenecks", "code");
    assert!(!codes.iter().any(|code| code == "set_up"), "{codes:?}");
}

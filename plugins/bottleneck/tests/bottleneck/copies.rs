//! Copies, and what runs beside them on the device.

use crate::inputs::{US, Work, blocking, facts, gains, kernels, path, texts, transfers};
use trueno_plugin::TableBuilder;
use trueno_plugin::testing::{Output, run};
use trueno_plugin_bottleneck::Bottleneck;

/// Ten rounds of 100 µs: a kernel of `kernel_us`, then a copy of 50 µs for which the host calls as soon as the kernel is launched.
fn rounds(kernel_us: i64, copies: impl Fn(&[Work]) -> TableBuilder, first_us: i64) -> Output {
    let kernel = |n: i64| Work::at("step", n * 100, kernel_us);
    let copy = |n: i64| Work {
        called_us: Some(n * 100 + 1),
        ..Work::at("d2h", n * 100 + first_us, 50)
    };
    let steps: Vec<Work> = (0..10).map(kernel).collect();
    let moved: Vec<Work> = (0..10).map(copy).collect();
    let path = path(&[("work", 500), ("transfer", 500)]);
    let inputs = [facts(1_000), kernels(&steps), copies(&moved), path];
    run::<Bottleneck>(inputs, "{}").expect("it ends well")
}

fn considered(output: &Output) -> String {
    texts(output, "bottlenecks", "considered")[0].clone()
}

/// The call waits for the kernel and then copies: one after another on the device.
#[test]
fn a_call_that_waits_for_a_kernel_is_no_copy_beside_it() {
    let output = rounds(20, blocking, 20);
    assert_eq!(texts(&output, "bottlenecks", "code"), ["transfer_bound"]);
    let said = considered(&output);
    assert!(
        said.starts_with("0 ns of copies run beside kernels and cost nothing; 200 µs of kernels have no copy beside them"),
        "{said}"
    );
    // Too little computing to hide them behind: half the bytes.
    assert_eq!(gains(&output), [Some(250 * US)]);
    let assumes = &texts(&output, "bottlenecks", "assumption")[0];
    assert!(
        assumes.ends_with("hiding all copies behind kernels could save no more than 200 µs"),
        "{assumes}"
    );
    // With enough of it they hide.
    let output = rounds(45, blocking, 45);
    assert_eq!(gains(&output), [Some(450 * US)]);
}

#[test]
fn copies_beside_kernels_are_counted_by_the_devices_times() {
    // 20 of 50 µs beside a kernel of 40.
    let said = considered(&rounds(40, transfers, 20));
    assert!(
        said.starts_with("200 µs of copies run beside kernels and cost nothing; 200 µs of kernels have no copy beside them"),
        "{said}"
    );
}

//! Device memory that is taken and given back again and again.

use crate::inputs::{US, Work, facts, gains, kernels, path, pieces, texts};
use trueno_plugin::Table;
use trueno_plugin::testing::{Output, run};
use trueno_plugin_bottleneck::Bottleneck;

/// Rounds of 100 µs: a kernel of 20 µs, a call `name` of 60 µs, then the next launch.
fn rounds(rounds: i64, name: &'static str) -> Output {
    rounds_of(rounds, name, (20, 60, 20))
}

/// Rounds of a kernel, a call `name` and other work of the host, in microseconds.
fn rounds_of(rounds: i64, name: &'static str, lengths_us: (i64, i64, i64)) -> Output {
    longer_by(0, rounds, name, lengths_us)
}

/// The same with `longer_us` more in the third call.
fn longer_by(
    longer_us: i64,
    rounds: i64,
    name: &'static str,
    (kernel_us, call_us, rest_us): (i64, i64, i64),
) -> Output {
    let round_us = kernel_us + call_us + rest_us;
    let at = |n: i64| n * round_us + if n > 2 { longer_us } else { 0 };
    let kernel = |n: i64| Work {
        called_us: Some(at(n) - 5),
        ..Work::at("step", at(n), kernel_us)
    };
    let work: Vec<Work> = (0..rounds).map(kernel).collect();
    let on_path: Vec<_> = (0..rounds)
        .flat_map(|n| {
            let start_us = at(n);
            let called_us = start_us + kernel_us;
            let call_us = call_us + if n == 2 { longer_us } else { 0 };
            let rest = called_us + call_us;
            [
                (
                    "work",
                    Some("step"),
                    "gpu0/stream 7",
                    0,
                    start_us,
                    kernel_us,
                ),
                ("work", Some(name), "thread 0", 0, called_us, call_us),
                ("work", Some("train"), "thread 0", 0, rest, rest_us),
            ]
        })
        .collect();
    let calls = Table::build("call_names")
        .text("name", [name])
        .u64("calls", [rounds as u64])
        .i64("dur_ns", [(rounds * call_us + longer_us) * US])
        .i64("longest_ns", [(call_us + longer_us) * US])
        .i64("first_ns", [kernel_us * US])
        .i64("first_end_ns", [(kernel_us + call_us) * US]);
    let inputs = [
        facts(at(rounds)),
        kernels(&work),
        calls,
        pieces(&on_path),
        path(&[("work", at(rounds))]),
    ];
    run::<Bottleneck>(inputs, "{}").expect("it ends well")
}

fn sentences(output: &Output) -> Vec<String> {
    let classes = texts(output, "bottlenecks", "class").into_iter();
    let all = classes.zip(texts(output, "bottlenecks", "sentence"));
    all.filter(|(class, _)| class == "device_allocation")
        .map(|(_, sentence)| sentence)
        .collect()
}

#[test]
fn memory_that_goes_back_to_the_driver_in_every_round_is_found() {
    let output = rounds(40, "hipFree");
    assert_eq!(
        sentences(&output),
        [
            "allocating and freeing device memory takes 58 % of the wall (40 calls, most time in hipFree); keeping the \
             memory in a pool saves up to 2.34 ms (58 %)"
        ]
    );
    // The last round's call is behind the last kernel.
    let classes = texts(&output, "bottlenecks", "class");
    let at = classes
        .iter()
        .position(|class| class == "device_allocation");
    assert_eq!(gains(&output)[at.expect("found")], Some(39 * 60 * US));
}

#[test]
fn few_calls_and_those_to_a_pool_are_no_pattern() {
    assert!(sentences(&rounds(9, "cudaFree")).is_empty());
    assert!(sentences(&rounds(40, "cudaFreeAsync")).is_empty());
    // An allocator that grows keeps what it takes.
    assert!(sentences(&rounds(40, "cudaMalloc")).is_empty());
}

/// Freeing waits for the device: the host cannot do it ahead, while the device works.
#[test]
fn memory_that_goes_back_overlaps_with_nothing() {
    let overlapping = |name| {
        let output = rounds_of(40, name, (500, 400, 100));
        let classes = texts(&output, "bottlenecks", "class");
        let at = classes.iter().position(|class| class == "serialisation");
        (classes[0].clone(), gains(&output)[at.expect("found")])
    };
    let gaps = 39;
    let (first, gain_ns) = overlapping("cudaFreeArray");
    assert_eq!(first, "device_allocation");
    assert_eq!(gain_ns, Some(gaps * 100 * US));
    let (first, gain_ns) = overlapping("prepare");
    assert_eq!(first, "serialisation");
    assert_eq!(gain_ns, Some(gaps * 500 * US));
}

/// One call that takes as long as all others together is a single event. The others are judged without it.
#[test]
fn a_single_long_call_is_no_pattern() {
    let share = |output: &Output| {
        let found = sentences(output).pop()?;
        let (_, share) = found.split_once("takes ")?;
        Some(share.split_once(" of the wall")?.0.to_owned())
    };
    let alone = longer_by(6_000, 40, "hipFree", (96, 2, 2));
    assert_eq!(share(&alone), None);
    // 2.34 of 10 ms are those of all rounds but the last; the third call has 6 ms more.
    let beside = longer_by(6_000, 40, "hipFree", (20, 60, 20));
    assert_eq!(share(&beside).as_deref(), Some("23 %"));
}

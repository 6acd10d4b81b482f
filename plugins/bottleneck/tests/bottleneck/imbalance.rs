//! Devices and streams that do not have the same to do.

use crate::inputs::{US, Work, facts, gains, kernels, texts};
use trueno_plugin::testing::{Output, run};
use trueno_plugin_bottleneck::Bottleneck;

/// Two devices that run `step` for 100 µs ten times; the first has `beside` kernels at the same time on other streams.
fn devices(beside: i64) -> Output {
    let step = |device: i64, stream: i64, n: i64| Work {
        device: Some(device),
        stream: Some(stream),
        ..Work::at("step", n * 100, 100)
    };
    let rows: Vec<Work> = (0..10)
        .flat_map(|n| {
            let of_first = (0..=beside).map(move |stream| step(0, stream, n));
            of_first.chain([step(1, 0, n)])
        })
        .collect();
    run::<Bottleneck>([facts(1_000), kernels(&rows)], "{}").expect("it ends well")
}

#[test]
fn a_device_is_no_busier_for_what_runs_at_once() {
    for beside in [0, 3] {
        let codes = texts(&devices(beside), "bottlenecks", "code");
        assert!(!codes.iter().any(|code| code == "devices"), "{codes:?}");
    }
}

#[test]
fn a_device_that_works_longer_than_the_others_is_uneven() {
    let rows: Vec<Work> = (0..10)
        .flat_map(|n| {
            let of_second = Work {
                device: Some(1),
                ..Work::at("step", n * 100, 20)
            };
            [Work::at("step", n * 100, 100), of_second]
        })
        .collect();
    let output = run::<Bottleneck>([facts(1_000), kernels(&rows)], "{}").expect("it ends well");
    let codes = texts(&output, "bottlenecks", "code");
    let at = codes.iter().position(|code| code == "devices");
    assert_eq!(gains(&output)[at.expect("it is found")], Some(400 * US));
}

/// Ten rounds of 100 µs on stream 1, then 20 µs on stream 2 that begin `after_us` into the round.
fn streams(after_us: i64) -> Output {
    let step = |stream: i64, start_us: i64, dur_us: i64| Work {
        stream: Some(stream),
        ..Work::at("step", start_us, dur_us)
    };
    let rows: Vec<Work> = (0..10)
        .flat_map(|n| [step(1, n * 150, 100), step(2, n * 150 + after_us, 20)])
        .collect();
    run::<Bottleneck>([facts(1_500), kernels(&rows)], "{}").expect("it ends well")
}

fn gain_of_streams(output: &Output) -> Option<i64> {
    let codes = texts(output, "bottlenecks", "code");
    let at = codes.iter().position(|code| code == "streams")?;
    gains(output)[at]
}

#[test]
fn streams_that_run_one_after_the_other_gain_nothing_from_an_even_split() {
    assert_eq!(gain_of_streams(&streams(100)), None);
}

#[test]
fn an_even_split_of_streams_gains_no_more_than_they_ran_side_by_side() {
    assert_eq!(gain_of_streams(&streams(90)), Some(100 * US));
    assert_eq!(gain_of_streams(&streams(0)), Some(200 * US));
}

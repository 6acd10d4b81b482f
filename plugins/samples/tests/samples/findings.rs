//! Findings, and where there are none.

use trueno_plugin::Severity;

use crate::fixture::{Fixture, Frame, Sample, frame, sample};

/// Out of 1,234 samples, 753 in `memcpy`, 400 in `main`, and 81 in unknown functions.
fn program(unknown: usize) -> Fixture {
    let samples = |stack, count| (0..count).map(move |nth| sample(nth, stack));
    let mut all: Vec<Sample> = samples(2, 753).chain(samples(1, 400)).collect();
    all.extend((0..unknown as i64).map(|nth| sample(nth, 3)));
    Fixture {
        stacks: vec![
            frame(1, None, "main"),
            Frame {
                module: Some("/usr/lib/libc.so.6"),
                line: Some(("memmove.S", 312)),
                ..frame(2, Some(1), "memcpy")
            },
            Frame {
                id: 3,
                module: Some("/opt/libblas.so"),
                ..Frame::default()
            },
        ],
        samples: all,
        ..Fixture::default()
    }
}

#[test]
fn the_hottest_function_with_its_interval() {
    let output = program(81).analyse();
    let codes: Vec<&str> = output.findings.iter().map(|of| of.code.as_str()).collect();
    assert_eq!(codes, ["hottest", "no_switches"]);
    let finding = output.finding("hottest").unwrap();
    assert_eq!(
        finding.title,
        "memcpy (libc.so.6) ran in 61 % of 1,234 samples (58 to 64 %)"
    );
    assert_eq!(
        finding.detail.as_deref(),
        Some("estimated CPU time: 753 ms; its hottest line: memmove.S:312, 753 samples")
    );
    assert_eq!(
        (finding.severity, finding.suggestion.as_ref()),
        (Severity::Info, None)
    );
}

#[test]
fn few_samples_tell_no_share() {
    let mut fixture = program(0);
    fixture.samples.truncate(99);
    let output = fixture.analyse();
    assert_eq!(output.findings.len(), 2);
    let finding = output.finding("few_samples").unwrap();
    assert_eq!(finding.title, "too few samples for shares: 99");
}

#[test]
fn functions_that_are_not_known_are_said_with_the_remedy() {
    for (unknown, severity) in [
        (288, None),
        (290, Some(Severity::Info)),
        (1_200, Some(Severity::Warning)),
    ] {
        let output = program(unknown).analyse();
        let found = output.finding("unknown_functions");
        assert_eq!(found.map(|of| of.severity), severity, "{unknown}");
        // A file without symbols is hottest where most samples are in it.
        let hottest = &output.finding("hottest").unwrap().title;
        let expected = if unknown > 753 {
            "libblas.so (functions not known) ran in 51 % of 2,353 samples"
        } else {
            "memcpy (libc.so.6) ran in"
        };
        assert!(hottest.starts_with(expected), "{hottest}");
    }
    let output = program(1_200).analyse();
    let found = output.finding("unknown_functions").unwrap();
    assert_eq!(
        found.title,
        "the function is not known in 51 % of 2,353 samples"
    );
    assert!(
        found
            .suggestion
            .as_ref()
            .unwrap()
            .contains("build libblas.so with symbols")
    );
}

#[test]
fn nobody_can_build_a_closed_library_with_symbols() {
    let mut fixture = program(1_200);
    fixture.stacks[2].module = Some("/usr/lib64/libcuda.so.560.35.03");
    let output = fixture.analyse();
    let found = output.finding("unknown_functions").unwrap();
    assert_eq!(found.severity, Severity::Info);
    let suggestion = found.suggestion.as_deref().unwrap();
    assert!(
        suggestion.starts_with("the CUDA driver comes without symbols"),
        "{suggestion}"
    );
}

#[test]
fn of_several_events_the_one_that_counts_time_is_told() {
    let mut fixture = program(0);
    let cycles = fixture.samples.clone().into_iter().map(|of| Sample {
        event: "cycles",
        stack: Some(1),
        ..of
    });
    let cycles: Vec<Sample> = cycles.collect();
    fixture.samples.extend(cycles.iter().chain(&cycles));
    let output = fixture.analyse();
    assert_eq!(output.findings.len(), 2);
    assert_eq!(
        output.findings[0].title,
        "memcpy (libc.so.6) ran in 65 % of 1,153 samples of cpu-clock (62 to 69 %)"
    );
}

#[test]
fn nothing_is_an_error() {
    for unknown in [0, 50, 500, 5_000] {
        let findings = program(unknown).analyse().findings;
        assert!(findings.iter().all(|of| of.severity < Severity::Error));
    }
}

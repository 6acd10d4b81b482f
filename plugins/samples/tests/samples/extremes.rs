//! Numbers and references that should not be: no panic, no endless walk, no figure that is wrong.

use trueno_plugin::Severity;

use crate::fixture::{Fixture, Row, Sample, frame, lines, sample};

#[test]
fn periods_beyond_what_can_be_counted_give_no_time() {
    let huge = Sample {
        period: Some(u64::MAX),
        ..sample(i64::MAX, 1)
    };
    let mut fixture = Fixture {
        stacks: vec![frame(1, None, "main"), frame(2, None, "other")],
        samples: vec![
            huge,
            huge,
            Sample {
                time_ns: i64::MIN,
                ..sample(0, 2)
            },
        ],
        rows: vec![
            Row {
                thread: 0,
                kind: Some("brick"),
                name: "whole",
                start_ns: i64::MIN,
                dur_ns: i64::MAX,
            },
            Row {
                thread: 0,
                kind: Some("brick"),
                name: "beyond",
                start_ns: i64::MAX,
                dur_ns: i64::MAX,
            },
            Row {
                thread: 0,
                kind: Some("brick"),
                name: "which is negative",
                start_ns: 10,
                dur_ns: i64::MIN,
            },
        ],
        ..Fixture::default()
    };
    let output = fixture.analyse();
    assert_eq!(
        lines(
            output.table("functions"),
            &["function", "self_samples", "self_estimated_ns"]
        ),
        ["main | 2 | -", "other | 1 | 1000000"]
    );
    assert_eq!(
        lines(output.table("bricks"), &["name", "function"]),
        ["whole | other"]
    );
    fixture.samples[0].thread = i64::MIN;
    fixture.samples[1].stack = Some(u64::MAX);
    fixture.stacks[0].id = u64::MAX;
    assert_eq!(
        lines(
            fixture.analyse().table("functions"),
            &["function", "self_samples"]
        ),
        ["main | 1", "other | 1", "not known | 1"]
    );
}

#[test]
fn callers_that_go_round_or_are_missing_are_said_and_end_the_walk() {
    let fixture = Fixture {
        stacks: vec![
            frame(1, Some(2), "ping"),
            frame(2, Some(1), "pong"),
            frame(3, Some(1), "below"),
            frame(4, Some(4), "own"),
            frame(5, Some(99), "orphan"),
        ],
        samples: (1..=6).map(|stack| sample(0, stack)).collect(),
        ..Fixture::default()
    };
    let output = fixture.analyse();
    assert_eq!(
        lines(
            output.table("functions"),
            &["function", "self_samples", "total_samples"]
        ),
        [
            "ping | 1 | 2",
            "below | 1 | 1",
            "orphan | 1 | 1",
            "own | 1 | 1",
            "pong | 1 | 1",
            "not known | 1 | 1",
        ]
    );
    let finding = output.finding("broken_stacks").unwrap();
    assert_eq!(
        finding.title,
        "callers are not all known: 2 references to missing rows of `stacks`, 3 rows of `stacks` in cycles"
    );
    assert_eq!(finding.severity, Severity::Warning);
}

#[test]
fn a_very_deep_recursion_takes_no_time_to_speak_of() {
    let depth = 100_000;
    let chain = (1..=depth).map(|id| frame(id, id.checked_sub(1).filter(|of| *of > 0), "down"));
    let fixture = Fixture {
        stacks: chain.collect(),
        samples: (1..=depth).map(|stack| sample(0, stack)).collect(),
        ..Fixture::default()
    };
    assert_eq!(
        lines(
            fixture.analyse().table("functions"),
            &["function", "self_samples", "total_samples"]
        ),
        [format!("down | {depth} | {depth}")]
    );
}

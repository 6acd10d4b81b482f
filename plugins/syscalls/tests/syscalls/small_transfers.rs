//! The finding on small reads and writes, and where there is none.

use trueno_plugin::Severity;

use crate::fixture::{Call, Fixture, call};

/// 2,000 writes of 64 B, 100 ns each: a tenth of the wall.
fn program() -> Fixture {
    let write = |nth: i64| Call {
        thread: 3,
        target: Some("/tmp/out"),
        bytes: Some(64),
        status: Some(64),
        ..call("write", nth * 200, 100)
    };
    Fixture {
        calls: (0..2_000).map(write).collect(),
        wall_ns: Some(2_000_000),
        window: None,
    }
}

fn title(fixture: &Fixture) -> Option<String> {
    let output = fixture.analyse();
    assert!(output.findings.len() < 2);
    let finding = output.finding("small_transfers")?;
    assert_eq!(finding.severity, Severity::Warning);
    Some(finding.title.clone())
}

#[test]
fn many_small_writes_are_told_with_their_figures() {
    let output = program().analyse();
    assert_eq!(
        title(&program()).unwrap(),
        "2,000 calls of write on thread 3 move 64 B at the median and take 200 µs, 10 % of the wall"
    );
    let finding = &output.findings[0];
    assert!(
        finding
            .detail
            .as_ref()
            .unwrap()
            .contains("half of a tracer stop")
    );
    assert!(finding.suggestion.as_ref().unwrap().contains("buffer"));
}

#[test]
fn few_large_short_waiting_failed_and_other_calls_are_not() {
    let change = |change: &dyn Fn(&mut Call)| {
        let mut fixture = program();
        fixture.calls.iter_mut().for_each(change);
        title(&fixture)
    };
    assert!(change(&|_| ()).is_some());
    assert!(change(&|call| call.target = None).is_some());
    assert!(change(&|call| call.target = Some("pipe")).is_some());
    assert_eq!(change(&|call| call.target = Some("eventfd")), None);
    assert_eq!(change(&|call| call.target = Some("socket")), None);
    assert_eq!(change(&|call| call.name = "sendto"), None);
    assert_eq!(change(&|call| call.bytes = Some(512)), None);
    assert_eq!(change(&|call| call.bytes = None), None);
    assert_eq!(change(&|call| call.dur_ns = Some(49)), None);
    assert_eq!(change(&|call| call.waits = true), None);
    assert_eq!(change(&|call| call.errno = Some("EAGAIN")), None);
    assert_eq!(change(&|call| call.dur_ns = None), None);
    // Spread over threads, no thread has many.
    assert_eq!(change(&|call| call.thread = call.start_ns / 200 % 3), None);
    let mut few = program();
    few.calls.truncate(999);
    assert_eq!(title(&few), None);
    let mut unknown = program();
    unknown.wall_ns = None;
    assert_eq!(title(&unknown), None);
    // Of a part of the run, the length of that counts.
    let mut part = program();
    part.window = Some((0, 400_000));
    part.wall_ns = None;
    assert!(title(&part).unwrap().ends_with("50 % of the wall"));
}

#[test]
fn the_one_that_takes_longest_is_told() {
    let mut fixture = program();
    let reads: Vec<Call> = fixture
        .calls
        .iter()
        .map(|of| Call {
            name: "pread64",
            thread: (2 << 16) | 5,
            dur_ns: Some(150),
            ..*of
        })
        .collect();
    fixture.calls.extend(reads);
    assert!(
        title(&fixture)
            .unwrap()
            .starts_with("2,000 calls of pread64 on thread 5 of rank 2 move 64 B")
    );
    let output = fixture.analyse();
    let detail = output.findings[0].detail.clone().unwrap();
    assert!(detail.starts_with("the same holds for 1 more"), "{detail}");
}

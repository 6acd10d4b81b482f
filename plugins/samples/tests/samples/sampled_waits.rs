//! Samples by the clock, which a profiler also takes of threads that wait.

use trueno_plugin::testing::{check_parts, part};
use trueno_plugin_samples::Samples;

use crate::fixture::{Fixture, Frame, Sample, frame, lines, sample};

/// The main thread waits in `join` in 80 of 100 samples, and a helper in all of its 50.
fn program(event: &'static str) -> Fixture {
    let of = |thread: i64, stack: u64, count: i64| {
        (0..count).map(move |nth| Sample {
            thread,
            event,
            period: None,
            ..sample(nth, stack)
        })
    };
    let python = |id, caller, function, file| Frame {
        module: None,
        line: Some((file, 7)),
        ..frame(id, caller, function)
    };
    Fixture {
        stacks: vec![
            python(1, None, "main", "/app/train.py"),
            python(2, Some(1), "join", "/usr/lib/python3.13/threading.py"),
            python(3, Some(1), "join", "/usr/lib/python3.13/posixpath.py"),
            python(4, None, "_handle_tasks", "/usr/lib/python3.13/pool.py"),
        ],
        samples: of(0, 2, 80)
            .chain(of(0, 1, 15))
            .chain(of(0, 3, 5))
            .chain(of(1, 4, 50))
            .collect(),
        thread_names: vec![(0, "MainThread"), (1, "Thread-1")],
        ..Fixture::default()
    }
}

#[test]
fn samples_of_waits_count_in_no_share_of_what_ran() {
    let output = program("time").analyse();
    assert_eq!(
        lines(
            output.table("functions"),
            &["function", "self_samples", "self_share"]
        ),
        ["main | 15 | 0.7500", "join | 5 | 0.2500"]
    );
    assert_eq!(
        lines(output.table("threads"), &["name", "samples"]),
        ["MainThread | 20"]
    );
    let columns = [
        "name",
        "function",
        "samples",
        "thread_samples",
        "thread_share",
        "is_longest",
    ];
    assert_eq!(
        lines(output.table("sampled_waits"), &columns),
        [
            "MainThread | join | 80 | 100 | 0.8000 | true",
            "Thread-1 | _handle_tasks | 50 | 50 | 1.0000 | false"
        ]
    );
    let finding = output.finding("sampled_waits").unwrap();
    assert_eq!(
        finding.title,
        "MainThread waits in join (threading.py) in 80 % of its 100 samples, inferred from the function's name"
    );
}

/// As imports name functions where several files have the name.
#[test]
fn findings_keep_the_file_of_a_function() {
    let mut fixture = program("time");
    fixture.stacks[0].function = Some("main (train.py)");
    fixture.stacks[1].function = Some("join (threading.py)");
    let samples = fixture.samples.clone();
    fixture.samples.extend(
        samples
            .into_iter()
            .filter(|of| of.stack == Some(1))
            .cycle()
            .take(100),
    );
    fixture.samples.extend((0..100).map(|nth| Sample {
        event: "time",
        ..sample(nth, 2)
    }));
    let output = fixture.analyse();
    let title = |code: &str| output.finding(code).unwrap().title.clone();
    assert!(title("hottest").starts_with("main (train.py) ran in 96 % of 120 samples"));
    assert!(title("sampled_waits").starts_with("MainThread waits in join (threading.py) in 60 %"));
}

#[test]
fn a_processors_clock_stands_still_while_a_thread_waits() {
    let output = program("cpu-clock").analyse();
    assert_eq!(
        lines(output.table("threads"), &["name", "samples"]),
        ["MainThread | 100", "Thread-1 | 50"]
    );
    assert!(output.finding("sampled_waits").is_none());
}

#[test]
fn threads_that_only_wait_run_no_function() {
    let mut fixture = program("time");
    fixture.samples.retain(|sample| sample.thread == 1);
    fixture.samples = fixture.samples.repeat(4);
    let output = fixture.analyse();
    assert!(
        output
            .tables
            .iter()
            .all(|table| table.name() != "functions")
    );
    let waits = output.table("sampled_waits");
    assert_eq!(lines(waits, &["samples", "is_longest"]), ["200 | false"]);
    assert!(
        output.finding("sampled_waits").is_none(),
        "a helper may wait"
    );
    fixture.thread_names = vec![(1, "MainThread")];
    assert!(fixture.analyse().finding("sampled_waits").is_some());
}

#[test]
fn parts_keep_them() {
    let fixture = program("time");
    let parts = [part::<Samples>(fixture.inputs(), "{}").unwrap()];
    let agreed = check_parts::<Samples>(&parts, 1, Vec::new, "{}", &fixture.analyse());
    assert!(agreed.is_ok(), "{agreed:?}");
}

//! Known samples with known answers.

use trueno_plugin::testing::run;
use trueno_plugin_samples::Samples;

use crate::fixture::{Fixture, Frame, Sample, frame, lines, sample};

/// `main` calls `walk`, which calls itself and `memcpy`. One function is inlined into `walk`, and one is unknown.
fn program() -> Fixture {
    Fixture {
        stacks: vec![
            frame(1, None, "main"),
            frame(2, Some(1), "walk"),
            frame(3, Some(2), "walk"),
            Frame {
                module: Some("/lib/libc.so.6"),
                ..frame(4, Some(3), "memcpy")
            },
            Frame {
                line: Some(("tree.rs", 40)),
                ..frame(5, Some(2), "next_of")
            },
            Frame {
                line: Some(("tree.rs", 41)),
                ..frame(6, Some(3), "next_of")
            },
            Frame {
                id: 7,
                caller: Some(1),
                module: Some("/opt/driver.so"),
                ..Frame::default()
            },
        ],
        samples: [(1, 1), (2, 1), (3, 2), (4, 4), (5, 2), (6, 3), (7, 1)]
            .into_iter()
            .flat_map(|(stack, count)| (0..count).map(move |nth| sample(nth, stack)))
            .collect(),
        ..Fixture::default()
    }
}

const COLUMNS: [&str; 9] = [
    "function",
    "module",
    "self_samples",
    "self_share",
    "low_share",
    "high_share",
    "self_estimated_ns",
    "total_samples",
    "total_share",
];

#[test]
fn self_and_total_samples_of_each_function() {
    let output = program().analyse();
    assert_eq!(
        lines(output.table("functions"), &COLUMNS),
        [
            "next_of | /opt/app | 5 | 0.3571 | 0.1634 | 0.6124 | 5000000 | 5 | 0.3571",
            "memcpy | /lib/libc.so.6 | 4 | 0.2857 | 0.1172 | 0.5465 | 4000000 | 4 | 0.2857",
            // Once a sample, though most of its samples have it twice.
            "walk | /opt/app | 3 | 0.2143 | 0.0757 | 0.4759 | 3000000 | 12 | 0.8571",
            "main | /opt/app | 1 | 0.0714 | 0.0127 | 0.3147 | 1000000 | 14 | 1.0000",
            "not known | /opt/driver.so | 1 | 0.0714 | 0.0127 | 0.3147 | 1000000 | 1 | 0.0714",
        ]
    );
    assert_eq!(
        lines(output.table("functions"), &["line", "line_samples"])[0],
        "tree.rs:41 | 3"
    );
    assert_eq!(
        lines(output.table("functions"), &["line", "line_samples"])[1],
        "- | -"
    );
    assert_eq!(output.charts.len(), 1);
}

#[test]
fn events_stand_apart_and_only_time_is_time() {
    let mut fixture = program();
    fixture.samples = vec![
        Sample {
            event: "task-clock:u",
            ..sample(0, 2)
        },
        Sample {
            event: "cycles",
            period: Some(5_000),
            ..sample(1, 4)
        },
        Sample {
            event: "cycles",
            period: Some(5_000),
            ..sample(2, 1)
        },
    ];
    let output = fixture.analyse();
    let columns = [
        "event",
        "function",
        "self_samples",
        "self_share",
        "self_estimated_ns",
        "total_share",
    ];
    assert_eq!(
        lines(output.table("functions"), &columns),
        [
            "task-clock:u | walk | 1 | 1.0000 | 1000000 | 1.0000",
            "task-clock:u | main | 0 | 0.0000 | - | 1.0000",
            "cycles | main | 1 | 0.5000 | - | 1.0000",
            "cycles | memcpy | 1 | 0.5000 | - | 0.5000",
            "cycles | walk | 0 | 0.0000 | - | 0.5000",
        ]
    );
    assert_eq!(output.charts[0].series.as_deref(), Some("event"));
}

#[test]
fn a_period_that_is_not_told_leaves_shares_and_no_time() {
    let mut fixture = program();
    for sample in &mut fixture.samples {
        if sample.stack == Some(4) && sample.time_ns == 0 {
            sample.period = None;
        }
    }
    let output = fixture.analyse();
    assert_eq!(
        lines(
            output.table("functions"),
            &["function", "self_samples", "self_estimated_ns"]
        )[..2],
        ["next_of | 5 | 5000000", "memcpy | 4 | -"]
    );
    assert_eq!(
        lines(output.table("threads"), &["samples", "estimated_ns"]),
        ["14 | -"]
    );
}

#[test]
fn threads_have_their_names_and_shares() {
    let mut fixture = program();
    fixture.thread_names = vec![(0, "main"), (3, "worker"), (9, "idle")];
    for sample in &mut fixture.samples {
        if sample.stack == Some(5) || sample.stack == Some(6) {
            sample.thread = 3;
        }
        if sample.stack == Some(1) {
            sample.thread = 4;
        }
    }
    let columns = [
        "event",
        "thread",
        "name",
        "samples",
        "sample_share",
        "low_share",
        "high_share",
        "estimated_ns",
    ];
    assert_eq!(
        lines(fixture.analyse().table("threads"), &columns),
        [
            "cpu-clock | 0 | main | 8 | 0.5714 | 0.3259 | 0.7862 | 8000000",
            "cpu-clock | 3 | worker | 5 | 0.3571 | 0.1634 | 0.6124 | 5000000",
            "cpu-clock | 4 | - | 1 | 0.0714 | 0.0127 | 0.3147 | 1000000",
        ]
    );
}

#[test]
fn samples_without_a_stack_are_counted() {
    let mut fixture = program();
    fixture.samples.push(Sample {
        stack: None,
        ..sample(9, 0)
    });
    let output = fixture.analyse();
    let last = lines(output.table("functions"), &COLUMNS[..3]);
    assert_eq!(last.last().unwrap(), "not known | /opt/driver.so | 1");
    assert!(last.contains(&"not known | - | 1".to_owned()), "{last:?}");
    assert_eq!(lines(output.table("threads"), &["samples"]), ["15"]);
}

#[test]
fn a_part_of_a_run_counts_the_samples_inside() {
    let mut fixture = program();
    fixture.window = Some((1, 3));
    let found = lines(
        fixture.analyse().table("functions"),
        &["function", "self_samples"],
    );
    assert_eq!(found, ["next_of | 3", "memcpy | 2", "walk | 1", "main | 0"]);
}

#[test]
fn nothing_is_said_without_samples() {
    let none = Fixture::default().analyse();
    assert!(none.tables.is_empty() && none.findings.is_empty() && none.charts.is_empty());
    // All tables missing, as in runs of an earlier format.
    let missing = run::<Samples>([], "{}").unwrap();
    assert_eq!(missing, none);
    let mut outside = program();
    outside.window = Some((100, 200));
    assert_eq!(outside.analyse().tables, []);
}

/// `map` and its closure are inlined into `sum`, which calls `alloc`. Their samples count as `sum`'s own.
#[test]
fn samples_of_functions_put_into_another_are_that_ones_own() {
    let inlined = |id, caller, name, line| Frame {
        inlined: Some(true),
        line: Some(("iter.rs", line)),
        ..frame(id, Some(caller), name)
    };
    let fixture = Fixture {
        stacks: vec![
            Frame {
                line: Some(("sum.rs", 7)),
                inlined: Some(false),
                ..frame(1, None, "sum")
            },
            inlined(2, 1, "map", 90),
            inlined(3, 2, "closure", 91),
            frame(4, Some(3), "alloc"),
        ],
        samples: [1, 2, 3, 3, 4]
            .into_iter()
            .map(|stack| sample(0, stack))
            .collect(),
        ..Fixture::default()
    };
    let output = fixture.analyse();
    let columns = ["function", "self_samples", "total_samples", "line"];
    assert_eq!(
        lines(output.table("functions"), &columns),
        [
            "sum | 4 | 5 | sum.rs:7",
            "alloc | 1 | 1 | -",
            "map | 0 | 4 | -",
            "closure | 0 | 3 | -",
        ]
    );
}

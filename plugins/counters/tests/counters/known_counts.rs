//! Counts whose rates are known.

use trueno_plugin_counters::sums::{COUNTED, at};

use crate::fixture::{Call, Fixture, Reading, lines, reading};

fn counted(of: &[(usize, f64)]) -> [Option<f64>; COUNTED] {
    let mut counted = [None; COUNTED];
    for (place, value) in of {
        counted[*place] = Some(*value);
    }
    counted
}

fn call(name: &'static str, dur_ns: i64, of: &[(usize, f64)]) -> Call {
    Call {
        name,
        dur_ns,
        counted: counted(of),
        ..Call::default()
    }
}

const RATES: [&str; 8] = [
    "name",
    "calls",
    "ipc",
    "cycles_per_element",
    "l2_hit_share",
    "l3_hit_share",
    "l3_misses_per_1000_instructions",
    "off_cpu_share",
];

#[test]
fn rates_are_of_the_calls_that_have_both_counts() {
    let gemv = [
        Call {
            elements: Some(100),
            ..call(
                "gemv",
                1_000,
                &[
                    (at::CYCLES, 1_000.0),
                    (at::INSTRUCTIONS, 3_000.0),
                    (at::L2_ACCESSES, 40.0),
                    (at::L2_MISSES, 10.0),
                    (at::L3_ACCESSES, 10.0),
                    (at::L3_MISSES, 6.0),
                    (at::TASK_CLOCK, 900.0),
                ],
            )
        },
        // Neither says of how many elements, nor how many instructions.
        call(
            "gemv",
            1_000,
            &[(at::CYCLES, 9_000.0), (at::TASK_CLOCK, 700.0)],
        ),
    ];
    let waiting = call(
        "wait",
        500,
        &[(at::TASK_CLOCK, 0.0), (at::PAGE_FAULTS, 3.0)],
    );
    let output = Fixture {
        calls: [&gemv[..], &[waiting]].concat(),
        ..Fixture::default()
    }
    .analyse();
    let bricks = output.table("bricks");
    assert_eq!(
        lines(bricks, &RATES),
        [
            "gemv | 2 | 3.0000 | 10.0000 | 0.7500 | 0.4000 | 2.0000 | 0.2000",
            "wait | 1 | - | - | - | - | - | 1.0000"
        ]
    );
    assert_eq!(
        lines(bricks, &["name", "cycles", "instructions", "page_faults"]),
        ["gemv | 10000 | 3000 | -", "wait | - | - | 3"]
    );
    assert!(!output.tables.iter().any(|table| table.name() == "values"));
}

#[test]
fn estimates_are_counted_and_hits_below_nothing_are_not_shown() {
    let odd = Call {
        is_estimated: true,
        ..call("brick", 10, &[(at::L2_ACCESSES, 5.0), (at::L2_MISSES, 7.0)])
    };
    let output = Fixture {
        calls: vec![odd, call("brick", 10, &[(at::CYCLES, 2.0)])],
        ..Fixture::default()
    }
    .analyse();
    assert_eq!(
        lines(
            output.table("bricks"),
            &["calls", "estimated_calls", "l2_hit_share"]
        ),
        ["2 | 1 | -"]
    );
}

#[test]
fn readings_stand_by_name_unit_and_source() {
    let hit_rate = |value: f64| Reading {
        source: "declared",
        ..reading("l2_cache_hit_rate", 5, value)
    };
    let output = Fixture {
        readings: vec![
            reading("rss", 20, 300.0),
            reading("rss", 10, 100.0),
            Reading {
                unit: Some("byte"),
                ..reading("rss", 10, 7.0)
            },
            hit_rate(0.5),
            hit_rate(0.25),
            reading("noise", 1, f64::NAN),
        ],
        ..Fixture::default()
    }
    .analyse();
    let columns = [
        "name",
        "unit",
        "source",
        "readings",
        "not_finite",
        "min",
        "mean",
        "max",
        "last",
    ];
    assert_eq!(
        lines(output.table("values"), &columns),
        [
            "l2_cache_hit_rate | - | declared | 2 | 0 | 0.2500 | 0.3750 | 0.5000 | 0.5000",
            "noise | - | measured | 1 | 1 | - | - | - | -",
            "rss | - | measured | 2 | 0 | 100.0000 | 200.0000 | 300.0000 | 300.0000",
            "rss | byte | measured | 1 | 0 | 7.0000 | 7.0000 | 7.0000 | 7.0000",
        ]
    );
}

#[test]
fn in_a_part_of_a_run_bricks_lie_in_it_as_a_whole() {
    let at_time = |start_ns: i64| Call {
        start_ns,
        ..call("brick", 100, &[(at::CYCLES, 50.0)])
    };
    let output = Fixture {
        calls: [0, 150, 250].map(at_time).to_vec(),
        readings: vec![
            reading("rss", 99, 1.0),
            reading("rss", 100, 2.0),
            reading("rss", 300, 3.0),
        ],
        window: Some((100, 300)),
    }
    .analyse();
    assert_eq!(
        lines(output.table("bricks"), &["calls", "cycles"]),
        ["1 | 50"]
    );
    assert_eq!(
        lines(output.table("values"), &["readings", "last"]),
        ["1 | 2.0000"]
    );
}

#[test]
fn a_run_without_counters_has_no_tables() {
    assert!(Fixture::default().analyse().tables.is_empty());
}

//! A run whose one row is bad: nothing is perfect, nothing is empty, nothing vanishes.

use trueno_plugin::testing::Output;

use crate::fixture::{Fixture, Row, at, ceiling, lines, usual};

fn fixture(row: Row) -> Fixture {
    Fixture {
        kernels: vec![Row { kind: "", ..row }],
        ceilings: usual(),
        ..Fixture::default()
    }
}

fn good() -> Row {
    at(1, "k", 0, 1000).work(4000, 1000).backend("avx2")
}

fn assert_no_figure(what: &str, out: &Output, reason: &str) {
    let points = out.table("points");
    for column in ["efficiency_share", "distance_share"] {
        let shares = points.f64(column).unwrap();
        assert!(
            shares.iter().all(|share| share.is_none()),
            "{what}: {points}"
        );
    }
    let summary = out.table("summary").f64("efficiency_share").unwrap();
    assert!(summary.iter().all(|share| share.is_none()), "{what}");
    let rows = lines(out.table("not_measurable"), &["source", "reason", "calls"]);
    assert_eq!(rows.len(), 1, "{what}: {rows:?}");
    assert!(rows[0].contains(reason), "{what}: {rows:?}");
    assert!(rows[0].ends_with("| 1"), "{what}: {rows:?}");
    assert_eq!(out.table("at_roof").rows(), 0, "{what}");
}

#[test]
fn the_good_one_has_a_place() {
    let out = fixture(good()).analyse();
    assert_eq!(
        lines(
            out.table("points"),
            &["name", "efficiency_share", "is_valid", "reason"]
        ),
        ["k | 0.1 | true | -"]
    );
    assert_eq!(out.table("not_measurable").rows(), 0);
}

#[test]
fn bad_rows_have_reasons() {
    let cases: Vec<(&str, Row, &str)> = vec![
        (
            "no FLOPs",
            Row {
                flops: None,
                ..good()
            },
            "no FLOPs recorded",
        ),
        (
            "no bytes",
            Row {
                bytes: None,
                ..good()
            },
            "no bytes recorded",
        ),
        ("zero FLOPs", good().work(0, 1000), "FLOPs are 0"),
        ("zero bytes", good().work(4000, 0), "bytes are 0"),
        (
            "another event than time",
            Row {
                dur_ns: 0,
                ..good()
            },
            "duration is not above zero",
        ),
        (
            "negative time",
            Row {
                dur_ns: -5,
                ..good()
            },
            "duration is not above zero",
        ),
        (
            "bound",
            Row {
                is_bound: true,
                ..good()
            },
            "timing = bound",
        ),
        (
            "invalid",
            Row {
                is_invalid: true,
                ..good()
            },
            "marked not valid",
        ),
        (
            "on a device",
            good().backend("cuda"),
            "the work ran on a device",
        ),
        (
            "backend unknown",
            good().backend("fast"),
            "backend fast is not a known instruction set",
        ),
        (
            "no such ceiling",
            good().backend("neon"),
            "no measured neon f32 compute ceiling",
        ),
        (
            "no ceiling of the device",
            good().device(0),
            "no measured f32 compute ceiling on gpu:0",
        ),
    ];
    for (what, row, reason) in cases {
        assert_no_figure(what, &fixture(row).analyse(), reason);
    }
}

#[test]
fn bad_ceilings_are_none() {
    for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        for (kind, level, missing) in [
            ("compute", "avx2", "no measured avx2 f32 compute ceiling"),
            ("bandwidth", "dram", "no measured dram bandwidth ceiling"),
        ] {
            let mut run = fixture(good());
            run.ceilings.retain(|row| row.1 != kind);
            run.ceilings.push(ceiling(kind, level, value));
            let out = run.analyse();
            assert_no_figure(&format!("{kind} {value}"), &out, missing);
            assert!(out.finding("no_ceiling").is_some());
        }
    }
}

#[test]
fn bad_counts_have_reasons() {
    let flops = "flops_f32";
    type Counters = Vec<(&'static str, f64)>;
    let cases: Vec<(&str, Counters, &str)> = vec![
        (
            "NaN",
            vec![(flops, f64::NAN), ("dram_bytes", 9.0)],
            "FLOPs are negative or not finite",
        ),
        (
            "negative",
            vec![(flops, -1.0), ("dram_bytes", 9.0)],
            "FLOPs are negative or not finite",
        ),
        (
            "infinite",
            vec![(flops, 1.0), ("dram_bytes", f64::INFINITY)],
            "bytes are negative or not finite",
        ),
        (
            "zero",
            vec![(flops, 0.0), ("dram_bytes", 9.0)],
            "FLOPs are 0",
        ),
        ("one half", vec![("dram_bytes", 9.0)], "no FLOPs recorded"),
        (
            "mixed",
            vec![(flops, 5.0), ("flops_f64", 5.0), ("dram_bytes", 9.0)],
            "several precisions",
        ),
    ];
    for (what, counters, reason) in cases {
        let mut run = fixture(Row {
            flops: None,
            bytes: None,
            ..good()
        });
        run.counters = counters
            .into_iter()
            .map(|(name, value)| (1, name, value))
            .collect();
        assert_no_figure(what, &run.analyse(), reason);
    }
}

#[test]
fn above_the_roof_is_flagged_and_never_clamped() {
    // 4 FLOP/byte below 10 GB/s: 40 GFLOP/s at most; 4000 FLOPs in 10 ns are 400.
    let out = fixture(Row {
        dur_ns: 10,
        ..good()
    })
    .analyse();
    assert_eq!(
        lines(
            out.table("points"),
            &[
                "efficiency_share",
                "distance_share",
                "is_valid",
                "calls_above"
            ]
        ),
        ["10 | -9 | false | 1"]
    );
    let reason = lines(out.table("not_measurable"), &["reason", "calls"]);
    assert!(
        reason[0].starts_with("above the roof: faster than the arithmetic"),
        "{reason:?}"
    );
    let summary = out.table("summary");
    assert!(summary.f64("efficiency_share").unwrap().get(0).is_none());
    assert!(out.finding("above_the_roof").is_some());
    assert_eq!(out.table("at_roof").rows(), 0);

    // 50 GFLOP/s: the arithmetic allows it, DRAM does not, L2 does.
    let mut run = fixture(Row {
        dur_ns: 80,
        ..good()
    });
    run.ceilings.push(ceiling("bandwidth", "l2", 50e9));
    let out = run.analyse_with(r#"{"memory": "dram"}"#);
    let reason = lines(out.table("points"), &["reason"]);
    assert!(reason[0].contains("not faster than l2"), "{reason:?}");
    let columns = ["memory", "efficiency_share", "is_valid", "doubt"];
    let out = run.analyse_with(r#"{"memory": "l2"}"#);
    assert_eq!(
        lines(out.table("points"), &columns),
        ["l2 | 0.5 | true | -"]
    );
    let out = run.analyse();
    let found = lines(out.table("points"), &columns);
    assert!(
        found[0].starts_with("l2 | 0.5 | true | it is faster than more distant memory allows"),
        "{found:?}"
    );
    assert!(out.finding("above_the_roof").is_none());
}

/// A rate between those of two levels means the nearer one. A rate just above the farther one is ambiguous.
#[test]
fn the_level_of_memory_is_the_farthest_that_is_fast_enough() {
    // Of a call of 1000 bytes: 10, 50 and 200 GB/s take 100, 20 and 5 ns.
    for (dur_ns, expected) in [
        (200, "dram | 0.5 | true"),
        (95, "dram | 1.053 | false"),
        (50, "l3 | 0.4 | true"),
        (25, "l3 | 0.8 | true"),
        (19, "l3 | 1.053 | false"),
        (10, "l2 | 0.5 | true"),
        // Faster than all of them.
        (2, "dram | 50 | false"),
    ] {
        let mut run = calls(&[dur_ns; 3]);
        run.ceilings.push(ceiling("bandwidth", "l2", 200e9));
        // The arithmetic is no bound here.
        run.ceilings.push(ceiling("compute", "avx2 fma", 1e15));
        let columns = ["memory", "efficiency_share", "is_valid"];
        let out = run.analyse();
        assert_eq!(lines(out.table("points"), &columns), [expected], "{dur_ns}");
    }
}

#[test]
fn wrong_options_say_what_there_is() {
    let inputs = || fixture(good());
    let failed = std::panic::catch_unwind(|| inputs().analyse_with(r#"{"memory": "ram"}"#));
    let text = *failed.unwrap_err().downcast::<String>().unwrap();
    assert!(
        text.contains("expected one of auto, l1, l2, l3, dram"),
        "{text}"
    );
}

#[test]
fn an_empty_run_is_empty() {
    let out = Fixture::default().analyse();
    for table in &out.tables {
        assert_eq!(table.rows(), 0, "{}", table.name());
    }
    assert!(out.findings.is_empty());
    assert!(out.charts.is_empty());
}

/// Calls of 100 FLOPs and 1000 bytes at 10 GB/s: 100 ns each at the roof.
fn calls(durations: &[i64]) -> Fixture {
    let mut start_ns = 0;
    let call = |(id, dur_ns): (u64, &i64)| {
        start_ns += dur_ns;
        at(id, "k", start_ns - dur_ns, *dur_ns)
            .work(100, 1000)
            .backend("avx2")
    };
    Fixture {
        kernels: (1..).zip(durations).map(call).collect(),
        ceilings: [usual(), vec![ceiling("bandwidth", "l3", 50e9)]].concat(),
        ..Fixture::default()
    }
}

const JUDGED: [&str; 4] = [
    "is_valid",
    "efficiency_share",
    "distance_share",
    "calls_above",
];

#[test]
fn a_sum_below_the_roof_does_not_speak_for_calls_above_it() {
    // Two cold calls and three warm ones: 500 ns at the roof, 1450 measured.
    let out = calls(&[700, 600, 50, 50, 50]).analyse();
    let points = out.table("points");
    assert_eq!(lines(points, &JUDGED), ["false | - | - | 3"]);
    assert_eq!(
        lines(points, &["reason", "doubt"]),
        [
            "3 of 5 calls lie above the roof of dram: another level serves them (--set roofline.memory=l3), \
             or the bytes are stated too high | -"
        ]
    );
    assert_eq!(
        lines(out.table("not_measurable"), &["reason", "calls"]),
        ["at least half of the calls lie above the roof | 5"]
    );
    let summary = out.table("summary");
    assert!(summary.f64("efficiency_share").unwrap().get(0).is_none());
    assert_eq!(out.table("at_roof").rows(), 0);
    assert!(out.finding("most_to_gain").is_none());
    let finding = out.finding("above_the_roof").unwrap();
    let suggestion = finding.suggestion.as_deref().unwrap();
    assert!(suggestion.contains("roofline.memory=l3"), "{suggestion}");
    // Half is too many; of that level all are valid.
    let out = calls(&[700, 50]).analyse();
    assert_eq!(lines(out.table("points"), &JUDGED), ["false | - | - | 1"]);
    let out = calls(&[700, 600, 50, 50, 50]).analyse_with(r#"{"memory": "l3"}"#);
    let share = 100.0 / 1450.0;
    assert_eq!(
        lines(out.table("points"), &JUDGED),
        [format!("true | {share:.5} | {:.3} | 0", 1.0 - share)]
    );
}

#[test]
fn fewer_than_half_of_the_calls_above_the_roof_are_a_doubt() {
    let out = calls(&[200, 200, 50]).analyse();
    let points = out.table("points");
    let share = 300.0 / 450.0;
    assert_eq!(
        lines(points, &["is_valid", "efficiency_share", "reason", "doubt"]),
        [format!(
            "true | {share:.4} | - | 1 of 3 calls lies above the roof"
        )]
    );
    assert!(out.finding("above_the_roof").is_none());
    // That is no doubt of the ceiling.
    assert!(out.finding("doubtful_ceiling").is_none());
}

#[test]
fn most_calls_decide_between_plain_stores_and_those_that_pass_the_caches_by() {
    // 1000 bytes in 80 ns are 12.5 GB/s.
    let mut run = calls(&[400, 80, 80]);
    run.ceilings
        .push(ceiling("bandwidth", "dram copy_nt", 15e9));
    let out = run.analyse();
    let share = 3000.0 / 560.0 / 15.0;
    assert_eq!(
        lines(out.table("points"), &JUDGED),
        [format!("true | {share:.4} | {:.4} | 0", 1.0 - share)]
    );
    assert!(lines(out.table("points"), &["assumed"])[0].contains("bypass the caches"));
    // Neither fits: the plain one is told.
    let mut run = calls(&[400, 50, 50]);
    run.ceilings
        .push(ceiling("bandwidth", "dram copy_nt", 15e9));
    let out = run.analyse();
    assert_eq!(lines(out.table("points"), &JUDGED), ["false | - | - | 2"]);
    let assumed = lines(out.table("points"), &["assumed"]);
    assert!(!assumed[0].contains("caches"), "{assumed:?}");
}

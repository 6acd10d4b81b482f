//! The same name under several backends.

use crate::fixture::{Fixture, Row, at, ceiling, lines};

fn calls(
    first: u64,
    name: &'static str,
    backend: &'static str,
    dur_ns: i64,
    flops: u64,
) -> Vec<Row> {
    (0..6)
        .map(|i| {
            at(first + i, name, (first + i) as i64 * 10_000, dur_ns)
                .work(flops, flops)
                .backend(backend)
        })
        .collect()
}

fn ceilings() -> Vec<crate::fixture::Ceiling> {
    vec![
        ceiling("bandwidth", "dram", 100e9),
        ceiling("compute", "scalar", 10e9),
        ceiling("compute", "avx2", 80e9),
    ]
}

const COLUMNS: [&str; 8] = [
    "name",
    "backend",
    "run",
    "median_ns",
    "efficiency_share",
    "against",
    "speed_up",
    "pays",
];

#[test]
fn each_against_its_own_ceiling_and_the_narrowest() {
    let run = Fixture {
        kernels: [
            calls(1, "dot", "avx2", 1000, 8000),
            calls(11, "dot", "scalar", 4000, 8000),
            calls(21, "exp", "scalar", 4000, 8000),
            calls(31, "exp", "avx2", 3900, 8000),
            calls(41, "alone", "avx2", 3900, 8000),
        ]
        .concat(),
        ceilings: ceilings(),
        ..Fixture::default()
    };
    let out = run.analyse();
    assert_eq!(
        lines(out.table("backends"), &COLUMNS),
        [
            "exp | scalar | run | 4000 | 0.2 | - | - | -",
            "exp | avx2 | run | 3900 | 0.02564 | scalar (run) | 1.026 | false",
            "dot | scalar | run | 4000 | 0.2 | - | - | -",
            "dot | avx2 | run | 1000 | 0.1 | scalar (run) | 4 | true",
        ]
    );
    let finding = out.finding("simd_does_not_pay").unwrap();
    assert_eq!(
        finding.title,
        "SIMD does not pay for exp (avx2 × 1.03 over scalar)"
    );
    // Asked for, it is all there is.
    let alone = run.analyse_with(COMPARE);
    assert_eq!(
        lines(alone.table("backends"), &COLUMNS),
        lines(out.table("backends"), &COLUMNS)
    );
    assert_eq!((alone.tables.len(), alone.findings.len()), (1, 1));
    assert_eq!(alone.findings[0].code, "simd_does_not_pay");
}

#[test]
fn the_widest_has_to_beat_those_in_between() {
    let run = Fixture {
        kernels: [
            calls(1, "dot", "scalar", 4000, 8000),
            calls(11, "dot", "avx2", 1000, 8000),
            calls(21, "dot", "avx512", 1250, 8000),
        ]
        .concat(),
        ceilings: ceilings(),
        ..Fixture::default()
    };
    let out = run.analyse();
    assert_eq!(
        lines(
            out.table("backends"),
            &["backend", "speed_up", "gain", "pays"]
        ),
        [
            "scalar | - | - | -",
            "avx2 | 4 | 4 | true",
            "avx512 | 3.2 | 0.8 | false",
        ]
    );
    assert_eq!(
        out.finding("simd_does_not_pay").unwrap().title,
        "SIMD does not pay for dot (avx512 × 0.80 over avx2)"
    );
}

const COMPARE: &str = r#"{"compare_backends": true}"#;

#[test]
fn a_comparison_that_was_asked_for_always_says_something() {
    let of = |kernels: Vec<Row>| {
        let run = Fixture {
            kernels,
            ceilings: ceilings(),
            ..Fixture::default()
        };
        let out = run.analyse_with(COMPARE);
        (out.table("backends").rows(), out.findings[0].title.clone())
    };
    let scalar = |dur_ns| calls(1, "dot", "scalar", dur_ns, 80);
    let avx2 = |dur_ns| calls(11, "dot", "avx2", dur_ns, 80);
    assert_eq!(
        of(scalar(4000)),
        (0, "no name ran under two backends".to_owned())
    );
    assert_eq!(
        of([scalar(100), avx2(100)].concat()),
        (2, "it is not known whether SIMD pays".to_owned())
    );
    assert_eq!(
        of([scalar(4000), avx2(1000)].concat()),
        (2, "SIMD pays in the one comparison".to_owned())
    );
}

#[test]
fn the_baseline_has_its_own_ceilings() {
    let run = Fixture {
        kernels: calls(1, "dot", "avx2", 1000, 8000),
        ceilings: ceilings(),
        baseline: Some(Box::new(Fixture {
            kernels: calls(1, "dot", "scalar", 3000, 8000),
            ceilings: vec![
                ceiling("bandwidth", "dram", 100e9),
                ceiling("compute", "scalar", 5e9),
            ],
            ..Fixture::default()
        })),
        ..Fixture::default()
    };
    assert_eq!(
        lines(run.analyse().table("backends"), &COLUMNS),
        [
            "dot | scalar | baseline | 3000 | 0.5333 | - | - | -",
            "dot | avx2 | run | 1000 | 0.1 | scalar (baseline) | 3 | true",
        ]
    );
}

#[test]
fn other_work_is_compared_by_rate() {
    let run = Fixture {
        kernels: [
            calls(1, "dot", "avx2", 1000, 8000),
            calls(11, "dot", "scalar", 1000, 4000),
        ]
        .concat(),
        ceilings: ceilings(),
        ..Fixture::default()
    };
    assert_eq!(
        lines(
            run.analyse().table("backends"),
            &["backend", "speed_up", "compared_by"]
        ),
        ["scalar | - | -", "avx2 | 2 | flops_per_s"]
    );
}

#[test]
fn few_or_short_calls_say_nothing() {
    let few: Vec<Row> = calls(1, "dot", "avx2", 1000, 80)
        .into_iter()
        .take(4)
        .collect();
    let run = Fixture {
        kernels: [
            few,
            calls(11, "dot", "scalar", 1000, 80),
            calls(21, "max", "avx2", 10, 80),
            calls(31, "max", "scalar", 10, 80),
        ]
        .concat(),
        ceilings: ceilings(),
        ..Fixture::default()
    };
    let out = run.analyse();
    assert!(
        out.table("backends")
            .bool("pays")
            .unwrap()
            .iter()
            .all(|pays| pays.is_none())
    );
    assert!(out.finding("simd_does_not_pay").is_none());
}

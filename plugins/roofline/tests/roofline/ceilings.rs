//! Choice of ceilings.

use crate::fixture::{Fixture, at, ceiling, lines};

fn one(
    backend: Option<&'static str>,
    ceilings: Vec<crate::fixture::Ceiling>,
    options: &str,
) -> String {
    let run = Fixture {
        kernels: vec![crate::fixture::Row {
            backend,
            ..at(1, "k", 0, 10_000).work(40_000, 1000)
        }],
        ceilings,
        ..Fixture::default()
    };
    let out = run.analyse_with(options);
    lines(
        out.table("points"),
        &[
            "instruction_set",
            "precision",
            "attainable_flops_per_s",
            "assumed",
            "reason",
        ],
    )
    .remove(0)
}

const DRAM: f64 = 10e9;

#[test]
fn the_one_of_the_instruction_set_and_precision() {
    let ceilings = || {
        vec![
            ceiling("bandwidth", "DRAM", DRAM),
            ceiling("compute", "scalar", 10e9),
            ceiling("compute", "AVX2", 50e9),
            ceiling("compute", "avx512", 100e9),
            (
                "cpu",
                "compute",
                "avx512",
                Some("f64"),
                Some(1),
                60e9,
                "measured",
            ),
            (
                "cpu",
                "compute",
                "avx512",
                Some("f32"),
                Some(8),
                800e9,
                "measured",
            ),
            ("gpu:0", "compute", "", Some("f32"), None, 9e12, "measured"),
        ]
    };
    let of = |backend, options| one(backend, ceilings(), options);
    assert_eq!(
        of(Some("scalar"), "{}"),
        "scalar | f32 | 10000000000 | precision f32 | -"
    );
    assert_eq!(
        of(Some("avx2"), "{}"),
        "avx2 | f32 | 50000000000 | precision f32 | -"
    );
    assert_eq!(
        of(Some("avx512+scalar"), "{}"),
        "avx512 | f32 | 100000000000 | precision f32; the widest of its instruction sets | -"
    );
    assert_eq!(
        of(Some("avx512"), r#"{"precision": "f64"}"#),
        "avx512 | f64 | 60000000000 | precision f64 | -"
    );
    assert_eq!(
        of(None, "{}"),
        "avx512 | f32 | 100000000000 | precision f32; instruction set avx512, the highest measured | -"
    );
}

#[test]
fn of_several_the_highest_and_of_one_thread_only() {
    let dram = || ceiling("bandwidth", "dram", DRAM);
    let twice = vec![
        dram(),
        ceiling("compute", "avx2", 30e9),
        ceiling("compute", "avx2", 40e9),
    ];
    assert!(one(Some("avx2"), twice, "{}").contains("| 40000000000 |"));
    let eight = vec![
        dram(),
        (
            "cpu",
            "compute",
            "avx2",
            Some("f32"),
            Some(8),
            9e11,
            "measured",
        ),
    ];
    let found = one(Some("avx2"), eight, "{}");
    assert!(
        found.ends_with("no measured avx2 f32 compute ceiling of 1 thread on cpu (there are ceilings of more threads)"),
        "{found}"
    );
    let unsaid = vec![
        dram(),
        (
            "cpu",
            "compute",
            "avx2",
            Some("f32"),
            None,
            9e10,
            "measured",
        ),
    ];
    let found = one(Some("avx2"), unsaid, "{}");
    assert!(found.contains("is assumed to be of 1 thread"), "{found}");
}

#[test]
fn nominal_ones_only_when_asked_for() {
    let ceilings = || {
        vec![
            ceiling("bandwidth", "dram", DRAM),
            (
                "cpu",
                "compute",
                "avx2",
                Some("f32"),
                Some(1),
                70e9,
                "nominal",
            ),
        ]
    };
    let found = one(Some("avx2"), ceilings(), "{}");
    assert!(found.ends_with("(there are nominal ceilings)"), "{found}");
    let found = one(Some("avx2"), ceilings(), r#"{"nominal": true}"#);
    assert!(found.contains("| 70000000000 |"), "{found}");
}

#[test]
fn those_used_are_listed_with_the_time_below_them() {
    let mut run = Fixture {
        kernels: vec![
            at(1, "a", 0, 1000).work(40_000, 1000).backend("avx2"),
            at(2, "b", 1000, 500).work(400, 1000).backend("avx2"),
        ],
        ..Fixture::default()
    };
    run.ceilings = vec![
        ceiling("bandwidth", "dram", DRAM),
        ceiling("bandwidth", "l1", 1e12),
        ceiling("compute", "avx2", 100e9),
    ];
    let out = run.analyse();
    assert_eq!(
        lines(
            out.table("ceilings_used"),
            &["kind", "level", "value", "source", "points", "dur_ns"]
        ),
        [
            "bandwidth | dram | 10000000000 | measured | 2 | 1500",
            "compute | avx2 | 100000000000 | measured | 2 | 1500",
        ]
    );
    // 40 FLOP/byte are right of the ridge at 10, 0.4 left of it.
    assert_eq!(
        lines(
            out.table("points"),
            &["name", "ridge_flops_per_byte", "bound_by"]
        ),
        ["a | 10 | compute", "b | 10 | memory"]
    );
    assert_eq!(out.charts.len(), 1);
    let roofs = out.table("roofs");
    let roof = "cpu avx2 f32, dram";
    assert_eq!(
        lines(roofs, &["roof"]),
        [roof, roof, roof, "cpu l1", "cpu l1"]
    );
}

/// Two points: memory binds the first and arithmetic the second.
fn doubts(how: Vec<(usize, crate::fixture::How)>) -> (Vec<String>, Vec<String>, Option<String>) {
    let on = |id, name, work: (u64, u64)| crate::fixture::Row {
        backend: Some("avx2"),
        ..at(id, name, id as i64 * 20_000, 10_000).work(work.0, work.1)
    };
    let run = Fixture {
        kernels: vec![
            on(1, "copies", (1_000, 10_000)),
            on(2, "computes", (100_000, 1_000)),
        ],
        ceilings: crate::fixture::usual(),
        how,
        ..Fixture::default()
    };
    let out = run.analyse();
    let finding = out
        .findings
        .iter()
        .find(|finding| finding.code == "doubtful_ceiling");
    (
        lines(out.table("points"), &["name", "bound_by", "doubt"]),
        lines(
            out.table("ceilings_used"),
            &["kind", "settled", "spread", "earlier", "doubt"],
        ),
        finding.map(|finding| finding.title.clone()),
    )
}

/// Only doubt about the ceiling that binds a point affects its efficiency.
#[test]
fn a_doubtful_ceiling_is_said_where_it_binds() {
    use crate::fixture::How;
    let fine = How {
        spread: Some(0.1),
        settled: Some(true),
        earlier: Some(10.9e9),
    };
    let (points, ceilings, finding) = doubts(vec![(1, fine)]);
    assert_eq!(points, ["computes | compute | -", "copies | memory | -"]);
    assert_eq!(
        ceilings,
        [
            "compute | - | - | - | -",
            "bandwidth | true | 0.1 | 10900000000 | -"
        ]
    );
    assert_eq!(finding, None);

    for (how, expected) in [
        (
            How {
                spread: Some(0.11),
                ..fine
            },
            "the interquartile range of its repetitions is 11 % of their median",
        ),
        (
            How {
                settled: Some(false),
                ..fine
            },
            "single measurements were faster, so it has not settled",
        ),
        (
            How {
                earlier: Some(16e9),
                ..fine
            },
            "the previous measurement on this machine gave 1.60 times as much",
        ),
        (
            How {
                earlier: Some(9e9),
                settled: Some(false),
                ..fine
            },
            "single measurements were faster, so it has not settled, \
             the previous measurement on this machine gave 0.90 times as much",
        ),
    ] {
        let (points, ceilings, finding) = doubts(vec![(1, how)]);
        assert_eq!(
            points,
            [
                "computes | compute | -".to_owned(),
                format!("copies | memory | bandwidth (dram): {expected}")
            ]
        );
        assert!(ceilings[1].ends_with(expected) && ceilings[0].ends_with("| -"));
        assert_eq!(
            finding.unwrap(),
            "1 of 2 efficiencies (50 % of their time) depends on uncertain ceilings"
        );
    }
}

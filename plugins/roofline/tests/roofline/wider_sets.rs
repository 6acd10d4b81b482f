//! Work of narrow instruction sets on machines that have wider ones.

use crate::fixture::{Fixture, Row, at, ceiling, lines};

const COLUMNS: [&str; 5] = [
    "name",
    "instruction_set",
    "wider_set",
    "attainable_flops_per_s",
    "efficiency_share",
];

fn machine() -> Vec<crate::fixture::Ceiling> {
    vec![
        ceiling("compute", "scalar", 10e9),
        ceiling("compute", "avx2", 100e9),
        ceiling("compute", "avx512", 200e9),
        ceiling("bandwidth", "dram", 10e9),
        ceiling("bandwidth", "l1", 100e9),
    ]
}

fn analysed(
    kernels: Vec<Row>,
    ceilings: Vec<crate::fixture::Ceiling>,
) -> trueno_plugin::testing::Output {
    let run = Fixture {
        kernels,
        ceilings,
        ..Fixture::default()
    };
    run.analyse_with("{}")
}

#[test]
fn work_is_held_against_the_widest_set_that_was_measured() {
    // 40 FLOP/byte in 10 µs: 4 GFLOP/s of scalar's 10, and of the 200 that avx512 could.
    let kernels = vec![
        at(1, "gemm", 0, 10_000)
            .work(40_000, 1_000)
            .backend("scalar"),
        // Memory binds it under either: 0.5 FLOP/byte allow 5 GFLOP/s.
        at(2, "sum", 20_000, 10_000)
            .work(20_000, 40_000)
            .backend("scalar"),
        at(3, "wide", 40_000, 10_000)
            .work(400_000, 1_000)
            .backend("avx512"),
    ];
    let out = analysed(kernels, machine());
    assert_eq!(
        lines(out.table("wider_sets"), &COLUMNS),
        ["gemm | scalar | avx512 | 200000000000 | 0.02"]
    );
    let finding = out.finding("narrow_instruction_set");
    let title = &finding.expect("it is told").title;
    assert_eq!(
        title,
        "gemm runs at 2.0 % of the roof of avx512: it uses scalar code"
    );
}

#[test]
fn nothing_is_said_without_a_wider_ceiling_or_a_stated_set() {
    let gemm = || at(1, "gemm", 0, 10_000).work(40_000, 1_000);
    let narrow = vec![
        ceiling("compute", "scalar", 10e9),
        ceiling("bandwidth", "dram", 10e9),
    ];
    for (kernel, ceilings) in [
        (gemm().backend("scalar"), narrow),
        (gemm(), machine()),
        (gemm().backend("avx512"), machine()),
    ] {
        let out = analysed(vec![kernel], ceilings);
        assert!(out.finding("narrow_instruction_set").is_none());
    }
}

#[test]
fn all_sets_and_levels_of_the_host_are_drawn() {
    let out = analysed(
        vec![
            at(1, "gemm", 0, 10_000)
                .work(40_000, 1_000)
                .backend("scalar"),
        ],
        machine(),
    );
    let drawn = lines(
        out.table("roofs"),
        &["roof", "flops_per_byte", "flops_per_s"],
    );
    assert_eq!(
        drawn,
        [
            "cpu scalar f32, dram | 0.1 | 1000000000",
            "cpu scalar f32, dram | 1 | 10000000000",
            "cpu scalar f32, dram | 400 | 10000000000",
            "cpu avx2 f32 | 1 | 100000000000",
            "cpu avx2 f32 | 400 | 100000000000",
            "cpu avx512 f32 | 2 | 200000000000",
            "cpu avx512 f32 | 400 | 200000000000",
            "cpu l1 | 0.1 | 10000000000",
            "cpu l1 | 2 | 200000000000",
            "cpu dram | 1 | 10000000000",
            "cpu dram | 20 | 200000000000",
        ]
    );
}

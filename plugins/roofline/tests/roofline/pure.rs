//! Work that does one thing only, against ceilings as `trueno-record peaks` writes them.

use crate::fixture::{Fixture, Row, at, ceiling, lines};

/// The run that `recorder/examples/at_the_roof.rs` records: a triad over `n` doubles in `dur_ns`.
fn triad(id: u64, n: u64, dur_ns: i64) -> Row {
    at(id, "triad", 0, dur_ns)
        .work(2 * n, 24 * n)
        .backend("avx512")
}

fn fma(id: u64, n: u64, dur_ns: i64) -> Row {
    at(id, "fma", 0, dur_ns).work(2 * n, 64).backend("avx512")
}

/// Runs the plugin with 40 GB/s for plain loops, 60 GB/s for streaming stores and 250 GFLOP/s.
fn placed(kernels: Vec<Row>) -> Vec<String> {
    let run = Fixture {
        kernels,
        ceilings: vec![
            ceiling("bandwidth", "DRAM read", 39e9),
            ceiling("bandwidth", "DRAM copy", 38e9),
            ceiling("bandwidth", "DRAM triad", 40e9),
            ceiling("bandwidth", "DRAM copy_nt", 60e9),
            ceiling("bandwidth", "L3 triad", 100e9),
            ceiling("compute", "avx512 fma", 250e9),
        ],
        ..Fixture::default()
    };
    lines(
        run.analyse().table("points"),
        &[
            "efficiency_share",
            "bound_by",
            "is_valid",
            "assumed",
            "reason",
        ],
    )
}

#[test]
fn a_triad_and_a_loop_of_fma_have_their_own_roofs() {
    // 24 MB in 0.75 ms are 32 GB/s; 200,000 FLOPs in 1 µs are 200 GFLOP/s.
    assert_eq!(
        placed(vec![triad(1, 1_000_000, 750_000), fma(2, 100_000, 1000)]),
        [
            "0.8 | memory | true | precision f32 | -",
            "0.8 | compute | true | precision f32 | -",
        ]
    );
}

/// A precision in the backend is not assumed, and it has its own ceiling.
#[test]
fn a_loop_of_fma_in_f64_has_the_roof_of_f64() {
    let of_f64 = |backend| {
        at(1, "fma_f64", 0, 1000)
            .work(2 * 50_000, 128)
            .backend(backend)
    };
    let f64_ceiling = |level, value| {
        let (device, kind, _, _, threads, _, source) = ceiling("compute", level, value);
        (device, kind, level, Some("f64"), threads, value, source)
    };
    // 100 GFLOP/s: of f64 0.8 of the roof, of f32 0.4 of it.
    let found = |backend, ceilings: Vec<_>| {
        let run = Fixture {
            kernels: vec![of_f64(backend)],
            ceilings: [vec![ceiling("bandwidth", "DRAM read", 39e9)], ceilings].concat(),
            ..Fixture::default()
        };
        lines(
            run.analyse().table("points"),
            &[
                "precision",
                "efficiency_share",
                "is_valid",
                "assumed",
                "reason",
            ],
        )
    };
    let both = || {
        vec![
            ceiling("compute", "avx512 fma", 250e9),
            f64_ceiling("avx512 fma", 125e9),
        ]
    };
    assert_eq!(found("avx512 f64", both()), ["f64 | 0.8 | true | - | -"]);
    assert_eq!(
        found("AVX512+F64", both())[0]
            .split(" | ")
            .take(3)
            .collect::<Vec<_>>(),
        ["f64", "0.8", "true"]
    );
    assert_eq!(
        found("avx512", both()),
        ["f32 | 0.4 | true | precision f32 | -"]
    );
    assert_eq!(
        found("f64", both()),
        ["f64 | 0.8 | true | instruction set avx512, the highest measured | -"]
    );
    let without = found("avx512 f64", vec![ceiling("compute", "avx512 fma", 250e9)]);
    assert!(
        without[0].starts_with("f64 | - | - | - | ")
            && without[0].contains("avx512 f64 compute ceiling"),
        "{without:?}"
    );
}

#[test]
fn what_only_streaming_stores_reach_is_placed_below_those() {
    // 24 MB in 0.5 ms: 48 GB/s.
    assert_eq!(
        placed(vec![triad(1, 1_000_000, 500_000)]),
        ["0.8 | memory | true | precision f32; stores that bypass the caches | -"]
    );
}

#[test]
fn what_beats_its_ceiling_says_that_it_is_too_low_or_the_work_wrong() {
    // 255 GFLOP/s, 80 GB/s, 1000 GFLOP/s.
    let low = "just above its ceiling, which was measured too low: at a lower clock, or while other work ran (measure it again)";
    assert_eq!(
        placed(vec![fma(1, 127_500, 1000)]),
        [format!("1.02 | compute | false | precision f32 | {low}")]
    );
    let found = placed(vec![triad(1, 1_000_000, 300_000)]);
    assert_eq!(found, ["0.8 | memory | true | precision f32 | -"], "of l3");
    let found = placed(vec![fma(1, 500_000, 1000)]);
    assert!(
        found[0]
            .starts_with("4 | compute | false | precision f32 | faster than the arithmetic allows"),
        "{found:?}"
    );
}

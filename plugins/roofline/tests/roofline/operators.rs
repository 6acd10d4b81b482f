//! Operators as points.

use trueno_plugin::{Table, TableBuilder};

use crate::fixture::{Fixture, at, lines, usual};

/// Two shapes on a device: one at a tenth of its roof, one above it.
fn operators() -> Vec<TableBuilder> {
    let none: [Option<&str>; 2] = [None, None];
    let shapes = Table::build("operators")
        .text("name", ["aten::mm", "aten::add"])
        .text("input_dims", ["[[4,4],[4,4]]", "[[9],[9]]"])
        .text("device", ["gpu:0", "gpu:0"])
        .text("precision", ["f16", "f32"])
        .u64("calls", [3, 2])
        .i64("device_ns", [600, 100])
        .i64("host_ns", [9_000, 9_000])
        .f64("flops", [6e6, 1e3])
        .f64("moved_bytes", [1e5, 1e4])
        .f64("flops_per_byte", [60.0, 0.1])
        .f64("flops_per_s", [1e13, 1e10])
        .f64("bytes_per_s", [1e11, 1e11])
        .f64("efficiency_share", [Some(0.1), None])
        .text("bound_by", [Some("compute"), None])
        .text("roof_source", [Some("nominal"), None])
        .text(
            "reason",
            [None, Some("above the roof: 2 times what memory allows")],
        )
        .text("timed_on", ["device", "device"]);
    vec![
        shapes,
        Table::build("operators_by_category")
            .u64("calls", [5])
            .i64("counted_ns", [700])
            .f64("flops", [6e6])
            .f64("moved_bytes", [2e5]),
        Table::build("operators_placed")
            .u64("calls", [3])
            .i64("counted_ns", [600])
            .f64("efficiency_share", [0.1]),
        Table::build("operators_roofs")
            .text("roof", none)
            .f64("flops_per_byte", [1.0, 2.0])
            .f64("flops_per_s", [1.0, 2.0]),
    ]
}

const POINT: [&str; 8] = [
    "source",
    "name",
    "device",
    "dur_ns",
    "is_valid",
    "attainable_flops_per_s",
    "efficiency_share",
    "assumed",
];

#[test]
fn shapes_are_points_with_the_roof_that_they_were_held_against() {
    let kernels = vec![at(1, "gemm", 0, 1_000).device(0)];
    let fixture = Fixture {
        kernels,
        ..Fixture::default()
    };
    let out = fixture.analyse_beside(operators());
    assert_eq!(
        lines(out.table("points"), &POINT),
        [
            "operator | aten::mm | gpu:0 | 600 | true | 100000000000000 | 0.1 | nominal roof",
            "operator | aten::add | gpu:0 | 100 | false | - | - | -",
        ]
    );
    let sums = [
        "lane_kind",
        "busy_ns",
        "coverage_share",
        "placed_share",
        "efficiency_share",
    ];
    assert_eq!(
        lines(out.table("summary"), &sums),
        [
            "device | 1000 | 0 | 0 | -",
            "operators on devices | 1000 | 0.7 | 0.6 | 0.1",
        ]
    );
    assert!(out.finding("no_work").is_none(), "there is a roofline");
    let most = out.finding("most_to_gain").expect("a finding");
    assert_eq!(
        most.title,
        "aten::mm has the most to gain: it reaches 10.0 % of what compute allows"
    );
}

#[test]
fn they_stand_beside_declared_work_by_time() {
    let fixture = Fixture {
        kernels: vec![at(1, "gemm", 0, 400).work(1_000, 1_000).backend("avx2")],
        ceilings: usual(),
        ..Fixture::default()
    };
    let out = fixture.analyse_beside(operators());
    assert_eq!(
        lines(out.table("points"), &["source", "name", "dur_ns"]),
        [
            "operator | aten::mm | 600",
            "kernel | gemm | 400",
            "operator | aten::add | 100",
        ]
    );
}

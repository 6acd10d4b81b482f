//! Points and sums with known answers.

use proptest::prelude::*;

use crate::fixture::{Fixture, Row, at, ceiling, lines, usual};

#[test]
fn a_point_is_the_sum_of_its_calls() {
    let run = Fixture {
        kernels: vec![
            at(1, "k", 0, 1000).work(4000, 1000).backend("avx2"),
            at(2, "k", 1000, 3000).work(12_000, 3000).backend("avx2"),
            at(3, "k", 4000, 1000).work(100, 1000).backend("scalar"),
        ],
        ceilings: [usual(), vec![ceiling("compute", "scalar", 1e9)]].concat(),
        ..Fixture::default()
    };
    let out = run.analyse();
    assert_eq!(
        lines(
            out.table("points"),
            &[
                "name",
                "backend",
                "calls",
                "dur_ns",
                "flops",
                "bytes",
                "flops_per_byte",
                "flops_per_s",
                "bytes_per_s",
                "efficiency_share"
            ]
        ),
        [
            "k | avx2 | 2 | 4000 | 16000 | 4000 | 4 | 4000000000 | 1000000000 | 0.1",
            "k | scalar | 1 | 1000 | 100 | 1000 | 0.1 | 100000000 | 1000000000 | 0.1",
        ]
    );
    assert_eq!(
        lines(
            out.table("at_roof"),
            &["source", "name", "calls", "dur_ns", "at_roof_ns"]
        ),
        ["kernel | k | 3 | 5000 | 500"]
    );
}

#[test]
fn counted_and_declared_stand_side_by_side() {
    let run = Fixture {
        kernels: vec![Row {
            thread: None,
            ..at(1, "k", 0, 1000)
                .work(4000, 1000)
                .backend("cuda")
                .device(0)
        }],
        counters: vec![
            (1, "flops_f32", 0.0),
            (1, "flops_f64", 2000.0),
            (1, "dram_bytes", 1000.0),
        ],
        ceilings: vec![
            ("gpu:0", "bandwidth", "dram", None, None, 10e9, "measured"),
            ("gpu:0", "compute", "", Some("f32"), None, 100e9, "measured"),
            ("gpu:0", "compute", "", Some("f64"), None, 10e9, "measured"),
        ],
        ..Fixture::default()
    };
    let out = run.analyse();
    assert_eq!(
        lines(
            out.table("points"),
            &[
                "provenance",
                "device",
                "precision",
                "assumed",
                "flops_per_byte",
                "efficiency_share"
            ]
        ),
        [
            "declared | gpu:0 | f32 | precision f32 | 4 | 0.1",
            "counted | gpu:0 | f64 | - | 2 | 0.2",
        ]
    );
    // Sums use what was counted.
    assert_eq!(
        lines(
            out.table("summary"),
            &[
                "lane_kind",
                "calls",
                "flops",
                "efficiency_share",
                "coverage_share"
            ]
        ),
        ["device | 1 | 2000 | 0.2 | 1"]
    );
}

#[test]
fn flops_that_the_cpu_counted_stand_beside_declared_ones() {
    let declared = |id, name| {
        let start_ns = id as i64 * 1000;
        at(id, name, start_ns, 1000)
            .work(4000, 1000)
            .backend("avx2")
    };
    let run = Fixture {
        bricks: vec![
            declared(1, "by precision"),
            declared(2, "together"),
            declared(3, "not counted"),
            at(4, "no bytes", 4000, 1000).backend("avx2"),
            declared(5, "none at all"),
            at(6, "host of a device", 6000, 1000)
                .work(4000, 1000)
                .backend("cuda"),
        ],
        counters: vec![
            (1, "flops_f32", 2000.0),
            (1, "flops_f64", 0.0),
            (2, "flops", 3000.0),
            (4, "flops", 3000.0),
            (5, "flops", 0.0),
            (6, "flops", 3000.0),
        ],
        ceilings: usual(),
        ..Fixture::default()
    };
    let out = run.analyse();
    let columns = ["name", "provenance", "assumed", "flops", "bytes"];
    let mut points = lines(out.table("points"), &columns);
    points.sort_unstable();
    assert_eq!(
        points,
        [
            "by precision | declared | precision f32 | 4000 | 1000",
            "by precision | flops counted | - | 2000 | 1000",
            "none at all | declared | precision f32 | 4000 | 1000",
            "not counted | declared | precision f32 | 4000 | 1000",
            "together | declared | precision f32 | 4000 | 1000",
            "together | flops counted | precision f32 | 3000 | 1000",
        ]
    );
    let refused = lines(out.table("not_measurable"), &["example"]);
    assert!(refused.contains(&"no bytes".to_owned()), "{refused:?}");
    assert!(
        refused.contains(&"host of a device".to_owned()),
        "{refused:?}"
    );
    // Sums take what was counted: 2000 + 3000 + 4000 + 4000.
    let flops = lines(out.table("summary"), &["flops"]);
    assert_eq!(flops, ["13000"]);
}

#[test]
fn a_brick_and_its_kernels_count_once() {
    let run = Fixture {
        bricks: vec![
            at(1, "layer", 0, 10_000).kind("layer"),
            at(2, "qkv", 0, 4000)
                .inside(1)
                .work(8000, 2000)
                .backend("avx2")
                .category("Attention"),
            at(3, "ffn", 5000, 2000)
                .inside(1)
                .work(8000, 2000)
                .backend("avx2"),
            at(4, "load", 8000, 1000).inside(1),
        ],
        kernels: vec![
            at(5, "gemv", 1000, 1000)
                .inside(2)
                .work(4000, 1000)
                .backend("avx2"),
        ],
        ceilings: usual(),
        rules: vec![("ffn", "FFN")],
        ..Fixture::default()
    };
    let out = run.analyse();
    assert_eq!(
        lines(
            out.table("bricks"),
            &[
                "name",
                "calls",
                "figures_ns",
                "flops",
                "at_roof_ns",
                "efficiency_share"
            ]
        ),
        [
            "ffn | 1 | 2000 | 8000 | 200 | 0.1",
            "qkv | 1 | 1000 | 4000 | 100 | 0.1"
        ]
    );
    assert_eq!(
        lines(out.table("categories"), &["category", "figures_ns"]),
        ["FFN | 2000", "Attention | 1000"]
    );
    // 3000 of the 7000 ns in which bricks ran have figures of their own.
    assert_eq!(
        lines(
            out.table("summary"),
            &[
                "lane_kind",
                "busy_ns",
                "calls",
                "flops",
                "coverage_share",
                "efficiency_share"
            ]
        ),
        ["host | 7000 | 2 | 12000 | 0.4286 | 0.1"]
    );
    assert_eq!(
        lines(
            out.table("not_measurable"),
            &["source", "reason", "calls", "dur_ns", "example"]
        ),
        ["brick | no FLOPs recorded | 1 | 1000 | load"]
    );
}

#[test]
fn work_of_other_threads_and_devices_is_not_the_bricks_own() {
    let run = Fixture {
        bricks: vec![
            at(1, "outer", 0, 10_000).work(1, 1),
            at(2, "heads", 0, 4000).inside(1).work(8000, 2000),
            at(3, "head", 100, 1000)
                .inside(2)
                .thread(1)
                .kind("task")
                .work(4000, 1000),
            at(4, "launcher", 5000, 10).inside(1).work(4000, 1000),
        ],
        kernels: vec![Row {
            thread: Some(0),
            ..at(5, "gpu", 5005, 1000)
                .inside(4)
                .device(0)
                .work(4000, 1000)
        }],
        ceilings: usual(),
        ..Fixture::default()
    };
    let out = run.analyse();
    assert_eq!(
        lines(out.table("points"), &["name", "efficiency_share"]),
        ["gpu | -", "head | 0.1"]
    );
    assert_eq!(
        lines(out.table("not_measurable"), &["reason", "calls", "example"]),
        [
            "tasks on other threads did part of it (their rows count) | 2 | outer",
            "no measured f32 compute ceiling on gpu:0 | 1 | gpu",
            "the time is the host's, the work ran on a device (its kernels count) | 1 | launcher",
        ]
    );
}

fn only(flops: Option<u64>, bytes: Option<u64>, row: Row) -> Row {
    Row {
        flops,
        bytes,
        ..row
    }
}

#[test]
fn one_figure_gives_a_rate_and_no_place() {
    let run = Fixture {
        kernels: vec![
            only(None, Some(2000), at(1, "copy", 0, 1000)),
            only(None, Some(4000), at(2, "copy", 1000, 1000).backend("avx2")),
            only(None, Some(1000), at(3, "copy", 2000, 500)),
            only(Some(500), None, at(4, "spin", 3000, 100)),
            at(5, "fill", 4000, 100).work(0, 300),
            at(6, "neither", 5000, 100),
            only(None, Some(9), at(7, "timeless", 6000, 0)),
            only(None, Some(9), at(8, "cuda", 7000, 10).backend("cuda")),
            Row {
                is_bound: true,
                ..only(None, Some(9), at(9, "bound", 8000, 10))
            },
            only(None, None, at(10, "counted", 9000, 50)),
        ],
        counters: vec![(10, "dram_bytes", 100.0)],
        ceilings: usual(),
        ..Fixture::default()
    };
    let out = run.analyse();
    let columns = [
        "name",
        "backend",
        "calls",
        "flops_per_s",
        "bytes_per_s",
        "flops",
        "bytes",
        "provenance",
        "reason",
    ];
    assert_eq!(
        lines(out.table("rates"), &columns),
        [
            // 3000 bytes in 1500 ns.
            "copy | - | 2 | - | 2000000000 | - | 3000 | declared | no FLOPs recorded",
            "copy | avx2 | 1 | - | 4000000000 | - | 4000 | declared | no FLOPs recorded",
            "fill | - | 1 | - | 3000000000 | 0 | 300 | declared | the FLOPs are 0, so there is no arithmetic intensity",
            "spin | - | 1 | 5000000000 | - | 500 | - | declared | no bytes recorded",
            "counted | - | 1 | - | 2000000000 | - | 100 | counted | no FLOPs recorded",
        ]
    );
    assert_eq!(out.table("points").rows(), 0);
    assert_eq!(out.table("at_roof").rows(), 0);
}

#[test]
fn a_rate_is_of_the_time_of_the_work() {
    let run = Fixture {
        bricks: vec![
            // The time of the first two is that of tasks elsewhere, or of a launch.
            only(None, Some(100), at(1, "outer", 0, 6000)),
            only(None, Some(100), at(2, "heads", 0, 4000).inside(1)),
            only(
                None,
                Some(100),
                at(3, "head", 100, 1000).inside(2).thread(1).kind("task"),
            ),
            only(None, Some(100), at(4, "launcher", 5000, 10).inside(1)),
            only(None, Some(100), at(6, "own", 7000, 100)),
        ],
        kernels: vec![Row {
            thread: Some(0),
            ..only(
                None,
                Some(5000),
                at(5, "gpu", 5005, 1000).inside(4).device(0),
            )
        }],
        ..Fixture::default()
    };
    let columns = ["source", "name", "device", "bytes_per_s"];
    assert_eq!(
        lines(run.analyse().table("rates"), &columns),
        [
            "kernel | gpu | gpu:0 | 5000000000",
            "brick | head | cpu | 100000000",
            "brick | own | cpu | 1000000000",
        ]
    );
    let cut = Fixture {
        window: Some((7050, 8000)),
        ..run
    };
    assert_eq!(cut.analyse().table("rates").rows(), 0);
}

#[test]
fn a_window_takes_whole_rows() {
    let run = Fixture {
        kernels: (0..4)
            .map(|i| at(i, "k", i as i64 * 1000, 1000).work(4000, 1000))
            .collect(),
        ceilings: usual(),
        window: Some((500, 3000)),
        ..Fixture::default()
    };
    let out = run.analyse();
    assert_eq!(lines(out.table("points"), &["calls"]), ["2"]);
    assert_eq!(
        lines(out.table("not_measurable"), &["reason", "calls"]),
        ["the window cuts the row, and its work cannot be divided | 1"]
    );
    assert_eq!(
        lines(out.table("summary"), &["busy_ns", "coverage_share"]),
        ["2500 | 0.8"]
    );
}

#[test]
fn without_ceilings_what_was_achieved_is_still_told() {
    let run = Fixture {
        kernels: vec![at(1, "k", 0, 1000).work(4000, 1000).backend("avx2")],
        ..Fixture::default()
    };
    let out = run.analyse();
    assert_eq!(
        lines(
            out.table("points"),
            &[
                "flops_per_byte",
                "flops_per_s",
                "attainable_flops_per_s",
                "is_valid",
                "reason"
            ]
        ),
        ["4 | 4000000000 | - | - | no measured avx2 f32 compute ceiling of 1 thread on cpu"]
    );
    let finding = out.finding("no_ceiling").unwrap();
    assert!(
        finding
            .suggestion
            .as_ref()
            .unwrap()
            .contains("trueno-record peaks")
    );
}

fn row() -> impl Strategy<Value = Row> {
    let work = prop::option::of(0_u64..50);
    let name = prop::sample::select(vec!["a", "b", "c"]);
    let backend = prop::option::of(prop::sample::select(vec!["avx2", "scalar", "fast", "cuda"]));
    (
        name,
        backend,
        0_i64..200,
        -2_i64..40,
        work.clone(),
        work,
        0..20_u8,
    )
        .prop_map(
            |(name, backend, start_ns, dur_ns, flops, bytes, rare)| Row {
                backend,
                flops,
                bytes,
                is_bound: rare == 0,
                is_invalid: rare == 1,
                ..at(0, name, start_ns, dur_ns)
            },
        )
}

proptest! {
    /// Reference implementation: every row is in a point or has a reason.
    #[test]
    fn nothing_vanishes(rows in prop::collection::vec(row(), 0..60)) {
        let mut rows = rows;
        for (row, id) in rows.iter_mut().zip(1..) {
            row.id = id;
        }
        let run = Fixture { kernels: rows.clone(), ceilings: usual(), ..Fixture::default() };
        let out = run.analyse();
        let is_good = |row: &&Row| {
            !row.is_bound && !row.is_invalid && row.dur_ns > 0 && row.backend != Some("cuda")
                && row.flops.is_some_and(|n| n > 0) && row.bytes.is_some_and(|n| n > 0)
        };
        let points = out.table("points");
        let mut calls = 0;
        for at in 0..points.rows() {
            let (name, backend) = (points.text("name").unwrap().value(at), points.text("backend").unwrap().get(at));
            let of = || rows.iter().filter(is_good).filter(|row| row.name == name && row.backend == backend);
            calls += of().count() as u64;
            prop_assert_eq!(points.u64("calls").unwrap().value(at), of().count() as u64);
            prop_assert_eq!(points.i64("dur_ns").unwrap().value(at), of().map(|row| row.dur_ns).sum::<i64>());
            prop_assert_eq!(points.f64("flops").unwrap().value(at), of().map(|row| row.flops.unwrap() as f64).sum::<f64>());
        }
        prop_assert_eq!(calls, rows.iter().filter(is_good).count() as u64);
        let unplaced = points.f64("efficiency_share").unwrap().iter().zip(points.u64("calls").unwrap().iter());
        let valid = points.bool("is_valid").unwrap();
        let unplaced: u64 = unplaced.zip(valid.iter())
            .filter(|((share, _), valid)| share.is_none() || *valid == Some(false))
            .filter_map(|((_, calls), _)| calls).sum();
        let refused: u64 = out.table("not_measurable").u64("calls").unwrap().iter().flatten().sum();
        prop_assert_eq!(refused, rows.len() as u64 - calls + unplaced);
    }
}

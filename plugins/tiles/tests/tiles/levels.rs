//! Levels with known answers.

use crate::fixture::{Fixture, lines};

/// ```text
/// thread 0  ├──────────── macro 0–100 ────────────┤
///           ├ pack 0–20 ┤├────── midi 20–90 ─────┤
///                        ├ pack 20–30 ┤├ micro 30–60 ┤├ micro 60–80 ┤
/// thread 1  ├── macro 0–60 ──┤
/// ```
fn blocked() -> Fixture {
    Fixture {
        tiles: vec![
            ("macro", 0, 0, 100, Some(2000), Some(1000), 0, 0),
            ("pack", 0, 0, 20, Some(0), Some(500), 0, 0),
            ("midi", 0, 20, 70, Some(2000), Some(800), 0, 0),
            ("pack", 0, 20, 10, Some(0), Some(100), 0, 0),
            ("micro", 0, 30, 30, Some(1000), Some(300), 0, 0),
            ("micro", 0, 60, 20, Some(1000), Some(300), 0, 1),
            ("macro", 1, 0, 60, Some(2000), Some(1000), 1, 0),
        ],
        backends: vec!["avx2"],
        ceilings: vec![("avx2", 200e9), ("dram", 50e9), ("l2", 100e9), ("l1", 40e9)],
        ..Fixture::default()
    }
}

#[test]
fn times_of_levels() {
    let out = blocked().analyse();
    assert_eq!(
        lines(
            out.table("levels"),
            &[
                "level",
                "tiles",
                "exclusive_ns",
                "exclusive_share",
                "inclusive_ns",
                "pack_share",
                "imbalance_ratio"
            ]
        ),
        [
            // 10 of its own and 60 of the other; 100 and 60 over a mean of 80.
            "macro | 2 | 70 | 0.4375 | 160 | 0.1875 | 1.25",
            "midi | 1 | 10 | 0.0625 | 70 | 0.1429 | 2",
            "micro | 2 | 50 | 0.3125 | 50 | 0 | 2",
            "pack | 2 | 30 | 0.1875 | 30 | 1 | 2",
        ]
    );
    assert_eq!(
        lines(
            out.table("threads"),
            &["thread", "level", "exclusive_ns", "inclusive_ns"]
        ),
        [
            "0 | macro | 10 | 100",
            "0 | midi | 10 | 70",
            "0 | micro | 50 | 50",
            "0 | pack | 30 | 30",
            "1 | macro | 60 | 60",
        ]
    );
    assert!(out.finding("imbalance").is_some());
    assert!(out.finding("packing").is_none(), "18.75 % are not said");
}

#[test]
fn each_level_has_the_roof_of_its_memory() {
    let mut run = blocked();
    let columns = [
        "level",
        "memory",
        "flops_per_byte",
        "flops_per_s",
        "efficiency_share",
        "bound_by",
        "is_valid",
        "reason",
    ];
    assert_eq!(
        lines(run.analyse().table("levels"), &columns),
        [
            // 2 FLOP/byte × 50 GB/s allow 100 GFLOP/s.
            "macro | dram | 2 | 25000000000 | 0.25 | memory | true | -",
            // 2.5 × 100 GB/s are more than the arithmetic does.
            "midi | l2 | 2.5 | 28570000000 | 0.1429 | compute | true | -",
            "micro | l1 | 3.333 | 40000000000 | 0.3 | memory | true | -",
            "pack | - | - | - | - | - | - | the FLOPs are 0, so there is no arithmetic intensity",
        ]
    );
    run.ceilings.retain(|row| row.0 != "l2");
    run.ceilings.push(("l3", 40e9));
    run.ceilings.push(("avx512", 400e9));
    let out = run.analyse();
    assert_eq!(
        lines(
            out.table("levels"),
            &["level", "memory", "efficiency_share"]
        )[1],
        "midi | l3 | 0.2857"
    );
    // Of two backends it is not known which a tile had.
    run.backends.push("scalar");
    let assumed = lines(run.analyse().table("levels"), &["assumed"]);
    assert_eq!(
        assumed[0],
        "precision f32; instruction set avx512, the highest measured"
    );
}

#[test]
fn a_missing_figure_takes_no_rate_from_the_other() {
    let mut run = blocked();
    run.tiles = vec![
        ("macro", 0, 0, 100, Some(2000), None, 0, 0),
        ("macro", 0, 100, 60, Some(2000), None, 1, 0),
        ("midi", 0, 160, 40, None, Some(800), 0, 0),
        // Of some it is known this, of others that: no intensity of any.
        ("micro", 0, 200, 10, Some(50), None, 0, 0),
        ("micro", 0, 210, 20, None, Some(40), 0, 0),
        // No time, no rate.
        ("pack", 0, 230, 0, None, Some(100), 0, 0),
    ];
    let columns = [
        "level",
        "flops_per_s",
        "bytes_per_s",
        "flops_per_byte",
        "efficiency_share",
        "reason",
    ];
    assert_eq!(
        lines(run.analyse().table("levels"), &columns),
        [
            "macro | 25000000000 | - | - | - | no bytes recorded",
            "midi | - | 20000000000 | - | - | no FLOPs recorded",
            "micro | 5000000000 | 2000000000 | - | - | no tile has both FLOPs and bytes recorded",
            "pack | - | - | - | - | no FLOPs recorded",
        ]
    );
    // Where some declare both, rates are those of the intensity beside them.
    run.tiles = vec![
        ("macro", 0, 0, 100, Some(2000), Some(1000), 0, 0),
        ("macro", 0, 100, 100, Some(9000), None, 1, 0),
    ];
    assert_eq!(
        lines(run.analyse().table("levels"), &columns[..4]),
        ["macro | 20000000000 | 10000000000 | 2"]
    );
}

#[test]
fn missing_and_impossible_figures_are_said() {
    let mut run = blocked();
    run.ceilings.clear();
    let out = run.analyse();
    let finding = out.finding("no_ceiling").unwrap();
    assert_eq!(finding.title, "3 of 4 levels have no ceiling");
    assert!(
        finding
            .suggestion
            .as_ref()
            .unwrap()
            .contains("trueno-record peaks")
    );
    let shares = out.table("levels").f64("efficiency_share").unwrap();
    assert!(shares.iter().all(|share| share.is_none()));

    let mut run = blocked();
    run.ceilings = vec![("avx2", 1e9), ("dram", 50e9), ("l2", 100e9), ("l1", 40e9)];
    let out = run.analyse();
    let rows = lines(
        out.table("levels"),
        &["efficiency_share", "is_valid", "reason"],
    );
    assert!(
        rows[0].starts_with("25 | false | above the roof: faster than the arithmetic"),
        "{rows:?}"
    );
    assert!(out.finding("above_the_roof").is_some());

    let mut run = blocked();
    for row in &mut run.tiles {
        (row.4, row.5) = (None, None);
    }
    let out = run.analyse();
    let rows = lines(
        out.table("levels"),
        &[
            "flops",
            "bytes",
            "flops_per_s",
            "efficiency_share",
            "reason",
        ],
    );
    assert_eq!(rows[0], "- | - | - | - | no FLOPs recorded");
}

#[test]
fn packing_is_said_where_it_takes_much() {
    let run = Fixture {
        tiles: vec![
            ("macro", 0, 0, 100, None, None, 0, 0),
            ("pack", 0, 0, 40, None, None, 0, 0),
        ],
        ..Fixture::default()
    };
    let out = run.analyse();
    assert_eq!(
        out.finding("packing").unwrap().title,
        "packing takes 40.0 % of the time of all tiles"
    );
    // One thread has no imbalance.
    assert_eq!(lines(out.table("levels"), &["imbalance_ratio"]), ["-", "-"]);
}

#[test]
fn a_window_takes_whole_tiles() {
    let mut run = blocked();
    run.window = Some((15, 200));
    let out = run.analyse();
    assert_eq!(
        lines(out.table("levels"), &["level", "tiles", "inclusive_ns"]),
        ["midi | 1 | 70", "micro | 2 | 50", "pack | 1 | 10"]
    );
}

#[test]
fn heat_maps_are_limited() {
    let tiles = |n: i64| {
        let tile = move |i: i64| ("micro", 0, i * 10, 5, None, None, i / n, i % n);
        (0..n * n).map(tile).collect()
    };
    let run = Fixture {
        tiles: tiles(4),
        ..Fixture::default()
    };
    let out = run.analyse();
    assert_eq!(out.table("heat_micro").rows(), 16);
    assert_eq!(out.charts.len(), 1);
    let out = run.analyse_with(r#"{"heat_cells": 2}"#);
    assert_eq!(
        lines(out.table("heat_micro"), &["row", "col", "tiles", "dur_ns"]),
        [
            "0 | 0 | 4 | 20",
            "0 | 2 | 4 | 20",
            "2 | 0 | 4 | 20",
            "2 | 2 | 4 | 20"
        ]
    );
    // Three in a cell would do, but neighbours share one by powers of two.
    let run = Fixture {
        tiles: tiles(6),
        ..Fixture::default()
    };
    assert_eq!(
        lines(
            run.analyse_with(r#"{"heat_cells": 2}"#).table("heat_micro"),
            &["row", "col", "tiles"]
        ),
        ["0 | 0 | 16", "0 | 4 | 8", "4 | 0 | 8", "4 | 4 | 4"]
    );
    let run = Fixture {
        tiles: tiles(100),
        ..Fixture::default()
    };
    assert_eq!(run.analyse().table("heat_micro").rows(), 50 * 50);
}

#[test]
fn an_empty_run_is_empty() {
    let out = Fixture::default().analyse();
    assert!(out.tables.iter().all(|table| table.rows() == 0));
    assert!(out.findings.is_empty() && out.charts.is_empty());
}

/// Each level is listed with the ceiling that limits it.
#[test]
fn a_doubtful_ceiling_is_said_where_it_binds() {
    let doubts = |spread| {
        let fixture = Fixture {
            spread: Some(spread),
            ..blocked()
        };
        lines(fixture.analyse().table("levels"), &["level", "doubt"])
    };
    assert!(doubts(0.1).iter().all(|line| line.ends_with("| -")));
    let spans = "the interquartile range of its repetitions is 20 % of their median";
    let found = doubts(0.2);
    for (level, ceiling) in [
        ("macro", "bandwidth (dram)"),
        ("midi", "compute (avx2 f32)"),
        ("micro", "bandwidth (l1)"),
    ] {
        let expected = format!("{level} | {ceiling}: {spans}");
        assert!(found.contains(&expected), "{expected}\n{found:?}");
    }
}

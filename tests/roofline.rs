//! Rooflines and tiles of recorded runs, from ceilings to gains.

use std::path::{Path, PathBuf};

use serde_json::Value;
use trueno_recorder::{Ceiling, CeilingKind, Recorder, Source, TileLevel};

use crate::harness::{Dir, section, spin};

/// Ceilings that nothing can exceed.
pub fn ceilings(rec: &Recorder) {
    let ceiling = |kind, level: &'static str, precision: Option<&'static str>, value| Ceiling {
        level: Some(level.into()),
        precision: precision.map(Into::into),
        threads: Some(1),
        ..Ceiling::new("cpu", kind, value, Source::Measured)
    };
    for set in ["scalar", "avx2"] {
        rec.ceiling(ceiling(CeilingKind::Compute, set, Some("f32"), 1e12));
    }
    for level in ["dram", "l2", "l1"] {
        rec.ceiling(ceiling(CeilingKind::Bandwidth, level, None, 1e12));
    }
}

/// Ten calls of a kernel of 1000 FLOPs and 2000 bytes, and one call that declares nothing.
pub fn recorded(dir: &Dir, name: &str, backend: &'static str, with_ceilings: bool) -> PathBuf {
    let path = dir.join(name);
    let rec = Recorder::create(&path).expect("a recorder");
    if with_ceilings {
        ceilings(&rec);
    }
    for _ in 0..10 {
        let mut brick = rec.brick("QkvProjection");
        brick.flops(1000).bytes(1500, 500).backend(backend);
        let mut kernel = rec.kernel("gemv");
        kernel.flops(1000).bytes(2000).backend(backend);
        let mut tile = rec.tile(TileLevel::Macro, 0, 0);
        tile.flops(1000).bytes(2000);
        spin(50);
    }
    {
        let _silent = rec.brick("load");
        spin(50);
    }
    rec.finish().expect("the recording ends");
    path
}

fn rows(report: &Value, plugin: &str, table: &str) -> Vec<Value> {
    let tables = section(report, plugin)["tables"].as_array().unwrap();
    let found = tables.iter().find(|found| found["name"] == table);
    let found = found.unwrap_or_else(|| panic!("{plugin} has no table {table}"));
    found["rows"].as_array().unwrap().clone()
}

fn report(dir: &Dir, run: &Path, args: &[&str]) -> Value {
    let args = [args, &["--json", "-"]].concat();
    dir.report(run, &args).exits(0).json()
}

fn cell(report: &Value, plugin: &str, table: &str, row: usize, column: &str) -> Value {
    let tables = section(report, plugin)["tables"].as_array().unwrap();
    let found = tables.iter().find(|found| found["name"] == table).unwrap();
    let columns = found["columns"].as_array().unwrap();
    let at = columns.iter().position(|found| found["name"] == column);
    let at = at.unwrap_or_else(|| panic!("{table} has no column {column}: {columns:?}"));
    found["rows"][row][at].clone()
}

#[test]
fn ceilings_of_the_run_make_a_roofline_and_gains() {
    let dir = Dir::new();
    let run = recorded(&dir, "one.run", "avx2", true);
    let report = report(&dir, &run, &[]);
    let of = |table, row, column| cell(&report, "roofline", table, row, column);
    assert_eq!(rows(&report, "roofline", "points").len(), 2);
    for row in 0..2 {
        assert_eq!(of("points", row, "calls"), 10);
        assert_eq!(of("points", row, "flops_per_byte"), 0.5);
        assert_eq!(of("points", row, "instruction_set"), "avx2");
        assert_eq!(of("points", row, "bound_by"), "memory");
        let dur_ns = of("points", row, "dur_ns").as_f64().unwrap();
        // 10,000 FLOPs, of which 0.5 × 10¹² a second are attainable: 20 ns.
        let expected = 20.0 / dur_ns;
        let share = of("points", row, "efficiency_share").as_f64().unwrap();
        assert!(
            (share / expected - 1.0).abs() < 1e-9,
            "{share} is not {expected}"
        );
    }
    // Only the kernels count: 10 calls, not 20.
    assert_eq!(of("summary", 0, "calls"), 10);
    // Of the time of all bricks, that of the kernels; nothing is known of `load`.
    let dur_ns = |table, row| of(table, row, "dur_ns").as_f64().unwrap();
    assert_eq!(of("points", 0, "source"), "brick");
    let busy_ns = dur_ns("points", 0) + dur_ns("not_measurable", 0);
    let coverage = of("summary", 0, "coverage_share").as_f64().unwrap();
    let expected = of("summary", 0, "figures_ns").as_f64().unwrap() / busy_ns;
    assert!((coverage - expected).abs() < 1e-9, "{coverage}, {expected}");
    assert_eq!(of("not_measurable", 0, "example"), "load");
    assert_eq!(rows(&report, "roofline", "ceilings_used").len(), 2);

    let gains = rows(&report, "critical_path", "at_roof");
    assert_eq!(gains.len(), 3, "everything, gemv, QkvProjection: {gains:?}");
    let gain_ns = |row| {
        cell(&report, "critical_path", "at_roof", row, "gain_ns")
            .as_i64()
            .unwrap()
    };
    let wall_ns = report["run"]["wall_ns"].as_i64().unwrap();
    for row in 0..3 {
        assert!(
            (400_000..wall_ns).contains(&gain_ns(row)),
            "{gains:?} of {wall_ns}"
        );
    }
    let level = |column| cell(&report, "tiles", "levels", 0, column);
    assert_eq!(level("memory"), "dram");
    assert_eq!(level("tiles"), 10);
    assert!(level("efficiency_share").as_f64().unwrap() > 0.0);
}

#[test]
fn a_run_without_ceilings_says_how_to_get_them() {
    let dir = Dir::new();
    let run = recorded(&dir, "one.run", "avx2", false);
    dir.report(&run, &["--plugin-id", "roofline"])
        .exits(0)
        .stdout_has("2 of 2 points have no ceiling")
        .stdout_has("trueno-record peaks");
    let report = report(&dir, &run, &[]);
    let tables = section(&report, "critical_path")["tables"]
        .as_array()
        .unwrap();
    let is_there = tables
        .iter()
        .any(|table| table["name"] == "at_roof" && !table["rows"].as_array().unwrap().is_empty());
    assert!(!is_there);
}

#[test]
fn backends_of_two_runs_are_compared() {
    let dir = Dir::new();
    let base = recorded(&dir, "base.run", "scalar", true);
    let run = recorded(&dir, "one.run", "avx2", true);
    let args = [
        "--plugin-id",
        "roofline",
        "--baseline",
        base.to_str().unwrap(),
    ];
    let report = report(&dir, &run, &args);
    assert_eq!(rows(&report, "roofline", "backends").len(), 4);
    let of = |row, column| cell(&report, "roofline", "backends", row, column);
    assert_eq!(of(0, "backend"), "scalar");
    assert_eq!(of(0, "run"), "baseline");
    assert_eq!(of(1, "backend"), "avx2");
    assert_eq!(of(1, "against"), "scalar (baseline)");
    assert!(of(1, "speed_up").as_f64().unwrap() > 0.0);
    assert!(of(1, "efficiency_share").as_f64().unwrap() > 0.0);
}

#[test]
fn several_baselines_are_compared_where_they_can_be_told_apart() {
    let dir = Dir::new();
    let scalar = recorded(&dir, "scalar.run", "scalar", true);
    let sse2 = recorded(&dir, "sse2.run", "sse2", true);
    let run = recorded(&dir, "one.run", "avx2", true);
    let (scalar, sse2) = (scalar.to_str().unwrap(), sse2.to_str().unwrap());
    let both = ["--baseline", scalar, "--baseline", sse2];
    let args = [&both[..], &["--compare-backends"]].concat();
    let found = report(&dir, &run, &args);
    let tables = section(&found, "roofline")["tables"].as_array().unwrap();
    assert_eq!(tables.len(), 1, "{tables:?}");
    let of = |row| {
        let cell = |column| cell(&found, "roofline", "backends", row, column);
        (cell("name"), cell("backend"), cell("run"), cell("calls"))
    };
    assert_eq!(rows(&found, "roofline", "backends").len(), 6);
    let (first, _, _, _) = of(0);
    for (row, backend, of_run) in [
        (0, "scalar", "baseline"),
        (1, "sse2", "baseline"),
        (2, "avx2", "run"),
    ] {
        let expected = (first.clone(), backend.into(), of_run.into(), 10.into());
        assert_eq!(of(row), expected);
    }
    dir.report(&run, &["--compare-backends"])
        .exits(0)
        .stdout_has("no name ran under two backends");
    dir.report(&run, &both)
        .exits(2)
        .stderr_has("--compare-backends takes several");
    dir.report(
        &run,
        &[
            "--compare-backends",
            "--baseline",
            scalar,
            "--baseline",
            "no.run",
        ],
    )
    .exits(2)
    .stderr_has("no such run");
}

#[test]
fn sampled_tiles_count_for_those_without_a_row() {
    let dir = Dir::new();
    let path = dir.join("sampled.run");
    let rec = Recorder::builder(&path)
        .tiles_every(TileLevel::Micro, 4)
        .create()
        .expect("a recorder");
    for row in 0..10 {
        let _macro_tile = rec.tile(TileLevel::Macro, row, 0);
        for col in 0..8 {
            rec.tile(TileLevel::Micro, row, col).flops(100).bytes(10);
            spin(5);
        }
    }
    rec.finish().expect("the recording ends");
    let report = report(&dir, &path, &["--plugin-id", "tiles"]);
    let of = |row, column| cell(&report, "tiles", "levels", row, column);
    assert_eq!((of(0, "tiles"), of(0, "recorded")), (10.into(), 10.into()));
    assert_eq!((of(1, "tiles"), of(1, "recorded")), (80.into(), 20.into()));
    assert_eq!(of(1, "sampled_every"), 4);
    assert_eq!(of(1, "flops"), 8000.0);
    assert!(of(1, "recorder_share").as_f64().unwrap() > 0.0);
}

#[test]
fn wrong_options_are_refused_with_what_there_is() {
    let dir = Dir::new();
    let run = recorded(&dir, "one.run", "avx2", false);
    dir.report(&run, &["--set", "roofline.memory=ram"])
        .exits(2)
        .stderr_has("expected one of auto, l1, l2, l3, dram");
    dir.report(
        &run,
        &[
            "--plugin-id",
            "tiles",
            "--set",
            "tiles.top=3",
            "--json",
            "-",
        ],
    )
    .exits(2)
    .stderr_has("tiles.top: the plugin tiles has no such option (hint: it takes ");
}

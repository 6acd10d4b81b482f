//! `check`: what rests on the plugins `roofline` and `divergence`.

use std::path::{Path, PathBuf};

use serde_json::Value;
use trueno_recorder::Recorder;

use crate::check::{command, dataset, empty, one};
use crate::harness::{Dir, built_library};
use crate::roofline::recorded;

#[test]
fn efficiency_of_names() {
    let dir = Dir::new();
    let path = recorded(&dir, "roof.run", "avx2", true);
    let run = path.to_str().unwrap();
    let least = |of: &str, min: f64| {
        format!("type = \"roofline_efficiency\"\nname_pattern = \"{of}\"\nmin_efficiency = {min}")
    };
    let found = one(&dir, run, &least("gemv", 0.0), &[], 0);
    let actual = found["actual"].as_str().unwrap();
    assert!(actual.starts_with("gemv at "), "{actual}");
    // Ceilings are far above what a loop that waits does.
    one(&dir, run, &least("*", 0.9), &[], 1);
    one(&dir, run, &least("load", 0.0), &[], 3);
    let bare = recorded(&dir, "bare.run", "avx2", false);
    one(&dir, bare.to_str().unwrap(), &least("*", 0.0), &[], 3);
    one(&dir, &empty(&dir), &least("*", 0.0), &[], 3);
}

#[test]
fn the_limit_of_an_efficiency_is_exact_and_above_the_roof_is_none() {
    let dir = Dir::new();
    let made = |name: &str, flops: i64| {
        let path = dir.join(name);
        let rec = Recorder::create(&path).expect("a recorder");
        crate::roofline::ceilings(&rec);
        let mut kernel = rec.kernel("gemv");
        kernel
            .flops(flops.cast_unsigned())
            .bytes(2000)
            .backend("avx2");
        crate::harness::spin(50);
        drop(kernel);
        rec.finish().expect("the recording ends");
        path.to_str().unwrap().to_owned()
    };
    let run = made("one.run", 1000);
    let json = dir
        .report(Path::new(&run), &["--plugin-id", "roofline", "--json", "-"])
        .exits(0)
        .json();
    let points = &crate::harness::section(&json, "roofline")["tables"];
    let points = points
        .as_array()
        .unwrap()
        .iter()
        .find(|t| t["name"] == "points");
    let points = points.expect("a table points");
    let columns = points["columns"].as_array().unwrap();
    let at = columns
        .iter()
        .position(|c| c["name"] == "efficiency_share")
        .unwrap();
    let share = points["rows"][0][at].as_f64().unwrap();
    let body = |min: f64| format!("type = \"roofline_efficiency\"\nmin_efficiency = {min:e}");
    // JSON is read to the last digit but one.
    one(&dir, &run, &body(share * (1.0 - 1e-15)), &[], 0);
    one(&dir, &run, &body(share * 1.000_001), &[], 1);
    // A million times a million operations in no time.
    let above = made("above.run", 1 << 50);
    let found = one(&dir, &above, &body(0.1), &[], 3);
    let actual = found["actual"].as_str().unwrap();
    assert!(actual.contains("above its roof"), "{actual}");
}

fn tensors(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets/divergence");
    root.join(name)
        .to_str()
        .expect("a path in UTF-8")
        .to_owned()
}

#[track_caller]
fn divergence(dir: &Dir, run: &str, golden: &str, more: &str, code: i32) -> Value {
    let library = built_library("trueno_plugin_divergence");
    let library = library.to_str().unwrap();
    let body = format!("type = \"divergence\"\n{more}");
    one(
        dir,
        run,
        &body,
        &["--plugin", library, "--golden", golden],
        code,
    )
}

fn one_tensor(dir: &Dir, file: &str, name: &'static str, shape: &[usize]) -> PathBuf {
    let path = dir.join(file);
    let rec = Recorder::create(&path).expect("a recorder");
    rec.checksum(name, Some(0), &[1.0f32, 2.0, 3.0, 4.0], shape);
    rec.finish().expect("the recording ends");
    path
}

#[test]
fn tensors_that_diverge() {
    let dir = Dir::new();
    let (base, planted) = (tensors("base.run"), tensors("planted.run"));
    divergence(&dir, &base, &base, "", 0);
    let found = divergence(&dir, &planted, &base, "", 1);
    assert_eq!(found["actual"], "20 diverged, 396 alike, 0 in one run only");
    divergence(&dir, &planted, &base, "max_diverged = 20", 0);
    divergence(&dir, &planted, &base, "max_diverged = 19", 1);
    // As much as the user allows, for all or by name.
    divergence(&dir, &planted, &base, "rtol = 10", 0);
    let named = "[[assertion.tensor]]\nname = \"*\"\nrtol = 10";
    divergence(&dir, &planted, &base, named, 0);
    let other = "[[assertion.tensor]]\nname = \"nobody\"\nrtol = 10";
    divergence(&dir, &planted, &base, other, 1);
    let cut = tensors("truncated.run");
    divergence(&dir, &cut, &base, "", 0);
    divergence(&dir, &cut, &base, "max_only_in_one = 156", 0);
    divergence(&dir, &cut, &base, "max_only_in_one = 155", 1);
    divergence(&dir, &tensors("nan.run"), &base, "", 1);
    // Instructions of another width are no divergence.
    divergence(&dir, &dataset("scalar.run"), &dataset("simd.run"), "", 0);
}

/// With a third run as reference. If golden and checked run are swapped, so is the side that moved.
#[test]
fn a_third_run_says_which_side_moved() {
    let dir = Dir::new();
    let (base, planted) = (tensors("base.run"), tensors("planted.run"));
    let library = built_library("trueno_plugin_divergence");
    let actual = |run: &str, golden: &str, reference: &str| {
        let args = [
            "--plugin",
            library.to_str().unwrap(),
            "--golden",
            golden,
            "--reference",
            reference,
        ];
        let found = one(&dir, run, "type = \"divergence\"", &args, 1);
        found["actual"].as_str().unwrap().to_owned()
    };
    let counts = "20 diverged, 396 alike, 0 in one run only; compared with the reference, ";
    assert_eq!(
        actual(&planted, &base, &base),
        format!("{counts}the run moved in 20, the golden run in 0, both in 0, neither in 0")
    );
    assert_eq!(
        actual(&base, &planted, &base),
        format!("{counts}the run moved in 0, the golden run in 20, both in 0, neither in 0")
    );
    let other = one_tensor(&dir, "other.run", "elsewhere", &[4]);
    assert!(
        actual(&planted, &base, other.to_str().unwrap())
            .ends_with("; the reference has no such tensor")
    );
    // With nothing to tell of, it says nothing.
    let args = [
        "--plugin",
        library.to_str().unwrap(),
        "--golden",
        &base,
        "--reference",
        &planted,
    ];
    let found = one(&dir, &base, "type = \"divergence\"", &args, 0);
    assert_eq!(found["actual"], "0 diverged, 416 alike, 0 in one run only");
    // A third run beside one is none.
    let toml = "[[assertion]]\nname = \"a\"\ntype = \"divergence\"\n";
    command(&dir, &base, toml, &["--reference", &base]).exits(2);
}

#[test]
fn tensors_that_cannot_be_compared() {
    let dir = Dir::new();
    let made = |file: &str, name, shape: &[usize]| {
        let path = one_tensor(&dir, file, name, shape);
        path.to_str().unwrap().to_owned()
    };
    let flat = made("flat.run", "out", &[4]);
    let square = made("square.run", "out", &[2, 2]);
    let other = made("other.run", "elsewhere", &[4]);
    // Nothing in common is not "no divergence", however much is allowed.
    divergence(&dir, &flat, &other, "max_diverged = 1000", 3);
    let found = divergence(&dir, &flat, &square, "", 3);
    let actual = found["actual"].as_str().unwrap();
    assert!(
        actual.contains("1 with a different dtype or shape"),
        "{actual}"
    );
    divergence(&dir, &empty(&dir), &flat, "", 3);
    let body = "type = \"divergence\"";
    let found = one(&dir, &flat, body, &[], 3);
    assert!(found["actual"].as_str().unwrap().contains("--golden RUN"));
    let found = one(&dir, &flat, body, &["--golden", &flat], 3);
    assert!(
        found["actual"]
            .as_str()
            .unwrap()
            .contains("no plugin divergence")
    );
    let toml = format!("[[assertion]]\nname = \"it\"\n{body}\nmax_diverge = 3");
    command(&dir, &flat, &toml, &[])
        .exits(2)
        .stderr_has("max_diverge");
    let toml = toml.replace("max_diverge = 3", "rtol = -1");
    command(&dir, &flat, &toml, &[])
        .exits(2)
        .stderr_has("0 or more");
}

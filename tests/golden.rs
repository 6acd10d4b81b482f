//! `golden`: what a run was like, kept in a text, and what a later run is held against.

use std::path::Path;

use crate::check::{command, dataset, empty, one};
use crate::compare::bricks;
use crate::harness::{Dir, built_library};

fn tensors(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets/divergence");
    root.join(name)
        .to_str()
        .expect("a path in UTF-8")
        .to_owned()
}

#[track_caller]
fn saved(dir: &Dir, run: &str, name: &str) -> String {
    let path = dir.join(name).to_str().expect("a path in UTF-8").to_owned();
    dir.command(&["golden", "save", run, "-o", &path]).exits(0);
    path
}

#[track_caller]
fn divergence(dir: &Dir, run: &str, golden: &str, code: i32) -> String {
    let library = built_library("trueno_plugin_divergence");
    let args = ["--plugin", library.to_str().unwrap(), "--golden", golden];
    let found = one(dir, run, "type = \"divergence\"", &args, code);
    found["actual"].as_str().unwrap().to_owned()
}

#[test]
fn tensors_are_held_against_the_file_as_against_the_run() {
    let dir = Dir::new();
    let (base, planted) = (tensors("base.run"), tensors("planted.run"));
    let golden = saved(&dir, &base, "base.golden.json");
    for run in [
        &base,
        &planted,
        &tensors("nan.run"),
        &tensors("truncated.run"),
    ] {
        let code = i32::from(run.contains("planted") || run.contains("nan"));
        let (of_file, of_run) = (
            divergence(&dir, run, &golden, code),
            divergence(&dir, run, &base, code),
        );
        assert_eq!(of_file, of_run, "{run}");
    }
    // Another model has nothing in common with it.
    divergence(&dir, &dataset("simd.run"), &golden, 3);
    let library = built_library("trueno_plugin_divergence");
    let library = library.to_str().unwrap();
    let args = [
        "--plugin-id",
        "divergence",
        "--plugin",
        library,
        "--baseline",
        &golden,
    ];
    dir.report(Path::new(&planted), &args)
        .exits(0)
        .stdout_has("first DownProjection, layer 1, iteration 3,");
}

#[test]
fn durations_are_held_against_their_distributions() {
    let dir = Dir::new();
    let base = bricks(&dir, "base.run", 40, 10_000, "host");
    let golden = saved(&dir, &base, "base.golden.json");
    let body = "type = \"regression\"\nname_pattern = \"Qkv*\"\nthreshold = 0.05";
    let with = |run: &str, code| one(&dir, run, body, &["--golden", &golden], code);
    let slow = bricks(&dir, "slow.run", 40, 11_000, "host");
    let found = with(&slow, 1);
    let actual = found["actual"].as_str().unwrap();
    assert!(actual.contains("slower by 10.0 %"), "{actual}");
    with(&base, 0);
    with(&bricks(&dir, "like.run", 40, 10_050, "host"), 0);
    with(&bricks(&dir, "few.run", 5, 10_000, "host"), 3);
    let found = dir
        .command(&[
            "compare",
            &golden,
            &slow,
            "--format",
            "json",
            "--single",
            "--fail-on",
            "slower",
        ])
        .exits(1)
        .json();
    assert_eq!(found["names"][0]["verdict"], "slower");
    // No totals are made up for a file that has none.
    let totals = found["totals"].as_array().unwrap();
    assert!(
        totals.iter().all(|total| total["base"].is_null()),
        "{totals:?}"
    );

    let (simd, slowed) = (dataset("simd.run"), dataset("simd_slow.run"));
    let golden = saved(&dir, &simd, "simd.golden.json");
    let body = "type = \"regression\"\nname_pattern = \"DownProjection\"\nkinds = [\"brick\"]";
    one(&dir, &slowed, body, &["--golden", &golden], 1);
    let body = "type = \"regression\"\nname_pattern = \"matvec\"\nthreshold = 0.3";
    one(&dir, &simd, body, &["--golden", &golden], 0);
}

#[test]
fn the_file_is_the_same_each_time_small_and_shown() {
    let dir = Dir::new();
    let base = tensors("base.run");
    let golden = saved(&dir, &base, "base.golden.json");
    let again = saved(&dir, &base, "again.golden.json");
    let text = dir.read("base.golden.json");
    assert_eq!(text, std::fs::read_to_string(again).unwrap());
    // 416 tensors: a line each, and below 150 bytes.
    assert_eq!(
        text.lines().filter(|line| line.starts_with('[')).count(),
        416
    );
    assert!(text.len() < 416 * 180 + 10_000, "{} bytes", text.len());
    assert!(!text.contains("start_ns") && !text.contains("run_id"));

    dir.command(&["golden", "show", &golden, "--top", "3"])
        .exits(0)
        .stdout_has("… and ");
    dir.command(&["golden", "list"])
        .exits(0)
        .stdout_has("base.golden.json");
    let listed = dir.command(&["golden", "list", "--json"]).exits(0).json();
    assert_eq!(listed[1]["tensors"], 416);
    // What is there is not replaced unasked.
    dir.command(&["golden", "save", &base])
        .exits(2)
        .stderr_has("--overwrite");
    dir.command(&["golden", "save", &base, "--overwrite"])
        .exits(0);
    dir.command(&["golden", "save", &base, "-o", "-"])
        .exits(0)
        .json();
}

#[test]
fn what_cannot_be_saved_or_read_is_said() {
    let dir = Dir::new();
    dir.command(&["golden", "save", &empty(&dir)])
        .exits(3)
        .stderr_has("nothing to compare");
    assert!(!dir.join("empty.golden.json").exists());
    dir.command(&["golden", "save", "nothing.run"])
        .exits(2)
        .stderr_has("nothing.run");
    dir.command(&["golden", "list"])
        .exits(0)
        .stderr_has("golden save RUN");
    dir.command(&["golden", "show", "nothing.golden.json"])
        .exits(2)
        .stderr_has("nothing.golden.json");
    let base = tensors("base.run");
    let golden = saved(&dir, &base, "base.golden.json");
    let text = dir.read("base.golden.json");
    std::fs::write(dir.join("cut.golden.json"), &text[..text.len() / 2]).unwrap();
    std::fs::write(
        dir.join("newer.golden.json"),
        text.replace("\"major\":1", "\"major\":2"),
    )
    .unwrap();
    let toml = "[[assertion]]\nname = \"it\"\ntype = \"divergence\"";
    for (file, says) in [
        ("cut.golden.json", "not a golden file: not JSON"),
        ("newer.golden.json", "use a newer trueno-analyze"),
        ("trueno.toml", "not a golden file"),
        ("nothing.golden.json", "no such run"),
    ] {
        command(&dir, &base, toml, &["--golden", file])
            .exits(2)
            .stderr_has(says)
            .stderr_has(file);
    }
    dir.command(&["golden", "list"])
        .exits(2)
        .stdout_has("cannot be read")
        .stderr_has("cut.golden.json");
    // Nothing of what was opened stays behind.
    let temporary = dir.folder("tmp");
    let body = command(&dir, &base, toml, &["--golden", &golden]);
    body.env("TMPDIR", &temporary).exits(3);
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
}

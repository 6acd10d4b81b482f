//! Runs of each released version of the format open as they did when that version was current.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{Dir, copy};

/// Sums over the rows of bricks.
const BRICKS: &str = "SELECT name, COUNT(*) AS n, SUM(dur_ns) AS ns FROM bricks \
                      GROUP BY name ORDER BY n DESC, name";

fn kept(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../datasets/formats")
        .join(version)
}

/// Holds what is printed of a run against what was printed when it was recorded.
/// Rows that lay in `live/` are encoded by today's version, whose segments have columns more.
fn without_sizes(printed: &str) -> String {
    let lines = printed.lines().filter(|line| !line.contains("\"bytes\": "));
    lines.collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn opens_as_before(dir: &Dir, kept: &Path, name: &str, run: &Path) {
    let run = run.to_str().expect("a path in UTF-8");
    for (file, arguments) in [
        (
            format!("{name}.info.json"),
            vec!["info", run, "--format", "json"],
        ),
        (
            format!("{name}.bricks.csv"),
            vec!["query", run, BRICKS, "--format", "csv"],
        ),
    ] {
        let expected = fs::read_to_string(kept.join(&file)).expect("what was printed is kept");
        let printed = dir.command(&arguments).exits(0).stdout;
        assert_eq!(without_sizes(&printed), without_sizes(&expected), "{file}");
    }
}

#[test]
fn a_finished_run_of_1_3() {
    let dir = Dir::new();
    let run = dir.join("hello.run");
    copy(&kept("1.3").join("hello.run"), &run);
    opens_as_before(&dir, &kept("1.3"), "hello", &run);
}

#[test]
fn a_run_of_1_3_whose_program_was_killed() {
    let dir = Dir::new();
    unpack(&dir, &kept("1.3").join("killed.tar.gz"));
    opens_as_before(&dir, &kept("1.3"), "killed", &dir.join("killed.run"));
}

#[test]
fn a_finished_run_of_1_4() {
    let dir = Dir::new();
    let run = dir.join("hello.run");
    copy(&kept("1.4").join("hello.run"), &run);
    opens_as_before(&dir, &kept("1.4"), "hello", &run);
}

#[test]
fn a_run_of_1_4_whose_program_was_killed() {
    let dir = Dir::new();
    unpack(&dir, &kept("1.4").join("killed.tar.gz"));
    opens_as_before(&dir, &kept("1.4"), "killed", &dir.join("killed.run"));
}

fn unpack(dir: &Dir, packed: &Path) {
    let unpacked = Command::new("tar")
        .args(["xzf", packed.to_str().expect("a path in UTF-8")])
        .current_dir(dir.path())
        .status();
    assert!(unpacked.expect("tar is there").success());
}

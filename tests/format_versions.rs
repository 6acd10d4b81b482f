//! Runs of each released version of the format open as they did when that version was current.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{Dir, copy};

const BRICKS: &str = "SELECT name, COUNT(*) AS n, SUM(dur_ns) AS ns FROM bricks \
                      GROUP BY name ORDER BY n DESC, name";

pub fn kept(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../datasets/formats")
        .join(version)
}

/// Drops byte sizes and text from printed output, to compare it with what was printed when the run was recorded.
/// Rows from `live/` are encoded in today's version, whose segments have more columns.
fn without_sizes(printed: &str) -> String {
    let varies = |line: &&str| line.contains("\"bytes\": ") || line.contains("\"text\": ");
    let lines = printed.lines().filter(|line| !varies(line));
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
        // Problems name files of the run where it lies now.
        let printed = printed.replace(&format!("{}/", dir.path().display()), "");
        assert_eq!(without_sizes(&printed), without_sizes(&expected), "{file}");
    }
}

/// Versions with a stored run. A test of `trueno-format` checks that these are all the versions that existed.
fn versions() -> Vec<String> {
    let folders = fs::read_dir(kept("")).expect("runs of all versions are kept");
    let folders = folders.map(|entry| entry.expect("an entry").path());
    let mut versions: Vec<String> = folders
        .filter(|folder| folder.is_dir())
        .map(|folder| {
            folder
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    versions.sort();
    assert!(versions.len() >= 8, "{versions:?}");
    versions
}

#[test]
fn a_finished_run_of_each_version() {
    for version in versions() {
        let dir = Dir::new();
        let run = dir.join("hello.run");
        copy(&kept(&version).join("hello.run"), &run);
        opens_as_before(&dir, &kept(&version), "hello", &run);
    }
}

/// A run without a readable head has the columns of the older table.
#[test]
fn a_damaged_head_of_each_version_loses_nothing() {
    for version in versions() {
        let dir = Dir::new();
        let run = dir.join("hello.run");
        copy(&kept(&version).join("hello.run"), &run);
        let segment = run.join("bricks/000000.arrow");
        let mut bytes = fs::read(&segment).expect("a segment");
        bytes[100] ^= 1;
        fs::write(&segment, bytes).expect("written");
        let run = run.to_str().expect("a path in UTF-8");
        let query = dir.command(&["query", run, BRICKS, "--format", "csv"]);
        let done = query.exits(0);
        assert!(
            done.stderr.contains("is incomplete"),
            "{version}: {}",
            done.stderr
        );
        let expected = fs::read_to_string(kept(&version).join("hello.bricks.csv"));
        assert_eq!(
            done.stdout,
            expected.expect("what was printed is kept"),
            "{version}"
        );
    }
}

#[test]
fn a_run_of_each_version_whose_program_was_killed() {
    for version in versions() {
        let dir = Dir::new();
        unpack(&dir, &kept(&version).join("killed.tar.gz"));
        opens_as_before(&dir, &kept(&version), "killed", &dir.join("killed.run"));
    }
}

/// The program recorded 30 iterations of two layers with two bricks each, two more bricks, and 9,000 edges before
/// it was killed. Version 1.0 is left out, because its layout of waiting rows cannot be read any more.
#[test]
fn a_killed_program_left_all_it_had_recorded() {
    let sums = "SELECT kind, COUNT(*) AS n FROM bricks GROUP BY kind UNION ALL \
                SELECT 'edges' AS kind, COUNT(*) AS n FROM edges ORDER BY kind";
    for version in [
        "1.1", "1.2", "1.5", "1.6", "1.7", "1.8", "1.9", "1.10", "1.11",
    ] {
        let dir = Dir::new();
        unpack(&dir, &kept(version).join("killed.tar.gz"));
        let query = dir.command(&["query", "killed.run", sums, "--format", "csv"]);
        let expected = "kind,n\r\nbrick,122\r\nedges,9000\r\niteration,30\r\nlayer,60\r\n";
        assert_eq!(query.exits(0).stdout, expected, "{version}");
    }
}

/// `datasets/formats/read.py` is written from the page of the format alone.
#[test]
fn a_reader_in_python_has_the_same_sums() {
    let python = std::env::var_os("TRUENO_PYTHON").unwrap_or_else(|| "python3".into());
    let python = |arguments: &[&str]| Command::new(&python).args(arguments).output();
    let has_pyarrow = python(&["-c", "import pyarrow"]).is_ok_and(|done| done.status.success());
    if !has_pyarrow {
        eprintln!(
            "left out: no pyarrow for python3, or for the Python that TRUENO_PYTHON names \
             (pip install pyarrow)"
        );
        return;
    }
    let reader = kept("").join("read.py");
    let datasets = kept("").join("../tiny/test.run");
    let runs = versions()
        .into_iter()
        .map(|version| kept(&version).join("hello.run"));
    for run in runs.chain([datasets]) {
        for table in ["bricks", "kernels"] {
            let run = run.to_str().expect("a path in UTF-8");
            let read = python(&[reader.to_str().expect("a path in UTF-8"), run, table]);
            let read = read.expect("Python starts");
            assert!(
                read.status.success(),
                "{}",
                String::from_utf8_lossy(&read.stderr)
            );
            let dir = Dir::new();
            let sums = BRICKS.replace("bricks", table);
            let printed = dir
                .command(&["query", run, &sums, "--format", "csv"])
                .exits(0)
                .stdout;
            assert_eq!(
                String::from_utf8_lossy(&read.stdout),
                printed,
                "{table} of {run}"
            );
        }
    }
}

pub fn unpack(dir: &Dir, packed: &Path) {
    let unpacked = Command::new("tar")
        .args(["xzf", packed.to_str().expect("a path in UTF-8")])
        .current_dir(dir.path())
        .status();
    assert!(unpacked.expect("tar is there").success());
}

//! The checks that need a GPU, tried on a fake one: that they are packed, run, pass where nothing is wrong, and fail
//! where something is.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::fakes::{fakes, inject};

/// Packs the files for the machine with the GPU from this build. `None`, with a message, if a tool is missing.
fn packed(folder: &Path) -> Option<PathBuf> {
    fakes()?;
    for tool in ["bash", "python3", "strip"] {
        if Command::new(tool).arg("--version").output().is_err() {
            eprintln!("skipped: there is no {tool}");
            return None;
        }
    }
    let built = Path::new(env!("CARGO_BIN_EXE_trueno-record")).parent()?;
    let folder = folder.join("packed");
    let done = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../acceptance/pack"))
        .arg(&folder)
        .env("TRUENO_BUILT", built)
        .env_remove("CUPTI_LIBRARIES")
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    Some(folder)
}

/// Runs the packed script with a CUPTI that misbehaves in this way. Returns its output and table.
fn accepted(packed: &Path, misbehaves: &str, results: &Path) -> (Output, String) {
    let all = fakes().unwrap();
    let libraries = [all.join("driver_api"), all.join("new")];
    let done = Command::new(packed.join("gpu-acceptance.sh"))
        .env("OUT", results)
        .env("LD_LIBRARY_PATH", std::env::join_paths(libraries).unwrap())
        .env("TRUENO_INJECT", inject())
        .env("TRUENO_ACCEPTANCE_LAUNCHES", "2000")
        .env("TRUENO_ACCEPTANCE_TIMINGS", "figures")
        .env("GPU_SECONDS", "3000")
        .env("FAKE_CUPTI", misbehaves)
        .env_remove("TRUENO_CUPTI")
        .output()
        .unwrap();
    let table = std::fs::read_to_string(results.join("table.txt")).unwrap_or_default();
    (done, table)
}

#[test]
fn the_acceptance_passes_on_what_is_whole_and_fails_on_what_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let Some(packed) = packed(folder.path()) else {
        return;
    };
    let results = folder.path().join("whole");
    let (done, table) = accepted(&packed, "", &results);
    assert_eq!(done.status.code(), Some(0), "{table}\n{done:?}");
    let passed = table.lines().filter(|line| line.contains(" pass ")).count();
    assert!(passed >= 20, "{table}");
    for file in [
        "facts.txt",
        "plain.run.tar.gz",
        "raw.spool.gz",
        "logs.tar.gz",
    ] {
        assert!(results.join(file).is_file(), "{file}\n{table}");
    }
    let (done, table) = accepted(&packed, "drop", &folder.path().join("dropped"));
    assert_eq!(done.status.code(), Some(1), "{table}");
    let line = table
        .lines()
        .find(|line| line.contains("plain: 1000 kernels"));
    assert!(line.is_some_and(|line| line.contains(" FAIL ")), "{table}");
}

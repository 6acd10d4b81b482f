//! The script of checks that need a GPU, tried on a fake one: that it runs, passes where nothing is wrong, and
//! fails where something is. What it says of real devices only they can tell.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::fakes::{fakes, inject};

/// The examples of `recorder/cuda`, where they were built beside these tests, as with the whole workspace they are, and
/// not before their sources changed.
fn examples() -> Option<PathBuf> {
    let command = Path::new(env!("CARGO_BIN_EXE_trueno-record"));
    let folder = command.parent()?.join("examples");
    let changed = |path: &Path| path.metadata().and_then(|of| of.modified()).ok();
    let built = changed(&folder.join("two_streams"))?;
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cuda");
    for part in ["src", "examples"] {
        for file in sources.join(part).read_dir().ok()? {
            if changed(&file.ok()?.path())? > built {
                return None;
            }
        }
    }
    Some(folder)
}

fn script(misbehaves: &str, folder: &Path) -> Option<Output> {
    let fakes = fakes()?;
    for tool in ["bash", "python3"] {
        if Command::new(tool).arg("--version").output().is_err() {
            eprintln!("skipped: there is no {tool}");
            return None;
        }
    }
    let libraries = [fakes.join("driver_api"), fakes.join("new")];
    let done = Command::new("bash")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../cuda-acceptance.sh"))
        .arg(folder)
        .env("LD_LIBRARY_PATH", std::env::join_paths(libraries).unwrap())
        .env("TRUENO_RECORD", env!("CARGO_BIN_EXE_trueno-record"))
        .env("TRUENO_INJECT", inject())
        .env("TRUENO_ACCEPTANCE_LAUNCHES", "2000")
        .env("TRUENO_ACCEPTANCE_TIMINGS", "figures")
        .envs(examples().map(|folder| ("TRUENO_CUDA_EXAMPLES", folder)))
        .env("FAKE_CUPTI", misbehaves)
        .env_remove("TRUENO_ANALYZE")
        .output()
        .unwrap();
    Some(done)
}

#[test]
fn the_acceptance_script_passes_on_what_is_whole_and_fails_on_what_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let Some(done) = script("", folder.path()) else {
        return;
    };
    let said = String::from_utf8(done.stdout).unwrap();
    assert_eq!(done.status.code(), Some(0), "{said}");
    assert!(
        said.lines().filter(|line| line.contains(" pass ")).count() >= 12,
        "{said}"
    );
    assert!(
        said.contains("TRUENO_ANALYZE is not set"),
        "what was skipped says why"
    );
    if examples().is_some() {
        assert!(
            said.contains("in-process: as many kernels as launches      pass"),
            "{said}"
        );
        let modes = said.lines().filter(|line| line.starts_with("sync modes: "));
        assert_eq!(modes.count(), 5, "{said}");
    }
    let done = script("drop", folder.path()).unwrap();
    let said = String::from_utf8(done.stdout).unwrap();
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(
        said.contains("plain: as many kernels as launches           FAIL"),
        "{said}"
    );
}

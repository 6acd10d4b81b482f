//! The examples, on the fake driver.

use std::path::PathBuf;
use std::process::{Command, Output};

use crate::fake;
use trueno_testing::{folder, run_json, table};

pub fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap().parent().unwrap();
    let path = folder.join("examples").join(name);
    assert!(path.is_file(), "{} was not built", path.display());
    path
}

fn run(name: &str, arguments: &[&std::ffi::OsStr]) -> Option<Output> {
    let drivers = fake::drivers()?;
    let done = Command::new(example(name))
        .args(arguments)
        .env("LD_LIBRARY_PATH", drivers.join("new"))
        .env_remove("CUDA_INJECTION64_PATH")
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    Some(done)
}

#[test]
fn two_streams_has_its_one_dependency_and_every_launch() {
    let (_folder, path) = folder();
    let Some(done) = run("two_streams", &[path.as_os_str(), "50".as_ref()]) else {
        return;
    };
    let printed = String::from_utf8(done.stdout).unwrap();
    let stated = |word: &str| -> i128 {
        let line = printed.lines().find(|line| line.starts_with(word));
        line.unwrap()
            .split_whitespace()
            .last()
            .unwrap()
            .parse()
            .unwrap()
    };
    let kernels = table(&path, "kernels");
    assert_eq!(kernels.rows as i128, stated("launches"));
    let edges = table(&path, "edges");
    let depends: Vec<(Option<i128>, Option<i128>)> = (0..edges.rows)
        .filter(|row| edges.texts("kind")[*row] == Some("depends_on"))
        .map(|row| (edges.number("from", row), edges.number("to", row)))
        .collect();
    assert_eq!(
        depends,
        [(Some(stated("producer")), Some(stated("consumer")))]
    );
    assert_eq!(run_json(&path).dropped, 0);
}

#[test]
fn sync_modes_prints_a_row_for_each() {
    let (folder, _) = folder();
    let arguments = [
        folder.path().as_os_str(),
        "2".as_ref(),
        "3".as_ref(),
        "20".as_ref(),
    ];
    let Some(done) = run("sync_modes", &arguments) else {
        return;
    };
    let printed = String::from_utf8(done.stdout).unwrap();
    let names: Vec<&str> = printed
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(
        names,
        [
            "mode",
            "not_recorded",
            "none",
            "deferred",
            "per_layer",
            "immediate"
        ]
    );
}

//! Packages of the workspace, from `cargo metadata` and `cargo tree`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

#[derive(Debug)]
pub struct Package {
    pub name: String,
    /// Normal dependencies, with any features.
    pub dependencies: BTreeSet<String>,
    /// Root files of its libraries and programs, without tests, benches and examples.
    pub roots: Vec<PathBuf>,
}

pub fn packages() -> Vec<Package> {
    let arguments = [
        "metadata",
        "--format-version",
        "1",
        "--no-deps",
        "--offline",
    ];
    let metadata: Value = serde_json::from_str(&cargo(&arguments)).expect("cargo metadata is JSON");
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    list(&metadata["packages"])
        .iter()
        .map(|package| Package {
            name: text(&package["name"]),
            dependencies: list(&package["dependencies"])
                .iter()
                .filter(|dependency| dependency["kind"].is_null())
                .map(|dependency| text(&dependency["name"]))
                .collect(),
            roots: list(&package["targets"])
                .iter()
                .filter(|target| {
                    list(&target["kind"]).iter().any(|kind| {
                        matches!(kind.as_str(), Some("lib" | "cdylib" | "rlib" | "bin"))
                    })
                })
                .map(|target| PathBuf::from(text(&target["src_path"])))
                .collect(),
        })
        .collect()
}

/// Names of all packages that a package links with default features, including itself.
pub fn tree(package: &str) -> BTreeSet<String> {
    let arguments = [
        "tree",
        "--offline",
        "-p",
        package,
        "-e",
        "normal",
        "--prefix",
        "none",
        "-f",
        "{p}",
    ];
    cargo(&arguments)
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(crate::root())
        .output()
        .expect("cargo runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {arguments:?}: {said}");
    String::from_utf8(output.stdout).expect("cargo prints UTF-8")
}

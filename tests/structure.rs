//! House rules that a reviewer would otherwise have to remember.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the analyzer lies in the workspace")
        .to_path_buf()
}

fn metadata() -> serde_json::Value {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
        ])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON")
}

/// Names of a package's dependencies of one kind (`null` in the metadata: normal).
fn dependencies(package: &serde_json::Value, kind: Option<&str>) -> BTreeSet<String> {
    package["dependencies"]
        .as_array()
        .expect("dependencies are a list")
        .iter()
        .filter(|d| d["kind"].as_str() == kind)
        .map(|d| d["name"].as_str().expect("a name").to_string())
        .collect()
}

#[test]
fn plugins_know_the_sdk_and_no_other_crate_of_ours() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages");
    let ours: BTreeSet<&str> = packages.iter().filter_map(|p| p["name"].as_str()).collect();
    let mut seen = 0;
    for package in packages {
        let name = package["name"].as_str().expect("a name");
        if !name.starts_with("trueno-plugin-") {
            continue;
        }
        seen += 1;
        let inside: Vec<String> = dependencies(package, None)
            .into_iter()
            .filter(|d| ours.contains(d.as_str()) && d != "trueno-plugin")
            .collect();
        assert!(inside.is_empty(), "{name} depends on {inside:?}");
    }
    assert!(seen >= 3, "only {seen} plugin packages found");
}

#[test]
fn the_light_crates_stay_light() {
    let metadata = metadata();
    for package in metadata["packages"].as_array().expect("packages") {
        let name = package["name"].as_str().expect("a name");
        let normal = dependencies(package, None);
        match name {
            "trueno-plugin" => assert_eq!(
                normal,
                BTreeSet::from(["serde".to_string(), "serde_json".to_string()]),
                "the SDK links serde only"
            ),
            "trueno-recorder" => {
                let heavy: Vec<_> = normal
                    .iter()
                    .filter(|d| d.starts_with("polars") || *d == "parquet" || *d == "trueno-plugin")
                    .collect();
                assert!(heavy.is_empty(), "the recorder links {heavy:?}");
            }
            _ => {}
        }
    }
}

#[test]
fn no_profile_aborts_on_panic() {
    // A plugin built so would take the whole report down: its shim could not catch anything.
    for manifest in manifests() {
        let text = std::fs::read_to_string(&manifest).expect("a manifest reads");
        let squeezed: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        assert!(
            !squeezed.contains("panic=\"abort\""),
            "{} asks for panic = \"abort\"",
            manifest.display()
        );
    }
}

#[test]
fn one_file_opens_libraries_and_one_folder_opens_runs() {
    let mut loaders = Vec::new();
    for file in rust_files(&root().join("analyzer/src")) {
        let text = std::fs::read_to_string(&file).expect("a source reads");
        if text.contains("libloading::") {
            loaders.push(file.strip_prefix(root()).expect("inside").to_path_buf());
        }
    }
    assert_eq!(loaders, [Path::new("analyzer/src/plugin/load.rs")]);
}

#[test]
fn files_keep_to_one_subject() {
    // schema.rs is a table; everything else stays short enough to read in one sitting.
    for folder in ["analyzer", "recorder", "plugins", "tests"] {
        for file in rust_files(&root().join(folder)) {
            let lines = std::fs::read_to_string(&file)
                .expect("a source reads")
                .lines()
                .count();
            assert!(lines <= 700, "{} has {lines} lines", file.display());
        }
    }
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    walk(folder)
        .into_iter()
        .filter(|p| p.extension().is_some_and(|e| e == "rs"))
        .collect()
}

fn manifests() -> Vec<PathBuf> {
    let mut found = vec![root().join("Cargo.toml")];
    for folder in ["analyzer", "recorder", "plugins", "tests"] {
        found.extend(
            walk(&root().join(folder))
                .into_iter()
                .filter(|p| p.file_name().is_some_and(|n| n == "Cargo.toml")),
        );
    }
    found
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            if path.is_dir() {
                if path.file_name().is_none_or(|n| n != "target") {
                    open.push(path);
                }
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

//! Files that users of a released version keep do the same today: golden files, project files, rules, plugins in Python.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{Dir, copy, datasets, section};
use crate::python_plugins::has_python;

/// Folders of all versions, oldest first.
fn releases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/released");
    let entries = fs::read_dir(folder).expect("the folder of releases");
    let entries = entries.map(|entry| entry.expect("an entry").path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    assert!(!folders.is_empty());
    folders
}

fn recording(name: &str) -> String {
    let run = datasets().join("divergence").join(name);
    run.to_str().expect("a path in UTF-8").to_owned()
}

#[test]
fn assertions_against_a_golden_file_have_the_same_outcomes() {
    for release in releases() {
        let dir = Dir::new();
        copy(&release, &dir.join("."));
        let expected: BTreeMap<String, BTreeMap<String, String>> =
            serde_json::from_str(&dir.read("outcomes.json")).expect("outcomes");
        for (run, expected) in expected {
            let args = [
                "check",
                &recording(&run),
                "--assert=trueno.toml",
                "--golden=base.golden.json",
                "--json",
            ];
            let fails = expected.values().any(|status| status == "failed");
            let code = if fails { 1 } else { 3 };
            let check = dir.command(&args).exits(code).json();
            let assertions = check["assertions"].as_array().expect("a list");
            let text = |value: &Value| value.as_str().expect("a text").to_owned();
            let found: BTreeMap<String, String> = assertions
                .iter()
                .map(|assertion| (text(&assertion["name"]), text(&assertion["status"])))
                .collect();
            assert_eq!(found, expected, "{} of {}", run, release.display());
        }
    }
}

#[test]
fn golden_files_can_be_compared_and_shown() {
    for release in releases() {
        let dir = Dir::new();
        let golden = release.join("base.golden.json");
        let golden = golden.to_str().expect("a path in UTF-8");
        let shown = dir.command(&["golden", "show", golden]).exits(0);
        shown.stdout_has("QkvProjection");
        let compare = ["compare", golden, &recording("planted.run")];
        dir.command(&compare).exits(0).stdout_has("DownProjection");
    }
}

#[test]
fn flags_options_rules_and_the_plugin_of_a_project_file_apply() {
    for release in releases() {
        let dir = Dir::new();
        copy(&release, &dir.join("."));
        let with_python = has_python();
        if !with_python {
            let project = dir.read("trueno.toml");
            let lines = project.lines().filter(|line| !line.contains(".py"));
            let without: Vec<&str> = lines.collect();
            fs::write(dir.join("trueno.toml"), without.join("\n")).expect("written");
        }
        let ids = if with_python {
            "roofline,drift"
        } else {
            "roofline"
        };
        let args = [
            "report",
            &recording("base.run"),
            "--project=trueno.toml",
            "--plugin-id",
            ids,
            "--json=-",
        ];
        let done = dir.command(&args).exits(0);
        let done = done.stderr_has("categories.toml").stderr_has("--top=3");
        let report = done.json();
        let roofline = section(&report, "roofline");
        assert_eq!(roofline["status"], "ok", "{}", release.display());
        assert!(roofline.to_string().contains("\"l3\""), "{roofline:#}");
        if with_python {
            assert_eq!(section(&report, "drift")["status"], "ok");
        }
    }
}

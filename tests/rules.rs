//! `plugins check`: which rules a plugin breaks, and what to mend. And the options of plugins.
#![cfg(target_os = "linux")]

use std::path::Path;

use serde_json::Value;

use crate::harness::{Dir, built_library, hostile_plugin, standard_plugins};
use crate::hostile::compile_hostile;

fn verdict<'a>(json: &'a Value, rule: &str) -> (&'a str, &'a str) {
    let rules = json["rules"].as_array().unwrap();
    let found = rules.iter().find(|checked| checked["rule"] == rule);
    let found = found.unwrap_or_else(|| panic!("no rule {rule} in {json:#}"));
    (
        found["verdict"].as_str().unwrap(),
        found["seen"].as_str().unwrap(),
    )
}

fn check(dir: &Dir, library: &Path, code: i32) -> Value {
    let args = [
        "plugins",
        "check",
        library.to_str().unwrap(),
        "--format",
        "json",
    ];
    dir.command(&[&args[..], &["--no-default-plugins"]].concat())
        .exits(code)
        .json()
}

#[test]
fn each_broken_rule_is_named() {
    let dir = Dir::new();
    let Some(careless) = compile_hostile("careless.c", &dir.folder("libraries"), "careless") else {
        return;
    };
    let json = check(&dir, &careless, 1);
    for (rule, expected, words) in [
        ("loads", "kept", ""),
        ("named", "kept", "careless 1.0.0"),
        ("options", "advice", "not refused"),
        ("inputs", "kept", "1 query"),
        ("runs", "kept", ""),
        ("prints_nothing", "broken", "careless was here"),
        ("gives", "kept", "1 table, "),
        ("columns", "broken", "seen.busy_share is a ratio"),
        ("numbers", "broken", "seen.speed (1)"),
        ("same_twice", "broken", "column process"),
        ("row_order", "not_tried", ""),
        ("over_ranks", "not_tried", ""),
        (
            "odd_inputs",
            "broken",
            "no rows: it crashed: its process was ended by SIGSEGV",
        ),
    ] {
        let (verdict, seen) = verdict(&json, rule);
        assert_eq!(verdict, expected, "{rule}: {seen}");
        assert!(
            seen.contains(words),
            "{rule}: {seen:?} does not say {words:?}"
        );
    }
    assert_eq!(json["to_mend"], 5);
    let path = careless.to_str().unwrap();
    dir.command(&["plugins", "check", path, "--no-default-plugins"])
        .exits(1)
        .stdout_has("MEND       same_twice")
        .stdout_has("mend: no order of a HashMap")
        .stdout_has("13 rules: 5 kept, 5 to mend, 1 with advice, 2 not tried");
    let Some(ordered) = compile_hostile("unordered.c", &dir.folder("libraries"), "unordered")
    else {
        return;
    };
    let json = check(&dir, &ordered, 1);
    let (row_order, seen) = verdict(&json, "row_order");
    assert_eq!(row_order, "broken");
    assert!(
        seen.contains("rows of bricks in another order") && seen.contains("column last_ns"),
        "{seen}"
    );
    assert_eq!(json["to_mend"], 1);
}

#[test]
fn the_template_keeps_all_rules() {
    let dir = Dir::new();
    let library = built_library("template_plugin");
    let json = check(&dir, &library, 0);
    assert_eq!(json["to_mend"], 0, "{json:#}");
    assert_eq!(verdict(&json, "options"), ("kept", "it takes min_share"));
    let (_, seen) = verdict(&json, "odd_inputs");
    assert!(
        seen.contains("extreme numbers: refused") && seen.contains("odd texts: fine"),
        "{seen}"
    );
}

#[test]
fn standard_plugins_keep_the_rules_about_columns_and_have_nothing_to_mend() {
    let dir = Dir::new();
    let folder = standard_plugins(&dir);
    for entry in std::fs::read_dir(folder).expect("plugins") {
        let library = entry.expect("a file").path();
        let json = check(&dir, &library, 0);
        let (columns, seen) = verdict(&json, "columns");
        // Some have no table without those of others.
        let is_kept = matches!(columns, "kept" | "not_tried");
        assert!(is_kept && json["to_mend"] == 0, "{seen}\n{json:#}");
    }
}

#[test]
fn what_cannot_be_tried_is_told_so() {
    let dir = Dir::new();
    let libraries = dir.folder("libraries");
    let Some(unknown) = compile_hostile("unknown_column.c", &libraries, "unknown_column") else {
        return;
    };
    let json = check(&dir, &unknown, 1);
    let (inputs, seen) = verdict(&json, "inputs");
    assert_eq!(inputs, "broken");
    assert!(seen.contains("unknown column"), "{seen}");
    assert_eq!(verdict(&json, "runs").0, "not_tried");
    if let Some(needs) = compile_hostile("unknown_plugin.c", &libraries, "unknown_plugin") {
        let json = check(&dir, &needs, 0);
        assert_eq!(verdict(&json, "inputs").0, "not_tried");
    }
    for (file, words) in [
        ("/no/such.so", "/no/such.so"),
        ("Cargo.toml", "cannot be opened"),
    ] {
        std::fs::write(dir.join("Cargo.toml"), "[package]").unwrap();
        dir.command(&["plugins", "check", file])
            .exits(2)
            .stderr_has(words);
    }
    let run = dir.join("no.run");
    let library = hostile_plugin();
    let args = [
        "plugins",
        "check",
        library.to_str().unwrap(),
        run.to_str().unwrap(),
    ];
    dir.command(&args).exits(2).stderr_has("no.run");
}

#[test]
fn an_unknown_option_is_an_error_that_names_the_known_ones() {
    let dir = Dir::new();
    let run = dir.run();
    dir.report(&run, &["--set", "throughput.no_such=1"])
        .exits(2)
        .stderr_has(
            "throughput.no_such: the plugin throughput has no such option (hint: it takes ",
        );
    std::fs::write(dir.join("options.toml"), "[hostile]\nsinn = \"panic\"\n").unwrap();
    let plugin = hostile_plugin();
    let args = [
        "--plugin",
        plugin.to_str().unwrap(),
        "--options",
        "options.toml",
    ];
    dir.report(&run, &args)
        .exits(2)
        .stderr_has("hostile.sinn: the plugin hostile has no such option (hint: it takes sin)");
    std::fs::write(dir.join("options.toml"), "[hostile]\nsin = \"panic\"\n").unwrap();
    dir.report(&run, &args)
        .exits(1)
        .stderr_has("hostile: panicked");
    // What is typed goes before what is in a file.
    let set = ["--set", "hostile.sin=no_output", "--fail-on", "error"];
    dir.report(&run, &[&args[..], &set].concat()).exits(0);
}

#[test]
fn the_long_list_tells_all() {
    let dir = Dir::new();
    let plugins = standard_plugins(&dir);
    let args = [
        "plugins",
        "list",
        "-v",
        "--no-default-plugins",
        "--plugin-dir",
        plugins.to_str().unwrap(),
    ];
    dir.command(&args)
        .exits(0)
        .stdout_has("found by --plugin-dir, runs in a process of its own")
        .stdout_has("  options: ")
        .stdout_has("  reads ")
        .stdout_has("  gives by_category (lane_kind text, ");
    let rows = dir
        .command(&[&args[..], &["--json", "--no-isolate"]].concat())
        .exits(0)
        .json();
    let category = rows
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["id"] == "category")
        .unwrap();
    assert_eq!(category["runs"], "in the analyzer's process");
    assert_eq!(category["tables"][0]["columns"][0]["type"], "text");
}

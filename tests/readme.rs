//! The first program of README.md: it does what the page promises, also the second time.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{Dir, copy, datasets, section};

/// If set, the test binary acts as the first program of the README.
const ROLE: &str = "TRUENO_TEST_FIRST_PROGRAM";

mod first_program {
    include!("readme/first_program.rs");

    pub fn run() -> Result<(), Error> {
        main()
    }
}

/// The child program. Without [`ROLE`] it does nothing.
#[test]
fn first_program_runs() {
    if std::env::var_os(ROLE).is_some() {
        first_program::run().unwrap();
    }
}

#[test]
fn the_pages_show_the_program_that_is_tested() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let program = include_str!("readme/first_program.rs");
    for name in ["README.md", "docs/recording.md"] {
        let page = std::fs::read_to_string(root.join(name)).unwrap();
        let (_, behind) = page
            .split_once("## Record your own program")
            .expect("the heading");
        let (_, behind) = behind.split_once("```rust\n").expect("a block of code");
        let (shown, _) = behind.split_once("```").expect("its end");
        assert_eq!(shown, program, "{name} and tests/readme/first_program.rs");
    }
}

#[test]
fn the_first_program_has_a_roofline_and_no_warning() {
    let dir = Dir::new();
    for _ in 0..2 {
        let done = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "readme::first_program_runs"])
            .env(ROLE, "yes")
            .current_dir(dir.join(""))
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
    }
    let report = dir
        .command(&["report", "my.run", "--json", "-"])
        .exits(0)
        .json();
    let points = section(&report, "roofline")["tables"].clone();
    let points = points.as_array().unwrap().iter();
    let mut points = points.filter(|table| table["name"] == "points");
    let rows = points.next().expect("a table")["rows"].to_string();
    assert!(rows.contains("gemv_f32"), "{rows}");

    // How evenly the iterations ran is a matter of what else the machine does.
    let sections = report["sections"].as_array().unwrap().iter();
    let findings = sections
        .filter(|section| section["plugin"] != "throughput")
        .filter_map(|section| section["findings"].as_array());
    let warnings: Vec<&Value> = findings
        .flatten()
        .filter(|finding| finding["severity"] != "info")
        .collect();
    assert!(warnings.is_empty(), "{warnings:#?}");

    // The checksum lies in the layer, and in the time of no brick.
    let sql = "SELECT DISTINCT b.kind FROM checksums c JOIN bricks b ON c.span = b.id";
    let kinds = dir.command(&["query", "my.run", sql, "--format", "json"]);
    assert_eq!(kinds.exits(0).json(), json!([{"kind": "layer"}]));
}

/// Splits a command as the page shows it. A quoted text is one word.
fn words(command: &str) -> Vec<&str> {
    let parts = command.split('"').enumerate();
    let words = parts.flat_map(|(at, part)| match at % 2 {
        0 => part.split_whitespace().collect(),
        _ => vec![part],
    });
    words.skip(1).collect()
}

#[test]
fn the_tutorial_shows_what_its_commands_print() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let page = std::fs::read_to_string(root.join("docs/first-steps.md")).unwrap();
    let dir = Dir::new();
    copy(&datasets().join("decode"), &dir.join("datasets/decode"));
    let (_, toml) = page.split_once("```toml\n").expect("a project file");
    let (toml, _) = toml.split_once("```").expect("its end");
    std::fs::write(dir.join("trueno.toml"), toml).unwrap();
    let (mut printed, mut commands) = (String::new(), 0);
    for (at, part) in page.split("```").enumerate() {
        if at % 2 == 0 {
            let lines = part.lines();
            for command in lines.filter_map(|line| line.strip_prefix("    trueno-analyze ")) {
                let all = format!("trueno-analyze {command}");
                let code = i32::from(command.starts_with("check"));
                printed += &dir.command(&words(&all)).exits(code).stdout;
                commands += 1;
            }
        } else if !part.starts_with("toml") {
            for line in part.lines() {
                assert!(
                    printed.contains(line),
                    "no command prints: {line}\n{printed}"
                );
            }
        }
    }
    assert_eq!(commands, 7);
}

//! The first program of README.md: it does what the page promises, also the second time.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{Dir, section};

/// Tells the test binary to be that program.
const ROLE: &str = "TRUENO_TEST_FIRST_PROGRAM";

mod first_program {
    include!("readme/first_program.rs");

    pub fn run() -> Result<(), Error> {
        main()
    }
}

/// The program; alone it has nothing to do.
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

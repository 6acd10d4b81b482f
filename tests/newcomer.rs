//! The way of a newcomer, as `plugins/README.md` describes it: from nothing to one's own
//! table in the report. The example is taken from that page, so the page is tested.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::harness::{Dir, section};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_path_buf()
}

/// The first code block in this language after a heading of `plugins/README.md`.
fn example(heading: &str, language: &str) -> String {
    let page = std::fs::read_to_string(root().join("plugins/README.md")).unwrap();
    let (_, behind) = page.split_once(heading).expect("the heading is there");
    let (_, behind) = behind
        .split_once(&format!("```{language}\n"))
        .expect("a block of code");
    behind.split_once("```").expect("its end").0.to_owned()
}

/// Runs a step of the tutorial and prints how long it took.
#[track_caller]
fn step(what: &str, command: &mut Command) {
    let from = Instant::now();
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(
        output.status.success(),
        "{what}\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    println!("{:>5.1} s  {what}", from.elapsed().as_secs_f64());
}

fn cargo(crate_dir: &Path, what: &str) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command
        .current_dir(crate_dir)
        .args([what, "--offline"])
        // Kept between runs of the test, and apart from the build that runs it.
        .env(
            "CARGO_TARGET_DIR",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("newcomer"),
        )
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    command
}

fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        println!("left out: no {program}");
    }
    found
}

/// Asserts that the newcomer's table is in the report, in JSON and on the page.
#[track_caller]
fn shows(dir: &Dir, run: &Path, library: &Path, id: &str, columns: &[&str]) {
    let from = Instant::now();
    let library = library.to_str().unwrap();
    let args = ["--plugin", library, "--plugin-id", id];
    let json = dir.report(run, &[&args[..], &["--isolate", "--json", "-"]].concat());
    let json = json.exits(0).json();
    let found = section(&json, id);
    assert_eq!(found["status"], "ok", "{found:#}");
    let table = &found["tables"][0];
    assert_eq!(table["name"], "by_name");
    let names: Vec<&str> = table["columns"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|column| column["name"].as_str())
        .collect();
    assert_eq!(names, columns);
    let rows = table["rows"].as_array().unwrap();
    assert!(!rows.is_empty());
    // The page: the table under its name, with the first row as people read it and as data.
    dir.report(run, &[&args[..], &["--html", "own.html", "-q"]].concat())
        .exits(0);
    let page = dir.read("own.html");
    let begin = format!("id=\"t-{id}-by_name\"");
    let (_, behind) = page.split_once(&begin).expect("the table is on the page");
    let (shown, _) = behind.split_once("</details>").expect("its end");
    assert!(shown.contains("<th scope=\"col\">name</th>"), "{shown}");
    let name = rows[0][0].as_str().expect("a name");
    assert!(
        shown.contains(&format!("<td>{name}</td>")),
        "{name}: {shown}"
    );
    let (_, data) = page.split_once("id=\"data\">").expect("a block of data");
    let (data, _) = data.split_once("</script>").expect("its end");
    let data: serde_json::Value = serde_json::from_str(data).expect("JSON");
    let mut tables = data["tables"].as_array().unwrap().iter();
    let held = tables
        .find(|table| table["id"] == format!("t-{id}-by_name"))
        .expect("the table's data");
    // Columns of one value stand beside the table, not in it.
    for column in held["columns"].as_array().unwrap() {
        let at = columns.iter().position(|name| column["n"] == *name);
        let expected = &rows[0][at.expect("a column of the table")];
        let value = &column["c"][0];
        if column["k"] == "t" {
            assert_eq!(data["texts"][value.as_u64().unwrap() as usize], *expected)
        } else {
            assert_eq!(value, expected, "{column}")
        }
    }
    dir.report(run, &args)
        .exits(0)
        .stdout_has(id)
        .stdout_has("RmsNorm");
    dir.command(&[
        "plugins",
        "check",
        library,
        run.to_str().unwrap(),
        "--no-default-plugins",
    ])
    .exits(0)
    .stdout_has(&format!("{id} 0.1.0"));
    println!(
        "{:>5.1} s  report, report --json, plugins check",
        from.elapsed().as_secs_f64()
    );
}

#[test]
fn in_rust() {
    let dir = Dir::new();
    let run = dir.run();
    let mut new = dir.command(&["plugins", "new", "drift"]).command;
    // The SDK is found above the program; where the build lies elsewhere, it is named.
    new.args(["--sdk", root().to_str().unwrap()]);
    step("trueno-analyze plugins new drift", &mut new);
    let made = dir.join("drift");
    // The versions that this workspace has are on this machine.
    std::fs::copy(root().join("Cargo.lock"), made.join("Cargo.lock")).unwrap();
    step("cargo test, as it was made", &mut cargo(&made, "test"));
    std::fs::write(
        made.join("src/lib.rs"),
        example("## A worked example", "rust"),
    )
    .unwrap();
    step(
        "cargo build, with the example in it",
        &mut cargo(&made, "build"),
    );
    let library =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("newcomer/debug/libtrueno_plugin_drift.so");
    let columns = [
        "name",
        "calls",
        "first_half_ns",
        "second_half_ns",
        "drift_share",
    ];
    shows(&dir, &run, &library, "drift", &columns);
}

#[test]
fn in_c() {
    if !has("cc") || !has("make") {
        return;
    }
    let dir = Dir::new();
    let run = dir.run();
    step(
        "trueno-analyze plugins new in_c --lang c",
        &mut dir
            .command(&["plugins", "new", "in_c", "--lang", "c"])
            .command,
    );
    let made = dir.join("in_c");
    let mut make = Command::new("make");
    step(
        "make",
        make.current_dir(&made)
            .env("CFLAGS", "-O1 -Wall -Wextra -Werror"),
    );
    let library = made.join("libtrueno_plugin_in_c.so");
    shows(
        &dir,
        &run,
        &library,
        "in_c",
        &["name", "total_ns", "brick_share"],
    );
}

#[test]
fn what_cannot_be_made_is_told() {
    let dir = Dir::new();
    dir.command(&["plugins", "new", "My-Plugin"])
        .exits(2)
        .stderr_has("is not a plugin name")
        .stderr_has("such as my_plugin");
    dir.folder("mine");
    dir.command(&["plugins", "new", "mine"])
        .exits(2)
        .stderr_has("mine: exists already");
    dir.command(&[
        "plugins", "new", "mine", "--dir", "a/b", "--sdk", "/no/such",
    ])
    .exits(2)
    .stderr_has("--sdk /no/such");
    assert!(!dir.join("a").exists(), "nothing was made");
    dir.command(&["plugins", "new", "mine", "--dir", "a/b"])
        .exits(0)
        .stdout_has("a/b");
    // The id is what a crate and its library are called by, wherever they lie.
    assert!(
        dir.read("a/b/Cargo.toml")
            .contains("name = \"trueno_plugin_mine\"")
    );
}

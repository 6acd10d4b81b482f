//! The program by itself, wherever it lies: its plugins, manual pages, completions and version.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::harness::{Dir, STANDARD, built_library, install};

/// Only the program in a folder, as `cargo install` puts it.
fn installed(dir: &Dir) -> PathBuf {
    let to = dir.folder("bin").join("trueno-analyze");
    let built = Path::new(env!("CARGO_BIN_EXE_trueno-analyze"));
    // The folder of a test may lie on another disk.
    if std::fs::hard_link(built, &to).is_err() {
        std::fs::copy(built, &to).expect("the program is copied");
    }
    to
}

fn run(dir: &Dir, program: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.current_dir(dir.path()).args(args);
    command
        .env_remove("TRUENO_PLUGIN_PATH")
        .env("XDG_CACHE_HOME", dir.join("cache"));
    command.output().expect("the program starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("output is UTF-8")
}

#[test]
fn a_program_alone_has_the_standard_plugins_also_isolated() {
    let dir = Dir::new();
    let (program, of) = (installed(&dir), dir.run());
    let of = of.to_str().unwrap();
    let listed = run(&dir, &program, &["plugins", "list", "--format", "json"]);
    let rows: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    let ids: Vec<&str> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["id"].as_str().unwrap())
        .collect();
    for id in STANDARD.iter() {
        assert_eq!(
            ids.iter().filter(|other| *other == id).count(),
            1,
            "{id} in {ids:?}"
        );
    }
    assert!(
        rows.as_array()
            .unwrap()
            .iter()
            .all(|row| row["status"] == "ok"),
        "{rows:#}"
    );
    let report = |more: &[&str]| {
        let done = run(
            &dir,
            &program,
            &[&["report", of, "--json", "-"], more].concat(),
        );
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        done.stdout
    };
    let linked = report(&[]);
    assert_eq!(
        linked,
        report(&["--isolate"]),
        "isolated plugins give something else"
    );
    // The same code as libraries gives the same bytes.
    let folder = crate::harness::standard_plugins(&dir);
    let of_libraries = report(&[
        "--no-default-plugins",
        "--no-isolate",
        "--plugin-dir",
        folder.to_str().unwrap(),
    ]);
    let sections = |bytes: &[u8]| {
        let report: serde_json::Value = serde_json::from_slice(bytes).unwrap();
        let all = report["sections"].as_array().unwrap().clone();
        all.into_iter()
            .filter(|section| section["plugin"] != "divergence")
            .collect::<Vec<_>>()
    };
    assert_eq!(sections(&linked), sections(&of_libraries));
}

#[test]
fn a_library_in_place_of_a_linked_plugin_is_said() {
    let dir = Dir::new();
    let (program, of) = (installed(&dir), dir.run());
    let name = "trueno_plugin_sanity";
    let library = install(&built_library(name), &dir.folder("mine"), name);
    let args = [
        "report",
        of.to_str().unwrap(),
        "--plugin",
        library.to_str().unwrap(),
        "--plugin-id",
        "sanity",
    ];
    let done = run(&dir, &program, &args);
    let said = text(&done.stderr);
    let library = library.canonicalize().unwrap();
    let words = format!(
        "{} is used instead of the plugin that ships with this program",
        library.display()
    );
    assert!(said.contains(&words), "{said}");
    let args = [
        "plugins",
        "list",
        "--format",
        "json",
        "--plugin",
        library.to_str().unwrap(),
    ];
    let listed = run(&dir, &program, &args);
    let rows: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    let of_sanity = rows
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["id"] == "sanity");
    let states: Vec<&str> = of_sanity
        .map(|row| row["status"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["ok", "shadowed"]);
}

#[test]
fn the_same_plugin_in_a_package_beside_the_program_shadows_nothing() {
    let dir = Dir::new();
    let program = installed(&dir);
    let name = "trueno_plugin_sanity";
    install(
        &built_library(name),
        &dir.folder("lib/trueno-analyze"),
        name,
    );
    let listed = run(&dir, &program, &["plugins", "list", "--format", "json"]);
    let rows: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    let of_sanity: Vec<_> = rows
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["id"] == "sanity")
        .collect();
    assert_eq!(of_sanity.len(), 1, "{of_sanity:?}");
    let file = of_sanity[0]["file"].as_str().unwrap();
    assert!(
        file.ends_with("lib/trueno-analyze/libtrueno_plugin_sanity.so"),
        "{file}"
    );
}

#[test]
fn without_default_plugins_the_linked_ones_are_left_out_too() {
    let dir = Dir::new();
    let program = installed(&dir);
    let done = run(&dir, &program, &["plugins", "list", "--no-default-plugins"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(
        text(&done.stderr).contains("no plugins found"),
        "{}",
        text(&done.stderr)
    );
    let done = run(&dir, &program, &["plugins", "new", "sanity"]);
    assert!(
        text(&done.stderr).contains("there is a plugin sanity already"),
        "{}",
        text(&done.stderr)
    );
}

#[test]
fn the_version_tells_what_it_reads_and_loads() {
    let dir = Dir::new();
    let long = dir.command(&["--version"]).exits(0).stdout;
    let lines: Vec<&str> = long.lines().collect();
    assert!(
        lines[0].starts_with(concat!("trueno-analyze ", env!("CARGO_PKG_VERSION"))),
        "{long}"
    );
    let (major, minor) = (
        trueno_format::schema::FORMAT_MAJOR,
        trueno_format::schema::FORMAT_MINOR,
    );
    assert_eq!(lines[1], format!("run format {major}.{minor}"));
    assert_eq!(
        lines[2],
        format!(
            "plugin ABI {}.{}",
            trueno_plugin::abi::MAJOR,
            trueno_plugin::abi::MINOR
        )
    );
    let short = dir.command(&["-V"]).exits(0).stdout;
    assert_eq!(
        short.trim_end(),
        concat!("trueno-analyze ", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn manual_pages_and_completions_are_of_this_command_line() {
    let dir = Dir::new();
    dir.command(&["man", "--output", "man1"]).exits(0);
    for (page, word) in [
        ("trueno-analyze.1", "Exit codes"),
        ("trueno-analyze-report.1", "\\-\\-what\\-if"),
        ("trueno-analyze-plugins-list.1", "\\-\\-no\\-isolate"),
    ] {
        assert!(
            dir.read(&format!("man1/{page}")).contains(word),
            "{page} has no {word}"
        );
    }
    assert!(
        !dir.join("man1/trueno-analyze-plugin-host.1").exists(),
        "it is for the program itself"
    );
    for shell in ["bash", "zsh", "fish"] {
        dir.command(&["completions", shell])
            .exits(0)
            .stdout_has("what-if");
    }
}

#[test]
fn a_query_gives_arrow_that_others_read() {
    use arrow_ipc::reader::StreamReader;
    let dir = Dir::new();
    let of = dir.run();
    let file = dir.join("rows.arrow");
    let sql = "SELECT name, dur_ns, NULL AS nothing FROM bricks";
    let args = ["query", of.to_str().unwrap(), sql, "--format"];
    dir.command(&[&args[..], &["arrow", "-o", "rows.arrow"]].concat())
        .exits(0);
    let reader = StreamReader::try_new(std::fs::File::open(file).unwrap(), None).unwrap();
    let types: Vec<String> = reader
        .schema()
        .fields()
        .iter()
        .map(|field| field.data_type().to_string())
        .collect();
    assert_eq!(types, ["LargeUtf8", "Int64", "Null"]);
    let rows: usize = reader.map(|batch| batch.unwrap().num_rows()).sum();
    let json = dir
        .command(&[&args[..], &["json"]].concat())
        .exits(0)
        .json();
    assert!(
        rows > 0 && rows == json.as_array().unwrap().len(),
        "{rows} rows"
    );
}

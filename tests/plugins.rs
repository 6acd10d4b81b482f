//! Search for plugins, and what is loaded of those found.

use serde_json::Value;

use crate::harness::{Dir, Done, built_library, install, standard_plugins};

fn list(dir: &Dir, args: &[&str]) -> Done {
    let mut all = vec!["plugins", "list", "--no-default-plugins"];
    all.extend(args);
    dir.command(&all).exits(0)
}

fn row<'a>(rows: &'a Value, status: &str, id: &str) -> &'a Value {
    let found = rows
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["status"] == status && row["id"] == id);
    found.unwrap_or_else(|| panic!("no {status} {id} in {rows:#}"))
}

#[test]
fn the_list_tells_id_version_summary_and_file() {
    let dir = Dir::new();
    let folder = standard_plugins(&dir);
    let folder = folder.to_str().unwrap();
    let text = list(&dir, &["--plugin-dir", folder]).stdout;
    for id in crate::harness::STANDARD.iter() {
        assert!(text.contains(&format!("{id} 0.1.0  ok\n")), "{text}");
    }
    assert!(text.contains(folder), "{text}");
    list(&dir, &["--plugin-dir", folder, "-v"])
        .stdout_has("  reads ")
        .stdout_has("searched ")
        .stdout_has("built with ");
    let rows = list(&dir, &["--plugin-dir", folder, "--json"]).json();
    assert!(
        row(&rows, "ok", "category")["inputs"][0]["sql"]
            .as_str()
            .unwrap()
            .contains("SELECT")
    );
}

#[test]
fn the_earlier_folder_wins_and_the_later_is_listed_as_shadowed() {
    let dir = Dir::new();
    let name = "trueno_plugin_sanity";
    let (one, two) = (dir.folder("one"), dir.folder("two"));
    let (first, second) = (
        install(&built_library(name), &one, name),
        install(&built_library(name), &two, name),
    );
    let dirs = [
        "--plugin-dir",
        one.to_str().unwrap(),
        "--plugin-dir",
        two.to_str().unwrap(),
        "--json",
    ];
    let rows = list(&dir, &dirs).json();
    assert_eq!(
        row(&rows, "ok", "sanity")["file"],
        first.canonicalize().unwrap().to_str().unwrap()
    );
    let shadowed = row(&rows, "shadowed", "sanity");
    assert_eq!(shadowed["file"], second.to_str().unwrap());
    assert_eq!(shadowed["why"], format!("by {}", first.display()));
}

#[test]
fn the_environment_names_folders_after_those_of_the_command_line() {
    let dir = Dir::new();
    let name = "trueno_plugin_sanity";
    let (one, two) = (dir.folder("one"), standard_plugins(&dir));
    let first = install(&built_library(name), &one, name);
    let args = [
        "plugins",
        "list",
        "--no-default-plugins",
        "--json",
        "--plugin-dir",
        one.to_str().unwrap(),
    ];
    let rows = dir
        .command(&args)
        .env("TRUENO_PLUGIN_PATH", &two)
        .exits(0)
        .json();
    assert_eq!(
        row(&rows, "ok", "sanity")["file"],
        first.canonicalize().unwrap().to_str().unwrap()
    );
    row(&rows, "shadowed", "sanity");
    row(&rows, "ok", "category");
}

#[test]
fn the_working_directory_is_never_searched() {
    let dir = Dir::new();
    let name = "trueno_plugin_sanity";
    install(&built_library(name), dir.path(), name);
    for variable in ["", ":", ".", "./"] {
        let args = ["plugins", "list", "--no-default-plugins"];
        dir.command(&args)
            .env("TRUENO_PLUGIN_PATH", variable)
            .exits(2)
            .stderr_has("no plugins found");
    }
}

#[test]
fn without_plugins_the_message_tells_where_it_looked_and_how_to_get_some() {
    let dir = Dir::new();
    let run = dir.run();
    let empty = dir.folder("empty");
    let args = [
        "report",
        run.to_str().unwrap(),
        "--no-default-plugins",
        "--plugin-dir",
        empty.to_str().unwrap(),
    ];
    dir.command(&args)
        .exits(2)
        .stderr_has("no plugins found")
        .stderr_has(empty.to_str().unwrap())
        .stderr_has("cargo build --workspace");
}

#[test]
fn a_named_file_may_have_any_name_but_must_be_a_plugin() {
    let dir = Dir::new();
    let library = built_library("template_plugin");
    let rows = list(&dir, &["--plugin", library.to_str().unwrap(), "--json"]).json();
    assert_eq!(rows.as_array().unwrap().len(), 1);
    assert_eq!(rows[0]["status"], "ok");
    let text = dir.join("text.so");
    std::fs::write(&text, "not a library").unwrap();
    let args = [
        "plugins",
        "list",
        "--no-default-plugins",
        "--plugin",
        text.to_str().unwrap(),
    ];
    dir.command(&args)
        .exits(2)
        .stderr_has("text.so: cannot be opened as a library");
    let args = [
        "plugins",
        "list",
        "--no-default-plugins",
        "--plugin",
        "/no/such/file.so",
    ];
    dir.command(&args).exits(2).stderr_has("/no/such/file.so");
}

#[test]
fn two_named_files_of_one_id_are_refused_by_name() {
    let dir = Dir::new();
    let name = "trueno_plugin_sanity";
    let (one, two) = (dir.folder("one"), dir.folder("two"));
    let (first, second) = (
        install(&built_library(name), &one, name),
        install(&built_library(name), &two, name),
    );
    let args = [
        "plugins",
        "list",
        "--no-default-plugins",
        "--plugin",
        first.to_str().unwrap(),
        "--plugin",
        second.to_str().unwrap(),
    ];
    dir.command(&args)
        .exits(2)
        .stderr_has("one/")
        .stderr_has("two/")
        .stderr_has("both provide the plugin sanity");
}

#[cfg(unix)]
#[test]
fn a_folder_everyone_can_write_is_refused_unless_allowed() {
    use std::os::unix::fs::PermissionsExt;
    let dir = Dir::new();
    let folder = standard_plugins(&dir);
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).unwrap();
    let args = [
        "plugins",
        "list",
        "--no-default-plugins",
        "--plugin-dir",
        folder.to_str().unwrap(),
    ];
    dir.command(&args)
        .exits(2)
        .stderr_has("can be written by everyone")
        .stderr_has("--allow-unsafe-plugins");
    list(
        &dir,
        &[
            "--plugin-dir",
            folder.to_str().unwrap(),
            "--allow-unsafe-plugins",
        ],
    )
    .stdout_has("sanity 0.1.0  ok");
    // From the environment it costs itself, and the report says so.
    let run = dir.run();
    let other = dir.folder("other");
    install(
        &built_library("trueno_plugin_sanity"),
        &other,
        "trueno_plugin_sanity",
    );
    let args = [
        "report",
        run.to_str().unwrap(),
        "--no-default-plugins",
        "--plugin-dir",
        other.to_str().unwrap(),
    ];
    dir.command(&args)
        .env("TRUENO_PLUGIN_PATH", &folder)
        .exits(0)
        .stderr_has("can be written by everyone");
    let args = [&["plugins", "list"], &args[2..]].concat();
    dir.command(&args)
        .env("TRUENO_PLUGIN_PATH", &folder)
        .exits(0)
        .stderr_has("can be written by everyone");
}

#[test]
fn an_unknown_plugin_in_only_skip_or_set_lists_the_known_ones() {
    let dir = Dir::new();
    let run = dir.run();
    for args in [
        ["--plugin-id", "sanity,ghost"],
        ["--skip", "ghost"],
        ["--set", "ghost.x=1"],
    ] {
        dir.report(&run, &args)
            .exits(2)
            .stderr_has("ghost")
            .stderr_has(
                "bottleneck, category, causality, collectives, counters, critical_path, device, lateness, memory, operators, roofline, samples, sanity, stragglers, summary, syscalls, throughput, tiles",
            );
    }
}

//! A plugin that misbehaves costs its own section, and says why.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::harness::{Dir, hostile_plugin, section};

/// `report` with the standard plugins and the hostile one, which commits `sin`.
fn commit(dir: &Dir, run: &Path, sin: &str, code: i32) -> Value {
    let plugin = hostile_plugin();
    let set = format!("hostile.sin={sin}");
    let args = [
        "--plugin",
        plugin.to_str().unwrap(),
        "--set",
        &set,
        "--json",
        "-",
        "--fail-on",
        "error",
    ];
    let json = dir.report(run, &args).exits(code).json();
    for other in crate::harness::STANDARD.iter() {
        assert_eq!(section(&json, other)["status"], "ok", "{other} after {sin}");
    }
    json
}

#[test]
fn a_sin_fails_its_own_section_and_is_named() {
    let dir = Dir::new();
    let run = dir.run();
    for (sin, words) in [
        ("panic", "panicked: deliberate panic"),
        ("panic_with_payload", "panicked"),
        ("panic_after_table", "deliberate panic after a table"),
        ("error", "deliberate failure"),
        ("error_not_utf8", "deliberate\0failure"),
        ("cancelled", "stopped early"),
        ("bad_lengths", "rows, its batch reaches to row"),
        ("negative_length", "length -1"),
        ("huge_offset", "offset 9223372036854775807"),
        ("bad_type", "Arrow type `i`"),
        ("not_utf8", "not UTF-8"),
        ("bad_offsets", "text offsets that are not in order"),
        ("duplicate_column", "two columns are named `x`"),
        ("failing_stream", "deliberate stream failure"),
        ("released_stream", "already released"),
        ("null_stream", "null pointer"),
        ("duplicate_table", "twice"),
        ("bad_table_name", "Bad Name; DROP"),
        ("table_name_not_utf8", "not UTF-8"),
        ("bad_finding", "a finding cannot be read"),
        ("ignore_refusal", "Arrow type `i`"),
        ("chart_of_nothing", "nowhere"),
    ] {
        let json = commit(&dir, &run, sin, 1);
        let hostile = section(&json, "hostile");
        assert_eq!(hostile["status"], "failed", "{sin}: {hostile:#}");
        let message = hostile["message"].as_str().unwrap();
        assert!(
            message.contains(words),
            "{sin}: {message:?} does not say {words:?}"
        );
    }
}

#[test]
fn what_looks_odd_but_is_allowed_goes_well() {
    let dir = Dir::new();
    let run = dir.run();
    for sin in ["no_output", "reserved", "input_released", "error_but_ok"] {
        let json = commit(&dir, &run, sin, 0);
        let hostile = section(&json, "hostile");
        assert_eq!(hostile["status"], "ok", "{sin}");
        assert_eq!(hostile.get("message"), None, "{sin}");
    }
}

#[test]
fn what_was_good_before_a_failure_is_kept() {
    let dir = Dir::new();
    let run = dir.run();
    let json = commit(&dir, &run, "panic_after_table", 1);
    assert_eq!(
        section(&json, "hostile")["tables"][0]["rows"],
        serde_json::json!([[1]])
    );
    let json = commit(&dir, &run, "duplicate_table", 1);
    let tables = section(&json, "hostile")["tables"].as_array().unwrap();
    assert_eq!(tables.len(), 1);
    assert_eq!(tables[0]["rows"], serde_json::json!([[1]]));
    let json = commit(&dir, &run, "ignore_refusal", 1);
    assert_eq!(section(&json, "hostile")["findings"][0]["code"], "after");
}

#[test]
fn a_failed_section_is_exit_code_1_and_alone_2_and_opens_the_report() {
    let dir = Dir::new();
    let run = dir.run();
    let plugin = hostile_plugin();
    let plugin = plugin.to_str().unwrap();
    let sin = ["--plugin", plugin, "--set", "hostile.sin=panic"];
    let page = dir
        .report(&run, &sin)
        .exits(1)
        .stderr_has("hostile: panicked")
        .stdout_has("failed:")
        .stdout;
    let head = page.lines().next().unwrap();
    assert!(head.starts_with("FAILED 1 of "), "{page}");
    for form in ["--html", "--markdown"] {
        let page = dir.report(&run, &[&sin[..], &[form, "-"]].concat());
        let page = page.exits(1).stdout;
        let (head, rest) = (page.find("sections failed, and"), page.find("panicked"));
        assert!(head.is_some() && head < rest, "{form}");
    }
    dir.report(&run, &[&sin[..], &["--fail-on", "error"]].concat())
        .exits(1);
    dir.report(&run, &[&sin[..], &["--plugin-id", "hostile"]].concat())
        .exits(2)
        .stdout_has("failed:");
}

#[test]
fn a_wrong_option_is_told_as_one() {
    let dir = Dir::new();
    let run = dir.run();
    let plugin = hostile_plugin();
    let plugin = plugin.to_str().unwrap();
    let args = ["--plugin", plugin, "--set", "hostile.sin=no_such_sin"];
    let done = dir
        .report(&run, &args)
        .exits(2)
        .stderr_has("hostile: an option is wrong: ")
        .stderr_has("no_such_sin");
    assert_eq!(done.stdout, "", "nothing is reported");
}

#[test]
fn what_it_reads_is_what_the_query_says() {
    let dir = Dir::new();
    let run = dir.run();
    let json = commit(&dir, &run, "null", 0);
    let seen = section(&json, "hostile")["tables"][0]["rows"]
        .as_array()
        .unwrap()
        .clone();
    let sql = "SELECT id, start_ns FROM bricks ORDER BY id";
    let rows = dir
        .command(&["query", run.to_str().unwrap(), sql, "--format", "json"])
        .exits(0)
        .json();
    let rows: Vec<Value> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| serde_json::json!([row["id"], row["start_ns"]]))
        .collect();
    assert_eq!(seen, rows);
}

fn folder(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .join(relative)
}

/// Compiles a C source as the plugin library with this id; `None` without a C compiler.
fn compile(source: &Path, include: &[&Path], into: &Path, id: &str) -> Option<PathBuf> {
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let file = into.join(format!(
        "{}trueno_plugin_{id}{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    ));
    let mut command = Command::new(compiler);
    command
        .args(["-std=c11", "-shared", "-fPIC", "-o"])
        .arg(&file)
        .arg(source);
    for dir in include {
        command.arg("-I").arg(dir);
    }
    match command.output() {
        Ok(output) => {
            assert!(
                output.status.success(),
                "{}:\n{}",
                source.display(),
                String::from_utf8_lossy(&output.stderr)
            );
            Some(file)
        }
        Err(_) => {
            println!("left out: no C compiler (cc, or the one that CC names)");
            None
        }
    }
}

pub fn compile_hostile(source: &str, into: &Path, id: &str) -> Option<PathBuf> {
    let include = folder("plugins/api/include");
    compile(
        &folder("tests/hostile/c").join(source),
        &[&include],
        into,
        id,
    )
}

#[test]
fn a_library_that_describes_itself_wrongly_is_refused_and_the_rest_goes_on() {
    let dir = Dir::new();
    let run = dir.run();
    for (source, id, words) in [
        ("bad_id.c", "bad_id", "does not fit [a-z][a-z0-9_]*"),
        ("id_not_utf8.c", "id_not_utf8", "its id is not UTF-8"),
        (
            "duplicate_id.c",
            "other",
            "its id is category, its file name says other",
        ),
        (
            "duplicate_input.c",
            "duplicate_input",
            "two inputs are named",
        ),
        (
            "missing_symbol.c",
            "missing_symbol",
            "it does not export trueno_plugin_v1",
        ),
        ("wrong_major.c", "wrong_major", "use a newer trueno-analyze"),
        (
            "null_descriptor.c",
            "null_descriptor",
            "the descriptor is a null pointer",
        ),
        ("null_input.c", "null_input", "input 1 is a null pointer"),
        ("null_inputs.c", "null_inputs", "3 inputs at a null pointer"),
        (
            "null_merge_inputs.c",
            "null_merge_inputs",
            "of its merging, it lists 2 inputs at a null pointer",
        ),
        ("null_run.c", "null_run", "its run function is null"),
        (
            "null_text.c",
            "null_text",
            "its summary is 18 bytes at a null pointer",
        ),
        (
            "part_without_merge.c",
            "part_without_merge",
            "it has part and no merge",
        ),
        (
            "merge_without_part.c",
            "merge_without_part",
            "it has merge and no part",
        ),
        ("short_input.c", "short_input", "version 1.0 has 40"),
        ("short_struct.c", "short_struct", "version 1.0 has 96"),
        (
            "unaligned_descriptor.c",
            "unaligned_descriptor",
            "is not aligned to 8 bytes",
        ),
    ] {
        let libraries = dir.folder(id);
        let Some(file) = compile_hostile(source, &libraries, id) else {
            return;
        };
        let done = dir
            .report(
                &run,
                &["--plugin-dir", libraries.to_str().unwrap(), "--json", "-"],
            )
            .exits(0)
            .stderr_has(words);
        let json = done.json();
        let problems = json["problems"].as_array().unwrap();
        let refused = problems
            .iter()
            .find(|problem| problem["code"] == "plugin_refused");
        let text = refused.unwrap_or_else(|| panic!("{source}: {json:#}"))["text"]
            .as_str()
            .unwrap();
        assert!(text.contains(words), "{source}: {text}");
        assert!(
            !text.contains(dir.path().to_str().unwrap()),
            "no paths in a report: {text}"
        );
        let sections = json["sections"].as_array().unwrap();
        assert_eq!(sections.len(), crate::harness::STANDARD.len(), "{source}");
        // Asked for by its file, it is an error.
        dir.report(&run, &["--plugin", file.to_str().unwrap()])
            .exits(2)
            .stderr_has(words);
    }
}

#[test]
fn a_query_that_cannot_be_answered_fails_or_skips_its_plugin() {
    let dir = Dir::new();
    let run = dir.run();
    for (id, status, words) in [
        ("bad_sql", "failed", "input "),
        ("unknown_column", "failed", "unknown column"),
        ("unknown_table", "failed", "unknown table"),
        ("unknown_plugin", "skipped", "there is no plugin"),
        ("unknown_status", "failed", "unknown status"),
        ("wrong_type", "failed", "it cannot use its input"),
        (
            "self_input",
            "failed",
            "in a cycle: self_input reads self_input",
        ),
    ] {
        let libraries = dir.folder(id);
        if compile_hostile(&format!("{id}.c"), &libraries, id).is_none() {
            return;
        }
        let json = dir
            .report(
                &run,
                &["--plugin-dir", libraries.to_str().unwrap(), "--json", "-"],
            )
            .reports()
            .json();
        let found = section(&json, id);
        assert_eq!(found["status"], status, "{id}: {found:#}");
        assert!(
            found["message"].as_str().unwrap().contains(words),
            "{id}: {found:#}"
        );
        assert_eq!(section(&json, "category")["status"], "ok");
    }
}

#[test]
fn plugins_that_read_each_other_are_named() {
    let dir = Dir::new();
    let run = dir.run();
    let libraries = dir.folder("cycle");
    for id in ["cycle_a", "cycle_b"] {
        if compile_hostile(&format!("{id}.c"), &libraries, id).is_none() {
            return;
        }
    }
    let json = dir
        .report(
            &run,
            &["--plugin-dir", libraries.to_str().unwrap(), "--json", "-"],
        )
        .reports()
        .json();
    for id in ["cycle_a", "cycle_b"] {
        let message = section(&json, id)["message"].as_str().unwrap();
        assert_eq!(
            message,
            "plugins read each other in a cycle: cycle_a reads cycle_b reads cycle_a"
        );
    }
}

#[test]
fn newer_and_frozen_plugins_run() {
    let dir = Dir::new();
    let run = dir.run();
    let rows = dir.command(&[
        "query",
        run.to_str().unwrap(),
        "SELECT COUNT(*) AS n FROM bricks",
        "--format",
        "json",
    ]);
    let rows = rows.exits(0).json();
    for version in ["1.0", "1.1"] {
        let libraries = dir.folder(&format!("good_{version}"));
        let frozen = folder("tests/abi").join(version);
        let built = compile_hostile("newer_minor.c", &libraries, "newer_minor").is_some()
            && compile_hostile("optional_table.c", &libraries, "optional_table").is_some()
            && compile(&frozen.join("frozen.c"), &[&frozen], &libraries, "frozen").is_some();
        if !built {
            return;
        }
        let json = dir
            .report(
                &run,
                &["--plugin-dir", libraries.to_str().unwrap(), "--json", "-"],
            )
            .exits(0)
            .json();
        for id in ["newer_minor", "optional_table", "frozen"] {
            assert_eq!(
                section(&json, id)["status"],
                "ok",
                "{:#}",
                section(&json, id)
            );
        }
        assert_eq!(
            section(&json, "optional_table")["tables"][0]["rows"],
            serde_json::json!([[0]])
        );
        let frozen = section(&json, "frozen");
        assert_eq!(frozen["tables"][0]["rows"][0][0], rows[0]["n"]);
        let title = format!("version {version} runs");
        assert_eq!(frozen["findings"][0]["title"], title);
        assert_eq!(frozen["charts"].as_array().unwrap().len(), 1);
    }
}

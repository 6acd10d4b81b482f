//! A plugin in a process of its own costs its own section, whatever it does.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{Dir, Done, STANDARD, hostile_plugin, section, until};

/// `report --json -` with the hostile plugin alone in a process of its own.
fn commit(dir: &Dir, run: &Path, sin: &str, more: &[&str]) -> Done {
    let plugin = hostile_plugin();
    let set = format!("hostile.sin={sin}");
    let args = ["--plugin", plugin.to_str().unwrap(), "--set", &set];
    let isolated = ["--isolate", "--plugin-id", "hostile,sanity", "--json", "-"];
    dir.report(run, &[&args[..], &isolated, more].concat())
        .reports()
}

#[test]
fn what_ends_a_process_costs_one_section_and_is_told() {
    let dir = Dir::new();
    let run = dir.run();
    for (sin, words) in [
        (
            "null_dereference",
            "SIGSEGV: it used a null pointer (address 0x8)",
        ),
        ("stack_overflow", "SIGABRT: its stack was full"),
        ("abort", "SIGABRT"),
        ("exit", "ended its process with exit code 0"),
        ("forge_answer", "damaged"),
        ("panic", "panicked: deliberate panic"),
        ("bad_offsets", "text offsets that are not in order"),
    ] {
        let json = commit(&dir, &run, sin, &[]).json();
        let hostile = section(&json, "hostile");
        assert_eq!(hostile["status"], "failed", "{sin}: {hostile:#}");
        let message = hostile["message"].as_str().unwrap();
        assert!(
            message.contains(words),
            "{sin}: {message:?} does not say {words:?}"
        );
        assert_eq!(section(&json, "sanity")["status"], "ok", "after {sin}");
    }
}

#[test]
fn a_plugin_finds_no_way_out_of_its_process() {
    let dir = Dir::new();
    let run = dir.run();
    let plugin = hostile_plugin();
    let args = [
        "--plugin",
        plugin.to_str().unwrap(),
        "--plugin-id",
        "hostile",
        "--set",
        "hostile.sin=escape",
        "--json",
        "-",
    ];
    let ways = |more: &[&str]| -> Option<Vec<(String, bool)>> {
        let done = dir.report(&run, &[&args[..], more].concat()).exits(0);
        if done.stderr.contains("no sandbox for plugins") {
            return None;
        }
        let json = done.json();
        let rows = section(&json, "hostile")["tables"][0]["rows"]
            .as_array()
            .cloned();
        let rows = rows.unwrap();
        let way = |row: &Value| (row[0].as_str().unwrap().to_owned(), row[1] == true);
        Some(rows.iter().map(way).collect())
    };
    let Some(isolated) = ways(&["--isolate"]) else {
        println!("left out: this kernel has no Landlock or no seccomp, and the report says so");
        return;
    };
    for (way, open) in isolated {
        assert_eq!(open, way == "start a thread", "{way}");
    }
    // The ways are ways: without isolation most are open.
    let here = ways(&[]).unwrap();
    let open = here.iter().filter(|(_, open)| *open).count();
    assert!(open > here.len() / 2, "{here:#?}");
}

#[test]
fn a_plugin_that_stops_itself_holds_nobody_up() {
    let dir = Dir::new();
    let run = dir.run();
    let json = commit(&dir, &run, "stop", &["--plugin-timeout", "1000s"]).json();
    let message = section(&json, "hostile")["message"].as_str().unwrap();
    assert!(
        message.starts_with("it stopped its own process"),
        "{message}"
    );
    assert_eq!(section(&json, "sanity")["status"], "ok");
}

#[test]
fn what_was_given_before_a_crash_is_kept() {
    let dir = Dir::new();
    let run = dir.run();
    let json = commit(&dir, &run, "null_dereference", &[]).json();
    let tables = &section(&json, "hostile")["tables"];
    assert_eq!(tables[0]["name"], "before");
    assert_eq!(tables[0]["rows"], json!([[1]]));
}

#[test]
fn time_and_memory_have_limits() {
    let dir = Dir::new();
    let run = dir.run();
    // How long a process takes to start is the machine's affair, which may need the longer limits before there is any output.
    let stopped = |sin: &str, seconds: f64| {
        let limit = format!("{seconds}s");
        let json = commit(&dir, &run, sin, &["--plugin-timeout", &limit]).json();
        let message = section(&json, "hostile")["message"].as_str().unwrap();
        let words = "its time limit (hint: --plugin-timeout TIME)";
        let begin = format!("it was stopped after {seconds:.2} s, {words}");
        assert!(message.starts_with(&begin), "{sin}: {message:?}");
        // The others have the same limit: where it was too short for them as well, they say so.
        let sanity = section(&json, "sanity");
        let late = sanity["message"].as_str().is_some_and(|m| m == begin);
        assert!(sanity["status"] == "ok" || late, "after {sin}: {sanity:#}");
        message[begin.len()..].to_owned()
    };
    assert_eq!(stopped("loop", 1.5), "");
    let limits = [1.5, 6.0, 24.0, 96.0].into_iter();
    let mut last = limits.map(|seconds| stopped("print_for_ever", seconds));
    let last = last.find(|last| !last.is_empty());
    assert_eq!(
        last.expect("it prints within its time"),
        "; the last it wrote was \"still here\""
    );

    let json = commit(&dir, &run, "eat_memory", &["--plugin-memory", "256M"]).json();
    let message = section(&json, "hostile")["message"].as_str().unwrap();
    let words = "it reached its memory limit of 268 MB (hint: --plugin-memory SIZE)";
    assert!(message.contains(words), "{message:?} does not say it");
    assert_eq!(section(&json, "sanity")["status"], "ok");
}

#[test]
fn garbage_on_standard_output_never_meets_the_report() {
    let dir = Dir::new();
    let run = dir.run();
    let json = commit(&dir, &run, "stdout_garbage", &[]).json();
    assert_eq!(section(&json, "hostile")["status"], "ok");
    assert!(
        !section(&json, "hostile")["tables"][0]["rows"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    let problems = json["problems"].as_array().unwrap();
    let note = problems
        .iter()
        .find(|problem| problem["code"] == "plugin_wrote_output");
    let note = note.unwrap_or_else(|| panic!("{problems:#?}"))["text"]
        .as_str()
        .unwrap();
    assert!(
        note.contains("plugin hostile: it wrote 330000 bytes"),
        "{note}"
    );
}

#[test]
fn a_report_is_the_same_with_and_without() {
    let dir = Dir::new();
    let run = dir.run();
    // They read each other's tables: critical_path reads roofline's, and what they print is compared byte by byte.
    for form in ["--json", "--markdown"] {
        let here = dir.report(&run, &[form, "-"]).exits(0).stdout;
        let apart = dir.report(&run, &[form, "-", "--isolate"]).exits(0).stdout;
        assert!(here == apart, "{here}\n-- isolated\n{apart}");
        let apart: Value = match form {
            "--json" => serde_json::from_str(&apart).unwrap(),
            _ => continue,
        };
        for id in STANDARD.iter() {
            assert_eq!(section(&apart, id)["status"], "ok", "{id}");
        }
    }
}

#[test]
fn a_library_that_ends_the_process_while_it_is_loaded_is_refused() {
    let dir = Dir::new();
    let run = dir.run();
    let libraries = dir.folder("bad");
    let source = dir.join("bad.c");
    std::fs::write(
        &source,
        "#include <stdlib.h>\n__attribute__((constructor)) static void begin(void) { exit(7); }\n",
    )
    .unwrap();
    let file = libraries.join("libtrueno_plugin_bad.so");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let built = Command::new(compiler)
        .args(["-shared", "-fPIC", "-o"])
        .args([&file, &source])
        .status();
    if built.is_err() {
        println!("left out: no C compiler (cc, or the one that CC names)");
        return;
    }
    let json = dir
        .report(
            &run,
            &[
                "--plugin-dir",
                libraries.to_str().unwrap(),
                "--isolate",
                "--json",
                "-",
            ],
        )
        .exits(0)
        .stderr_has("while it was loaded, it ended its process with exit code 7")
        .json();
    assert_eq!(json["sections"].as_array().unwrap().len(), STANDARD.len());
}

#[test]
fn only_what_does_not_ship_is_isolated_unless_asked() {
    let dir = Dir::new();
    let run = dir.run();
    let plugin = hostile_plugin();
    let args = [
        "report",
        run.to_str().unwrap(),
        "--no-default-plugins",
        "--plugin",
        plugin.to_str().unwrap(),
        "--set",
        "hostile.sin=abort",
    ];
    // By default it is, for it does not lie beside the executable.
    dir.command(&args)
        .exits(2)
        .stderr_has("hostile: it crashed");
    let mut alone = dir.command(&[&args[..], &["--no-isolate"]].concat());
    let status = alone.command.stdout(Stdio::null()).stderr(Stdio::null());
    assert_eq!(
        status.status().unwrap().code(),
        None,
        "abort ends the analyzer itself"
    );
}

#[test]
fn a_child_dies_with_its_parent() {
    let dir = Dir::new();
    let run = dir.run();
    let plugin = hostile_plugin();
    let args = [
        "--plugin",
        plugin.to_str().unwrap(),
        "--isolate",
        "--plugin-id",
        "hostile",
    ];
    let sin = ["--set", "hostile.sin=loop", "-v"];
    let mut command = dir.report(&run, &[&args[..], &sin].concat()).command;
    let mut parent = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let children = format!("/proc/{0}/task/{0}/children", parent.id());
    let child = until("the child loops", || {
        let list = std::fs::read_to_string(&children).ok()?;
        let child: u32 = list.split_whitespace().next()?.parse().ok()?;
        // The one that describes the plugin ends by itself; the one that loops is seen to have run for a while.
        let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).ok()?;
        let used: u64 = stat.split_whitespace().nth(13)?.parse().ok()?;
        (used > 30).then_some(child)
    });
    parent.kill().unwrap();
    parent.wait().unwrap();
    until("the child is gone", || {
        let stat = std::fs::read_to_string(format!("/proc/{child}/stat"));
        // Gone, or a zombie that waits for whoever takes in orphans.
        stat.map_or(true, |stat| stat.contains(") Z "))
            .then_some(())
    });
}

#[test]
fn the_hidden_verb_alone_does_nothing() {
    let dir = Dir::new();
    let mut command = dir.command(&["plugin-host"]);
    command.command.stdin(Stdio::null());
    command
        .exits(2)
        .stderr_has("this command is for internal use: the analyzer");
}

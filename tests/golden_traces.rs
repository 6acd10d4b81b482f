//! `docs/golden-traces`: the script and the workflow that users copy, run as they run them.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::harness::{Dir, built_library, copy, install, standard_plugins};

const PROGRAMS: [&str; 5] = [
    "decode",
    "hello",
    "at_the_roof",
    "backend_detection",
    "matrix_operations",
];

/// A repository with the files of `docs/golden-traces`; `None` if the programs they record were not built with
/// these tests.
fn repository() -> Option<Dir> {
    let built = Path::new(env!("CARGO_BIN_EXE_trueno-analyze")).parent()?;
    let mut needed = PROGRAMS
        .map(|name| built.join("examples").join(name))
        .to_vec();
    needed.push(built.join("trueno-record"));
    if let Some(missing) = needed.iter().find(|file| !file.exists()) {
        let missing = missing.display();
        eprintln!(
            "skipped: {missing} was not built (hint: cargo build --workspace --bins --examples)"
        );
        return None;
    }
    let dir = Dir::new();
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/golden-traces");
    copy(&files, dir.path());
    symlink(built, dir.folder("target").join("debug")).expect("a link");
    // No times in tests: a busy machine needs what it needs.
    for entry in fs::read_dir(dir.join("golden_traces")).expect("a folder") {
        let file = entry.expect("an entry").path();
        let text = fs::read_to_string(&file).expect("text");
        let lines = text.lines().map(|line| {
            if line.starts_with("max_duration_ms = ") {
                "max_duration_ms = 600000\n".to_owned()
            } else {
                format!("{line}\n")
            }
        });
        fs::write(&file, lines.collect::<String>()).expect("written");
    }
    let plugins = standard_plugins(&dir);
    install(
        &built_library("trueno_plugin_divergence"),
        &plugins,
        "trueno_plugin_divergence",
    );
    Some(dir)
}

/// Runs a shell command in the repository, with `path` prepended to the search path.
fn shell(dir: &Dir, folder: &Path, path: &[PathBuf], command: &str) -> Output {
    let usual = std::env::var("PATH").expect("a search path");
    let mut path = path.to_vec();
    path.extend(std::env::split_paths(&usual));
    Command::new("bash")
        .args(["-eo", "pipefail", "-c", command])
        .current_dir(folder)
        .env("PATH", std::env::join_paths(path).expect("folders"))
        .env("TRUENO_PLUGIN_PATH", dir.join("standard"))
        .env("XDG_CACHE_HOME", dir.join("cache"))
        .env("GITHUB_PATH", dir.join("github_path"))
        .env("GITHUB_STEP_SUMMARY", dir.join("summary.md"))
        .env_remove("GOLDEN_TRACES")
        // Cargo's has many folders, and the loader tries each of them: calls that no user's program makes.
        .env_remove("LD_LIBRARY_PATH")
        .output()
        .expect("a shell")
}

/// Runs the script and returns both output streams.
#[track_caller]
fn golden(dir: &Dir, words: &str, code: i32) -> String {
    let built = dir.join("target/debug");
    let done = shell(dir, dir.path(), &[built], &format!("./golden.sh {words}"));
    let said = [done.stdout, done.stderr].concat();
    let said = String::from_utf8(said).expect("UTF-8");
    assert_eq!(done.status.code(), Some(code), "{words}\n{said}");
    said
}

#[test]
fn five_programs_are_captured_reduced_and_checked() {
    let Some(dir) = repository() else { return };
    let budgets = include_str!("../docs/golden-traces/golden_traces/budgets.toml");
    assert!(
        budgets.contains(include_str!("documented.toml").trim()),
        "budgets are spelled as they are documented"
    );
    let said = golden(&dir, "check hello", 2);
    assert!(said.contains("next: golden.sh capture hello"), "{said}");
    golden(&dir, "capture", 0);
    let said = golden(&dir, "check", 0);
    for name in PROGRAMS {
        assert!(said.contains(&format!("== {name}\n")), "{said}");
        let junit = dir.read(&format!("golden_traces/runs/{name}.xml"));
        assert!(junit.contains("max_syscall_budget"), "{junit}");
    }
    // Of both kinds of recordings.
    assert!(said.contains("calls write"), "{said}");
    assert!(said.contains("all that was mapped"), "{said}");
    assert!(said.contains("tensors_as_in_the_golden_trace"), "{said}");
}

#[test]
fn what_does_not_hold_is_told_apart_from_what_could_not_be_done() {
    let Some(dir) = repository() else { return };
    golden(&dir, "capture hello backend_detection", 0);
    assert!(!dir.join("golden_traces/decode.golden.json").exists());
    let said = golden(&dir, "check hello backend_detection", 0);
    assert!(!said.contains("decode"), "{said}");

    // The budget of one, of the other nothing at all.
    let hello = dir.read("golden_traces/hello.toml");
    let tight = hello.replace("max_spans = 500", "max_spans = 1");
    fs::write(dir.join("golden_traces/hello.toml"), tight).expect("written");
    let said = golden(&dir, "check hello", 1);
    assert!(
        said.contains("FAILED          max_syscall_budget"),
        "{said}"
    );
    fs::write(
        dir.join("golden_traces/programs"),
        "# a remark\n\nhello target/debug/examples/hello {}\nfails false a b\nabsent ./nothing\n",
    )
    .expect("written");
    let said = golden(&dir, "check", 1);
    assert!(
        said.contains("fails was not recorded: 'fails false a b' failed"),
        "{said}"
    );
    let said = golden(&dir, "capture fails", 2);
    assert!(
        said.contains("next: see golden_traces/runs/fails.log"),
        "{said}"
    );
    golden(&dir, "capture absent", 2);
    let said = golden(&dir, "check other", 2);
    assert!(
        said.contains("other is not in golden_traces/programs"),
        "{said}"
    );
    golden(&dir, "look", 2);
    fs::remove_file(dir.join("golden_traces/programs")).expect("it is there");
    golden(&dir, "check", 2);
}

/// A step of the workflow that runs a script.
#[derive(Default)]
struct Step {
    folder: String,
    script: String,
}

/// Steps with `run`, in order. Parses only as much YAML as that file uses.
fn steps(workflow: &str) -> Vec<Step> {
    let (_, list) = workflow.split_once("\n    steps:\n").expect("steps");
    let mut steps = Vec::new();
    for item in list.split("\n      - ") {
        let mut step = Step::default();
        let mut lines = item.lines().map(str::trim_end).peekable();
        while let Some(line) = lines.next() {
            match line.trim_start().split_once(": ") {
                Some(("working-directory", folder)) => step.folder = folder.to_owned(),
                Some(("run", "|")) => {
                    while let Some(line) = lines.next_if(|line| line.starts_with("          ")) {
                        step.script.push_str(line.trim_start());
                        step.script.push('\n');
                    }
                }
                Some(("run", script)) => step.script = script.to_owned(),
                _ => {}
            }
        }
        if !step.script.is_empty() {
            steps.push(step);
        }
    }
    steps
}

#[test]
fn the_steps_of_the_workflow_run() {
    let Some(dir) = repository() else { return };
    let programs = dir.read("golden_traces/programs");
    let few = programs
        .lines()
        .filter(|line| line.starts_with("hello") || line.starts_with("backend"));
    let few: Vec<&str> = few.collect();
    fs::write(dir.join("golden_traces/programs"), few.join("\n") + "\n").expect("written");
    golden(&dir, "capture", 0);
    // Checked out and built: nothing is left for cargo to do.
    let tools = dir.folder(".trueno/target");
    symlink(dir.join("target/debug"), tools.join("debug")).expect("a link");
    let stub = dir.folder("stub").join("cargo");
    fs::write(
        &stub,
        format!(
            "#!/bin/sh\necho \"$*\" >> {}/cargo.log\n",
            dir.path().display()
        ),
    )
    .expect("written");
    assert!(
        Command::new("chmod")
            .arg("+x")
            .arg(&stub)
            .status()
            .expect("it runs")
            .success()
    );

    let steps = steps(&dir.read("golden-traces.yml"));
    assert_eq!(steps.len(), 5, "build, build, check, say, capture");
    for Step { folder, script } in &steps {
        // As the runner takes it over from step to step.
        let added = fs::read_to_string(dir.join("github_path")).unwrap_or_default();
        let mut path: Vec<PathBuf> = added.lines().map(PathBuf::from).collect();
        path.insert(0, dir.folder("stub"));
        let done = shell(&dir, &dir.join(folder), &path, script);
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{script}\n{said}");
    }
    let built = "build --workspace --lib --bins\nbuild --examples\n";
    assert_eq!(dir.read("cargo.log"), built);
    let summary = dir.read("summary.md");
    for name in ["hello", "backend\\_detection"] {
        assert!(
            summary.contains(&format!("{name}.golden.json")),
            "{summary}"
        );
    }
}

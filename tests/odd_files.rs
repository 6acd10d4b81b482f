//! Pipes, folders, endless links and devices in place of each file of a run: the file is left out and named, and no
//! command waits for it or reads it without end.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use trueno_testing::damage::files;

use crate::format_versions::{kept, unpack};
use crate::harness::{Dir, copy};

/// Far longer than any of the commands takes with a run of some thousand rows.
const PATIENCE: Duration = Duration::from_secs(600);
/// Limit on address space, which stops a command that reads a device endlessly.
const MEMORY_KIB: u32 = 8 << 20;

/// Kinds of paths that are not regular files.
const KINDS: [&str; 5] = [
    "pipe",
    "folder",
    "link to itself",
    "link to nothing",
    "device",
];

/// Commands that read all of a run. Their output is `out`.
const COMMANDS: [&[&str]; 5] = [
    &["info", "odd.run"],
    &["report", "odd.run", "--plugin-id", "sanity"],
    &["recover", "odd.run", "-o", "out"],
    &["check", "odd.run", "--assert", "holds.toml"],
    &["export", "parquet", "odd.run", "-o", "out"],
];

fn put(kind: &str, path: &Path) {
    fs::remove_file(path).expect("it is there");
    match kind {
        "pipe" => {
            let made = Command::new("mkfifo").arg(path).status();
            assert!(made.expect("mkfifo is there").success());
        }
        "folder" => fs::create_dir(path).expect("nothing is there now"),
        "link to itself" => symlink(path, path).expect("nothing is there now"),
        "link to nothing" => symlink("nowhere", path).expect("nothing is there now"),
        _ => symlink("/dev/zero", path).expect("nothing is there now"),
    }
}

fn try_each_file(run: &Path, least_files: usize) {
    let files = files(run);
    assert!(files.len() >= least_files, "{files:?}");
    for file in files {
        for kind in KINDS {
            let dir = Dir::new();
            copy(run, &dir.join("odd.run"));
            let holds = "[[assertion]]\nname = \"it\"\ntype = \"critical_path\"\nmax_duration_ms = 100000\n";
            fs::write(dir.join("holds.toml"), holds).expect("a file of the test");
            put(kind, &dir.join("odd.run").join(&file));
            let mut texts = String::new();
            for arguments in COMMANDS {
                texts.push_str(&run_limited(
                    &dir,
                    arguments,
                    &format!("{kind} for {}", file.display()),
                ));
            }
            // By the name it has once it is closed, or as a part of what was expected of it.
            let name = file
                .to_str()
                .expect("a path in UTF-8")
                .trim_end_matches(".open");
            assert!(
                texts.contains(name),
                "{kind} for {name} is not named:\n{texts}"
            );
        }
    }
}

fn run_limited(dir: &Dir, arguments: &[&str], what: &str) -> String {
    let _ = fs::remove_dir_all(dir.join("out"));
    let mut run = dir.command_with_plugins(arguments);
    let mut limited = Command::new("sh");
    limited.args(["-c", &format!("ulimit -v {MEMORY_KIB}; exec \"$0\" \"$@\"")]);
    limited.arg(run.command.get_program());
    limited.args(run.command.get_args()).current_dir(dir.path());
    for (variable, value) in run.command.get_envs() {
        match value {
            Some(value) => limited.env(variable, value),
            None => limited.env_remove(variable),
        };
    }
    run.command = limited;
    let done = run.ends_within(PATIENCE);
    let done = done.unwrap_or_else(|late| panic!("{what}: {arguments:?}: {late}"));
    let [out, err] =
        [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(
        done.status.code().is_some_and(|code| code <= 3),
        "{what}: {arguments:?}: {}\n{out}\n{err}",
        done.status
    );
    out + &err
}

#[test]
fn in_a_run_whose_program_was_killed() {
    let template = Dir::new();
    unpack(&template, &kept("1.6").join("killed.tar.gz"));
    let run = template.join("killed.run");
    // A ring that was never used holds nothing: without it nothing is missing.
    fs::remove_file(run.join("live/000001.ring")).expect("it is there");
    try_each_file(&run, 10);
}

#[test]
fn in_a_finished_run() {
    try_each_file(&kept("1.6").join("hello.run"), 7);
}

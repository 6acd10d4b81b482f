//! Programs that end without `finish`, and whose recorder nobody drops.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use trueno_format::run_json::State;
use trueno_recorder::Recorder;
use trueno_testing::{folder, run_json, table};

/// Environment variable that turns the test binary into the program. Contains how it ends and the path of its run.
const ROLE: &str = "TRUENO_TEST_AT_EXIT";

static RECORDER: OnceLock<Recorder> = OnceLock::new();

/// Entry point of the program; does nothing in a normal test run.
#[test]
fn ends_without_finish() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let (way, path) = role.split_once(',').unwrap();
    let rec = RECORDER.get_or_init(|| Recorder::create(path).unwrap());
    drop(rec.brick("step"));
    match way {
        "return" => {}
        "exit" => std::process::exit(7),
        "exit in a thread" => drop(std::thread::spawn(|| std::process::exit(7)).join()),
        "fork" => {
            // SAFETY: the child does nothing but end.
            let child = unsafe { libc::fork() };
            if child == 0 {
                std::process::exit(0);
            }
            // SAFETY: waits for the child that was made above.
            unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
            drop(rec.brick("step"));
        }
        _ => panic!("{way}"),
    }
}

fn run(way: &str, path: &Path) {
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "ends_without_finish"])
        .env(ROLE, format!("{way},{}", path.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    let expected = if way.starts_with("exit") { 7 } else { 0 };
    assert_eq!(done.code(), Some(expected), "{way}");
}

#[test]
fn a_recorder_in_a_static_is_finished_with_the_program() {
    for (way, rows) in [
        ("return", 1),
        ("exit", 1),
        ("exit in a thread", 1),
        ("fork", 2),
    ] {
        let (_folder, path) = folder();
        run(way, &path);
        let run = run_json(&path);
        assert_eq!((run.state, run.open), (State::Finished, 0), "{way}");
        assert_eq!(table(&path, "bricks").rows, rows, "{way}");
        assert!(!path.join("live").exists(), "{way}");
    }
}

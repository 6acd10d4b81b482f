//! Programs that end badly, and programs that cannot be recorded.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use trueno_format::salvage;
use trueno_testing::{compile, run_json};

use crate::{CODE, Place, text, value};

#[test]
fn a_program_that_is_killed_leaves_all_that_it_did() {
    let Some(place) = Place::new() else { return };
    let done = place.record(&["--libs", "--alloc=8"], &["killed"]);
    assert_eq!(done.status.signal(), Some(libc::SIGKILL));
    assert_eq!(place.table("kernels").rows, 1);
    let bytes = place.table("allocations").numbers("bytes");
    assert!(bytes.contains(&Some(500_000)));
}

/// The program continues and does not wait for a reader that is gone.
#[test]
fn a_recorder_that_is_killed_leaves_its_rows_and_the_program() {
    let Some(place) = Place::new() else { return };
    let mut recorder = place
        .command(&["--libs"], &["./program", "goes on"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let rows = || {
        let left = salvage::read(&place.run()).ok().flatten();
        left.is_some_and(|left| {
            left.segments
                .iter()
                .any(|segment| segment.table == "kernels")
        })
    };
    let begun = Instant::now();
    while !rows() && begun.elapsed() < Duration::from_secs(600) {
        thread::sleep(Duration::from_millis(20));
    }
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    fs::write(place.path("enough"), "").unwrap();
    let ended = place.path("ended");
    let killed = Instant::now();
    while !ended.exists() && killed.elapsed() < Duration::from_secs(600) {
        thread::sleep(Duration::from_millis(20));
    }
    assert!(ended.exists() && rows());
}

#[test]
fn what_nothing_can_be_loaded_into_is_not_started() {
    let Some(place) = Place::new() else { return };
    let source = place.path("alone.c");
    fs::write(&source, "int main(void) { return 7; }\n").unwrap();
    let source = source.to_str().unwrap();
    compile(source, &["-static"], &place.path("static"), &[]);
    fs::write(place.path("script"), "#!./static\n").unwrap();
    fs::set_permissions(place.path("script"), fs::Permissions::from_mode(0o755)).unwrap();
    for program in ["./static", "./script"] {
        let done = place.command(&["--libs"], &[program]).output().unwrap();
        assert_eq!(done.status.code(), Some(3), "{}", text(&done.stderr));
        let said = text(&done.stderr);
        assert!(
            said.contains("is linked statically") && said.contains("nothing was started"),
            "{said}"
        );
        assert!(!place.run().exists());
        let doctor = Command::new(env!("CARGO_BIN_EXE_trueno-record"))
            .args(["doctor", "--need", "libs", program])
            .current_dir(place.path("."))
            .output()
            .unwrap();
        assert_eq!(doctor.status.code(), Some(3));
    }
    let done = place
        .command(&["--alloc"], &["./is-not-there"])
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(2));
    assert!(!place.run().exists());
}

/// The variables do not reach the program: a warning, and an error with `--strict`.
#[test]
fn a_program_that_the_library_does_not_reach_is_said() {
    let Some(place) = Place::new() else { return };
    let program = ["env", "-u", "LD_PRELOAD", "sh", "-c", "exit 7"];
    let done = place.command(&["--libs"], &program).output().unwrap();
    assert_eq!(done.status.code(), Some(CODE));
    assert!(text(&done.stderr).contains("no known routine of BLAS or LAPACK was called"));
    let quiet = place
        .command(&["--alloc"], &["sh", "-c", "exit 0"])
        .output()
        .unwrap();
    assert_eq!(quiet.status.code(), Some(0));
    let run = run_json(&place.run());
    assert!(run.recorder.allocations.unwrap().starts_with("sampled"));
    assert!(value(&place.run(), "allocations").parse::<u64>().unwrap() > 10);
}

/// AddressSanitizer must be loaded before all other libraries; otherwise the program does not start.
#[test]
fn a_program_with_address_sanitizer_is_said_to_be_one() {
    let Some(place) = Place::new() else { return };
    let source = |name: &str, text: &str| {
        let path = place.path(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let library = source("asan.c", "int asan;\n");
    place.library(&library, "libasan.so.8", &[]);
    let program = source(
        "uses.c",
        "extern int asan; int main(void) { return asan; }\n",
    );
    let asan = place.text("libasan.so.8");
    compile(
        &program,
        &["-Wl,-rpath,$ORIGIN"],
        &place.path("uses"),
        &[&asan],
    );
    let done = place.command(&["--alloc"], &["./uses"]).output().unwrap();
    assert_eq!(done.status.code(), Some(3), "{}", text(&done.stderr));
    let said = text(&done.stderr);
    assert!(said.contains("is built with AddressSanitizer"), "{said}");
    assert!(!place.run().exists());
}

#[test]
fn a_program_that_allocates_nothing_is_no_fault() {
    let Some(place) = Place::new() else { return };
    let done = place
        .command(&["--alloc", "--strict"], &["true"])
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(0));
    assert!(
        !text(&done.stderr).contains("warning"),
        "{}",
        text(&done.stderr)
    );
}

/// Nothing can be loaded into its processes, or they cannot access the memory: a warning, and an error with
/// `--strict`.
#[test]
fn processes_of_another_user_are_said() {
    let Some(place) = Place::new() else { return };
    // SAFETY: takes nothing.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("skipped: only root can become another user");
        return;
    }
    let program = ["setpriv", "--reuid=65534", "--clear-groups", "sleep", "1"];
    for (flags, code) in [(&["--alloc"][..], 0), (&["--alloc", "--strict"], 1)] {
        let done = place.command(flags, &program).output().unwrap();
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(code), "{said}");
        assert!(
            said.contains("another user were not recorded: sleep"),
            "{said}"
        );
        let problems = run_json(&place.run()).problems;
        assert!(problems.iter().any(|text| text.contains("sleep")));
    }
}

//! The command itself: what it says, and what it does not do.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use crate::fakes::{Cupti, command, fakes, inject, record};

fn driverless() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trueno-record"));
    command
        .env_remove("LD_LIBRARY_PATH")
        .env_remove("CUDA_INJECTION64_PATH")
        .env_remove("NVTX_INJECTION64_PATH")
        .env("TRUENO_INJECT", inject());
    command
}

fn machine_has_a_driver() -> bool {
    let mut doctor = driverless();
    let done = doctor
        .args(["doctor", "--format", "json"])
        .output()
        .unwrap();
    let found: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    found["driver"]["path"].is_string()
}

#[test]
fn without_a_driver_one_sentence_is_all_that_happens() {
    if machine_has_a_driver() {
        eprintln!("skipped: this machine has a driver");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let sign = folder.path().join("started");
    let done = driverless()
        .current_dir(folder.path())
        .args(["run", "--", "touch"])
        .arg(&sign)
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(3));
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(
        said.starts_with("error: no NVIDIA driver library was found: libcuda.so.1: "),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(!said.contains("panicked"));
    assert!(!sign.exists(), "the program was started");
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        0,
        "nothing is left"
    );
    let doctor = driverless()
        .args(["doctor", "--need", "cuda"])
        .output()
        .unwrap();
    assert_eq!(doctor.status.code(), Some(3));
    let doctor = driverless()
        .args(["doctor", "--need", "ranges"])
        .output()
        .unwrap();
    assert_eq!(doctor.status.code(), Some(0));
    let said = String::from_utf8(doctor.stdout).unwrap();
    assert!(said.contains("libcuda.so.1"), "{said}");
    for line in said.lines() {
        let is_one_word = line.split_whitespace().count() == 1;
        assert!(line.chars().count() <= 80 || is_one_word, "{line}");
    }
}

#[test]
fn a_program_that_does_not_start_is_told_why() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str, mode: u32| {
        let path = folder.path().join(name);
        // Written by a process of its own: of what this one has open for writing, another test that starts something
        // has a copy for a moment, and a file that is being written is not run.
        let write = "printf %s \"$1\" > \"$0\"";
        let mut shell = Command::new("sh");
        let written = shell.args(["-c", write]).arg(&path).arg(text).status();
        assert!(written.unwrap().success());
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    for (program, why) in [
        (file("text", "#!/bin/sh\n", 0o644), "chmod +x"),
        (
            file("odd.sh", "#!/no/such/thing\n", 0o755),
            "the interpreter in its first line",
        ),
        (folder.path().join("none"), "No such file"),
    ] {
        let Some(mut run) = command(Cupti::New) else {
            return;
        };
        let done = run
            .current_dir(folder.path())
            .args(["run", "--"])
            .arg(&program)
            .output()
            .unwrap();
        assert_eq!(done.status.code(), Some(2), "{why}");
        let said = String::from_utf8(done.stderr).unwrap();
        assert!(said.contains(why), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 2, "nothing is left of runs that never were");
}

#[test]
fn the_doctor_says_what_there_is() {
    let Some(mut doctor) = command(Cupti::New) else {
        return;
    };
    let done = doctor
        .args(["doctor", "--format", "json", "--need", "cuda"])
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(0));
    let found: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(found["cuda"]["possible"], true);
    assert_eq!(found["driver"]["devices"][0]["name"], "Fake H100");
    assert_eq!(found["cupti"]["found"]["version"], 130_001);
    assert_eq!(found["record_bytes"]["concurrent_kernel"], 216);
    let text = command(Cupti::New).unwrap().arg("doctor").output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(
        text.contains("gpu0: Fake H100, compute capability 9.0"),
        "{text}"
    );
    let no_device = command(Cupti::New)
        .unwrap()
        .env("FAKE_NO_DEVICE", "1")
        .args(["doctor", "--need", "cuda"])
        .output()
        .unwrap();
    assert_eq!(no_device.status.code(), Some(3));
    let said = String::from_utf8(no_device.stdout).unwrap();
    // Wherever the line is broken.
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("the NVIDIA driver sees no device"), "{said}");
}

#[test]
fn a_missing_cupti_ends_it_before_the_program_starts() {
    let Some(mut run) = command(Cupti::None) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let done = run
        .args(["run", "--cupti", "/nowhere/libcupti.so.13", "-o"])
        .arg(folder.path().join("it.run"))
        .args(["--", "echo", "started"])
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(3));
    assert!(done.stdout.is_empty());
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(
        said.contains("/nowhere/libcupti.so.13") && said.contains("nothing was started"),
        "{said}"
    );
}

#[test]
fn what_is_there_is_not_overwritten_unasked() {
    let Some(recording) = record("init launch:k:7:1:1") else {
        return;
    };
    let again = |option: &[&str]| {
        let mut run = command(Cupti::New).unwrap();
        run.arg("run")
            .args(option)
            .arg("-o")
            .arg(recording.path())
            .arg("--");
        run.arg(fakes().unwrap().join("program"))
            .args(["init", "launch:k:7:1:2"])
            .output()
            .unwrap()
    };
    let refused = again(&[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(refused.stdout.is_empty(), "nothing was started");
    assert_eq!(recording.table("kernels").rows, 1);
    assert_eq!(again(&["--overwrite"]).status.code(), Some(0));
    assert_eq!(recording.table("kernels").rows, 2);
    // What is no run is never removed.
    let file = recording.folder.path().join("file");
    fs::write(&file, "mine").unwrap();
    let mut run = command(Cupti::New).unwrap();
    let done = run
        .args(["run", "--overwrite", "-o"])
        .arg(&file)
        .args(["--", "true"])
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(2));
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn another_tools_injection_is_not_replaced() {
    let Some(mut run) = command(Cupti::New) else {
        return;
    };
    let done = run
        .env("CUDA_INJECTION64_PATH", "/opt/nsight.so")
        .args(["run", "--", "echo", "started"])
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(2));
    assert!(done.stdout.is_empty());
    assert!(
        String::from_utf8(done.stderr)
            .unwrap()
            .contains("/opt/nsight.so")
    );
}

/// A command whose program outlives it. The whole process group is killed when the test ends.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        // SAFETY: takes numbers; the program is still in the group, so the number is its own.
        unsafe { libc::kill(-(self.0.id() as i32), libc::SIGKILL) };
    }
}

#[test]
fn what_a_killed_command_left_behind_can_be_collected() {
    let Some(mut run) = command(Cupti::New) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("it.run");
    let child = run
        .args(["run", "--flush-ms", "5", "-o"])
        .arg(&output)
        .arg("--")
        .arg(fakes().unwrap().join("program"))
        .args([
            "init",
            "launch:k:7:1:30",
            "sync",
            "written:30",
            "sleep:600000",
        ])
        .process_group(0)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut child = Group(child);
    // The program says so when its records are there.
    let mut said = BufReader::new(child.0.stdout.take().unwrap()).lines();
    let is_written = said.any(|line| line.unwrap() == "written");
    assert!(is_written, "nothing was recorded");
    child.0.kill().unwrap();
    child.0.wait().unwrap();
    let left = fs::read_dir(folder.path()).unwrap().next().unwrap();
    let left = left.unwrap().path();
    assert!(!output.exists());
    let collect = || {
        command(Cupti::New)
            .unwrap()
            .arg("collect")
            .arg(&left)
            .arg("-o")
            .arg(&output)
            .output()
            .unwrap()
    };
    let done = collect();
    assert_eq!(
        done.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    assert_eq!(trueno_testing::table(&output, "kernels").rows, 30);
    assert_eq!(collect().status.code(), Some(2), "it is there already");
}

/// The folder that collects the program's records is moved, and another one takes its path.
#[test]
fn a_capture_that_was_moved_is_collected_where_it_is() {
    let Some(mut run) = command(Cupti::New) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let script = "\"$0\" init launch:k:7:1:30 sync && set -- it.run.capture-* && mv $1 moved && mkdir $1 && touch $1/theirs";
    let done = run
        .args(["run", "-o", "it.run", "--", "sh", "-c", script])
        .arg(fakes().unwrap().join("program"))
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(
        done.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    let run = folder.path().join("it.run");
    assert_eq!(trueno_testing::table(&run, "kernels").rows, 30);
    let mut left: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    left.sort();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left[1].join("theirs").is_file(), "{left:?}");
}

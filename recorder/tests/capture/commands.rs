//! The command itself: what it says, and what it does not do.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common;
use crate::fakes::{Cupti, command, fakes, inject, record};

/// Without a driver, whatever the machine has.
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
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    for (program, why) in [
        (file("plain.sh", "true\n", 0o755), "#!/bin/sh"),
        (file("text", "#!/bin/sh\n", 0o644), "chmod +x"),
        (
            file("odd.sh", "#!/no/such/thing\n", 0o755),
            "first line names",
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
    assert_eq!(left, 3, "nothing is left of runs that never were");
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

#[test]
fn what_a_killed_command_left_behind_can_be_collected() {
    let Some(mut run) = command(Cupti::New) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("it.run");
    let mut child = run
        .args(["run", "--flush-ms", "5", "-o"])
        .arg(&output)
        .arg("--")
        .arg(fakes().unwrap().join("program"))
        .args(["init", "launch:k:7:1:30", "sync", "sleep:4000"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Until its records are there.
    let began = Instant::now();
    let left = loop {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "nothing was recorded"
        );
        std::thread::sleep(Duration::from_millis(20));
        let Some(left) = fs::read_dir(folder.path()).unwrap().next() else {
            continue;
        };
        let left = left.unwrap().path();
        let spools = fs::read_dir(&left).into_iter().flatten();
        if spools
            .filter_map(|spool| spool.ok()?.metadata().ok())
            .any(|spool| spool.len() > 30 * 216)
        {
            break left;
        }
    };
    child.kill().unwrap();
    child.wait().unwrap();
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
    assert_eq!(common::table(&output, "kernels").rows, 30);
    assert_eq!(collect().status.code(), Some(2), "it is there already");
}

//! `trueno-record control`: a recording that a program makes itself is paused, resumed and cut from outside.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use trueno_recorder::Recorder;
use trueno_testing::{folder, run_json, table};

const HOUR: Duration = Duration::from_secs(3600);

fn control(run: &Path, words: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trueno-record"));
    let done = command
        .arg("control")
        .arg(run)
        .args(words)
        .output()
        .unwrap();
    (done.status.code(), String::from_utf8(done.stderr).unwrap())
}

#[test]
fn a_recording_is_paused_resumed_and_cut_from_outside() {
    let (folder, path) = folder();
    let rec = Recorder::builder(&path)
        .keep_last(HOUR)
        .control(true)
        .create()
        .unwrap();
    let socket = path.join("live/control").symlink_metadata().unwrap();
    assert!(socket.file_type().is_socket());
    assert_eq!(socket.permissions().mode() & 0o777, 0o600);
    drop(rec.brick("first"));
    let (code, said) = control(&path, &["status"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.starts_with("recording: ") && said.contains("1 threads"),
        "{said}"
    );
    let (code, said) = control(&path, &["stop"]);
    assert_eq!((code, rec.is_paused()), (Some(0), true), "{said}");
    assert!(said.starts_with("paused: "), "{said}");
    drop(rec.brick("while it was paused"));
    let (code, said) = control(&path, &["start"]);
    assert_eq!((code, rec.is_paused()), (Some(0), false), "{said}");
    drop(rec.brick("second"));

    let (code, said) = control(&path, &["cut"]);
    assert_eq!(code, Some(0), "{said}");
    let cut = folder.path().join("test.cut-1.run");
    assert!(said.trim_end().ends_with("test.cut-1.run"), "{said}");
    assert_eq!(table(&cut, "bricks").rows, 2);
    let named = folder.path().join("named.run");
    let (code, said) = control(&path, &["cut", "-o", named.to_str().unwrap()]);
    assert_eq!((code, named.exists()), (Some(0), true), "{said}");
    let (code, said) = control(&path, &["cut", "-o", named.to_str().unwrap()]);
    assert_eq!(code, Some(2));
    assert!(said.contains("a run already exists there"), "{said}");
    rec.finish().unwrap();
    assert!(
        run_json(&path)
            .problems
            .iter()
            .all(|problem| problem.contains("paused"))
    );
    let (code, said) = control(&path, &["status"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("is not being recorded"), "{said}");
}

#[test]
fn what_takes_no_requests_says_so() {
    let (folder, path) = folder();
    let (code, said) = control(&path, &["status"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("is not being recorded"), "{said}");
    let rec = Recorder::create(&path).unwrap();
    let (code, said) = control(&path, &["stop"]);
    assert_eq!((code, rec.is_paused()), (Some(2), false));
    assert!(
        said.contains("hint: the program must ask for it: Builder::control(true)"),
        "{said}"
    );
    let other = folder.path().join("other.run");
    let rec = Recorder::builder(&other).control(true).create().unwrap();
    let (code, said) = control(&other, &["cut"]);
    assert_eq!(code, Some(2));
    assert!(
        said.contains("this recorder keeps everything until its end"),
        "{said}"
    );
    let (code, said) = control(&other, &["stop", "-o", "x.run"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("--output is for cut"), "{said}");
    drop(rec);
}

#[test]
fn a_request_that_is_none_is_refused_and_the_next_one_is_heard() {
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path).control(true).create().unwrap();
    let ask = |request: &[u8]| {
        let mut stream = UnixStream::connect(path.join("live/control")).unwrap();
        stream.write_all(request).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        // What was not read resets the connection.
        let _ = stream.read_to_string(&mut answer);
        answer
    };
    assert_eq!(
        ask(b"cut relative.run\n"),
        "error: cut: expected an absolute path\n"
    );
    for odd in [
        &b"dance\n"[..],
        b"",
        b"\n",
        b"status \xff\n",
        &[b'x'; 20_000],
    ] {
        assert!(!ask(odd).starts_with("ok"), "{odd:?}");
    }
    assert!(ask(b"status\n").starts_with("ok: recording: "));
    assert!(rec.is_enabled());
}

/// The address of a socket is at most 107 bytes long.
#[test]
fn a_run_in_a_deep_folder_is_controlled_too() {
    let (folder, _) = folder();
    let deep = folder.path().join("d".repeat(90)).join("e".repeat(90));
    let path = deep.join("it.run");
    let rec = Recorder::builder(&path).control(true).create().unwrap();
    let (code, said) = control(&path, &["stop"]);
    assert_eq!((code, rec.is_paused()), (Some(0), true), "{said}");
}

/// A killed program leaves its socket, and the run can be replaced all the same.
#[test]
fn a_socket_that_was_left_is_no_hindrance() {
    const LEAVES: &str = "TRUENO_TEST_CONTROL_LEAVES";
    if let Ok(path) = std::env::var(LEAVES) {
        let _rec = Recorder::builder(path).control(true).create().unwrap();
        std::process::abort();
    }
    let (_folder, path) = folder();
    let mut again = Command::new(std::env::current_exe().unwrap());
    again
        .args(["--exact", "a_socket_that_was_left_is_no_hindrance"])
        .env(LEAVES, &path);
    assert!(!again.output().unwrap().status.success());
    assert!(path.join("live/control").symlink_metadata().is_ok());
    let (code, said) = control(&path, &["status"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("its program is gone"), "{said}");
    Recorder::builder(&path)
        .overwrite(true)
        .create()
        .unwrap()
        .finish()
        .unwrap();
}

#[test]
fn another_user_is_not_answered() {
    // SAFETY: takes nothing.
    if unsafe { libc::geteuid() } != 0 {
        return;
    }
    let (folder, path) = folder();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let rec = Recorder::builder(&path).control(true).create().unwrap();
    // Open to all, as with a process that got hold of it.
    let socket = path.join("live/control");
    for folder in [&path, &path.join("live")] {
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
    }
    std::fs::set_permissions(&socket, PermissionsExt::from_mode(0o666)).unwrap();
    let answer = std::thread::spawn(move || {
        // SAFETY: of this thread alone, unlike the function of the C library.
        assert_eq!(
            unsafe { libc::syscall(libc::SYS_setresuid, -1, 65_534, -1) },
            0
        );
        let mut stream = UnixStream::connect(socket).unwrap();
        let _ = stream.write_all(b"stop\n");
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    });
    assert_eq!(answer.join().unwrap(), "");
    assert!(!rec.is_paused());
}

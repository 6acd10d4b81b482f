//! A program that forks while it records: the run is the parent's, whole, whatever the child
//! does and however long it lives.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use trueno_engine::query::collect_in_order;
use trueno_engine::run::{Recovered, Run, recover};
use trueno_format::salvage;
use trueno_model::RunState;
use trueno_recorder::{Error, Recorder};

use crate::harness::{Dir, PATIENCE, ends, until};

/// If set, the test binary acts as the program that forks.
const ROLE: &str = "TRUENO_TEST_FORKS";
/// Longer than the test takes on any machine.
const BEYOND: Duration = PATIENCE.saturating_mul(2);

/// The child program. Without [`ROLE`] it does nothing.
#[test]
fn records_and_forks() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let rec = Recorder::create("parent.run").unwrap();
    drop(rec.brick("before"));
    let open = rec.brick("open while forking");
    // SAFETY: the child ends in `_exit` and touches nothing of the test harness.
    let child = unsafe { libc::fork() };
    if child == 0 {
        if role == "killed" {
            std::thread::sleep(BEYOND);
        }
        let ok = std::panic::catch_unwind(|| in_child(&rec)).is_ok();
        drop(open);
        // SAFETY: always allowed.
        unsafe { libc::_exit(i32::from(!ok)) };
    }
    drop(open);
    drop(rec.brick("after"));
    if role == "killed" {
        fs::write("child.tmp", child.to_string()).unwrap();
        fs::rename("child.tmp", "child").unwrap();
        std::thread::sleep(BEYOND);
    }
    let mut status = 0;
    // SAFETY: the status is written to a variable of this frame.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "the child failed");
    drop(rec.brick("last"));
    rec.finish().unwrap();
}

fn in_child(rec: &Recorder) {
    drop(rec.brick("of the child"));
    drop(rec.kernel("of the child"));
    rec.value("of the child", 1);
    assert!(!rec.is_enabled());
    let error = rec.finish().unwrap_err();
    assert!(matches!(error, Error::Forked { .. }), "{error}");
    let own = Recorder::create("child.run").unwrap();
    drop(own.brick("its own"));
    own.finish().unwrap();
}

fn start(dir: &Dir, role: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "forked::records_and_forks", "--nocapture"])
        .current_dir(dir.path())
        .env(ROLE, role)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn names(run: &Run) -> Vec<String> {
    let sql = "SELECT name FROM bricks";
    let frame = collect_in_order(&run.sql_context().unwrap(), sql).unwrap();
    let names = frame.column("name").unwrap().str().unwrap().iter();
    names.map(|name| name.unwrap().to_owned()).collect()
}

const EXPECTED: [&str; 3] = ["before", "open while forking", "after"];

#[test]
fn a_forked_child_adds_nothing_and_can_record_a_run_of_its_own() {
    let dir = Dir::new();
    assert!(ends(&mut start(&dir, "both"), "a program that forks").success());
    let run = Run::open(&dir.join("parent.run")).unwrap();
    assert!(run.facts().complete == Some(true), "{:?}", run.problems());
    assert_eq!(names(&run), [&EXPECTED[..], &["last"]].concat());
    assert_eq!(run.facts().values.len(), 0);
    let run = Run::open(&dir.join("child.run")).unwrap();
    assert!(run.facts().complete == Some(true), "{:?}", run.problems());
    assert_eq!(names(&run), ["its own"]);
}

#[test]
fn a_child_that_lives_on_does_not_keep_the_run_of_its_killed_parent() {
    let dir = Dir::new();
    let path = dir.join("parent.run");
    let mut parent = start(&dir, "killed");
    let file = dir.join("child");
    until("the child is there", || file.exists().then_some(()));
    let child: libc::pid_t = fs::read_to_string(file).unwrap().parse().unwrap();
    let _gone = Gone(child);
    assert_eq!(salvage::is_recording(&path), Some(true));
    parent.kill().unwrap();
    parent.wait().unwrap();
    // The child closes the log as soon as it gets to run.
    until("the run is let go", || {
        (salvage::is_recording(&path) == Some(false)).then_some(())
    });
    assert!(Path::new(&format!("/proc/{child}")).exists());
    let run = Run::open(&path).unwrap();
    assert_eq!(run.problems()[0].code, "unclean_end");
    assert_eq!(names(&run), EXPECTED);
    let done = recover(&path, None, &mut |_| {}).unwrap();
    assert!(matches!(done, Recovered::Done(done) if !done.has_losses()));
    let run = Run::open(&path).unwrap();
    assert_eq!(
        (run.facts().state, names(&run)),
        (RunState::Recovered, EXPECTED.map(str::to_owned).to_vec())
    );
}

/// Kills the program's own child when the test ends, even if it fails.
struct Gone(libc::pid_t);

impl Drop for Gone {
    fn drop(&mut self) {
        // SAFETY: it sleeps for longer than the test takes, so its number is still its own.
        unsafe { libc::kill(self.0, libc::SIGKILL) };
    }
}

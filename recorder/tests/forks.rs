//! What a fork may and may not do to a program that records, or has recorded.

mod common;

use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use common::folder;
use trueno_recorder::{Error, Recorder};

/// Tests that fork, or count on numbers of files, run one at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work` in a forked process; its exit code. The child does nothing but that.
fn in_child(work: impl FnOnce() -> bool) -> i32 {
    // SAFETY: the child only runs `work`, which uses what is async-signal-safe or its own,
    // and leaves without running anything else of this process.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let ok = work();
        // SAFETY: ends the process here.
        unsafe { libc::_exit(i32::from(!ok)) };
    }
    let mut status = 0;
    // SAFETY: waits for the child that was made above.
    unsafe { libc::waitpid(child, &mut status, 0) };
    libc::WEXITSTATUS(status)
}

#[test]
fn a_child_keeps_the_files_that_the_program_opened_after_the_run() {
    let _alone = alone();
    let (folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    drop(rec.brick("b"));
    rec.finish().unwrap();
    // They get the lowest numbers that are free: also the one the log had.
    let names: Vec<_> = (0..16).map(|n| folder.path().join(n.to_string())).collect();
    let mut files: Vec<File> = names
        .iter()
        .map(|name| File::create(name).unwrap())
        .collect();
    let code = in_child(|| {
        files
            .iter_mut()
            .all(|file| file.write_all(b"child").is_ok())
    });
    assert_eq!(code, 0);
    for (name, file) in names.iter().zip(&files) {
        let number = file.as_raw_fd();
        assert_eq!(fs::read(name).unwrap(), b"child", "descriptor {number}");
    }
    drop(rec);
}

#[test]
fn a_child_is_refused_and_its_parent_loses_nothing() {
    let _alone = alone();
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    let open = rec.brick("open over the fork");
    let code = in_child(|| {
        drop(rec.brick("refused"));
        !rec.is_enabled() && matches!(rec.finish(), Err(Error::Forked { .. }))
    });
    assert_eq!(code, 0);
    drop(open);
    drop(rec.brick("after"));
    assert_eq!(rec.finish().unwrap().tables["bricks"].rows, 2);
}

//! Forks of a program that records, or has recorded.

use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use trueno_recorder::{BrickId, Error, Recorder};
use trueno_testing::{folder, run_json, table};

/// Tests that fork or depend on descriptor numbers run one at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work` in a forked process. Returns its exit code, or the negative number of the signal that ended it.
fn in_child(work: impl FnOnce() -> bool) -> i32 {
    // SAFETY: the child only runs `work`, which uses what is async-signal-safe or its own,
    // and leaves without running anything else of this process.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // A child that hangs is a failure, and no test that never ends.
        // SAFETY: a plain system call.
        unsafe { libc::alarm(1200) };
        let ok = work();
        // SAFETY: ends the process here.
        unsafe { libc::_exit(i32::from(!ok)) };
    }
    let mut status = 0;
    // SAFETY: waits for the child that was made above.
    unsafe { libc::waitpid(child, &mut status, 0) };
    if libc::WIFEXITED(status) {
        libc::WEXITSTATUS(status)
    } else {
        -libc::WTERMSIG(status)
    }
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

#[test]
fn a_child_records_whatever_other_threads_were_doing_at_the_fork() {
    let _alone = alone();
    let (folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    let over = AtomicBool::new(false);
    let mut ended = Vec::new();
    std::thread::scope(|scope| {
        // They give names and ask for them, under a lock that the child has a copy of.
        for thread in 0..2 {
            let (over, rec) = (&over, &rec);
            scope.spawn(move || {
                let mut n = 0_u64;
                while !over.load(Ordering::Relaxed) {
                    let name = rec.name(&format!("{thread} {}", n / 1024));
                    assert!(name.as_str().len() > 2);
                    n += 1;
                }
            });
        }
        for nth in 0..20 {
            let own = folder.path().join(format!("{nth}.run"));
            let code = in_child(|| {
                let mine = Recorder::create(&own).unwrap();
                // None of its parent's locks is waited for either.
                let _ = rec.status();
                for n in 0..200 {
                    drop(mine.brick(format!("child {n}")));
                }
                mine.finish()
                    .is_ok_and(|summary| summary.tables["bricks"].rows == 200)
            });
            ended.push((code, own));
            if code != 0 {
                break;
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    for (code, own) in ended {
        assert_eq!(code, 0);
        let bricks = table(&own, "bricks");
        for (n, name) in bricks.texts("name").into_iter().enumerate() {
            assert_eq!(name, Some(&*format!("child {n}")));
        }
    }
}

const CLONED: u64 = 100_000;

extern "C" fn records_in_place_of_its_parent(recorder: *mut libc::c_void) -> libc::c_int {
    // SAFETY: the parent passes a recorder, and waits for this process.
    let rec = unsafe { &*recorder.cast::<Recorder>() };
    for at in 0..CLONED {
        rec.brick(BrickId::RmsNorm).elements(at);
    }
    0
}

/// By a raw `clone`, with the parent's memory and thread-locals and a stack of its own.
#[test]
fn a_clone_that_shares_its_parents_memory_is_reported_and_its_rows_are_counted() {
    let _alone = alone();
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    drop(rec.brick("before"));
    let mut stack = vec![0_u128; 1 << 16];
    let end = stack.as_mut_ptr_range().end;
    let flags = libc::CLONE_VM | libc::SIGCHLD;
    let argument = (&raw const rec).cast_mut().cast();
    // SAFETY: the stack and the recorder outlive the child, because it is waited for; meanwhile this thread records
    // nothing.
    let child = unsafe { libc::clone(records_in_place_of_its_parent, end.cast(), flags, argument) };
    assert!(child > 0);
    let mut status = 0;
    // SAFETY: the status is valid for the call.
    assert_eq!(
        unsafe { libc::waitpid(child, &mut status, libc::__WALL) },
        child
    );
    assert_eq!(status, 0);
    drop(rec.brick("after"));
    let summary = rec.finish().unwrap();
    let rows = summary.tables["bricks"].rows;
    assert_eq!(rows + summary.dropped, CLONED + 2);
    assert!(summary.dropped > CLONED / 2, "{}", summary.dropped);
    let names = table(&path, "bricks");
    let names = names.texts("name");
    assert!(
        ["before", "after"]
            .iter()
            .all(|name| names.contains(&Some(*name)))
    );
    let problems = run_json(&path).problems;
    let is_said = |problem: &String| problem.contains("made by a raw `clone`");
    assert!(problems.iter().any(is_said), "{problems:?}");
}

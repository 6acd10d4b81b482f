//! Recordings that somebody else disturbs: the program goes on, and the run says what happened.
#![cfg(target_os = "linux")]

use std::fs::{self, OpenOptions};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use trueno_format::run_json::State;
use trueno_recorder::{Error, Overflow, Recorder};
use trueno_testing::{folder, in_own_process, run_json, table};

const ALONE: &str = "TRUENO_TEST_ALONE";

/// Runs the test alone in a child process, unless this is that process.
fn was_run_alone(test: &str, prepare: impl FnOnce(&mut Command)) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return false;
    }
    in_own_process(test, |child| prepare(child.env(ALONE, "1")));
    true
}

fn mapped(run: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(run.join("live")).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.file_name().unwrap() != "log.jsonl")
        .collect()
}

#[test]
fn cut_files_of_live_do_not_end_the_program() {
    // A handler of signals belongs to the whole process.
    if was_run_alone("cut_files_of_live_do_not_end_the_program", |_| {}) {
        return;
    }
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    drop(rec.brick("before"));
    for file in mapped(&path) {
        OpenOptions::new()
            .write(true)
            .open(file)
            .unwrap()
            .set_len(0)
            .unwrap();
    }
    for _ in 0..200_000 {
        rec.brick("after").elements(7);
    }
    // How much of it is there depends on who was where; that it may not be all is said.
    let _ = rec.finish();
    let run = run_json(&path);
    assert!(
        run.problems
            .iter()
            .any(|text| text.contains("was cut by another process")),
        "{:?}",
        run.problems
    );
}

#[test]
fn scribbled_files_of_live_do_not_end_the_program() {
    use std::os::unix::fs::FileExt;
    for fill in [0xff_u8, 0x80, 0x01] {
        let (_folder, path) = folder();
        let rec = Recorder::create(&path).unwrap();
        drop(rec.brick("before"));
        for file in mapped(&path) {
            let file = OpenOptions::new().write(true).open(file).unwrap();
            file.write_all_at(&[fill; 8192], 0).unwrap();
        }
        for _ in 0..50_000 {
            rec.brick("after").elements(7);
        }
        let _ = rec.finish();
        // It is readable, whatever it holds.
        let _ = run_json(&path);
    }
}

#[test]
fn segments_that_are_removed_meanwhile_are_counted_as_lost() {
    const ROWS: u64 = 400_000;
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path)
        .overflow(Overflow::Block)
        .create()
        .unwrap();
    for at in 0..ROWS {
        rec.brick("b").elements(at);
        if at == ROWS / 2 {
            while rec.status().rows < ROWS / 3 {
                std::thread::yield_now();
            }
            fs::remove_dir_all(path.join("bricks")).unwrap();
        }
    }
    let (lost, problem) = match rec.finish() {
        Err(Error::Writer { lost, problem, .. }) => (lost, problem),
        other => panic!("{other:?}"),
    };
    assert_eq!(run_json(&path).state, State::Failed);
    let kept = if path.join("bricks").exists() {
        table(&path, "bricks").rows as u64
    } else {
        0
    };
    assert_eq!(
        kept + lost,
        ROWS,
        "{kept} kept, {lost} said to be lost: {problem}"
    );
}

#[test]
fn a_limit_of_file_sizes_fails_the_recording_alone() {
    let is_done = was_run_alone("a_limit_of_file_sizes_fails_the_recording_alone", |child| {
        let limit = libc::rlimit {
            rlim_cur: 1 << 20,
            rlim_max: 1 << 20,
        };
        // SAFETY: between fork and exec, a call that is allowed there.
        unsafe {
            child.pre_exec(move || match libc::setrlimit(libc::RLIMIT_FSIZE, &limit) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            })
        };
    });
    if is_done {
        return;
    }
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path)
        .overflow(Overflow::Block)
        .create()
        .unwrap();
    for at in 0..1_000_000_u64 {
        rec.brick("b").elements(at ^ at << 20).flops(at ^ at << 30);
    }
    let error = rec.finish().unwrap_err().to_string();
    assert!(error.contains("File too large"), "{error}");
}

static RECORDER: OnceLock<Recorder> = OnceLock::new();
static FROM_SIGNALS: AtomicU64 = AtomicU64::new(0);

extern "C" fn record(_signal: libc::c_int) {
    if let Some(rec) = RECORDER.get() {
        drop(rec.brick("from a signal"));
        FROM_SIGNALS.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_signal_handler_that_records_loses_its_own_rows_at_most() {
    if was_run_alone(
        "a_signal_handler_that_records_loses_its_own_rows_at_most",
        |_| {},
    ) {
        return;
    }
    const ROWS: u64 = 300_000;
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path)
        .ring_records(64)
        .overflow(Overflow::Block)
        .create()
        .unwrap();
    RECORDER.set(rec.clone()).ok().unwrap();
    // SAFETY: the handler has the type that is asked for.
    unsafe { libc::signal(libc::SIGUSR1, record as extern "C" fn(libc::c_int) as usize) };
    let done = AtomicBool::new(false);
    // SAFETY: asks who this is.
    let me = unsafe { libc::pthread_self() };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                // SAFETY: that thread outlives this scope.
                unsafe { libc::pthread_kill(me, libc::SIGUSR1) };
                std::thread::sleep(std::time::Duration::from_micros(100));
            }
        });
        for at in 0..ROWS {
            rec.brick("own").elements(at);
        }
        done.store(true, Ordering::Release);
    });
    let summary = rec.finish().unwrap();
    let bricks = table(&path, "bricks");
    let own = bricks
        .texts("name")
        .iter()
        .filter(|name| **name == Some("own"))
        .count() as u64;
    let from_signals = FROM_SIGNALS.load(Ordering::Relaxed);
    assert!(from_signals > 0, "no signal came: the test shows nothing");
    // What a signal meets in the few instructions that publish a row may be lost, uncounted: one row a signal at most.
    assert!(own + from_signals >= ROWS, "{own} rows of {ROWS}");
    assert!(own <= ROWS, "{own} rows of {ROWS}: some twice");
    assert!(summary.rows <= ROWS + from_signals);
}

//! Programs that close descriptors which they did not open, as daemons do, and open files of their own.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use trueno_format::run_json::State;
use trueno_recorder::{Overflow, Recorder};
use trueno_testing::{folder, run_json, table};

/// Environment variable that turns the test binary into the program. Contains the folder of its run and of its own
/// files.
const FOLDER: &str = "TRUENO_TEST_DESCRIPTORS";
/// Number of files that it opens itself: more than a recorder has.
const OWN: u32 = 40;
const HALF: u64 = 40_000;

/// Entry point of the program; does nothing in a normal test run.
#[test]
fn records_as_a_daemon() {
    let Ok(place) = std::env::var(FOLDER) else {
        return;
    };
    let place = Path::new(&place);
    let rec = Recorder::builder(place.join("it.run"))
        .overflow(Overflow::Block)
        .create()
        .unwrap();
    record(&rec, "before");
    let_others_sleep();
    // SAFETY: takes numbers. Nothing else of this process is used afterwards but its standard streams.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
    let own = |nth: u32| place.join(format!("own {nth}"));
    let mut files: Vec<File> = (0..OWN)
        .map(|nth| File::create(own(nth)).unwrap())
        .collect();
    record(&rec, "after");
    rec.finish().unwrap();
    drop(rec);
    for (nth, file) in (0..).zip(&mut files) {
        file.write_all(b"mine").unwrap();
        assert_eq!(fs::read(own(nth)).unwrap(), b"mine", "{nth}");
    }
}

/// Waits until all other threads have been asleep for several checks in a row. Then the writer is not creating a
/// file whose descriptor could be closed between two of its calls.
fn let_others_sleep() {
    const LOOKS: u32 = 50;
    let own = fs::read_link("/proc/thread-self").unwrap();
    let own = own.file_name().unwrap();
    let mut looks = 0;
    while looks < LOOKS {
        let mut sleeps = fs::read_dir("/proc/self/task").unwrap().map(|task| {
            let task = task.unwrap();
            // The state follows the name, which is in parentheses.
            let stat = fs::read_to_string(task.path().join("stat")).unwrap_or_default();
            task.file_name() == own
                || stat
                    .rsplit(") ")
                    .next()
                    .is_some_and(|rest| rest.starts_with('S'))
        });
        looks = if sleeps.all(|sleeps| sleeps) {
            looks + 1
        } else {
            0
        };
        std::thread::yield_now();
    }
}

fn record(rec: &Recorder, name: &str) {
    for at in 0..HALF {
        rec.brick(name).elements(at);
    }
    let earlier = if name == "before" { 0 } else { HALF };
    while rec.status().rows < earlier + HALF {
        std::thread::yield_now();
    }
}

#[test]
fn a_daemon_keeps_its_files_and_its_run() {
    let (place, _) = folder();
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "records_as_a_daemon", "--nocapture"])
        .env(FOLDER, place.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
    let run = place.path().join("it.run");
    let json = run_json(&run);
    assert_eq!(json.state, State::Finished);
    assert_eq!((json.dropped, &json.problems), (0, &vec![]));
    assert_eq!(table(&run, "bricks").rows as u64, 2 * HALF);
    assert!(!run.join("live").exists());
}

/// A forked child has the descriptors of its parent: files that it opens in their place are its own.
#[test]
fn a_child_that_closes_all_keeps_its_files() {
    let (place, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    drop(rec.brick("parent's"));
    let own = place.path().join("own");
    let own_c = std::ffi::CString::new(own.to_str().unwrap()).unwrap();
    // SAFETY: the child makes system calls only, and frees what it has of the recorder, which takes no lock.
    let child = unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0);
            let flags = libc::O_CREAT | libc::O_RDWR;
            let numbers = [0; 20].map(|_| libc::open(own_c.as_ptr(), flags, 0o600));
            drop(rec);
            let lost = numbers
                .iter()
                .any(|number| libc::fcntl(*number, libc::F_GETFD) < 0);
            libc::_exit(lost.into());
        }
        child
    };
    let mut status = 0;
    // SAFETY: the number is valid for the call.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!(status, 0, "the recorder closed a file of the child's");
    assert_eq!(fs::read(own).unwrap(), b"");
    drop(rec.brick("parent's"));
    rec.finish().unwrap();
    assert_eq!(table(&path, "bricks").rows, 2);
}

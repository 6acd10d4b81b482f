//! Code that tests share: runs made of chosen rows, damaged, and read back; fakes in C. Not part of what programs link.

mod c;
pub mod damage;
mod made;
mod measure;
mod read;

use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;

pub use c::{compile, has_c_compiler};
pub use made::{Change, Made, Value, full, full_of, sample};
pub use measure::{median, ticks};
pub use read::{Cell, Table, journal, run_json, segments, table};

/// A folder that is removed on drop, and a path for a run in it.
pub fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.run");
    (folder, path)
}

/// Waits for something that another process or thread does.
pub fn wait_until(holds: impl Fn() -> bool) {
    while !holds() {
        thread::sleep(Duration::from_millis(5));
    }
}

/// Runs one test of this binary again, alone in a child process. `prepare` marks the child and passes it what it
/// needs.
pub fn in_own_process(test: &str, prepare: impl FnOnce(&mut Command)) {
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    prepare(&mut again);
    let done = again.output().unwrap();
    let (said, printed) = (
        String::from_utf8_lossy(&done.stderr),
        String::from_utf8_lossy(&done.stdout),
    );
    assert!(done.status.success(), "{printed}\n{said}");
    assert!(printed.contains("1 passed"), "{test} is no test\n{printed}");
}

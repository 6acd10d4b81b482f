//! The program that is attached to.

use std::fs;
use std::io::{Read, Write};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Environment variable that turns the test binary into the program.
pub const ROLE: &str = "TRUENO_TEST_ATTACH";
pub const CODE: i32 = 7;
pub const WORKERS: [&str; 2] = ["worker-0", "worker-1"];
pub const SLEEPER: &str = "sleeper";
/// Thread that starts once the file `more` exists.
pub const LATE: &str = "late";
pub const CHILD: &str = "child";

static ROUNDS: AtomicU64 = AtomicU64::new(0);

/// Entry point of the program; does nothing in a normal test run.
#[test]
fn does_its_part() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    // A program that hangs is ended, and that is a fault.
    // SAFETY: a call with a number.
    unsafe { libc::alarm(1200) };
    match role.as_str() {
        "goes on" => goes_on(),
        "child" => child(),
        other => panic!("{other}"),
    }
    std::process::exit(CODE);
}

fn exists(name: &str) -> bool {
    fs::exists(name).unwrap()
}

fn tell(name: &str) {
    fs::write(format!("{name}.new"), "").unwrap();
    fs::rename(format!("{name}.new"), name).unwrap();
}

fn works(file: &str) {
    let mut file = fs::File::create(file).unwrap();
    while !exists("enough") {
        file.write_all(b"0123456789").unwrap();
        burn();
        // Leaves processors to the recorder and the test, which two threads that only compute would take from them.
        thread::sleep(Duration::from_micros(200));
        ROUNDS.fetch_add(1, Ordering::Relaxed);
    }
}

#[inline(never)]
fn burn() {
    let mut sum = 0_u64;
    for number in 0..100_000 {
        sum = std::hint::black_box(sum ^ number);
    }
}

fn named(name: &'static str, work: impl FnOnce() + Send + 'static) -> thread::JoinHandle<()> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .unwrap()
}

fn goes_on() {
    let (mut reader, writer) = std::io::pipe().unwrap();
    let sleeper = named(SLEEPER, move || {
        let mut all = Vec::new();
        reader.read_to_end(&mut all).unwrap();
    });
    let workers = WORKERS.map(|name| named(name, move || works(name)));
    tell("ready");
    while !exists("more") && !exists("enough") {
        thread::sleep(Duration::from_millis(2));
    }
    let own = std::env::current_exe().unwrap();
    let mut child = Command::new(own)
        .args(["--exact", "program::does_its_part", "--nocapture"])
        .env(ROLE, "child")
        .spawn()
        .unwrap();
    let late = named(LATE, || works(LATE));
    assert_eq!(child.wait().unwrap().code(), Some(CODE));
    for worker in workers {
        worker.join().unwrap();
    }
    late.join().unwrap();
    drop(writer);
    sleeper.join().unwrap();
    fs::write("rounds", ROUNDS.load(Ordering::Relaxed).to_string()).unwrap();
}

fn child() {
    named(CHILD, || works(CHILD)).join().unwrap();
}

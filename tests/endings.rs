//! Programs that end in every way there is: the rows that are read and those that were counted as dropped are the
//! rows that they announced.

use std::cell::RefCell;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use trueno_engine::run::Run;
use trueno_model::RunState;
use trueno_recorder::{Overflow, Recorder};

use crate::harness::{Dir, ends};
use crate::victim::Counts;

/// If set, the test binary acts as the program that ends. The value is a way, a policy, and the number of records
/// in a ring.
const ROLE: &str = "TRUENO_TEST_ENDING";
const RUN: &str = "ended.run";
const ROWS: u64 = 3_000;
/// Number of threads in the way `many threads`, and rows of each.
const MANY: (u64, u64) = (1_000, 70);

/// Ways to end, each with its exit code or, negative, its signal.
const WAYS: [(&str, i32); 14] = [
    ("finish", 0),
    ("drop", 0),
    ("no end", 0),
    ("panic", 101),
    ("panic in a thread", 0),
    ("exit", 7),
    ("exit in a thread", 7),
    ("immediate exit", 8),
    ("abort", -libc::SIGABRT),
    ("terminate", -libc::SIGTERM),
    ("fault", -libc::SIGSEGV),
    ("fork", 0),
    ("replace", 0),
    ("many threads", 0),
];
/// Ways whose row counts have a tolerance: the number of events that may be lost or late.
const LOOSE: [&str; 2] = ["thread-local", "handler"];

const POLICIES: [(&str, Overflow); 3] = [
    ("drop", Overflow::Drop),
    ("block", Overflow::Block),
    ("grow", Overflow::Grow),
];

static RECORDER: OnceLock<Recorder> = OnceLock::new();
static COUNTS: OnceLock<Counts> = OnceLock::new();
static FROM_SIGNALS: AtomicU64 = AtomicU64::new(0);

/// Records a row, and counts it.
fn span() {
    if let (Some(rec), Some(counts)) = (RECORDER.get(), COUNTS.get()) {
        drop(rec.brick("step"));
        counts.add(0, "bricks");
    }
}

struct AtEnd;

impl Drop for AtEnd {
    fn drop(&mut self) {
        (0..3).for_each(|_| span());
    }
}

thread_local! {
    static EARLY: RefCell<Option<AtEnd>> = const { RefCell::new(None) };
    static LATE: RefCell<Option<AtEnd>> = const { RefCell::new(None) };
}

extern "C" fn handle(_signal: libc::c_int) {
    span();
    FROM_SIGNALS.fetch_add(1, Ordering::Relaxed);
}

/// The child program. Without [`ROLE`] it does nothing.
#[test]
fn ends_as_it_is_told() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let mut words = role.split(',');
    let (way, policy, records) = (words.next(), words.next(), words.next());
    let (way, records) = (way.unwrap(), records.unwrap().parse().unwrap());
    let policy = POLICIES.iter().find(|(name, _)| Some(*name) == policy);
    let rec = Recorder::builder(RUN)
        .overflow(policy.unwrap().1)
        .ring_records(records)
        .create()
        .unwrap();
    COUNTS.set(Counts::open(Path::new("counts"))).ok().unwrap();
    // What is in a static is never dropped: its run ends with the program, where that ends by `exit`.
    RECORDER.set(rec.clone()).ok().unwrap();
    EARLY.set(matches!(way, "thread-local").then_some(AtEnd));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..ROWS).for_each(|_| span()));
        }
        (0..ROWS).for_each(|_| span());
    });
    match way {
        "finish" => drop(rec.finish()),
        "drop" | "no end" => drop(rec),
        "panic" => panic!("as told"),
        "panic in a thread" => {
            let work = || {
                let _open = RECORDER.get().map(|rec| rec.brick("step"));
                span();
                panic!("as told");
            };
            assert!(std::thread::spawn(work).join().is_err());
            // Its guard ended with it.
            COUNTS.get().unwrap().add(0, "bricks");
        }
        "exit" => std::process::exit(7),
        "exit in a thread" => {
            let work = || {
                span();
                std::process::exit(7)
            };
            let _ = std::thread::spawn(work).join();
        }
        // SAFETY: ends the process here.
        "immediate exit" => unsafe { libc::_exit(8) },
        "abort" => std::process::abort(),
        "terminate" | "fault" => {
            let signal = match way {
                "fault" => libc::SIGSEGV,
                _ => libc::SIGTERM,
            };
            // SAFETY: calls with numbers; whatever handled the signal in this binary does so no more.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
        }
        "fork" => {
            // SAFETY: the child only records, which does nothing there, and leaves.
            let child = unsafe { libc::fork() };
            if child == 0 {
                let rec = RECORDER.get();
                (0..100).for_each(|_| drop(rec.map(|rec| rec.brick("of the child"))));
                // SAFETY: ends the process here.
                unsafe { libc::_exit(0) };
            }
            (0..ROWS).for_each(|_| span());
            let mut status = 0;
            // SAFETY: waits for the child that was made above.
            unsafe { libc::waitpid(child, &mut status, 0) };
            assert_eq!(status, 0);
        }
        "replace" => {
            use std::os::unix::process::CommandExt;
            panic!("{}", Command::new("true").exec());
        }
        "many threads" => std::thread::scope(|scope| {
            for _ in 0..MANY.0 {
                scope.spawn(|| (0..MANY.1).for_each(|_| span()));
            }
        }),
        "thread-local" => {
            let work = || {
                // Registered before the thread's rings, and after: destroyed after them, and before.
                EARLY.set(Some(AtEnd));
                span();
                LATE.set(Some(AtEnd));
            };
            std::thread::spawn(work).join().unwrap();
        }
        "handler" => signals(),
        _ => panic!("no such way: {way}"),
    }
}

/// Signal handlers that record on the interrupted thread.
fn signals() {
    // SAFETY: the handler has the type that is asked for.
    unsafe { libc::signal(libc::SIGUSR1, handle as extern "C" fn(libc::c_int) as usize) };
    // SAFETY: asks who this is.
    let me = unsafe { libc::pthread_self() };
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                // SAFETY: that thread outlives this scope.
                unsafe { libc::pthread_kill(me, libc::SIGUSR1) };
                std::thread::sleep(std::time::Duration::from_micros(200));
            }
        });
        while FROM_SIGNALS.load(Ordering::Relaxed) < 20 {
            (0..ROWS).for_each(|_| span());
        }
        done.store(true, Ordering::Release);
    });
}

/// Runs one program to its end. The error describes what is wrong.
fn case(way: &str, code: Option<i32>, policy: &str, records: usize) -> Result<u64, String> {
    let dir = Dir::new();
    let counts = Counts::open(&dir.join("counts"));
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args([
            "--exact",
            "endings::ends_as_it_is_told",
            "--nocapture",
            "--test-threads=1",
        ])
        .current_dir(dir.path())
        .env(ROLE, format!("{way},{policy},{records}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let status = ends(&mut child.spawn().unwrap(), way);
    let found = |status: ExitStatus| status.code().or(status.signal().map(|signal| -signal));
    if code.is_some_and(|code| found(status) != Some(code)) {
        return Err(format!("ended by {status}"));
    }
    let announced = counts.table(0);
    let run = Run::open(&dir.join(RUN)).map_err(|error| error.to_string())?;
    let facts = run.facts();
    let bricks = facts.tables.iter().find(|table| table.name == "bricks");
    let bricks = bricks.ok_or("no bricks")?;
    let (read, dropped) = (bricks.rows_read, bricks.dropped);
    let told = read + dropped.unwrap_or(0);
    let margin = if code.is_none() { 64 } else { 0 };
    let is_told = match code {
        Some(_) => told == announced,
        // Each handler and each late destructor may meet another row, and the two be one or none.
        None => told <= announced + margin && announced <= told + margin,
    };
    if !is_told {
        return Err(format!(
            "{announced} announced, {read} read, {dropped:?} dropped"
        ));
    }
    if bricks.rows_lost != Some(0) {
        return Err(format!("rows lost: {:?}", bricks.rows_lost));
    }
    let sudden = ["immediate exit", "abort", "terminate", "fault", "replace"];
    let is_finished = !sudden.contains(&way);
    match facts.state {
        RunState::Finished if !is_finished => Err("finished".to_owned()),
        RunState::Recording if is_finished => Err("not finished".to_owned()),
        _ => Ok(announced),
    }
}

fn cases<'a>(all: impl Iterator<Item = (&'a str, Option<i32>, &'a str, usize)>) {
    let mut faults = Vec::new();
    let (mut count, mut rows) = (0, 0);
    for (way, code, policy, records) in all {
        count += 1;
        match case(way, code, policy, records) {
            Ok(announced) => rows += announced,
            Err(fault) => faults.push(format!("{way}, {policy}, {records}: {fault}")),
        }
    }
    println!(
        "{count} endings, {rows} rows announced, {} faults",
        faults.len()
    );
    assert!(rows > 0 || !faults.is_empty(), "nothing was recorded");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn ways() -> impl Iterator<Item = (&'static str, Option<i32>)> {
    let exact = WAYS.into_iter().map(|(way, code)| (way, Some(code)));
    exact.chain(LOOSE.map(|way| (way, None)))
}

#[test]
fn every_ending_keeps_every_row_or_counts_it() {
    // Another policy and ring for each: it is `all_endings…` that leaves none out.
    let rings = [64, 256, 65_536];
    cases(
        ways()
            .enumerate()
            .map(|(nth, (way, code))| (way, code, POLICIES[nth % 3].0, rings[nth / 3 % 3])),
    );
}

/// `cargo test -p trueno-analyze --test e2e -- --ignored --nocapture all_endings`
#[test]
#[ignore = "minutes: every ending, policy and size of rings, several times"]
fn all_endings_keep_every_row_or_count_it() {
    let all = ways().flat_map(|(way, code)| {
        let each = POLICIES
            .into_iter()
            .flat_map(|(policy, _)| [(policy, 64), (policy, 65_536)]);
        each.map(move |(policy, records)| (way, code, policy, records))
    });
    let all: Vec<_> = all.collect();
    cases((0..5).flat_map(|_| all.iter().copied()));
}

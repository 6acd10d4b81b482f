//! The program that is killed: threads that come and go record everything there is, and say
//! after each event that it is complete.
//!
//! It sends the signal to itself, so that it has recorded as much on a busy machine as on an idle one.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use trueno_format::journal::JOURNAL;
use trueno_recorder::{Overflow, Recorder, Source, TileLevel};

use crate::harness::{Dir, ends};

/// If set, the test binary acts as the program that is killed.
const ROLE: &str = "TRUENO_TEST_KILLED";
/// When it is killed, as the text of a [`When`].
const WHEN: &str = "TRUENO_TEST_KILLED_WHEN";

#[derive(Clone, Copy)]
pub enum When {
    /// Microseconds after the start.
    After(u64),
    /// Microseconds after a segment of bricks was sealed, or after ten seconds without one.
    Sealed(u64),
    /// Once the journal has this many batches.
    Batches(u64),
}

impl When {
    fn text(self) -> String {
        match self {
            When::After(micros) => format!("after {micros}"),
            When::Sealed(micros) => format!("sealed {micros}"),
            When::Batches(count) => format!("batches {count}"),
        }
    }

    fn parse(text: &str) -> When {
        let (word, number) = text.split_once(' ').unwrap();
        let number = number.parse().unwrap();
        match word {
            "after" => When::After(number),
            "sealed" => When::Sealed(number),
            "batches" => When::Batches(number),
            _ => panic!("{text}"),
        }
    }

    fn wait(self, run: &Path) {
        let sleep = |micros| std::thread::sleep(Duration::from_micros(micros));
        let sealed = run.join("bricks/000000.arrow");
        let journal = || std::fs::read_to_string(run.join(JOURNAL)).unwrap_or_default();
        match self {
            When::After(micros) => sleep(micros),
            When::Sealed(micros) => {
                let began = Instant::now();
                while !sealed.exists() && began.elapsed() < Duration::from_secs(600) {
                    sleep(50);
                }
                sleep(micros);
            }
            When::Batches(count) => {
                while (journal().matches("\"batch\"").count() as u64) < count {
                    sleep(500);
                }
            }
        }
    }
}
const RUN: &str = "killed.run";
pub const LANES: usize = 4;
/// Tables whose rows are counted. The last two have no ids.
pub const TABLES: [&str; 6] = [
    "bricks",
    "kernels",
    "tiles",
    "syncs",
    "checksums",
    "counters",
];
/// Number of completed events by lane and table, in a file that both processes map.
pub struct Counts(*mut AtomicU64);

// SAFETY: the memory is never unmapped, and only its atomics are used.
unsafe impl Sync for Counts {}
// SAFETY: as above.
unsafe impl Send for Counts {}

impl Counts {
    pub fn open(path: &Path) -> Counts {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path);
        let file: File = file.unwrap();
        file.set_len(4096).unwrap();
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping of a file that is long enough.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                4096,
                access,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        assert_ne!(base, libc::MAP_FAILED);
        Counts(base.cast())
    }

    fn counter(&self, lane: usize, table: usize) -> &AtomicU64 {
        // SAFETY: inside the page: there are far fewer than 512 counts.
        unsafe { &*self.0.add(lane * TABLES.len() + table) }
    }

    pub fn add(&self, lane: usize, table: &str) {
        let table = TABLES.iter().position(|known| *known == table).unwrap();
        self.counter(lane, table).fetch_add(1, Ordering::Release);
    }

    pub fn table(&self, table: usize) -> u64 {
        (0..LANES)
            .map(|lane| self.counter(lane, table).load(Ordering::Acquire))
            .sum()
    }
}

/// The child program. Without [`ROLE`] it does nothing.
#[test]
fn records_until_it_is_killed() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let (overflow, ring_records) = match role.as_str() {
        "drop" => (Overflow::Drop, 256),
        "grow" => (Overflow::Grow, 64),
        "small" => (Overflow::Block, 128),
        _ => (Overflow::Block, 65_536),
    };
    let counts = Counts::open(Path::new("counts"));
    if !["abort", "exit"].contains(&role.as_str()) {
        // From before there is anything of the run.
        std::thread::spawn(|| {
            When::parse(&std::env::var(WHEN).unwrap()).wait(Path::new(RUN));
            // SAFETY: calls with numbers.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
        });
    }
    let rec = Recorder::builder(RUN)
        .overflow(overflow)
        .ring_records(ring_records)
        .create()
        .unwrap();
    rec.value("model", "tiny");
    rec.ptx("k", "// a source\n");
    match role.as_str() {
        "abort" => {
            drop(rec.brick("last"));
            counts.add(0, "bricks");
            std::process::abort();
        }
        "exit" => {
            drop(rec.brick("last"));
            counts.add(0, "bricks");
            // SAFETY: ends the process here, without what `exit` does for recorders.
            unsafe { libc::_exit(7) };
        }
        _ => {}
    }
    std::thread::scope(|scope| {
        // Should that moment never come, it must not fill the disk.
        scope.spawn(|| {
            std::thread::sleep(Duration::from_secs(600));
            std::process::exit(1);
        });
        for lane in 0..LANES {
            let (rec, counts) = (&rec, &counts);
            scope.spawn(move || {
                for round in 0.. {
                    // A thread of its own, so that threads end and begin all the time.
                    std::thread::scope(|inner| {
                        inner.spawn(|| work(rec, counts, lane, round));
                    });
                }
            });
        }
    });
}

fn work(rec: &Recorder, counts: &Counts, lane: usize, round: u64) {
    let done = |table: &str| counts.add(lane, table);
    let steps = if round.is_multiple_of(3) { 20_000 } else { 40 };
    let gemv = rec.name("gemv");
    {
        let _iteration = rec.iteration(round);
        for step in 0..steps {
            let scope = (step % 64 == 0).then(|| rec.layer(lane as u32));
            let mut brick = if step % 100 == 7 {
                rec.brick(format!("new {lane} {round} {step}"))
            } else {
                rec.brick("step")
            };
            brick.elements(step);
            let before = brick.id();
            drop(brick);
            done("bricks");
            if step % 8 == 0 {
                let mut kernel = rec.kernel(gemv);
                kernel.grid(1, 2, 3).block(32, 1, 1).backend("avx2");
                drop(rec.tile(TileLevel::Macro, 1, 2));
                done("tiles");
                drop(kernel);
                done("kernels");
                drop(rec.wait("join", &[before]));
                done("syncs");
                rec.checksum("out", Some(step), &[step as f32, 1.0], &[2]);
                done("checksums");
                rec.counter("tokens", step as f64, "tokens", Source::Declared);
                done("counters");
            }
            if let Some(scope) = scope {
                drop(scope);
                done("bricks");
            }
        }
    }
    done("bricks");
}

pub fn start(dir: &Dir, role: &str, when: When) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "victim::records_until_it_is_killed",
            "--nocapture",
        ])
        .current_dir(dir.path())
        .env(ROLE, role)
        .env(WHEN, when.text())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The run `killed.run` of a program that was killed at this moment.
pub fn kill(dir: &Dir, role: &str, when: When) -> PathBuf {
    let status = ends(&mut start(dir, role, when), role);
    assert_eq!(status.signal(), Some(libc::SIGKILL), "{role}: {status}");
    dir.join(RUN)
}

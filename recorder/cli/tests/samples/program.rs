//! The programs that are sampled. They measure what they use by the clock of their own CPU time.

use std::fs;
use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Environment variable that selects the program that the test binary becomes.
pub const ROLE: &str = "TRUENO_TEST_SAMPLES";
pub const CODE: i32 = 7;
/// Names of the threads that use CPU time; the last one is in a child process.
pub const THREADS: [&str; 3] = ["first", "second", "child"];

const MS: i64 = 1_000_000;

/// Entry point of the programs; does nothing in a normal test run.
#[test]
fn does_its_part() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    // A program that hangs is ended, and that is a fault.
    // SAFETY: a call with a number.
    unsafe { libc::alarm(1200) };
    match role.as_str() {
        "shares" => shares(),
        "threads and a child" => threads_and_a_child(),
        "child" => named("child"),
        "goes on" => goes_on(),
        "waits" => waits(),
        "loopback" => loopback(),
        #[cfg(target_arch = "x86_64")]
        "makes code" => makes_code(),
        other => panic!("{other}"),
    }
    std::process::exit(CODE);
}

fn used_ns() -> i64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the struct is valid for the call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

#[inline(never)]
fn burn(ns: i64) -> u64 {
    let end_ns = used_ns() + ns;
    let mut sum = 0_u64;
    while used_ns() < end_ns {
        for number in 0..20_000_u64 {
            sum = black_box(sum ^ number).rotate_left(7);
        }
    }
    sum
}

#[inline(never)]
fn hot(ns: i64) -> u64 {
    black_box(burn(ns)) + 1
}

#[inline(never)]
fn middle(ns: i64) -> u64 {
    black_box(hot(ns)) + 1
}

#[inline(never)]
fn outer(ns: i64) -> u64 {
    black_box(middle(ns)) + 1
}

#[inline(never)]
fn warm(ns: i64) -> u64 {
    black_box(burn(ns)) + 1
}

#[inline(never)]
fn shares() {
    // In turns, so that nothing that changes with time is in one of them alone.
    for _ in 0..20 {
        black_box(outer(30 * MS));
        black_box(warm(10 * MS));
    }
}

fn named(name: &str) {
    let burns = || black_box(burn(200 * MS));
    let thread = thread::Builder::new().name(name.to_owned()).spawn(burns);
    thread.unwrap().join().unwrap();
}

fn threads_and_a_child() {
    thread::scope(|scope| {
        for name in &THREADS[..2] {
            scope.spawn(|| named(name));
        }
    });
    let own = std::env::current_exe().unwrap();
    let ended = Command::new(own)
        .args(["--exact", "program::does_its_part", "--nocapture"])
        .env(ROLE, "child")
        .status();
    assert_eq!(ended.unwrap().code(), Some(CODE));
}

pub const NAPS: usize = 5;
pub const NAP: Duration = Duration::from_millis(20);

#[inline(never)]
fn naps() {
    for _ in 0..NAPS {
        thread::sleep(NAP);
    }
}

#[inline(never)]
fn reads(from: &mut impl Read) {
    from.read_exact(&mut [0]).unwrap();
}

/// Prints the CPU time of its threads: the main one, and one that waits for it.
fn waits() {
    let (mut from, mut to) = std::io::pipe().unwrap();
    let reader = move || {
        black_box(burn(50 * MS));
        reads(&mut from);
        used_ns()
    };
    let reader = thread::Builder::new()
        .name("reader".to_owned())
        .spawn(reader);
    naps();
    to.write_all(&[1]).unwrap();
    let reader_ns = reader.unwrap().join().unwrap();
    fs::write("used", format!("{} {reader_ns}", used_ns())).unwrap();
}

#[inline(never)]
fn goes_on() {
    while !Path::new("enough").exists() {
        black_box(burn(20 * MS));
    }
    fs::write("ended", "").unwrap();
}

/// Counts down in code that it writes itself, with a frame: `push rbp; mov rbp, rsp; dec rdi; jnz; pop rbp; ret`.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
fn makes_code() {
    const CODE: [u8; 11] = [
        0x55, 0x48, 0x89, 0xe5, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x5d, 0xc3,
    ];
    const PAGE_BYTES: usize = 4096;
    // SAFETY: the page is this function's alone; the code has a loop over its argument, and returns.
    let count_down: extern "C" fn(u64) = unsafe {
        let page = libc::mmap(
            std::ptr::null_mut(),
            PAGE_BYTES,
            libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        assert!(page != libc::MAP_FAILED);
        page.cast::<[u8; 11]>().write(CODE);
        std::mem::transmute(page)
    };
    let map = format!("/tmp/perf-{}.map", std::process::id());
    let line = format!(
        "{:x} {PAGE_BYTES:x} made while it ran\n",
        count_down as usize
    );
    fs::write(&map, line).unwrap();
    let end_ns = used_ns() + 200 * MS;
    while used_ns() < end_ns {
        count_down(1_000_000);
    }
}

/// Two threads that talk over the loopback device, and one beside them that talks to itself.
pub const TALKERS: [&str; 3] = ["asks", "answers", "bystander"];
const TURNS: usize = 300;

fn loopback() {
    let pair = || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (other, _) = listener.accept().unwrap();
        [one, other].map(|end| {
            end.set_nodelay(true).unwrap();
            end
        })
    };
    let ([mut asks, mut answers], [mut to_itself, mut from_itself]) = (pair(), pair());
    thread::scope(|scope| {
        let begin = |name: &str| thread::Builder::new().name(name.to_owned());
        let thread = begin(TALKERS[0]).spawn_scoped(scope, move || {
            for _ in 0..TURNS {
                asks.write_all(&[1]).unwrap();
                asks.read_exact(&mut [0]).unwrap();
            }
        });
        thread.unwrap();
        let thread = begin(TALKERS[1]).spawn_scoped(scope, move || {
            for _ in 0..TURNS {
                answers.read_exact(&mut [0]).unwrap();
                answers.write_all(&[2]).unwrap();
            }
        });
        thread.unwrap();
        let thread = begin(TALKERS[2]).spawn_scoped(scope, move || {
            for _ in 0..10 * TURNS {
                to_itself.write_all(&[3]).unwrap();
                from_itself.read_exact(&mut [0]).unwrap();
            }
        });
        thread.unwrap();
    });
}

//! The programs that `overhead.py` records: `threads PART COUNT`. Each prints the CPU time that it used itself, in ns.

use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Write, pipe};
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

const THREADS: usize = 2;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let part = arguments
        .next()
        .expect("a part: busy, calls, writes or turns");
    let count: u64 = arguments
        .next()
        .and_then(|text| text.parse().ok())
        .expect("a count");
    match part.as_str() {
        "busy" => on_each_thread(move |_| {
            black_box(work(count));
        }),
        "calls" => on_each_thread(move |_| calls_and_work(count)),
        "writes" => on_each_thread(move |_| writes(count)),
        "turns" => turns(count),
        other => panic!("no part {other}"),
    }
    println!("{}", used_ns());
}

/// Threads are joined while they work, so that each run makes the same calls.
fn on_each_thread(part: impl Fn(usize) + Send + Clone + 'static) {
    let all: Vec<_> = (0..THREADS)
        .map(|number| {
            let part = part.clone();
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(100));
                part(number);
                thread::sleep(Duration::from_millis(500 * number as u64 + 500));
            })
        })
        .collect();
    all.into_iter()
        .for_each(|thread| thread.join().expect("it works"));
}

fn work(rounds: u64) -> u64 {
    let mut table = vec![1_u64; 4096];
    for round in 0..rounds {
        outer(&mut table, round);
    }
    table.iter().fold(0, |sum, value| sum ^ value)
}

#[inline(never)]
fn outer(table: &mut [u64], round: u64) {
    middle(table, round);
    black_box(&table);
}

#[inline(never)]
fn middle(table: &mut [u64], round: u64) {
    inner(table, round | 1);
    black_box(&table);
}

#[inline(never)]
fn inner(table: &mut [u64], factor: u64) {
    for value in &mut *table {
        *value = value.rotate_left(7).wrapping_mul(factor) ^ (*value >> 3);
    }
}

/// A call about every 50 µs.
fn calls_and_work(count: u64) {
    let mut to = File::create("/dev/null").expect("it is there");
    for _ in 0..count {
        black_box(work(12));
        to.write_all(b"x").expect("it takes all");
    }
}

fn writes(count: u64) {
    let mut to = File::create("/dev/null").expect("it is there");
    (0..count).for_each(|_| to.write_all(b"x").expect("it takes all"));
}

/// Threads that wait for each other through pipes and a condition variable, plus threads and processes that come
/// and go.
fn turns(count: u64) {
    let (mut there, mut to) = pipe().expect("a pipe");
    let (mut back, mut answer) = pipe().expect("a pipe");
    let turn = Arc::new((Mutex::new(false), Condvar::new()));
    let others = Arc::clone(&turn);
    let other = thread::spawn(move || {
        let mut byte = [0];
        while there.read_exact(&mut byte).is_ok() {
            answer.write_all(&byte).expect("somebody reads");
            *others.0.lock().expect("nobody failed") = true;
            others.1.notify_one();
        }
    });
    let mut byte = [0];
    for number in 0..count {
        to.write_all(&byte).expect("somebody reads");
        back.read_exact(&mut byte).expect("somebody writes");
        let mut is_there = turn.0.lock().expect("nobody failed");
        while !*is_there {
            is_there = turn.1.wait(is_there).expect("nobody failed");
        }
        *is_there = false;
        drop(is_there);
        if number % 64 == 0 {
            thread::spawn(|| drop(File::open("/dev/zero")))
                .join()
                .expect("it opens");
        }
        if number % 1024 == 0 {
            Command::new("true").status().expect("it is there");
        }
    }
    drop(to);
    other.join().expect("it ends");
}

/// CPU time of this process and its threads, including those that have ended.
fn used_ns() -> u64 {
    const TICK_NS: u64 = 10_000_000;
    let stat = std::fs::read_to_string("/proc/self/stat").expect("it is there");
    let (_, rest) = stat.rsplit_once(')').expect("a name in brackets");
    let ticks = rest.split_whitespace().skip(11).take(2);
    ticks
        .map(|word| word.parse::<u64>().expect("a number") * TICK_NS)
        .sum()
}

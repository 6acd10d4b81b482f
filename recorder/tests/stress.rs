//! Many threads at once: nothing is lost, nothing is torn.
//!
//! Two threads record as fast as they can while a third one makes threads that record a
//! little and end, so that rings are handed on all the time. Every field of a row follows
//! from one number: a row made of two shows.

mod common;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::{Table, folder, table};
use trueno_recorder::{Overflow, Recorder};

/// Rows of a thread that comes and goes.
const SHORT: u64 = 50;

/// One row, and one inside it, both made from `number`.
fn record(rec: &Recorder, thread: u64, number: u64) {
    let mut outer = rec.brick("outer");
    outer
        .elements(thread)
        .flops(number)
        .bytes(number ^ thread, !number);
    let mut inner = rec.brick("inner");
    inner.elements(thread).flops(number);
}

/// Every row belongs together, and every thread's numbers are all there, in order.
fn check(bricks: &Table, rows_of: &HashMap<u64, u64>) {
    assert_eq!(bricks.rows as u64, 2 * rows_of.values().sum::<u64>());
    let column = |name| bricks.numbers(name);
    let (threads, numbers) = (column("elements"), column("flops"));
    let (read, written) = (column("bytes_read"), column("bytes_written"));
    let (ids, parents, lanes) = (column("id"), column("parent"), column("thread"));
    let (starts, durations) = (column("start_ns"), column("dur_ns"));
    let names = bricks.texts("name");
    let mut next: HashMap<u64, u64> = HashMap::new();
    let mut inner_of = HashMap::new();
    for row in 0..bricks.rows {
        let [thread, number] = [threads[row], numbers[row]].map(|value| value.unwrap() as u64);
        assert_eq!(ids[row].unwrap() >> 32, lanes[row].unwrap() + 1);
        assert!(durations[row].unwrap() >= 0);
        if names[row] == Some("inner") {
            assert_eq!((read[row], written[row]), (None, None));
            inner_of.insert((thread, number), row);
            continue;
        }
        assert_eq!(names[row], Some("outer"));
        assert_eq!(read[row], Some(i128::from(number ^ thread)));
        assert_eq!(written[row], Some(i128::from(!number)));
        let next = next.entry(thread).or_default();
        assert_eq!(number, *next, "thread {thread}");
        *next += 1;
        let inner = inner_of
            .remove(&(thread, number))
            .expect("an inner row before it");
        assert_eq!(parents[inner], ids[row]);
        assert!(starts[row] <= starts[inner]);
    }
    assert_eq!(&next, rows_of);
}

/// Rows by thread that made them.
fn hammer(rec: &Recorder, time: Duration) -> HashMap<u64, u64> {
    let done = AtomicBool::new(false);
    let (done, start) = (&done, Instant::now());
    std::thread::scope(|scope| {
        let busy = [0, 1].map(|thread| {
            scope.spawn(move || {
                let mut number = 0;
                while !done.load(Ordering::Relaxed) {
                    record(rec, thread, number);
                    number += 1;
                }
                (thread, number)
            })
        });
        let comers = scope.spawn(move || {
            let mut comers = 2..;
            while start.elapsed() < time {
                let thread = comers.next().unwrap();
                let short = scope.spawn(move || (0..SHORT).for_each(|at| record(rec, thread, at)));
                // Some end before the next one starts, some do not.
                if thread % 3 == 0 {
                    short.join().unwrap();
                }
            }
            done.store(true, Ordering::Relaxed);
            2..comers.start
        });
        let mut rows: HashMap<u64, u64> = busy.map(|thread| thread.join().unwrap()).into();
        rows.extend(comers.join().unwrap().map(|thread| (thread, SHORT)));
        rows
    })
}

/// Several runs, so that the rows of one fit into memory.
fn stress(overflow: Overflow, time: Duration) {
    let start = Instant::now();
    let mut rows = 0;
    while start.elapsed() < time {
        let (_folder, path) = folder();
        let rec = Recorder::builder(&path)
            .ring_records(256)
            .overflow(overflow)
            .create()
            .unwrap();
        let rows_of = hammer(&rec, Duration::from_millis(150));
        assert_eq!(rec.finish().unwrap().dropped, 0);
        assert_eq!(rec.status().late, 0);
        check(&table(&path, "bricks"), &rows_of);
        assert_eq!(table(&path, "threads").rows, rows_of.len());
        rows += 2 * rows_of.values().sum::<u64>();
    }
    println!("{overflow:?}: {rows} rows in {:.1?}", start.elapsed());
}

#[test]
fn nothing_is_lost_when_threads_wait_for_the_writer() {
    stress(Overflow::Block, Duration::from_secs(1));
}

#[test]
fn nothing_is_lost_when_rings_grow() {
    stress(Overflow::Grow, Duration::from_secs(1));
}

/// What is dropped is counted, and what is not is whole.
#[test]
fn what_is_dropped_is_counted_exactly() {
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path).ring_records(64).create().unwrap();
    let rows_of = hammer(&rec, Duration::from_millis(150));
    let summary = rec.finish().unwrap();
    let made = 2 * rows_of.values().sum::<u64>();
    let counted = &summary.tables["bricks"];
    assert_eq!(counted.rows + counted.dropped, made);
    assert!(counted.dropped > 0, "the ring is too small for all of it");
    let bricks = table(&path, "bricks");
    assert_eq!(bricks.rows as u64, counted.rows);
    for row in 0..bricks.rows {
        let [thread, number] = ["elements", "flops"].map(|name| &bricks.columns[name][row]);
        let (common::Cell::U(thread), common::Cell::U(number)) = (thread, number) else {
            panic!("row {row} lacks what it was given");
        };
        assert!(number < &rows_of[thread]);
        if bricks.columns["name"][row] == common::Cell::T("outer".into()) {
            assert_eq!(
                bricks.columns["bytes_written"][row],
                common::Cell::U(!number)
            );
        }
    }
}

/// `cargo test --release -p trueno-recorder --test stress -- --ignored --nocapture`
#[test]
#[ignore = "takes a minute"]
fn nothing_is_lost_in_a_minute() {
    stress(Overflow::Block, Duration::from_secs(30));
    stress(Overflow::Grow, Duration::from_secs(30));
}

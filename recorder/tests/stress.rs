//! Many threads at once: nothing is lost, nothing is torn.
//!
//! Two threads record as fast as they can while a third one makes threads that record a
//! little and end, so that rings are handed on all the time. Every field of a row follows
//! from one number: a row made of two shows.

use std::collections::HashMap;

use trueno_recorder::{Overflow, Recorder};
use trueno_testing::{Table, folder, table};

/// Numbers recorded by each short-lived thread, and how many such threads there are.
const SHORT: u64 = 50;
const COMERS: u64 = 300;
/// Numbers recorded by a long-lived thread: takes about as long as all the short-lived ones.
const LONG: u64 = 100_000;

/// Records a row with a row inside it, both with values derived from `number`.
fn record(rec: &Recorder, thread: u64, number: u64) {
    let mut outer = rec.brick("outer");
    outer
        .elements(thread)
        .flops(number)
        .bytes(number ^ thread, !number);
    let mut inner = rec.brick("inner");
    inner.elements(thread).flops(number);
}

/// Asserts that the values of each row are consistent, and that every thread's numbers are complete and in order.
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

/// Records from many threads. Returns how many numbers each thread recorded.
fn hammer(rec: &Recorder) -> HashMap<u64, u64> {
    std::thread::scope(|scope| {
        for thread in [0, 1] {
            scope.spawn(move || (0..LONG).for_each(|at| record(rec, thread, at)));
        }
        for thread in 2..2 + COMERS {
            let short = scope.spawn(move || (0..SHORT).for_each(|at| record(rec, thread, at)));
            // Some end before the next one starts, some do not.
            if thread % 3 == 0 {
                short.join().unwrap();
            }
        }
    });
    let comers = (2..2 + COMERS).map(|thread| (thread, SHORT));
    comers.chain([(0, LONG), (1, LONG)]).collect()
}

/// Repeats runs instead of recording one long one, so that the rows of a run fit into memory.
fn stress(overflow: Overflow, runs: u32) {
    for _ in 0..runs {
        let (_folder, path) = folder();
        let rec = Recorder::builder(&path)
            .ring_records(256)
            .overflow(overflow)
            .create()
            .unwrap();
        let rows_of = hammer(&rec);
        assert_eq!(rec.finish().unwrap().dropped, 0);
        assert_eq!(rec.status().late, 0);
        check(&table(&path, "bricks"), &rows_of);
        assert_eq!(table(&path, "threads").rows, rows_of.len());
    }
}

#[test]
fn nothing_is_lost_when_threads_wait_for_the_writer() {
    stress(Overflow::Block, 1);
}

#[test]
fn nothing_is_lost_when_rings_grow() {
    stress(Overflow::Grow, 1);
}

#[test]
fn what_is_dropped_is_counted_exactly() {
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path)
        .ring_records(64)
        .overflow(Overflow::Drop)
        .create()
        .unwrap();
    let rows_of = hammer(&rec);
    let summary = rec.finish().unwrap();
    let made = 2 * rows_of.values().sum::<u64>();
    let counted = &summary.tables["bricks"];
    assert_eq!(counted.rows + counted.dropped, made);
    assert!(counted.dropped > 0, "the ring is too small for all of it");
    let bricks = table(&path, "bricks");
    assert_eq!(bricks.rows as u64, counted.rows);
    for row in 0..bricks.rows {
        let [thread, number] = ["elements", "flops"].map(|name| &bricks.columns[name][row]);
        let (trueno_testing::Cell::U(thread), trueno_testing::Cell::U(number)) = (thread, number)
        else {
            panic!("row {row} lacks what it was given");
        };
        assert!(number < &rows_of[thread]);
        if bricks.columns["name"][row] == trueno_testing::Cell::T("outer".into()) {
            assert_eq!(
                bricks.columns["bytes_written"][row],
                trueno_testing::Cell::U(!number)
            );
        }
    }
}

/// `cargo test --release -p trueno-recorder --test stress -- --ignored`
#[test]
#[ignore = "takes a minute"]
fn nothing_is_lost_in_a_minute() {
    stress(Overflow::Block, 60);
    stress(Overflow::Grow, 60);
}

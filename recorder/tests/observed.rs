//! A recording that is watched from outside while it goes on: the watcher sees each event once, as it is written later,
//! and changes nothing.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use trueno_format::observe::{Event, EventKind, Observer};
use trueno_recorder::{BrickId, Overflow, Recorder};
use trueno_testing::{Cell, folder, table};

/// Limit on waiting, in case a test is broken.
const PATIENCE: Duration = Duration::from_secs(60);

/// The watcher may not have seen the latest correction of the clock.
const CLOCK_NS: i64 = 1_000;

type Rows = BTreeMap<u64, (String, i64, i64, Option<u64>)>;

/// Bricks and kernels as the watcher saw them.
fn seen(observer: &Observer, events: &[Event]) -> Rows {
    let of = |event: &Event| {
        let name = observer.name(event.name).expect("its name is in the log");
        let row = (name.to_string(), event.start_ns, event.end_ns, event.parent);
        (event.id, row)
    };
    let rows = events
        .iter()
        .filter(|event| event.kind.is_on_thread() && event.kind != EventKind::Wait);
    let rows: Vec<_> = rows.map(of).collect();
    let count = rows.len();
    let rows: Rows = rows.into_iter().collect();
    assert_eq!(rows.len(), count, "each row is seen once");
    rows
}

/// The same, as stored in the run.
fn written(path: &std::path::Path) -> Rows {
    let mut rows = Rows::new();
    for (name, parent) in [("bricks", "parent"), ("kernels", "brick")] {
        let table = table(path, name);
        let [ids, starts, lengths, parents] =
            ["id", "start_ns", "dur_ns", parent].map(|column| table.numbers(column));
        for row in 0..table.rows {
            let Cell::T(name) = table.cell("name", row) else {
                panic!("a row without a name");
            };
            let (start, length) = (starts[row].unwrap() as i64, lengths[row].unwrap() as i64);
            let parent = parents[row].map(|id| id as u64);
            rows.insert(
                ids[row].unwrap() as u64,
                (name.clone(), start, start + length, parent),
            );
        }
    }
    rows
}

#[track_caller]
fn same(seen: &Rows, written: &Rows) {
    assert_eq!(seen.len(), written.len());
    for ((id, seen), (of, written)) in seen.iter().zip(written) {
        assert_eq!((id, &seen.0, seen.3), (of, &written.0, written.3));
        let [start, end] = [seen.1 - written.1, seen.2 - written.2].map(i64::abs);
        assert!(start <= CLOCK_NS && end <= CLOCK_NS, "{seen:?} {written:?}");
    }
}

fn work(rec: &Recorder, tokens: u64) {
    for token in 0..tokens {
        let _iteration = rec.iteration(token);
        let _layer = rec.layer(1);
        {
            let mut brick = rec.brick(BrickId::QkvProjection);
            brick.set("batch", 32).flops(7);
            rec.kernel(format!("gemv {}", token % 3)).flops(8).bytes(9);
        }
        drop(rec.brick("mine"));
        rec.instant("no row of time");
    }
}

#[test]
fn a_watcher_sees_each_row_once_and_as_it_is_written() {
    let (_folder, path) = folder();
    // Rings that are written round many times, and never faster than they are read.
    let rec = Recorder::builder(&path)
        .ring_records(1024)
        .overflow(Overflow::Block)
        .create()
        .unwrap();
    let mut observer = Observer::new(&path);
    let mut events = Vec::new();
    std::thread::scope(|scope| {
        let rounds: Vec<_> = (0..3)
            .map(|_| {
                let (send, receive) = std::sync::mpsc::channel::<()>();
                let rec = rec.clone();
                scope.spawn(move || receive.iter().for_each(|()| work(&rec, 20)));
                send
            })
            .collect();
        for _ in 0..40 {
            rounds.iter().for_each(|round| round.send(()).unwrap());
            let wanted = events.len() + 3 * 20 * 5;
            let end = Instant::now() + PATIENCE;
            while events.len() < wanted {
                observer.stop().unwrap();
                observer.read(&mut |event| events.push(*event));
                assert!(Instant::now() < end, "{} of {wanted} events", events.len());
            }
        }
    });
    assert_eq!(observer.overwritten(), 0);
    assert_eq!(observer.complete_from_ns(), 0);
    assert!(observer.dropped().is_empty());
    let seen = seen(&observer, &events);
    rec.finish().unwrap();
    assert_eq!(seen.len(), 3 * 40 * 20 * 5);
    same(&seen, &written(&path));
    // The run has ended, and its folder of what is alive is gone.
    assert!(observer.stop().is_err());
}

#[test]
fn one_look_finds_the_latest_events_and_how_far_back_they_go() {
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path)
        .ring_records(1024)
        .overflow(Overflow::Block)
        .create()
        .unwrap();
    work(&rec, 2000);
    let mut observer = Observer::new(&path);
    let mut events = Vec::new();
    observer.stop().unwrap();
    let look = observer.read(&mut |event| events.push(*event));
    assert_eq!((look.events, look.overwritten), (events.len() as u64, 0));
    let [thread] = &observer.threads()[..] else {
        panic!("{:?}", observer.threads());
    };
    assert_eq!(thread.capacity, 1024);
    let seen = seen(&observer, &events);
    assert!((100..1024).contains(&seen.len()), "{}", seen.len());
    let from_ns = observer.complete_from_ns();
    rec.finish().unwrap();
    // All that ended since the oldest of them.
    let mut rows = written(&path);
    rows.retain(|id, row| row.2 > from_ns + CLOCK_NS || seen.contains_key(id));
    same(&seen, &rows);
}

#[test]
fn what_is_written_round_before_a_look_is_counted() {
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path)
        .ring_records(1024)
        .overflow(Overflow::Block)
        .create()
        .unwrap();
    drop(rec.brick("first"));
    let mut observer = Observer::new(&path);
    let mut ids = Vec::new();
    let mut look = |observer: &mut Observer| {
        observer.stop().unwrap();
        observer.read(&mut |event| ids.push(event.id))
    };
    assert_eq!(look(&mut observer).overwritten, 0);
    for _ in 0..10_000 {
        drop(rec.brick("many"));
    }
    let late = look(&mut observer);
    assert!(late.busiest_share > 9.0, "{late:?}");
    assert_eq!(late.events + late.overwritten, 10_000);
    assert!(late.overwritten >= 10_000 - 1024, "{late:?}");
    assert_eq!(ids.len() as u64, late.events + 1);
    let distinct: HashSet<u64> = ids.iter().copied().collect();
    assert_eq!(distinct.len(), ids.len(), "each is seen once");
    rec.finish().unwrap();
    assert_eq!(
        table(&path, "bricks").rows,
        10_001,
        "nothing is taken from the run"
    );
}

#[test]
fn dropped_rows_are_told_while_they_are_dropped() {
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path)
        .ring_records(1024)
        .overflow(Overflow::Drop)
        .create()
        .unwrap();
    let mut observer = Observer::new(&path);
    let end = Instant::now() + PATIENCE;
    // The writer reads every 20 ms; until then a ring is full in some microseconds.
    while rec.status().dropped == 0 {
        (0..5000).for_each(|_| drop(rec.brick("fast")));
        assert!(Instant::now() < end, "nothing was dropped");
    }
    observer.stop().unwrap();
    observer.read(&mut |_| {});
    let told = observer.dropped();
    let dropped = rec.finish().unwrap().dropped;
    assert_eq!(told.values().sum::<u64>(), dropped);
    assert_eq!(told.keys().collect::<Vec<_>>(), [&"bricks"]);
}

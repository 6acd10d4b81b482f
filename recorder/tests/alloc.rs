//! The global allocator that records: what it keeps of real programs, threads, forks and ends.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc;

use trueno_recorder::alloc::{Allocations, Recording};
use trueno_recorder::{Builder, Error, Overflow, Recorder};
use trueno_testing::{Cell, Table, folder, in_own_process, run_json, table};

#[global_allocator]
static MEMORY: Recording<System> = Recording(System);

/// Runs the calling test alone in a child process; false in that child. Needed because allocations of the whole
/// process are recorded: when another test's thread ends, it may free memory after its lane is gone, which the
/// recorder correctly counts as lost.
fn ran_in_own_process(test: &str) -> bool {
    const INSIDE: &str = "TRUENO_TEST_ALLOC";
    if std::env::var_os(INSIDE).is_some() {
        return false;
    }
    in_own_process(test, |again| {
        again.env(INSIDE, "1");
    });
    true
}

fn every(path: &Path) -> Builder {
    Recorder::builder(path)
        .overflow(Overflow::Grow)
        .allocations(Allocations::Every)
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Row {
    time_ns: i128,
    thread: i128,
    span: Option<i128>,
    bytes: i128,
    address: i128,
    weight: f64,
    sample_bytes: Option<i128>,
}

fn rows(run: &Path) -> Vec<Row> {
    let found = table(run, "allocations");
    let number = |column: &str| found.numbers(column);
    let (time, thread, span) = (number("time_ns"), number("thread"), number("span"));
    let (bytes, address, sample) = (number("bytes"), number("address"), number("sample_bytes"));
    let tags = found.texts("tag");
    let mut out: Vec<Row> = (0..found.rows)
        .filter(|row| tags[*row] == Some("heap"))
        .map(|row| Row {
            time_ns: time[row].unwrap(),
            thread: thread[row].unwrap(),
            span: span[row],
            bytes: bytes[row].unwrap(),
            address: address[row].unwrap(),
            weight: match found.cell("weight", row) {
                Cell::F(weight) => *weight,
                other => panic!("weight {other:?}"),
            },
            sample_bytes: sample[row],
        })
        .collect();
    out.sort_by_key(|row| row.time_ns);
    out
}

fn with_sizes<'a>(rows: &'a [Row], sizes: &'a [i128]) -> impl Iterator<Item = &'a Row> {
    rows.iter().filter(|row| sizes.contains(&row.bytes.abs()))
}

#[derive(Debug, Default)]
struct Replayed {
    live: BTreeMap<i128, Row>,
    /// Rows that contradict earlier ones: an allocation where a block is live, or a free of a different block.
    /// Each means that a row between is lost, or see [`TOO_FAST`].
    contradictions: u64,
    not_taken: u64,
}

/// Clocks of two processors may differ by some hundred nanoseconds. A block that moves between them faster than
/// that seems to be freed before it is allocated. This many of about 100,000 rows may do so.
const TOO_FAST: u64 = 20;

fn replay(rows: &[Row]) -> Replayed {
    let mut out = Replayed::default();
    for same_time in rows.chunk_by(|row, next| row.time_ns == next.time_ns) {
        let mut waiting: Vec<&Row> = same_time.iter().collect();
        while !waiting.is_empty() {
            // Rows of one thread are in order. Those of two threads at the same time are not: the one that fits comes
            // first.
            let fits = |nth: &usize| {
                let row = waiting[*nth];
                let mut earlier = waiting[..*nth].iter();
                earlier.all(|other| other.thread != row.thread)
                    && out.live.contains_key(&row.address) == (row.bytes < 0)
            };
            let nth = (0..waiting.len()).find(fits).unwrap_or(0);
            out.add(waiting.remove(nth));
        }
    }
    out
}

impl Replayed {
    fn add(&mut self, row: &Row) {
        let before = self.live.remove(&row.address);
        if row.bytes > 0 {
            self.contradictions += u64::from(before.is_some());
            self.live.insert(row.address, *row);
        } else if let Some(taken) = before {
            let same = (taken.bytes, taken.weight) == (-row.bytes, row.weight);
            self.contradictions += u64::from(!same);
        } else {
            self.not_taken += 1;
        }
    }
}

#[test]
fn each_way_to_take_memory_is_a_row_under_its_brick() {
    if ran_in_own_process("each_way_to_take_memory_is_a_row_under_its_brick") {
        return;
    }
    let (_folder, path) = folder();
    let rec = every(&path).create().unwrap();
    let ids = {
        let brick = rec.brick("grow");
        let mut block: Vec<u8> = Vec::with_capacity(70_001);
        block.reserve_exact(80_003);
        let inner = rec.brick("zero");
        let zeros = vec![0_u8; 90_007];
        let ids = [brick.id().get(), inner.id().get()].map(i128::from);
        drop(inner);
        drop((zeros, block));
        ids
    };
    let outside = vec![1_u8; 60_013];
    rec.device_allocation(3, "workspace", 4096, 0x1000);
    rec.finish().unwrap();
    drop(outside);

    let rows = rows(&path);
    let sizes = [70_001, 80_003, 90_007, 60_013];
    let found: Vec<(i128, Option<i128>)> = with_sizes(&rows, &sizes)
        .map(|row| (row.bytes, row.span))
        .collect();
    let [grow, zero] = ids.map(Some);
    let expected = [
        (70_001, grow),
        (-70_001, grow),
        (80_003, grow),
        (90_007, zero),
        (-90_007, grow),
        (-80_003, grow),
        (60_013, None),
    ];
    assert_eq!(found, expected);
    assert!(
        rows.iter()
            .all(|row| row.weight == 1.0 && row.sample_bytes.is_none())
    );
    let json = run_json(&path);
    assert_eq!(json.recorder.allocations.as_deref(), Some("every"));
    assert_eq!(json.dropped, 0);

    let all: Table = table(&path, "allocations");
    let declared = (0..all.rows).find(|row| all.texts("tag")[*row] == Some("workspace"));
    let declared = declared.unwrap();
    assert_eq!(all.number("device", declared), Some(3));
    assert_eq!(all.number("bytes", declared), Some(4096));
    assert_eq!(all.cell("weight", declared), &Cell::Null);
}

thread_local! {
    static LATE: RefCell<Late> = const { RefCell::new(Late(Vec::new())) };
}

/// Allocates and frees memory after its thread has ended.
struct Late(Vec<u8>);

impl Drop for Late {
    fn drop(&mut self) {
        self.0 = std::hint::black_box(vec![7; 1234]);
    }
}

/// Allocates blocks of many sizes, moves them between threads and frees them, some of them in destructors of
/// thread-locals. Returns the number of blocks and bytes allocated on its own threads.
fn churn(rec: &Recorder, threads: u64, blocks: u64) -> (u64, u64) {
    let (mut count, mut bytes) = (0, 0);
    std::thread::scope(|scope| {
        let (send, receive) = mpsc::sync_channel::<Box<[u8]>>(16);
        let made: Vec<_> = (0..threads)
            .map(|thread| {
                let (send, rec) = (send.clone(), rec.clone());
                scope.spawn(move || {
                    LATE.with(|late| late.borrow_mut().0.push(1));
                    let mut x = thread + 1;
                    let (mut kept, mut bytes) = (Vec::with_capacity(64), 0);
                    for nth in 0..blocks {
                        let _brick = rec.brick(if nth % 2 == 0 { "even" } else { "odd" });
                        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        let size = 1 + (x >> 33) % if nth % 97 == 0 { 60_000 } else { 200 };
                        let block = vec![nth as u8; size as usize].into_boxed_slice();
                        bytes += size;
                        match x >> 60 & 3 {
                            0 if kept.len() < 64 => kept.push(block),
                            1 => send.send(block).unwrap(),
                            _ => drop(block),
                        }
                    }
                    bytes
                })
            })
            .collect();
        drop(send);
        for block in receive {
            std::hint::black_box(&block);
        }
        for thread in made {
            bytes += thread.join().unwrap();
            count += blocks;
        }
    });
    (count, bytes)
}

#[test]
fn nothing_is_missing_or_twice_whatever_threads_do() {
    if ran_in_own_process("nothing_is_missing_or_twice_whatever_threads_do") {
        return;
    }
    let (_folder, path) = folder();
    let rec = every(&path).create().unwrap();
    let (count, bytes) = churn(&rec, 4, 20_000);
    let summary = rec.finish().unwrap();
    let rows = rows(&path);
    // None is lost but what destructors take and give back that run after the recorder's, and
    // each of those is counted.
    let replayed = replay(&rows);
    let most = summary.dropped + TOO_FAST;
    assert!(replayed.contradictions <= most, "{replayed:?}");
    // And what the process had taken before the run.
    assert!(replayed.not_taken < 20 + TOO_FAST, "{replayed:?}");
    let taken: Vec<&Row> = rows.iter().filter(|row| row.bytes > 0).collect();
    assert!(taken.len() as u64 >= count, "{} of {count}", taken.len());
    let sum: i128 = taken.iter().map(|row| row.bytes).sum();
    assert!(sum >= i128::from(bytes), "{sum} of {bytes}");
    assert_eq!(summary.tables["bricks"].rows, count);
    assert!(summary.dropped < 100, "{}", summary.dropped);
}

#[test]
fn samples_have_their_releases_and_sum_up_without_bias() {
    if ran_in_own_process("samples_have_their_releases_and_sum_up_without_bias") {
        return;
    }
    const MEAN: f64 = 2000.0;
    let (_folder, path) = folder();
    let sampled = Allocations::Sampled { mean_bytes: 2000 };
    let rec = Recorder::builder(&path)
        .overflow(Overflow::Grow)
        .allocations(sampled)
        .create()
        .unwrap();
    let outside = vec![0_u8; 5_000_000];
    let (count, bytes) = churn(&rec, 3, 60_000);
    let summary = rec.finish().unwrap();
    drop(outside);
    let rows = rows(&path);
    let replayed = replay(&rows);
    let most = summary.dropped + TOO_FAST;
    assert!(replayed.contradictions <= most, "{replayed:?}");
    assert!(replayed.not_taken <= TOO_FAST, "{replayed:?}");
    let live = replayed.live;
    assert!(live.values().any(|row| row.bytes == 5_000_000), "p is 1");
    assert!(live.len() < 200, "{} never given back", live.len());
    let (mut estimate, mut variance) = ([0.0; 2], [0.0; 2]);
    for row in rows.iter().filter(|row| row.bytes > 0) {
        assert_eq!(row.sample_bytes, Some(2000));
        let size = row.bytes as f64;
        let p = 1.0 - (-size / MEAN).exp();
        assert!((row.weight * p - 1.0).abs() < 1e-9, "{row:?}");
        if row.bytes == 5_000_000 {
            continue;
        }
        estimate[0] += row.weight;
        estimate[1] += row.weight * size;
        // Horvitz–Thompson's own estimate of the variance: (1 − p) / p² for each sample.
        variance[0] += (1.0 - p) * row.weight * row.weight;
        variance[1] += (1.0 - p) * (row.weight * size).powi(2);
    }
    // The recorder's test takes some memory of its own: channels, threads, vectors.
    for (nth, truth) in [count as f64, bytes as f64].into_iter().enumerate() {
        let off = (estimate[nth] - truth) / variance[nth].sqrt();
        assert!(
            off.abs() < 6.0,
            "{:?} of {truth}: {off} deviations",
            estimate[nth]
        );
    }
    assert!(rows.len() < 60_000, "{} rows", rows.len());
    let json = run_json(&path);
    let said = json.recorder.allocations.unwrap();
    assert_eq!(said, "sampled, one in 2000 bytes on average");
}

#[test]
fn what_finds_no_room_is_counted() {
    if ran_in_own_process("what_finds_no_room_is_counted") {
        return;
    }
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path)
        .ring_records(64)
        .overflow(Overflow::Drop)
        .allocations(Allocations::Every)
        .create()
        .unwrap();
    for _ in 0..100_000 {
        drop(std::hint::black_box(Box::new([0_u8; 33])));
    }
    let summary = rec.finish().unwrap();
    let found = &summary.tables["allocations"];
    assert!(found.dropped > 0, "a ring of 64 takes them all");
    assert!(found.rows + found.dropped >= 200_000, "{found:?}");
}

struct Full;

// SAFETY: hands blocks of the system through.
unsafe impl GlobalAlloc for Full {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(block, layout) };
    }

    unsafe fn realloc(&self, _block: *mut u8, _layout: Layout, _new_size: usize) -> *mut u8 {
        std::ptr::null_mut()
    }
}

#[test]
fn a_block_that_cannot_grow_stays_live() {
    if ran_in_own_process("a_block_that_cannot_grow_stays_live") {
        return;
    }
    for which in [Allocations::Every, Allocations::Sampled { mean_bytes: 1 }] {
        let (_folder, path) = folder();
        let rec = Recorder::builder(&path)
            .allocations(which)
            .create()
            .unwrap();
        let layout = Layout::from_size_align(50_021, 8).unwrap();
        let memory = Recording(Full);
        // SAFETY: the layout has a size, and the block is given back as it was taken.
        unsafe {
            let block = memory.alloc(layout);
            assert!(memory.realloc(block, layout, 100_000).is_null());
            memory.dealloc(block, layout);
        }
        rec.finish().unwrap();
        let bytes: Vec<i128> = with_sizes(&rows(&path), &[50_021])
            .map(|row| row.bytes)
            .collect();
        assert_eq!(bytes, [50_021, -50_021, 50_021, -50_021]);
    }
}

#[test]
fn one_recorder_has_them_and_the_next_one_after_it() {
    if ran_in_own_process("one_recorder_has_them_and_the_next_one_after_it") {
        return;
    }
    let (_folder, path) = folder();
    let (_other_folder, other) = folder();
    let rec = every(&path).create().unwrap();
    let refused = every(&other).create().unwrap_err();
    assert!(matches!(
        &refused,
        Error::Option {
            option: "allocations",
            ..
        }
    ));
    assert!(
        refused.to_string().contains("another recorder"),
        "{refused}"
    );
    assert!(!other.exists());
    let without = Recorder::create(&other).unwrap();
    let block = vec![1_u8; 40_009];
    without.finish().unwrap();
    drop(rec);
    drop(block);
    assert_eq!(with_sizes(&rows(&path), &[40_009]).count(), 1);
    assert_eq!(rows(&other), []);

    let nothing = Allocations::Sampled { mean_bytes: 0 };
    let (_third_folder, third) = folder();
    let refused = Recorder::builder(&third).allocations(nothing).create();
    assert!(refused.unwrap_err().to_string().contains("at least 1"));
    let refused = every(&third).without_table("allocations").create();
    assert!(refused.unwrap_err().to_string().contains("left out"));
    let rec = every(&third).create().unwrap();
    drop(std::hint::black_box(vec![1_u8; 40_009]));
    rec.finish().unwrap();
    assert_eq!(with_sizes(&rows(&third), &[40_009]).count(), 2);
}

#[test]
fn a_forked_child_records_nothing_of_its_own() {
    if ran_in_own_process("a_forked_child_records_nothing_of_its_own") {
        return;
    }
    let (_folder, path) = folder();
    let (_child_folder, of_child) = folder();
    let rec = every(&path).create().unwrap();
    drop(std::hint::black_box(vec![1_u8; 30_011]));
    // SAFETY: the child has one thread and ends by `_exit`; the allocator of this system is
    // usable after a fork.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // A child that hangs is a failure, and no test that never ends.
        // SAFETY: a plain system call.
        unsafe { libc::alarm(1200) };
        for _ in 0..1000 {
            drop(std::hint::black_box(vec![1_u8; 30_011]));
        }
        let own = every(&of_child).create();
        drop(std::hint::black_box(vec![1_u8; 30_011]));
        let ok = own.is_ok_and(|own| own.finish().is_ok());
        // SAFETY: ends the process here.
        unsafe { libc::_exit(i32::from(!ok)) };
    }
    let mut status = 0;
    // SAFETY: waits for the child that was made above.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert!(
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0,
        "{status}"
    );
    drop(std::hint::black_box(vec![1_u8; 30_011]));
    rec.finish().unwrap();
    assert_eq!(with_sizes(&rows(&path), &[30_011]).count(), 4);
    assert_eq!(with_sizes(&rows(&of_child), &[30_011]).count(), 2);
}

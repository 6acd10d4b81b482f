//! Ten million spans at full speed into closed segments: what the whole recorder sustains.
//!
//! `cargo bench -p trueno-recorder --bench sustained`
//!
//! The unit is two readings of the recorder's kind of clock a span and nothing else, measured
//! around each recording in the same process. A full ring makes its thread wait (`Overflow::Block`),
//! so nothing is lost, and the wall time counts until `finish` returns: every row in a sealed
//! segment, in the page cache. CPU time is that of all threads. Files go to the folder for
//! temporary files; `TMPDIR` names another. With two threads the unit is shared out too, so that
//! its ratio has no target of its own: on two cores the writer has none to itself.
//!
//! Spans are empty, or have four metrics: by name, as a model's layers have them; other numbers in
//! every row, that grow; or 20 random bits each, which are 10 bytes a row for any encoding. LZ4
//! takes at least 4 for each 64-bit value that is new: a token, a literal and an offset.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use trueno_recorder::{BrickGuard, BrickId, Name, Overflow, Recorder};
use trueno_testing::{median, ticks};

const SPANS: u64 = 10_000_000;
const ROUNDS: usize = 5;

const MAX_WALL_TO_CLOCK: f64 = 2.75;
const MAX_CPU_NS: f64 = 75.0;
const MAX_BYTES_PER_ROW: f64 = 12.0;
const MAX_MEMORY_MIB: f64 = 64.0;

/// Names with metrics of their own, used in the same order over and over.
const NAMES: u64 = 280;

#[derive(Clone, Copy, PartialEq)]
enum Metrics {
    None,
    ByName,
    Growing,
    Random,
}

const CASES: [(&str, u64, Metrics); 5] = [
    ("empty", 1, Metrics::None),
    ("empty, 2 threads", 2, Metrics::None),
    ("metrics by name", 1, Metrics::ByName),
    ("growing metrics", 1, Metrics::Growing),
    ("random metrics", 1, Metrics::Random),
];

/// One recording; figures are per span.
#[derive(Clone, Copy)]
struct Round {
    clock_ns: f64,
    wall_ns: f64,
    cpu_ns: f64,
    disk_bytes: f64,
    dropped: u64,
}

fn main() {
    let folder = std::env::temp_dir().join(format!("trueno-sustained-{}", std::process::id()));
    // Before anything is recorded: what the process weighs on its own.
    let before_mib = peak_memory_mib();
    println!(
        "{:<18} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9}",
        "", "clock ns", "wall ns", "ratio", "CPU ns", "ratio", "B/row", "dropped"
    );
    let mut medians = Vec::new();
    for (name, threads, metrics) in CASES {
        let rounds: Vec<Round> = (0..ROUNDS)
            .map(|_| round(&folder, threads, metrics))
            .collect();
        for round in &rounds {
            print_round(name, round);
        }
        let of = |value: fn(&Round) -> f64| median(rounds.iter().map(value));
        println!(
            "{name}, median: {:.2}x wall, {:.1} ns CPU, {:.2}x",
            of(|round| round.wall_ns / round.clock_ns),
            of(|round| round.cpu_ns),
            of(|round| round.cpu_ns / round.clock_ns)
        );
        medians.push((
            name,
            of(|round| round.wall_ns / round.clock_ns),
            of(|round| round.cpu_ns),
            of(|round| round.disk_bytes),
        ));
    }
    let memory_mib = peak_memory_mib() - before_mib;
    println!();
    for (number, (name, ratio, cpu_ns, bytes)) in medians.into_iter().enumerate() {
        if number == 0 {
            verdict(
                "empty, wall to two clock readings",
                ratio,
                MAX_WALL_TO_CLOCK,
                "x",
            );
        }
        verdict(
            &format!("{name}, CPU time a span"),
            cpu_ns,
            MAX_CPU_NS,
            " ns",
        );
        verdict(
            &format!("{name}, bytes a row on disk"),
            bytes,
            MAX_BYTES_PER_ROW,
            " B",
        );
    }
    verdict(
        "peak memory above the start",
        memory_mib,
        MAX_MEMORY_MIB,
        " MiB",
    );
}

/// Records [`SPANS`] spans from all threads together, then removes the files.
fn round(folder: &Path, threads: u64, metrics: Metrics) -> Round {
    let spans_each = SPANS / threads;
    let names: Vec<Name> = (0..NAMES)
        .map(|number| Name::new(&format!("layer {} step {}", number / 10, number % 10)))
        .collect();
    let clock_before = clock_alone_ns(threads, spans_each);
    let cpu_before = cpu_ns();
    let rec = Recorder::builder(folder)
        .overflow(Overflow::Block)
        .create()
        .expect("a recorder in the folder for temporary files");
    let start = Instant::now();
    on_threads(threads, || match metrics {
        Metrics::None => {
            for _ in 0..spans_each {
                drop(rec.brick(BrickId::QkvProjection));
            }
        }
        Metrics::ByName => {
            for _ in 0..spans_each / NAMES {
                for (name, number) in names.iter().zip(1..) {
                    let mut brick = rec.brick(*name);
                    declare(&mut brick, [number, number << 12, number << 9, number << 8]);
                }
            }
        }
        Metrics::Growing => {
            for i in 0..spans_each {
                let mut brick = rec.brick(BrickId::QkvProjection);
                declare(&mut brick, [i, i << 1, i << 2, i]);
            }
        }
        Metrics::Random => {
            for i in 0..spans_each {
                let mut brick = rec.brick(BrickId::QkvProjection);
                let bits =
                    u128::from(i + 1).wrapping_mul(0xDA94_2042_E4DD_58B5_9E37_79B9_7F4A_7C15);
                let metrics = [40, 60, 80, 100].map(|from| (bits >> from) as u64 & 0xF_FFFF);
                declare(&mut brick, metrics);
            }
        }
    });
    let summary = rec.finish().expect("a run that ends well");
    let wall_ns = start.elapsed().as_nanos() as f64;
    drop(rec);
    let cpu_ns = cpu_ns() - cpu_before;
    let clock_after = clock_alone_ns(threads, spans_each);
    let disk_bytes = folder_bytes(folder) as f64;
    // What is left there is of no use to anyone.
    let _ = std::fs::remove_dir_all(folder);
    let spans = SPANS as f64;
    Round {
        clock_ns: f64::midpoint(clock_before, clock_after) / spans,
        wall_ns: wall_ns / spans,
        cpu_ns: cpu_ns / spans,
        disk_bytes: disk_bytes / spans,
        dropped: summary.dropped,
    }
}

#[inline(always)]
fn declare(brick: &mut BrickGuard<'_>, [elements, flops, read, written]: [u64; 4]) {
    brick.elements(elements).flops(flops).bytes(read, written);
}

/// Wall time of two clock readings per span, divided among the threads in the same way.
fn clock_alone_ns(threads: u64, spans_each: u64) -> f64 {
    let start = Instant::now();
    on_threads(threads, || {
        for _ in 0..spans_each {
            black_box(ticks());
            black_box(ticks());
        }
    });
    start.elapsed().as_nanos() as f64
}

/// Runs `work` on this thread, or on `threads` other threads at once.
fn on_threads(threads: u64, work: impl Fn() + Sync) {
    if threads == 1 {
        return work();
    }
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(&work);
        }
    });
}

fn print_round(name: &str, round: &Round) {
    println!(
        "{name:<18} {:>9.1} {:>8.1} {:>7.2}x {:>8.1} {:>7.2}x {:>8.2} {:>9}",
        round.clock_ns,
        round.wall_ns,
        round.wall_ns / round.clock_ns,
        round.cpu_ns,
        round.cpu_ns / round.clock_ns,
        round.disk_bytes,
        round.dropped
    );
}

fn verdict(what: &str, value: f64, most: f64, unit: &str) {
    let word = if value <= most { "met" } else { "MISSED" };
    println!("{word:<7} {what}: {value:.2}{unit}, target at most {most}{unit}");
}

fn cpu_ns() -> f64 {
    // SAFETY: all zeros is a valid value of this struct of numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a `rusage`.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let ns = |time: libc::timeval| time.tv_sec as f64 * 1e9 + time.tv_usec as f64 * 1e3;
    ns(usage.ru_utime) + ns(usage.ru_stime)
}

/// `VmHWM`; NaN if the system does not report it.
fn peak_memory_mib() -> f64 {
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| {
            let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
            line.split_whitespace().nth(1)?.parse::<f64>().ok()
        })
        .map_or(f64::NAN, |kib| kib / 1024.0)
}

fn folder_bytes(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => folder_bytes(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

//! The cost of threads that record little and end soon.
//!
//! `cargo bench -p trueno-recorder --bench threads`; takes some seconds.
//!
//! Each program runs as often recorded as not, in turn. Printed are medians of the wall time, their ratio, and what a
//! recorded thread adds: time, page faults, and memory of the process at its peak.

use std::hint::black_box;
use std::time::{Duration, Instant};

use trueno_recorder::Recorder;

const PAIRS: usize = 9;

fn main() {
    let steps = 200;
    let scoped = |rec: &Recorder| {
        for _ in 0..steps {
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    let rec = rec.clone();
                    scope.spawn(move || {
                        let _brick = rec.brick("short");
                        work(Duration::from_micros(200));
                    });
                }
            });
        }
    };
    measure("4 scoped threads a step, 200 us each", 4 * steps, scoped);
    let in_turn = |rec: &Recorder| {
        for _ in 0..1000 {
            let rec = rec.clone();
            std::thread::spawn(move || ten_rows(&rec)).join().unwrap();
        }
    };
    measure("1000 threads in turn, 10 rows each", 1000, in_turn);
    let at_once = |rec: &Recorder| {
        let barrier = std::sync::Barrier::new(500);
        std::thread::scope(|scope| {
            for _ in 0..500 {
                let (rec, barrier) = (rec.clone(), &barrier);
                scope.spawn(move || {
                    ten_rows(&rec);
                    barrier.wait();
                });
            }
        });
    };
    measure("500 threads at once, 10 rows each", 500, at_once);
}

fn ten_rows(rec: &Recorder) {
    for _ in 0..10 {
        drop(rec.brick("short"));
    }
}

fn work(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        black_box(0);
    }
}

fn measure(name: &str, threads: usize, program: impl Fn(&Recorder)) {
    let (mut bare, mut recorded, mut faults) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let (time, bare_faults) = timed(&program, &Recorder::disabled());
        bare.push(time);
        let folder = tempfile::tempdir().unwrap();
        let rec = Recorder::create(folder.path().join("threads.run")).unwrap();
        let (time, all) = timed(&program, &rec);
        recorded.push(time);
        faults.push((all - bare_faults) as f64 / threads as f64);
        rec.finish().unwrap();
    }
    let added = (median(&mut recorded) - median(&mut bare)) / threads as f64;
    println!(
        "{name}: {:.2} times as long ({:.1} ms, unrecorded {:.1} ms); a thread adds {:.1} us and {:.0} page faults; peak {} MiB",
        median(&mut recorded) / median(&mut bare),
        median(&mut recorded) * 1e3,
        median(&mut bare) * 1e3,
        added * 1e6,
        median(&mut faults),
        usage().ru_maxrss >> 10,
    );
}

/// Seconds and page faults.
fn timed(program: &impl Fn(&Recorder), rec: &Recorder) -> (f64, i64) {
    let (begun, faults) = (Instant::now(), usage().ru_minflt);
    program(rec);
    (begun.elapsed().as_secs_f64(), usage().ru_minflt - faults)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn usage() -> libc::rusage {
    // SAFETY: zeros are a valid state of numbers, and the call fills it.
    unsafe {
        let mut usage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    }
}

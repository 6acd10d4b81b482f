//! The cost of threads that record little and end soon.
//!
//! `cargo bench -p trueno-recorder --bench threads`; takes some seconds.
//!
//! Each program runs as often recorded as not, in turn. Printed are medians of the CPU time with that of the writer,
//! their ratio, and what a recorded thread adds: CPU time, page faults, and memory of the process at its peak. What one
//! adds in instructions is counted by the bench `instructions`.

use std::hint::black_box;
use std::time::Instant;

use trueno_recorder::Recorder;
use trueno_testing::median;

const PAIRS: usize = 9;

fn main() {
    let steps = 200;
    let rounds = rounds_of_200_us();
    let scoped = |rec: &Recorder| {
        for step in 0..steps {
            let _iteration = rec.iteration(step);
            let brick = rec.brick("AttentionScore");
            let parent = brick.id();
            std::thread::scope(|scope| {
                for head in 0..4 {
                    let rec = rec.clone();
                    scope.spawn(move || {
                        let _task = rec.task(format!("head {head}"), Some(parent));
                        work(rounds);
                    });
                }
            });
        }
    };
    measure(
        "4 scoped threads a step, 200 us each",
        4 * steps as usize,
        scoped,
    );
    let in_turn = |rec: &Recorder| {
        for _ in 0..5000 {
            let rec = rec.clone();
            std::thread::spawn(move || ten_rows(&rec)).join().unwrap();
        }
    };
    measure("5000 threads in turn, 10 rows each", 5000, in_turn);
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

fn work(rounds: u64) {
    let mut state = 1_u64;
    for _ in 0..rounds {
        state = black_box(
            state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1),
        );
    }
}

fn rounds_of_200_us() -> u64 {
    const ROUNDS: u64 = 1_000_000;
    let shortest = (0..9).map(|_| {
        let begun = Instant::now();
        work(ROUNDS);
        begun.elapsed()
    });
    let each_ns = shortest.min().unwrap_or_default().as_nanos() as f64 / ROUNDS as f64;
    (200_000.0 / each_ns) as u64
}

fn measure(name: &str, threads: usize, program: impl Fn(&Recorder)) {
    let (mut bare, mut recorded, mut faults) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let (time, bare_faults) = timed(&program, Recorder::disabled());
        bare.push(time);
        let folder = tempfile::tempdir().unwrap();
        let rec = Recorder::create(folder.path().join("threads.run")).unwrap();
        let (time, all) = timed(&program, rec);
        recorded.push(time);
        faults.push((all - bare_faults) as f64 / threads as f64);
    }
    let (bare, recorded) = (median(bare), median(recorded));
    println!(
        "{name}: {:.2} times the CPU time ({:.1} ms, unrecorded {:.1} ms); a thread adds {:.1} us and {:.1} page faults; peak {} MiB",
        recorded / bare,
        recorded * 1e3,
        bare * 1e3,
        (recorded - bare) / threads as f64 * 1e6,
        median(faults),
        usage().ru_maxrss >> 10,
    );
}

fn timed(program: &impl Fn(&Recorder), rec: Recorder) -> (f64, i64) {
    let before = usage();
    program(&rec);
    rec.finish().unwrap();
    let after = usage();
    let seconds = |of: &libc::rusage| {
        let all = [of.ru_utime, of.ru_stime];
        all.map(|time| time.tv_sec as f64 + time.tv_usec as f64 / 1e6)
            .iter()
            .sum::<f64>()
    };
    (
        seconds(&after) - seconds(&before),
        after.ru_minflt - before.ru_minflt,
    )
}

fn usage() -> libc::rusage {
    // SAFETY: zeros are a valid state of numbers, and the call fills it.
    unsafe {
        let mut usage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    }
}

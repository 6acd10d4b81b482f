//! The cost of recorded allocations in a real program: the work of the example `decode`, and a loop of
//! nothing but allocations, each with and without.
//!
//! `cargo bench -p trueno-decode --bench alloc`; takes about a minute.
//!
//! The two of a pair run one after the other, the order alternating. Both have the allocator
//! [`Recording`] and bricks and kernels recorded; one records allocations too. The time is that of prompt and
//! tokens, by the wall and by the CPU time of the program's thread. Of the pairs' ratios the median is given,
//! and the order statistics between which it lies with 95 % confidence.
//!
//! `-- --once weights|nothing|samples|every` does one of them once, for a tool that counts instructions
//! (`valgrind --tool=callgrind`): a count has no noise, but is no time. `weights` stops before the first token.

use std::alloc::System;
use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use trueno_decode::attention::HeadNames;
use trueno_decode::backend::{Backend, Simd};
use trueno_decode::head_pool::HeadPool;
use trueno_decode::model::Model;
use trueno_decode::probe::{Level, Probe};
use trueno_decode::sampling::Sampler;
use trueno_decode::weights::{Shape, Weights};
use trueno_recorder::alloc::{Allocations, Recording};
use trueno_recorder::{Overflow, Recorder};

#[global_allocator]
static MEMORY: Recording<System> = Recording(System);

const PROMPT: usize = 16;
const TOKENS: usize = 64;
const PAIRS: usize = 61;
const SEED: u64 = 1;
const SHAPE: Shape = Shape {
    layers: 4,
    dim: 256,
    heads: 4,
    ffn: 1024,
    vocab: 2048,
    positions: PROMPT + TOKENS,
};

/// Name, what is recorded, and the limit of the added time in percent.
const WAYS: [(&str, Option<Allocations>, f64); 3] = [
    ("nothing (the noise)", None, f64::INFINITY),
    ("samples", Some(Allocations::SAMPLED), 1.0),
    ("every allocation", Some(Allocations::Every), 5.0),
];

#[derive(Clone, Copy, Default)]
struct Cost {
    wall_ns: f64,
    cpu_ns: f64,
    rows: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("alloc-bench-{}", std::process::id()));
    let mut args = std::env::args().skip_while(|arg| arg != "--once");
    if let Some(way) = args.nth(1) {
        let weights = Weights::random(&SHAPE, SEED);
        let which = match way.as_str() {
            "weights" => return Ok(()),
            "nothing" => None,
            "samples" => Some(Allocations::SAMPLED),
            "every" => Some(Allocations::Every),
            other => {
                return Err(format!("--once {other}: weights, nothing, samples or every").into());
            }
        };
        let cost = decode(&weights, &folder, which)?;
        println!("{way}: {} rows", cost.rows);
        std::fs::remove_dir_all(&folder)?;
        return Ok(());
    }
    let result = decode_pairs(&folder).and_then(|()| loop_pairs(&folder));
    // What is left there is of no use to anyone.
    let _ = std::fs::remove_dir_all(&folder);
    result
}

fn recorder(folder: &Path, which: Option<Allocations>) -> Result<Recorder, Box<dyn Error>> {
    let builder = Recorder::builder(folder)
        .overwrite(true)
        .overflow(Overflow::Grow);
    Ok(match which {
        None => builder.create()?,
        Some(which) => builder.allocations(which).create()?,
    })
}

fn decode_pairs(folder: &Path) -> Result<(), Box<dyn Error>> {
    let weights = Weights::random(&SHAPE, SEED);
    // Warm: code, memory, clock rates.
    let alone = decode(&weights, folder, None)?;
    println!(
        "decode, width 256, 4 layers: {PAIRS} pairs of {:.0} ms",
        alone.wall_ns / 1e6
    );
    println!(
        "{:<22} {:>10} {:>26} {:>26}",
        "allocations recorded", "rows", "added to CPU (95 % in)", "to wall (95 % in)"
    );
    for (name, which, limit) in WAYS {
        let (mut cpu, mut wall, mut rows) = (Vec::new(), Vec::new(), 0);
        for pair in 0..PAIRS {
            let (with, without);
            if pair % 2 == 0 {
                with = decode(&weights, folder, which)?;
                without = decode(&weights, folder, None)?;
            } else {
                without = decode(&weights, folder, None)?;
                with = decode(&weights, folder, which)?;
            }
            cpu.push(100.0 * (with.cpu_ns / without.cpu_ns - 1.0));
            wall.push(100.0 * (with.wall_ns / without.wall_ns - 1.0));
            rows = with.rows;
        }
        let (cpu, wall) = (Interval::new(cpu), Interval::new(wall));
        println!("{name:<22} {rows:>10} {cpu:>26} {wall:>26}");
        if limit.is_finite() {
            let (cpu, wall) = (cpu.verdict(limit), wall.verdict(limit));
            println!(
                "{:<22} {:>10} {cpu:>26} {wall:>26}",
                format!("  <= {limit} %"),
                ""
            );
        }
    }
    Ok(())
}

/// The loop of the example's `generate`, with existing weights.
fn decode(
    weights: &Weights,
    folder: &Path,
    which: Option<Allocations>,
) -> Result<Cost, Box<dyn Error>> {
    let mut probe = Probe::new(recorder(folder, which)?, Simd::new(Backend::widest())?);
    probe.level = Level::Kernel;
    probe.checksums = false;
    // The thread's ring is made by its first event.
    drop(probe.rec.function("before"));
    let names: Vec<HeadNames> = (0..SHAPE.heads).map(HeadNames::new).collect();
    let cost = std::thread::scope(|scope| {
        let pool = HeadPool::start(scope, &probe, &names, 1)?;
        let mut model = Model::new(SHAPE, weights, &probe, &pool, true);
        let mut sampler = Sampler::new(SHAPE.vocab, SEED);
        let mut input: Vec<usize> = (0..PROMPT).collect();
        let mut position = 0;
        let (start, cpu) = (Instant::now(), thread_cpu_ns());
        for number in 0..TOKENS {
            let _iteration = probe.rec.iteration(number as u64);
            let logits = model.forward(&input, position);
            position += input.len();
            let token = sampler.draw(&probe, logits, position - 1);
            input.clear();
            input.push(token);
        }
        Ok::<Cost, std::io::Error>(Cost {
            wall_ns: start.elapsed().as_nanos() as f64,
            cpu_ns: thread_cpu_ns() - cpu,
            rows: 0,
        })
    })?;
    let summary = probe.rec.finish()?;
    if summary.dropped > 0 {
        return Err(format!("{} events dropped: not the whole cost", summary.dropped).into());
    }
    let rows = summary
        .tables
        .get("allocations")
        .map_or(0, |table| table.rows);
    Ok(Cost { rows, ..cost })
}

/// Allocates and frees 64 bytes in a loop: nanoseconds of the thread's CPU time per pair.
fn loop_pairs(folder: &Path) -> Result<(), Box<dyn Error>> {
    const BLOCKS: u64 = 200_000;
    println!("\na block of 64 bytes taken and given back: ns of CPU");
    let ways = [("no recorder", None)].into_iter().chain(
        WAYS.into_iter()
            .skip(1)
            .map(|(name, which, _)| (name, which)),
    );
    for (name, which) in ways {
        let mut rounds = Vec::new();
        for _ in 0..9 {
            let rec = match which {
                None => Recorder::disabled(),
                which => recorder(folder, which)?,
            };
            drop(rec.function("before"));
            let cpu = thread_cpu_ns();
            for _ in 0..BLOCKS {
                drop(black_box(Box::new([0_u64; 8])));
            }
            rounds.push((thread_cpu_ns() - cpu) / BLOCKS as f64);
            rec.finish()?;
        }
        rounds.sort_by(f64::total_cmp);
        println!("{name:<22} {:>10.1}", rounds[rounds.len() / 2]);
    }
    Ok(())
}

fn thread_cpu_ns() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a timespec of ours.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// A median with its confidence interval.
#[derive(Clone, Copy, Default)]
struct Interval {
    low: f64,
    median: f64,
    high: f64,
}

impl Interval {
    /// The number of values below the true median is binomial: 1.96 standard deviations (half the root of n) to
    /// either side cover 95 %.
    fn new(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        let aside = (1.96 * (values.len() as f64).sqrt() / 2.0).ceil() as usize;
        Self {
            low: values[middle - aside],
            median: values[middle],
            high: values[middle + aside],
        }
    }

    fn verdict(&self, limit: f64) -> &'static str {
        if self.high <= limit {
            "reached"
        } else if self.low > limit {
            "MISSED"
        } else {
            "not decided by this run"
        }
    }
}

impl std::fmt::Display for Interval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { low, median, high } = self;
        f.pad(&format!("{median:+.2} % ({low:+.2}, {high:+.2})"))
    }
}

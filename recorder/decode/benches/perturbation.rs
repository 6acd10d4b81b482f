//! The cost of recording in a real program: the work of the example `decode`, recorded and not.
//!
//! `cargo bench -p trueno-decode --bench perturbation`; takes about a minute.
//!
//! The two of a pair run one after the other, the order alternating, so that a machine that
//! grows slower or faster favours neither. The time is that of prompt and tokens, by the wall
//! and by the CPU time of the program's thread; the writer works meanwhile, and where no core
//! is free for it, the wall time has its share too. Of the pairs' ratios the median is given,
//! and the order statistics between which it lies with 95 % confidence. Pairs of two
//! unrecorded runs show the noise.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use trueno_decode::attention::HeadNames;
use trueno_decode::backend::{Backend, Simd};
use trueno_decode::head_pool::HeadPool;
use trueno_decode::model::Model;
use trueno_decode::probe::{Level, Probe};
use trueno_decode::sampling::Sampler;
use trueno_decode::weights::{Shape, Weights};
use trueno_recorder::Recorder;

/// Limit on the overhead of bricks and kernels, in percent.
const TARGET_PERCENT: f64 = 1.0;
const PROMPT: usize = 16;
const SEED: u64 = 1;

struct Size {
    name: &'static str,
    shape: Shape,
    tokens: usize,
    pairs: usize,
}

const fn size(name: &'static str, dim: usize, layers: usize, tokens: usize, pairs: usize) -> Size {
    let shape = Shape {
        layers,
        dim,
        heads: 4,
        ffn: 4 * dim,
        vocab: 2048,
        positions: PROMPT + tokens,
    };
    Size {
        name,
        shape,
        tokens,
        pairs,
    }
}

/// The example's defaults, where a kernel takes a few microseconds, and a wider model.
const SIZES: [Size; 2] = [
    size("width 256, 4 layers", 256, 4, 96, 101),
    size("width 768, 2 layers", 768, 2, 16, 41),
];

#[derive(Clone, Copy)]
enum Recording {
    Off,
    Kernels,
    KernelsAndChecksums,
}

const RECORDINGS: [(&str, Recording); 3] = [
    ("nothing (the noise)", Recording::Off),
    ("bricks and kernels", Recording::Kernels),
    ("these and checksums", Recording::KernelsAndChecksums),
];

#[derive(Clone, Copy, Default)]
struct Cost {
    wall_ns: f64,
    cpu_ns: f64,
    rows: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("perturbation-{}", std::process::id()));
    let result = SIZES.iter().try_for_each(|size| compare(size, &folder));
    // What is left there is of no use to anyone.
    let _ = std::fs::remove_dir_all(&folder);
    result
}

fn compare(size: &Size, folder: &Path) -> Result<(), Box<dyn Error>> {
    let weights = Weights::random(&size.shape, SEED);
    let run = |recording| run(size, &weights, recording, folder);
    // Warm: code, memory, clock rates.
    let alone = run(Recording::Off)?;
    println!(
        "{}: {} pairs of {:.0} ms",
        size.name,
        size.pairs,
        alone.wall_ns / 1e6
    );
    println!(
        "{:<24} {:>8} {:>26} {:>26}",
        "recorded", "rows", "added to CPU (95 % in)", "to wall (95 % in)"
    );
    for (name, recording) in RECORDINGS {
        let (mut cpu, mut wall, mut rows) = (Vec::new(), Vec::new(), 0);
        for pair in 0..size.pairs {
            let (with, without);
            if pair % 2 == 0 {
                with = run(recording)?;
                without = run(Recording::Off)?;
            } else {
                without = run(Recording::Off)?;
                with = run(recording)?;
            }
            cpu.push(100.0 * (with.cpu_ns / without.cpu_ns - 1.0));
            wall.push(100.0 * (with.wall_ns / without.wall_ns - 1.0));
            rows = with.rows;
        }
        let (cpu, wall) = (Interval::new(cpu), Interval::new(wall));
        println!("{name:<24} {rows:>8} {cpu:>26} {wall:>26}");
        if matches!(recording, Recording::Kernels) {
            println!(
                "{:<24} {:>8} {:>26} {:>26}",
                "  <= 1 %",
                "",
                cpu.verdict(),
                wall.verdict()
            );
        }
    }
    println!();
    Ok(())
}

fn run(
    size: &Size,
    weights: &Weights,
    recording: Recording,
    folder: &Path,
) -> Result<Cost, Box<dyn Error>> {
    let rec = match recording {
        Recording::Off => Recorder::disabled(),
        _ => Recorder::builder(folder).overwrite(true).create()?,
    };
    let mut probe = Probe::new(rec, Simd::new(Backend::widest())?);
    probe.level = Level::Kernel;
    probe.checksums = matches!(recording, Recording::KernelsAndChecksums);
    // The thread's ring is made by its first event.
    drop(probe.rec.function("before"));
    let cost = decode(size, weights, &probe)?;
    let summary = probe.rec.finish()?;
    if summary.dropped > 0 {
        return Err(format!("{} events dropped: not the whole cost", summary.dropped).into());
    }
    let rows = summary.rows;
    Ok(Cost { rows, ..cost })
}

/// The loop of the example's `generate`, with existing weights.
fn decode(size: &Size, weights: &Weights, probe: &Probe) -> std::io::Result<Cost> {
    let Size { shape, tokens, .. } = size;
    let names: Vec<HeadNames> = (0..shape.heads).map(HeadNames::new).collect();
    std::thread::scope(|scope| {
        let pool = HeadPool::start(scope, probe, &names, 1)?;
        let mut model = Model::new(*shape, weights, probe, &pool, true);
        let mut sampler = Sampler::new(shape.vocab, SEED);
        let mut input: Vec<usize> = (0..PROMPT).collect();
        let mut position = 0;
        let (start, cpu) = (Instant::now(), thread_cpu_ns());
        for number in 0..*tokens {
            let _iteration = probe.rec.iteration(number as u64);
            let logits = model.forward(&input, position);
            position += input.len();
            let token = sampler.draw(probe, logits, position - 1);
            input.clear();
            input.push(token);
        }
        Ok(Cost {
            wall_ns: start.elapsed().as_nanos() as f64,
            cpu_ns: thread_cpu_ns() - cpu,
            rows: 0,
        })
    })
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

    fn verdict(&self) -> &'static str {
        if self.high <= TARGET_PERCENT {
            "reached"
        } else if self.low > TARGET_PERCENT {
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

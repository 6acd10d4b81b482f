//! What recording does to a real program: the work of the example `decode`, recorded and not.
//!
//! `cargo bench -p trueno-recorder --bench perturbation`; takes about a minute.
//!
//! The two of a pair run one after the other, the order alternating, so that a machine that
//! grows slower or faster favours neither. The time is that of prompt and tokens; the writer
//! works meanwhile. Of the pairs' ratios the median is given, and the order statistics
//! between which it lies with 95 % confidence. Pairs of two unrecorded runs show the noise.

#![allow(
    dead_code,
    unused_imports,
    reason = "the modules of the example serve its command line and its tests too"
)]

#[path = "../examples/decode/attention.rs"]
mod attention;
#[path = "../examples/decode/backend.rs"]
mod backend;
#[path = "../examples/decode/blocked_matmul.rs"]
mod blocked_matmul;
#[path = "../examples/decode/brick.rs"]
mod brick;
#[path = "../examples/decode/buffers.rs"]
mod buffers;
#[path = "../examples/decode/generate.rs"]
mod generate;
#[path = "../examples/decode/head_pool.rs"]
mod head_pool;
#[path = "../examples/decode/kernel_names.rs"]
mod kernel_names;
#[path = "../examples/decode/kernels.rs"]
mod kernels;
#[path = "../examples/decode/model.rs"]
mod model;
#[path = "../examples/decode/probe.rs"]
mod probe;
#[path = "../examples/decode/projection.rs"]
mod projection;
#[path = "../examples/decode/random.rs"]
mod random;
#[path = "../examples/decode/rope.rs"]
mod rope;
#[path = "../examples/decode/sampling.rs"]
mod sampling;
#[path = "../examples/decode/simd.rs"]
mod simd;
#[path = "../examples/decode/slow.rs"]
mod slow;
#[path = "../examples/decode/weights.rs"]
mod weights;
#[path = "../examples/decode/work.rs"]
mod work;

use std::error::Error;
use std::path::Path;

use backend::{Backend, Simd};
use generate::{Plan, generate};
use probe::{Level, Probe};
use trueno_recorder::Recorder;
use weights::Shape;

const PAIRS: usize = 151;
/// The most that bricks and kernels may add, in percent.
const TARGET_PERCENT: f64 = 1.0;

/// The example's defaults, with tokens for several rounds of the writer.
const PLAN: Plan = Plan {
    shape: Shape {
        layers: 4,
        dim: 256,
        heads: 4,
        ffn: 1024,
        vocab: 2048,
        positions: 16 + 96,
    },
    seed: 1,
    prompt: 16,
    tokens: 96,
    threads: 1,
    blocked: true,
};

/// How a run is recorded.
#[derive(Clone, Copy)]
enum Recording {
    Off,
    Kernels,
    KernelsAndChecksums,
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("perturbation-{}", std::process::id()));
    let result = compare(&folder);
    // What is left there is of no use to anyone.
    let _ = std::fs::remove_dir_all(&folder);
    result
}

fn compare(folder: &Path) -> Result<(), Box<dyn Error>> {
    let kinds = [
        ("nothing (the noise)", Recording::Off),
        ("bricks and kernels", Recording::Kernels),
        ("these and checksums", Recording::KernelsAndChecksums),
    ];
    let mut percents = [const { Vec::new() }; 3];
    // Warm: code, memory, clock rates.
    let (warm, _) = run(Recording::Off, folder)?;
    let mut rows = 0;
    for pair in 0..PAIRS {
        for ((_, recording), percents) in kinds.iter().zip(&mut percents) {
            let (with, without);
            if pair % 2 == 0 {
                (with, rows) = run(*recording, folder)?;
                (without, _) = run(Recording::Off, folder)?;
            } else {
                (without, _) = run(Recording::Off, folder)?;
                (with, rows) = run(*recording, folder)?;
            }
            percents.push(100.0 * (with / without - 1.0));
        }
    }
    println!(
        "{PAIRS} pairs of runs of about {:.0} ms, up to {rows} rows a run\n",
        warm * 1e3
    );
    println!("{:<24} {:>10}   95 % between", "recorded", "added");
    let mut found = [Interval::default(); 3];
    for (((name, _), percents), found) in kinds.iter().zip(percents).zip(&mut found) {
        *found = Interval::of(percents);
        let Interval { low, median, high } = found;
        println!("{name:<24} {median:>+9.2}%   {low:>+6.2}% and {high:>+6.2}%");
    }
    println!(
        "\nbricks and kernels <= {TARGET_PERCENT} %: {}",
        found[1].verdict()
    );
    Ok(())
}

/// Runs once; seconds of prompt and tokens, and rows recorded.
fn run(recording: Recording, folder: &Path) -> Result<(f64, u64), Box<dyn Error>> {
    let rec = match recording {
        Recording::Off => Recorder::disabled(),
        _ => Recorder::builder(folder).overwrite(true).create()?,
    };
    let mut probe = Probe::new(rec, Simd::new(Backend::widest())?);
    probe.level = Level::Kernel;
    probe.checksums = matches!(recording, Recording::KernelsAndChecksums);
    let generated = generate(&PLAN, &probe)?;
    let summary = probe.rec.finish()?;
    if summary.dropped > 0 {
        return Err(format!("{} events dropped: not the whole cost", summary.dropped).into());
    }
    let time = generated.prefill + generated.decode;
    Ok((time.as_secs_f64(), summary.rows))
}

/// A median, and between which two values it lies.
#[derive(Clone, Copy, Default)]
struct Interval {
    low: f64,
    median: f64,
    high: f64,
}

impl Interval {
    /// How many of n values lie below the true median is binomial; 1.96 of its deviations
    /// (half the root of n) to either side hold 95 %.
    fn of(mut values: Vec<f64>) -> Self {
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

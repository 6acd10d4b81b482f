//! Recording the loops of `loops.rs`.

mod loops;

use std::error::Error;
use std::path::PathBuf;

use clap::Parser;
use loops::{ACCUMULATORS, Line, Set};
use trueno_ceilings::{Effort, measure};
use trueno_recorder::Recorder;

/// Record a triad and a loop of fused multiplications and additions, beside measured ceilings.
#[derive(Parser)]
#[command(name = "at_the_roof")]
struct Options {
    /// The run directory to write.
    #[arg(long, value_name = "DIR", default_value = "at_the_roof.run")]
    out: PathBuf,
    /// Replace a run that is there already.
    #[arg(long)]
    overwrite: bool,
    /// Number of times each kernel runs.
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    calls: u64,
    /// Take pages as the system gives them; by default large ones are asked for, as for the ceilings.
    #[arg(long)]
    small_pages: bool,
}

/// Steps of each chain in a call: about a millisecond.
const STEPS: u64 = 600_000;

pub fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    let rec = Recorder::builder(&options.out)
        .overwrite(options.overwrite)
        .label("at the roof")
        .create()?;
    let peaks = measure(&Effort::default(), |_| {});
    rec.ceilings(&peaks);
    let last = peaks.machine.caches.last().map_or(64 << 20, |c| c.bytes);
    let lines = 4 * last as usize / size_of::<Line>();
    let array = |value| array(lines, value, !options.small_pages);
    let (mut a, b, c) = (array(0.0), array(2.0), array(3.0));
    // Once without a record: the pages of `a`, the clock.
    for set in Set::there() {
        set.triad(&mut a, &b, &c);
        set.fma(STEPS);
        set.fma_f64(STEPS);
    }
    for _ in 0..options.calls {
        for set in Set::there() {
            let n = 8 * lines as u64;
            let mut kernel = rec.kernel("triad");
            kernel.backend(set.name()).elements(n).flops(2 * n);
            kernel.bytes(24 * n);
            set.triad(&mut a, &b, &c);
        }
        for set in Set::there() {
            let n = set.lanes() * ACCUMULATORS as u64;
            let mut kernel = rec.kernel("fma");
            kernel.backend(set.name()).elements(n);
            kernel.flops(2 * n * STEPS).bytes(2 * 4 * n);
            let end = set.fma(STEPS);
            drop(kernel);
            if end.iter().any(|value| *value != 2.0) {
                return Err(format!("{}: the chains end at {end:?}, not at 2", set.name()).into());
            }
        }
        for set in Set::there() {
            let n = set.lanes() / 2 * ACCUMULATORS as u64;
            let mut kernel = rec.kernel("fma_f64");
            kernel.backend(set.name_f64()).elements(n);
            kernel.flops(2 * n * STEPS).bytes(2 * 8 * n);
            let end = set.fma_f64(STEPS);
            drop(kernel);
            if end.iter().any(|value| *value != 2.0) {
                return Err(
                    format!("{}: the chains end at {end:?}, not at 2", set.name_f64()).into(),
                );
            }
        }
    }
    if a.iter().any(|line| line.0 != [3.5; 8]) {
        return Err("the triad did not give 3.5 everywhere".into());
    }
    rec.finish()?;
    println!("run {}", options.out.display());
    Ok(())
}

/// Lines that begin at a cache line.
fn array(lines: usize, value: f64, in_large_pages: bool) -> Vec<Line> {
    let mut array: Vec<Line> = Vec::with_capacity(lines);
    #[cfg(target_os = "linux")]
    if in_large_pages {
        const PAGE: usize = 4096;
        let start = array.as_mut_ptr().cast::<u8>();
        let skipped = start.align_offset(PAGE);
        let bytes = (lines * size_of::<Line>()).saturating_sub(skipped);
        // SAFETY: advice on memory that is the array's; refused, it changes nothing.
        unsafe { libc::madvise(start.add(skipped).cast(), bytes, libc::MADV_HUGEPAGE) };
    }
    array.resize(lines, Line([value; 8]));
    array
}

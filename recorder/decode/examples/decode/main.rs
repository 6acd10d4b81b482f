//! A small transformer decoding tokens: a real program to record.
//!
//!     cargo run --release -p trueno-decode --example decode -- --out decode.run
//!
//! Weights are random (seeded), everything else is as in a real decoder:
//! embedding, RMSNorm, fused QKV, rotary embedding, a key/value cache, causal
//! attention head by head, a gated feed-forward network, residual additions,
//! a head over the vocabulary, sampling at a temperature. The arithmetic runs
//! on the SIMD library `aprender-compute`, on the instruction set chosen with
//! `--backend` (`backend.rs` says how it is made sure of).
//!
//! What is recorded, and how:
//!
//! - **iteration** per generated token. Iteration 0 also takes the prompt.
//! - **layer** per transformer layer; embedding, head and sampling stand outside.
//! - **brick** per kind of work (`brick.rs`); `Residual` and `KvCacheWrite` are
//!   free names. Products of matrices, softmax and the like state the shapes
//!   of their operands, weights with a row an output. Elements are those given; FLOPs and bytes are the sum over
//!   the kernels that ran (`work.rs` has the formulas).
//! - **kernel** per library call or loop of equal calls (`kernels.rs`); a
//!   `matvec` is one library dot product per row.
//! - **tile** of the blocked matrix products of the prompt (`blocked_matmul.rs`).
//! - **task** per attention head, under the function `attention heads`; with
//!   `--threads N` on worker threads; the main thread then waits in `head not
//!   started` and `join head` (`head_pool.rs`).
//! - **checksum** of each brick's output, with its first sequence position,
//!   taken after the brick ended. Names start with the brick's name.
//!   `KvCacheWrite` has none: it only copies.
//! - **counter** `tokens` of each iteration: 1, the token it generates, whatever the prompt.
//! - **allocations** of weights and caches, the options as values.
//!
//! `--slow BRICK=FACTOR` repeats a brick's work, so a comparison has a known
//! answer; `--plant BRICK@LAYER` puts an error in, `--reverse-heads` takes the heads in
//! another order; `--no-record` does the same work with a recorder that is off. `--peaks`
//! keeps what this machine can do at most in the run's table `ceilings`; `--counters` has the CPU
//! count what each brick did.

mod options;

use clap::Parser;
use options::Options;
use std::error::Error;
use std::io::{IsTerminal, stderr};
use std::process::ExitCode;
use std::time::Duration;
use trueno_ceilings::{CeilingRequest, Progress};
use trueno_decode::backend::Simd;
use trueno_decode::generate::{Generated, generate};
use trueno_decode::probe::{Exp, Probe};
use trueno_recorder::{Overflow, PerfEvent, Recorder};

fn main() -> ExitCode {
    match decode(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn decode(options: &Options) -> Result<(), Box<dyn Error>> {
    let plan = options.plan()?;
    let simd = Simd::new(options.backend.backend())?;
    let mut probe = Probe::new(recorder(options, simd)?, simd).slow(options.slow);
    probe.exp = options.exp;
    probe.level = options.level;
    probe.checksums = options.checksums;
    probe.plant = options.plant;
    probe.reverse_heads = options.reverse_heads;
    describe(&probe.rec, options, simd);

    let generated = generate(&plan, &probe)?;
    let summary = probe.rec.finish()?;
    if summary.dropped > 0 {
        eprintln!(
            "warning: {} events found no room and are missing from the run",
            summary.dropped
        );
    }
    print(options, simd, &generated);
    Ok(())
}

fn recorder(options: &Options, simd: Simd) -> Result<Recorder, Box<dyn Error>> {
    if options.no_record {
        return Ok(Recorder::disabled());
    }
    let slow = options
        .slow
        .map(|slow| format!(", {slow}"))
        .unwrap_or_default();
    let plant = options
        .plant
        .map(|plant| format!(", {plant}"))
        .unwrap_or_default();
    let exp = match options.exp {
        Exp::Precise => "",
        Exp::Backend => ", its own exp",
    };
    let label = format!("decode, {}{exp}{slow}{plant}", simd.backend().name());
    let builder = Recorder::builder(&options.out)
        .overwrite(options.overwrite)
        // The prompt's tiles come faster than a busy machine's writer may run.
        .overflow(Overflow::Grow)
        .label(&label);
    let builder = if options.counters {
        builder.perf(PerfEvent::ALL)
    } else {
        builder
    };
    if !options.peaks {
        return Ok(builder.create()?);
    }
    let peaks = CeilingRequest::CachedOrMeasured.telling(tell);
    let recorder = builder.ceilings(peaks).create()?;
    if stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
    Ok(recorder)
}

/// Prints the progress of the measurement of this machine, which happens once and takes seconds.
fn tell(progress: Progress<'_>) {
    if stderr().is_terminal() {
        let Progress { done, all, now } = progress;
        eprint!("\r\x1b[Kmeasuring this machine, once: {done} of {all}, {now}");
    }
}

fn describe(rec: &Recorder, options: &Options, simd: Simd) {
    let Options {
        layers,
        dim,
        heads,
        ffn,
        vocab,
        prompt,
        tokens,
        ..
    } = options;
    rec.value(
        "model",
        format!("layers {layers}, dim {dim}, heads {heads}, ffn {ffn}, vocab {vocab}"),
    );
    rec.value("sequence", format!("prompt {prompt}, tokens {tokens}"));
    rec.value("backend", simd.backend().name());
    rec.value("exp", options.exp.name());
    rec.value("seed", options.seed);
    rec.value("threads", options.threads);
    if let Some(slow) = options.slow {
        rec.value("slow", slow);
    }
    if let Some(plant) = options.plant {
        rec.value("plant", plant);
    }
    if options.reverse_heads {
        rec.value("heads", "last first");
    }
}

/// Prints results to stdout, one `name value` per line.
fn print(options: &Options, simd: Simd, generated: &Generated) {
    println!("backend {}", simd.backend().name());
    println!("tokens {}", generated.tokens.len());
    println!(
        "token_checksum {:016x}",
        trueno_decode::sampling::checksum(&generated.tokens)
    );
    println!(
        "prefill_tokens_per_s {}",
        per_s(generated.prompt.len(), generated.prefill)
    );
    println!(
        "decode_tokens_per_s {}",
        per_s(generated.tokens.len() - 1, generated.decode)
    );
    if !options.no_record {
        println!("run {}", options.out.display());
    }
}

/// A rate, or `not_measured` if nothing was timed.
fn per_s(count: usize, time: Duration) -> String {
    if count == 0 || time.is_zero() {
        return "not_measured".to_owned();
    }
    format!("{:.1}", count as f64 / time.as_secs_f64())
}

//! `trueno-record peaks`.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use trueno_ceilings::gpu::{GpuCeilings, GpuEffort};
use trueno_ceilings::{
    AttachError, Attachment, CacheError, CeilingCache, CpuCeilings, Effort, Machine, Progress,
    measure,
};
use trueno_cupti::driver::DriverError;
use trueno_format::Error;

use crate::{interrupted, say, table};

const EFFORT: &str = "Effort";

/// Arguments of `peaks`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Measure the GPUs instead of the processor
    ///
    /// Later recordings of `run` on them have these limits.
    #[arg(long, conflicts_with = "kept")]
    gpu: bool,
    /// Also write the limits to FILE, as JSON
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Form of the result; json has everything
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Old spelling of `--format json`.
    #[arg(long, hide = true, conflicts_with = "format")]
    json: bool,
    /// Use earlier results for this machine, if they are still valid
    #[arg(long)]
    kept: bool,
    /// Do not save the results for other programs
    #[arg(long, conflicts_with = "kept")]
    no_keep: bool,
    /// Add the limits to RUN, a finished recording of this machine
    #[arg(long, value_name = "RUN", conflicts_with = "gpu")]
    into: Option<PathBuf>,
    /// With --into: replace limits that RUN already has
    #[arg(long, requires = "into")]
    replace: bool,
    /// Measure each limit at least N times, if there is time (GPU: 15)
    #[arg(long, help_heading = EFFORT, hide_short_help = true, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    repetitions: Option<u32>,
    /// Time of one repetition in milliseconds (GPU: at least 5)
    #[arg(long, help_heading = EFFORT, hide_short_help = true, value_name = "MS", value_parser = milliseconds)]
    repetition_ms: Option<f64>,
    /// Time limit in seconds; each limit is measured a few times anyway
    #[arg(long, help_heading = EFFORT, hide_short_help = true, value_name = "S", conflicts_with = "gpu", default_value_t = Effort::default().longest.as_secs(), value_parser = clap::value_parser!(u64).range(0..=3600))]
    seconds: u64,
}

impl Args {
    fn is_json(&self) -> bool {
        self.json || matches!(self.format, Format::Json)
    }

    fn repetition(&self) -> Option<Duration> {
        let ms = self.repetition_ms?;
        Some(Duration::from_secs_f64(ms / 1e3))
    }
}

fn milliseconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(ms) if (0.01..=10_000.0).contains(&ms) => Ok(ms),
        _ => Err("not a number from 0.01 to 10000".to_owned()),
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// A reason why there is nothing to show.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Writing to standard output failed.
    #[error("cannot print: {0}")]
    Output(#[source] io::Error),
    /// Writing to a run failed.
    #[error(transparent)]
    Joined(#[from] AttachError),
    /// Writing to the given file failed.
    #[error(transparent)]
    File(Error),
    /// Writing the cache of a GPU failed.
    #[error("{}: cannot write: {}", .0.display(), .1)]
    GpuFile(PathBuf, #[source] io::Error),
    /// There is no GPU, or it cannot be used.
    #[error("no GPU can be measured: {0}")]
    NoGpu(#[source] DriverError),
    /// JSON refused a number; it cannot happen, as numbers are finite.
    #[error("cannot make JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// Nothing could be measured.
const NOT_MEASURABLE: u8 = 3;

/// Gives the exit code.
pub fn run(args: &Args) -> Result<u8, Failure> {
    if args.gpu {
        return measure_gpus(args);
    }
    // Before seconds are spent on what nobody can have.
    let joining = match &args.into {
        Some(run) => Some(begin(run, args.replace)?),
        None => None,
    };
    let peaks = peaks(args);
    if let Some(file) = &args.output {
        CeilingCache::at(file).save(&peaks).map_err(Failure::File)?;
    }
    let text = if args.is_json() {
        serde_json::to_string_pretty(&peaks)? + "\n"
    } else {
        table::text(&peaks)
    };
    if let (Some(joining), Some(run)) = (joining, &args.into)
        && !peaks.ceilings.is_empty()
    {
        // An interrupt comes before the run is changed, or after.
        let mut held = interrupted::hold();
        join(joining, run, &peaks)?;
        *held = None;
    }
    print(&text)?;
    Ok(if peaks.ceilings.is_empty() {
        NOT_MEASURABLE
    } else {
        0
    })
}

/// From here on an interrupt leaves nothing beside the run.
fn begin(run: &Path, replace: bool) -> Result<Attachment, AttachError> {
    interrupted::watch();
    let mut held = None;
    let joining = Attachment::begin_with(run, replace, || held = Some(interrupted::hold()))?;
    if let Some(held) = &mut held {
        **held = Some(joining.folder().to_owned());
    }
    Ok(joining)
}

/// Reports on the run to standard error: standard output is the table's.
fn join(joining: Attachment, run: &Path, peaks: &CpuCeilings) -> Result<(), AttachError> {
    let added = joining.finish(peaks)?;
    for fact in added.not_compared {
        warn(&format!(
            "{}: does not say the {fact} of its processor, which was not compared",
            run.display()
        ));
    }
    let place = match added.replaced {
        0 => String::new(),
        count => format!(", in place of {count}"),
    };
    say(&format!(
        "{}: has {} ceilings of this machine now{place}",
        run.display(),
        added.ceilings
    ));
    Ok(())
}

fn measure_gpus(args: &Args) -> Result<u8, Failure> {
    let usual = GpuEffort::default();
    let effort = GpuEffort {
        repetitions: args.repetitions.unwrap_or(usual.repetitions),
        repetition: args.repetition().unwrap_or(usual.repetition),
        ..usual
    };
    let bar = bar();
    let found = GpuCeilings::measure_all(&effort, |at| show(&bar, &at));
    bar.finish_and_clear();
    let gpus = found.map_err(Failure::NoGpu)?;
    for problem in gpus
        .iter()
        .filter(|_| !args.no_keep)
        .filter_map(|gpu| gpu.save().err())
    {
        warn(&format!("the ceilings are not saved: {problem}"));
    }
    let json = serde_json::to_string_pretty(&gpus)? + "\n";
    if let Some(file) = &args.output {
        std::fs::write(file, &json).map_err(|error| Failure::GpuFile(file.clone(), error))?;
    }
    let text = if args.is_json() {
        json
    } else {
        gpus.iter().map(table::gpu_text).collect()
    };
    print(&text)?;
    Ok(if gpus.iter().all(|gpu| gpu.ceilings.is_empty()) {
        NOT_MEASURABLE
    } else {
        0
    })
}

fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(Failure::Output)
}

fn peaks(args: &Args) -> CpuCeilings {
    let machine = Machine::here();
    let store = CeilingCache::for_user(&machine);
    if args.kept {
        match store
            .as_ref()
            .map_err(CacheError::clone)
            .and_then(|s| s.load(&machine))
        {
            Ok(peaks) => return peaks,
            Err(CacheError::Missing { .. } | CacheError::NoFolder) => {}
            Err(problem) => warn(&problem.to_string()),
        }
    }
    let usual = Effort::default();
    let mut peaks = measured(&Effort {
        repetitions: args.repetitions.unwrap_or(usual.repetitions),
        repetition: args.repetition().unwrap_or(usual.repetition),
        longest: Duration::from_secs(args.seconds),
    });
    if let Ok(Ok(earlier)) = store.as_ref().map(|store| store.load(&machine)) {
        peaks.compare_with(&earlier);
    }
    if !args.no_keep {
        let kept = match &store {
            Ok(store) => store.save(&peaks).map_err(|e| e.to_string()),
            Err(problem) => Err(problem.to_string()),
        };
        if let Err(problem) = kept {
            warn(&format!("the ceilings are not saved: {problem}"));
        }
    }
    peaks
}

fn measured(effort: &Effort) -> CpuCeilings {
    let bar = bar();
    let peaks = measure(effort, |at| show(&bar, &at));
    bar.finish_and_clear();
    peaks
}

/// A bar on a terminal only: a log has no use for it.
fn bar() -> ProgressBar {
    let bar = if io::stderr().is_terminal() {
        ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr())
    } else {
        ProgressBar::hidden()
    };
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    bar
}

fn show(bar: &ProgressBar, at: &Progress<'_>) {
    bar.set_length(at.all as u64);
    bar.set_position(at.done as u64);
    bar.set_message(at.now.to_owned());
}

fn warn(text: &str) {
    say(&format!("warning: {text}"));
}

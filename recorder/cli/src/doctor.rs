//! `trueno-record doctor`.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::ValueEnum;
use serde::Serialize;
use trueno_cupti::kind;

use crate::driver::Driver;
use crate::libraries::{self, Search};
use crate::wrap::wrapped;
use crate::{Failure, NOT_MEASURABLE, driver};

/// Arguments of `doctor`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Exit with 3 if this cannot be recorded here
    #[arg(long, value_enum, value_name = "WHAT")]
    need: Option<Need>,
    /// Check this libcupti
    #[arg(long, value_name = "FILE")]
    cupti: Option<PathBuf>,
    /// Check this library to inject
    #[arg(long, value_name = "FILE")]
    inject: Option<PathBuf>,
    /// Search where this program, such as a python, would
    #[arg(value_name = "PROGRAM")]
    program: Option<std::ffi::OsString>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Need {
    /// System calls of any program.
    Calls,
    /// Functions of any program that ran.
    Samples,
    /// Calls of BLAS and LAPACK of any program.
    Libs,
    /// Allocations of any program.
    Allocations,
    /// NVTX ranges of any program.
    Ranges,
    /// Kernels, transfers, calls of any CUDA program.
    Cuda,
}

/// Verdict on something that may be recorded.
#[derive(Clone, Debug, Serialize)]
struct Verdict {
    possible: bool,
    /// Reason why not.
    why_not: Option<String>,
}

impl Verdict {
    fn new(why_not: Option<String>) -> Self {
        Self {
            possible: why_not.is_none(),
            why_not,
        }
    }
}

#[derive(Clone, Debug, Serialize)]
struct Findings {
    /// Spans of programs that link the recorder.
    spans: Verdict,
    /// System calls of any program.
    calls: Verdict,
    /// Functions of any program that ran.
    samples: Verdict,
    /// Threads that end waits, beside samples.
    wakers: Verdict,
    /// Calls of BLAS and LAPACK of any program.
    libs: Verdict,
    /// Allocations of any program.
    allocations: Verdict,
    ranges: Verdict,
    cuda: Verdict,
    /// Hardware counters, by Nsight Compute.
    gpu_counters: Verdict,
    driver: Driver,
    cupti: Search,
    /// Bytes of a record, as this CUPTI steps over them.
    record_bytes: BTreeMap<String, usize>,
    inject: Option<String>,
    /// Variables that get in the way.
    environment: Vec<String>,
}

/// Gives the exit code.
pub fn run(args: &Args) -> Result<u8, Failure> {
    let findings = look(args);
    let text = match args.format {
        Format::Json => match serde_json::to_string_pretty(&findings) {
            Ok(json) => json + "\n",
            Err(error) => return Err(Failure::NotStarted(format!("cannot make JSON: {error}"))),
        },
        Format::Text => wrapped(&in_words(&findings)),
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(Failure::Output)?;
    let there = match args.need {
        None => true,
        Some(Need::Calls) => findings.calls.possible,
        Some(Need::Samples) => findings.samples.possible,
        Some(Need::Libs) => findings.libs.possible,
        Some(Need::Allocations) => findings.allocations.possible,
        Some(Need::Ranges) => findings.ranges.possible,
        Some(Need::Cuda) => findings.cuda.possible,
    };
    Ok(if there { 0 } else { NOT_MEASURABLE })
}

fn look(args: &Args) -> Findings {
    let environment = conflicts();
    let inject = libraries::inject(args.inject.as_deref());
    let driver = driver::ask();
    let (search, sizes) = libraries::cupti(args.cupti.as_deref(), args.program.as_deref());
    let record_bytes: BTreeMap<String, usize> = sizes
        .iter()
        .map(|(number, bytes)| (kind::name(number), bytes))
        .collect();
    let no_interposing = libraries::interpose()
        .err()
        .or_else(|| {
            trueno_preload_rows::check()
                .err()
                .map(|error| error.to_string())
        })
        .or_else(|| trueno_preload_rows::problem(args.program.as_deref()?));
    let sampling = trueno_sampler::check();
    let no_samples = sampling.as_ref().err().map(ToString::to_string);
    let no_wakers = sampling.unwrap_or_else(|_| no_samples.clone());
    let no_inject = inject.as_ref().err().cloned();
    let taken = environment.first().cloned();
    let no_ranges = no_inject.or(taken);
    let no_cupti = search
        .found
        .is_none()
        .then(|| "no usable libcupti was found (hint: `pip install nvidia-cuda-cupti`, or give it with --cupti)".to_owned());
    let no_cuda = driver
        .problem
        .clone()
        .or(no_cupti)
        .or_else(|| no_ranges.clone());
    Findings {
        spans: Verdict::new(None),
        calls: Verdict::new(trueno_tracer::check().err().map(|error| error.to_string())),
        samples: Verdict::new(no_samples),
        wakers: Verdict::new(no_wakers),
        libs: Verdict::new(no_interposing.clone()),
        allocations: Verdict::new(no_interposing),
        gpu_counters: Verdict::new(driver.problem.clone().or_else(no_ncu).or_else(restricted)),
        ranges: Verdict::new(no_ranges),
        cuda: Verdict::new(no_cuda),
        driver,
        cupti: search,
        record_bytes,
        inject: inject.ok().map(|path| path.display().to_string()),
        environment,
    }
}

/// Gives the reason where Nsight Compute is not there.
fn no_ncu() -> Option<String> {
    let folders = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&folders).any(|folder| folder.join("ncu").is_file());
    (!found).then(|| "Nsight Compute (ncu) is not on the PATH".to_owned())
}

/// Gives the reason where the device's counters are for administrators only.
fn restricted() -> Option<String> {
    let parameters = fs::read_to_string("/proc/driver/nvidia/params").ok()?;
    let line = parameters
        .lines()
        .find(|line| line.starts_with("RmProfilingAdminOnly"))?;
    // SAFETY: takes nothing.
    let is_root = unsafe { libc::geteuid() } == 0;
    (line.trim_end().ends_with('1') && !is_root).then(|| {
        "the driver restricts them to administrators (RmProfilingAdminOnly; hint: run ncu as root)"
            .to_owned()
    })
}

fn conflicts() -> Vec<String> {
    ["CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"]
        .iter()
        .filter_map(|name| {
            let value = env::var_os(name)?;
            Some(format!(
                "{name} is {} already: another tool records",
                value.display()
            ))
        })
        .collect()
}

fn in_words(findings: &Findings) -> String {
    let mut out = String::new();
    // Writing to a text cannot fail.
    let mut line = |what: &str, verdict: &Verdict| {
        let _ = match &verdict.why_not {
            None => writeln!(out, "{what:<44} yes"),
            Some(why) => writeln!(out, "{what:<44} no: {why}"),
        };
    };
    line("spans of programs that link the recorder", &findings.spans);
    line("system calls of any program", &findings.calls);
    line(
        "functions of any program that ran (samples)",
        &findings.samples,
    );
    line("threads that end waits, beside samples", &findings.wakers);
    line(
        "linear algebra of any program (BLAS, LAPACK)",
        &findings.libs,
    );
    line("allocations of any program", &findings.allocations);
    line("NVTX ranges of any program", &findings.ranges);
    line("kernels, transfers, calls of CUDA programs", &findings.cuda);
    line("hardware counters of a GPU, by ncu", &findings.gpu_counters);
    let driver = &findings.driver;
    let unknown = || "not known".to_owned();
    let _ = writeln!(out);
    if let Some(path) = &driver.path {
        let version = driver
            .version
            .map_or_else(unknown, |v| format!("CUDA {}.{}", v / 1000, v % 1000 / 10));
        let _ = writeln!(out, "driver: {path}, {version}");
    }
    for device in &driver.devices {
        let memory = device
            .memory_bytes
            .map_or_else(unknown, |bytes| format!("{} MiB", bytes >> 20));
        let capability = device.compute_capability.clone().unwrap_or_else(unknown);
        let _ = writeln!(
            out,
            "gpu{}: {}, compute capability {capability}, {memory}",
            device.number, device.name
        );
    }
    if let Some(found) = &findings.cupti.found {
        let _ = writeln!(out, "CUPTI: {}, version {}", found.path, found.version);
    }
    for passed in &findings.cupti.passed_over {
        let _ = writeln!(out, "CUPTI skipped: {passed}");
    }
    if !findings.record_bytes.is_empty() {
        let sizes = findings
            .record_bytes
            .iter()
            .map(|(name, bytes)| format!("{name} {bytes}"));
        let _ = writeln!(
            out,
            "bytes of its records: {}",
            sizes.collect::<Vec<_>>().join(", ")
        );
    }
    if let Some(path) = &findings.inject {
        let _ = writeln!(out, "library to inject: {path}");
    }
    for conflict in &findings.environment {
        let _ = writeln!(out, "environment: {conflict}");
    }
    out
}

//! `trueno-record run`.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use clap::ValueEnum;
use trueno_ceilings::gpu::GpuCeilings;
use trueno_cupti::driver::Driver;
use trueno_cupti::library::CANDIDATES_VARIABLE;
use trueno_format::folder::Folder;
use trueno_format::run_directory::Destination;
use trueno_format::run_json::RUN_JSON;
use trueno_format::time_text::parse_duration;
use trueno_import::cuda::spool::{Summary, collect};
use trueno_processes::Selection;
use trueno_sampler::{DEFAULT_STACK_BYTES, MAX_STACK_BYTES, Sampling};
use trueno_tracer::Calls;

use crate::attach::{Means, Process};
use crate::head::{Output, path_of};
use crate::kept::Keep;
use crate::samples::{DEFAULT_HZ, hz};
use crate::signals::ControlSignal;
use crate::subject::{Part, Subject, Way};
use crate::window::Window;
use crate::windows::Windows;
use crate::{Failure, calls, interposed, libraries, samples, say, signals};

const WHAT: &str = "What to record [default: CUDA work and NVTX ranges]";
const CUDA: &str = "CUDA";
const PART: &str = "Which part [default: all of it]";

/// Arguments of `run`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run directory to make [default: PROGRAM.run]
    #[arg(short, long, value_name = "RUN")]
    output: Option<PathBuf>,
    /// Replace a run that is already there
    #[arg(long)]
    overwrite: bool,
    /// Exit with 1 if the program succeeds but its recording is incomplete
    #[arg(long)]
    strict: bool,
    /// Functions that run, HZ samples per second of CPU time [default HZ: 997]
    ///
    /// With all their callers, in all threads and child processes. Works with --calls too.
    #[arg(
        long,
        value_name = "HZ",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = DEFAULT_HZ,
        value_parser = hz(),
        conflicts_with_all = ["cupti", "ranges_only", "inject", "level", "graphs", "flush_ms"],
        help_heading = WHAT
    )]
    sample: Option<u32>,
    /// System calls [default LIST: all]
    ///
    /// LIST holds names and classes (`file`, `network`, `memory`, `process`, `ioctl`), each with `!` in front for all
    /// but these. All threads and child processes are included.
    #[arg(
        long,
        value_name = "LIST",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "all",
        value_parser = Calls::parse,
        conflicts_with_all = ["cupti", "ranges_only", "inject", "level", "graphs", "flush_ms"],
        help_heading = WHAT
    )]
    calls: Option<Calls>,
    /// Calls of BLAS and LAPACK, with their FLOPs and bytes
    ///
    /// As kernels. For programs that load these as shared libraries, with threads and child processes.
    #[arg(
        long,
        conflicts_with_all = ["calls", "sample", "cupti", "ranges_only", "inject", "level", "graphs", "flush_ms"],
        help_heading = WHAT
    )]
    libs: bool,
    /// Allocations, one sample per BYTES on average [default BYTES: 524288]
    ///
    /// For programs that allocate by `malloc`, with threads and child processes. Works with --libs too.
    #[arg(
        long,
        value_name = "BYTES",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "524288",
        value_parser = clap::value_parser!(u64).range(1..=1 << 40),
        conflicts_with_all = ["calls", "sample", "cupti", "ranges_only", "inject", "level", "graphs", "flush_ms"],
        help_heading = WHAT
    )]
    alloc: Option<u64>,
    /// NVTX ranges only; needs neither a driver nor CUPTI
    #[arg(long, conflicts_with = "cupti", help_heading = WHAT)]
    ranges_only: bool,
    /// Level of detail
    #[arg(long, value_enum, default_value_t = Level::Edges, help_heading = CUDA, hide_short_help = true)]
    level: Level,
    /// Record CUDA graphs by node or by launch
    ///
    /// Use whole for long recordings: nodes fill the device's buffers.
    #[arg(long, value_enum, default_value_t = Graphs::Nodes, help_heading = CUDA, hide_short_help = true)]
    graphs: Graphs,
    /// Milliseconds between buffer flushes; a killed program may lose this much
    #[arg(long, value_name = "MS", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=60_000), help_heading = CUDA, hide_short_help = true)]
    flush_ms: u32,
    /// Use this libcupti
    #[arg(long, value_name = "FILE", help_heading = CUDA, hide_short_help = true)]
    cupti: Option<PathBuf>,
    /// Inject this library
    #[arg(long, value_name = "FILE", help_heading = CUDA, hide_short_help = true)]
    inject: Option<PathBuf>,
    /// With --sample: KiB of each stack to copy
    ///
    /// Callers beyond this depth are lost. Larger values slow the program down more.
    #[arg(
        long,
        value_name = "KIB",
        requires = "sample",
        default_value_t = DEFAULT_STACK_BYTES >> 10,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_STACK_BYTES >> 10)),
        help_heading = WHAT,
        hide_short_help = true
    )]
    stack_kib: u32,
    /// Attach to a running process
    ///
    /// With --sample or --calls: all its threads and children, and what they begin. Ctrl-C ends the recording, and the
    /// process goes on.
    #[arg(
        long,
        value_name = "PID",
        value_parser = clap::value_parser!(i32).range(1..),
        conflicts_with = "command",
        help_heading = PART
    )]
    pid: Option<i32>,
    /// End the recording after this time; the program runs on to its own end
    ///
    /// TIME has a unit, as in 10s or 500ms, and begins with the recording.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = PART)]
    duration: Option<Duration>,
    /// Begin the recording after this time
    ///
    /// The program runs unrecorded until then.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = PART)]
    delay: Option<Duration>,
    /// Begin the recording when this command gets SIGNAL, and end it at the next one
    ///
    /// With --sample or --calls. `kill -USR1 PID` sends it. The program runs unrecorded before and after. Each further pair
    /// makes another run: PROGRAM.2.run and so on.
    #[arg(
        long,
        value_name = "SIGNAL",
        value_enum,
        ignore_case = true,
        conflicts_with = "delay",
        help_heading = PART
    )]
    signal: Option<ControlSignal>,
    /// Keep only the last TIME of the recording
    ///
    /// With --sample or --calls. For programs that run for long: memory and disk stay bounded. With --signal, each signal
    /// also writes it as a separate run (PROGRAM.cut-1.run, …), and the recording continues.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = PART)]
    keep_last: Option<Duration>,
    /// Only the program itself, without its child processes
    ///
    /// With --sample or --calls.
    #[arg(long, conflicts_with = "only", help_heading = PART)]
    no_children: bool,
    /// Only processes of this name: that of the process, or of the file it runs
    ///
    /// With --sample or --calls. All others run unrecorded.
    #[arg(long, value_name = "NAME", value_parser = process_name, help_heading = PART)]
    only: Option<String>,
    /// The program and its arguments; all options before it are for this command
    #[arg(
        required_unless_present = "pid",
        trailing_var_arg = true,
        value_name = "PROGRAM"
    )]
    command: Vec<OsString>,
}

/// Level of detail.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Level {
    /// Kernels, transfers, calls of the runtime.
    Kernels,
    /// Also calls of the driver, waits and events, which a critical path needs.
    Edges,
    /// Also memory, queue and submit times of launches, clocks and power of devices.
    Full,
}

/// Recording of CUDA graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Graphs {
    /// Every node.
    Nodes,
    /// One row per launch.
    Whole,
}

/// Variables by which CUDA and NVTX load a library.
const INJECTIONS: [&str; 2] = ["CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"];

/// Gives the exit code.
pub fn run(args: &Args) -> Result<u8, Failure> {
    check_part(args)?;
    let subject = subject(args)?;
    let output = output(args, &subject);
    let sampling = args.sample.map(|hz| Sampling {
        hz,
        stack_bytes: args.stack_kib << 10,
        leaves_out_first: false,
    });
    if let (Some(calls), Some(sampling)) = (&args.calls, sampling) {
        return calls_and_samples(args, calls, sampling, &output);
    }
    let signal = args.signal.filter(|_| args.keep_last.is_none());
    if let (Some(calls), Some(signal)) = (&args.calls, signal) {
        let part = || part(args);
        let windows = windows(args, signal, Means::Tracing, &output, &part);
        return windows.run(subject, |target, part, output| {
            calls::record(Way::Attach(target), calls, part, output, args.strict)
        });
    }
    if let Some(calls) = &args.calls {
        make_way(args, &output)?;
        let output = Output::new(&output).keeping(keep(args));
        return calls::run(subject, calls, &part(args), &output, args.strict);
    }
    if let (Some(sampling), Some(signal)) = (sampling, signal) {
        let part = || part(args);
        let windows = windows(args, signal, Means::Sampling, &output, &part);
        return windows.run(subject, |target, part, output| {
            let way = Way::Attach(target);
            samples::record(way, None, sampling, part, output, args.strict)
        });
    }
    if let Some(sampling) = sampling {
        make_way(args, &output)?;
        let output = Output::new(&output).keeping(keep(args));
        return samples::run(subject, None, sampling, &part(args), &output, args.strict);
    }
    if args.libs || args.alloc.is_some() {
        make_way(args, &output)?;
        let wanted = (args.libs, args.alloc.unwrap_or(0));
        let (window, output) = (part(args).window, Output::new(&output));
        return interposed::run(&args.command, wanted, &window, &output, args.strict);
    }
    let library = libraries::inject(args.inject.as_deref()).map_err(Failure::NotStarted)?;
    if let Some((name, value)) = INJECTIONS
        .iter()
        .find_map(|name| Some((name, env::var_os(name)?)))
    {
        return Err(Failure::NotStarted(format!(
            "{name} is already set to {}, so another tool may be recording; the program was not started (hint: unset it)",
            value.display()
        )));
    }
    let cupti = if args.ranges_only {
        None
    } else {
        Some(check_cuda(args)?)
    };
    let folder = make_room(args, &output)?;
    let status = start(args, &library, cupti.as_deref(), &folder.path());
    let status = match status {
        Ok(status) => status,
        Err(problem) => {
            // Nothing ran: nothing is in it.
            let _ = folder.remove(None);
            return Err(problem);
        }
    };
    let summary = match collect(&folder.path(), &output, true, &GpuCeilings::cached_as) {
        Ok(summary) => {
            let _ = folder.remove(None);
            summary
        }
        Err(problem) => {
            say(&format!(
                "error: {problem}; what was recorded is kept in {} (hint: trueno-record collect)",
                folder.path().display()
            ));
            return Ok(end(args, status, false));
        }
    };
    tell(&summary, status);
    Ok(end(args, status, summary.is_whole()))
}

fn keep(args: &Args) -> Option<Keep> {
    let signal = args.signal;
    args.keep_last.map(|last| Keep { last, signal })
}

fn windows<'a>(
    args: &Args,
    signal: ControlSignal,
    means: Means,
    output: &'a Path,
    part: &'a dyn Fn() -> Part,
) -> Windows<'a> {
    Windows {
        signal,
        means,
        output,
        overwrite: args.overwrite,
        strict: args.strict,
        part,
    }
}

/// Samples what a tracer traces, and not the tracer: two runs, as each has a clock and threads of its own, and joining them is not the
/// recorder's work.
fn calls_and_samples(
    args: &Args,
    calls: &Calls,
    sampling: Sampling,
    output: &Path,
) -> Result<u8, Failure> {
    let mut beside = output.file_stem().unwrap_or_default().to_owned();
    beside.push(".samples.run");
    let beside = output.with_file_name(beside);
    // Both are looked at before one is removed.
    let destination = Destination::check(output, args.overwrite).map_err(not_started)?;
    make_way(args, &beside)?;
    // Held here, so that it is known afterwards whether the tracer has recorded, wherever its run is by then.
    let traced = destination.make().map_err(not_started)?.into_folder();
    let own = env::current_exe().map_err(|e| Failure::NotStarted(format!("this program: {e}")))?;
    let mut command: Vec<OsString> = vec![own.into(), "run".into()];
    command.push(format!("--calls={}", calls.text()).into());
    command.extend(args.strict.then(|| "--strict".into()));
    if let Some(duration) = args.duration {
        command.push(format!("--duration={}ns", duration.as_nanos()).into());
    }
    command.extend(["-o".into(), output.into(), "--".into()]);
    command.extend(args.command.iter().cloned());
    let sampling = Sampling {
        leaves_out_first: true,
        ..sampling
    };
    let sampled = Output::new(&beside);
    let exit_code = samples::run(
        Subject::Program(&command),
        Some(&args.command),
        sampling,
        &part(args),
        &sampled,
        args.strict,
    );
    if traced.has(RUN_JSON) {
        let (calls, samples) = (path_of(&traced, output), sampled.path());
        let (calls, samples) = (calls.display(), samples.display());
        say(&format!(
            "the tracer stopped the program at its calls: waits in {samples} include these stops (hint: --sample alone for waits)"
        ));
        say(&format!(
            "as one run: trueno-analyze import {samples} --into {calls} -o both.run"
        ));
    } else {
        // The program did not begin.
        sampled.remove();
        if traced.entries().is_ok_and(|entries| entries.is_empty()) {
            let _ = traced.remove(None);
        }
    }
    exit_code
}

fn end(args: &Args, status: ExitStatus, whole: bool) -> u8 {
    if args.strict && status.success() && !whole {
        say("the recording is incomplete (--strict)");
        return 1;
    }
    signals::end_as(status)
}

/// What is recorded; of a process whether it can be is known now.
fn subject(args: &Args) -> Result<Subject<'_>, Failure> {
    let Some(pid) = args.pid else {
        return Ok(Subject::Program(&args.command));
    };
    let means = match (&args.calls, args.sample) {
        (Some(_), Some(_)) => {
            return Err(Failure::NotStarted(
                "--pid takes --sample or --calls, not both; nothing was recorded (hint: run both at once from two terminals, then \
                 `trueno-analyze import sampled.run --into calls.run -o both.run`)"
                    .to_owned(),
            ));
        }
        (Some(_), None) => Means::Tracing,
        (None, Some(_)) => Means::Sampling,
        (None, None) => {
            return Err(Failure::NotStarted(
                "--pid needs --sample or --calls; nothing was recorded: CUDA work, NVTX ranges, --libs and --alloc need a library \
                 that is loaded when the program starts"
                    .to_owned(),
            ));
        }
    };
    // What is attached to ends neither with this process nor by its signals.
    signals::prepare_attached();
    Process::find(pid, means).map(Subject::Process)
}

fn part(args: &Args) -> Part {
    let mut window = Window::new(args.delay, args.duration);
    window.can_be_asked = args.pid.is_some();
    let processes = match &args.only {
        Some(name) => Selection::Named(name.clone()),
        None if args.no_children => Selection::First,
        None => Selection::All,
    };
    Part { window, processes }
}

/// A name without its folder: no other would be found.
fn process_name(text: &str) -> Result<String, String> {
    match text.rsplit('/').next() {
        Some(name) if name == text && !text.is_empty() => Ok(text.to_owned()),
        Some(name) if !name.is_empty() => Err(format!("a name without its folder: {name}?")),
        _ => Err("expected the name of a process, such as python3".to_owned()),
    }
}

/// Refuses flags that the kind of recording does not have.
fn check_part(args: &Args) -> Result<(), Failure> {
    let selects = args.no_children
        || args.only.is_some()
        || args.signal.is_some()
        || args.keep_last.is_some();
    let has_window = args.delay.is_some() || args.duration.is_some();
    let (is_outside, is_preloaded) = (
        args.calls.is_some() || args.sample.is_some(),
        args.libs || args.alloc.is_some(),
    );
    let is_both = args.calls.is_some() && args.sample.is_some();
    let problem = if is_both && (selects || args.delay.is_some()) {
        "--delay, --signal, --keep-last, --only and --no-children take --sample or --calls, not both"
    } else if selects && !is_outside {
        "--signal, --keep-last, --only and --no-children need --sample or --calls"
    } else if has_window && !is_outside && !is_preloaded {
        "--delay and --duration need --sample, --calls, --libs or --alloc: CUDA work and NVTX ranges are recorded by a library in \
         the program, from its start to its end"
    } else {
        return Ok(());
    };
    Err(Failure::NotStarted(format!(
        "{problem}; nothing was started"
    )))
}

fn output(args: &Args, subject: &Subject<'_>) -> PathBuf {
    args.output.clone().unwrap_or_else(|| {
        let program = match subject {
            Subject::Program(command) => command.first().map(PathBuf::from).unwrap_or_default(),
            Subject::Process(process) => PathBuf::from(process.name.replace('/', "-")),
        };
        let name = program.file_stem().unwrap_or_default().to_owned();
        let mut name = if name.is_empty() {
            OsString::from("program")
        } else {
            name
        };
        name.push(".run");
        name.into()
    })
}

/// Checks the prerequisites of a CUDA recording before anything is started.
fn check_cuda(args: &Args) -> Result<PathBuf, Failure> {
    if let Err(problem) = Driver::find() {
        return Err(Failure::NotMeasurable(format!(
            "{problem}; nothing was started (`trueno-record doctor` says more; --ranges-only records NVTX ranges, --calls system calls, --sample the functions, --libs the linear algebra and --alloc the allocations of any program)"
        )));
    }
    let (search, _) = libraries::cupti(
        args.cupti.as_deref(),
        args.command.first().map(OsString::as_os_str),
    );
    match search.found {
        Some(found) => Ok(found.path.into()),
        None => Err(Failure::NotMeasurable(format!(
            "no usable libcupti was found, so no CUDA work can be recorded and nothing was started: {} (hint: `pip install nvidia-cuda-cupti`, or give it with --cupti)",
            search.passed_over.join("; ")
        ))),
    }
}

/// Removes a run that is to be replaced.
fn make_way(args: &Args, output: &Path) -> Result<(), Failure> {
    let done = Destination::check(output, args.overwrite).and_then(Destination::clear);
    done.map_err(not_started)
}

pub fn not_started(problem: trueno_format::Error) -> Failure {
    Failure::NotStarted(format!("{problem}; nothing was started"))
}

/// A folder beside the run to be, for the recorded processes to write to.
fn make_room(args: &Args, output: &Path) -> Result<Folder, Failure> {
    make_way(args, output)?;
    let mut folder = output.as_os_str().to_owned();
    folder.push(format!(".capture-{}", std::process::id()));
    let folder = PathBuf::from(folder);
    let parent = folder.parent().unwrap_or(Path::new(""));
    // Not one that is there: an earlier process of that number may have left a recording in it.
    let made = fs::create_dir_all(parent).and_then(|()| fs::create_dir(&folder));
    made.and_then(|()| Folder::open(&folder))
        .map_err(|e| Failure::NotStarted(format!("{}: cannot be made: {e}", folder.display())))
}

fn start(
    args: &Args,
    library: &Path,
    cupti: Option<&Path>,
    folder: &Path,
) -> Result<ExitStatus, Failure> {
    let (program, rest) = args
        .command
        .split_first()
        .ok_or_else(|| Failure::NotStarted("no program given".to_owned()))?;
    let mut command = signals::command(program);
    command
        .args(rest)
        .env("NVTX_INJECTION64_PATH", library)
        .env("TRUENO_CAPTURE", folder)
        .env("TRUENO_CAPTURE_FLUSH_MS", args.flush_ms.to_string())
        .env(
            "TRUENO_CAPTURE_LEVEL",
            match args.level {
                Level::Kernels => "kernels",
                Level::Edges => "edges",
                Level::Full => "full",
            },
        );
    if args.graphs == Graphs::Whole {
        command.env("TRUENO_CAPTURE_GRAPHS", "whole");
    }
    if let Some(found) = cupti {
        command.env("CUDA_INJECTION64_PATH", library);
        match &args.cupti {
            Some(chosen) => command.env(
                "TRUENO_CUPTI",
                fs::canonicalize(chosen).unwrap_or(chosen.clone()),
            ),
            None => command.env(CANDIDATES_VARIABLE, found),
        };
    }
    signals::prepare();
    let shown = program.display();
    let mut child = command.spawn().map_err(|e| {
        let hint = hint(&e, program);
        Failure::NotStarted(format!("{shown}: cannot be started: {e}{hint}"))
    })?;
    signals::child(child.id());
    let ended = child.wait();
    signals::child(0);
    ended.map_err(|e| Failure::NotStarted(format!("{shown}: cannot be waited for: {e}")))
}

/// A hint for a program that does not start.
pub fn hint(error: &io::Error, program: &OsStr) -> &'static str {
    let is_there = Path::new(program).exists();
    match error.raw_os_error() {
        Some(libc::EACCES) => " (hint: is it a program, and may you run it: `chmod +x`?)",
        Some(libc::ENOENT) if is_there => {
            " (hint: the interpreter in its first line, or its loader, does not exist)"
        }
        _ => "",
    }
}

/// Says what was recorded.
pub fn tell(summary: &Summary, status: ExitStatus) {
    if let Some(signal) = status.signal() {
        say(&format!("the program was ended by signal {signal}"));
    }
    for problem in &summary.problems {
        say(&format!("warning: {problem}"));
    }
    if summary.runs.is_empty() {
        say(
            match (summary.problems.is_empty(), summary.idle.is_empty()) {
                (false, _) => "nothing was recorded, for the reason above",
                (true, false) => {
                    "nothing was recorded: the program ended before anything was delivered (hint: a shorter --flush-ms)"
                }
                (true, true) => "nothing was recorded: the program used neither CUDA nor NVTX",
            },
        );
        return;
    }
    for collected in &summary.runs {
        let run = &collected.run;
        let count = |table: &str| run.tables.get(table).map_or(0, |table| table.rows);
        say(&format!(
            "recorded process {}: {} kernels, {} transfers, {} calls, {} waits, {} ranges -> {}",
            run.program.pid.unwrap_or(0),
            count("kernels"),
            count("transfers"),
            count("calls"),
            count("syncs"),
            count("bricks"),
            collected.path.display(),
        ));
        for problem in &run.problems {
            say(&format!("warning: {problem}"));
        }
        let Some(capture) = &run.capture else {
            continue;
        };
        for (what, count) in &capture.invalid {
            say(&format!("warning: {count} records are not valid: {what}"));
        }
        for (what, count) in &capture.unreadable {
            say(&format!("warning: {count} records cannot be read: {what}"));
        }
        for (what, why) in &capture.refused {
            say(&format!("warning: {what} is not recorded: {why}"));
        }
    }
}

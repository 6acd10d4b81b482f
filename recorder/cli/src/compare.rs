//! `trueno-record compare`.
//!
//! Two programs are recorded in turn, many times each, so that whatever the machine does meets both; then
//! `trueno-analyze compare` takes each run as one sample.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::IsTerminal;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use indicatif::{ProgressBar, ProgressStyle};
use trueno_format::Error;
use trueno_format::run_directory::Destination;
use trueno_format::run_json::RUN_JSON;

use crate::revision::Worktree;
use crate::samples::{DEFAULT_HZ, hz};
use crate::{Failure, say, signals};

/// In a command: the run directory to record to.
const PLACE: &[u8] = b"{}";
/// The command that compares.
const ANALYZER: &str = "trueno-analyze";

/// Exit code of a series that was stopped between two programs: that of Ctrl-C.
const STOPPED: u8 = 130;

/// Arguments of `compare`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Recordings of each program
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Recordings of each program to discard first
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=100))]
    warmup: u32,
    /// Folder for the runs
    #[arg(short, long, value_name = "FOLDER", default_value = "compared")]
    output: PathBuf,
    /// Replace runs of an earlier comparison in that folder
    #[arg(long)]
    overwrite: bool,
    /// Sample functions that run, HZ times per second of CPU time [default HZ: 997]
    ///
    /// Of programs as they are: as `trueno-record run --sample` does.
    #[arg(
        long,
        value_name = "HZ",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = DEFAULT_HZ,
        value_parser = hz()
    )]
    sample: Option<u32>,
    /// Only record
    #[arg(long, conflicts_with = "fail_on")]
    no_compare: bool,
    /// Exit with 1 if the second is slower, or if anything changed
    #[arg(long, value_name = "WHAT", value_parser = ["slower", "changed"])]
    fail_on: Option<String>,
    /// Smallest change of a median that counts
    #[arg(long, value_name = "PERCENT")]
    threshold: Option<String>,
    /// Also write the comparison as one HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Compare one program at a git revision with the working tree
    ///
    /// The revision is checked out into a temporary worktree. The program runs in both, each in the folder that
    /// corresponds to the working directory.
    #[arg(long, value_name = "REVISION")]
    git: Option<OsString>,
    /// With --git: run this in both trees first, by `sh -c`, such as 'cargo build --release'
    #[arg(long, value_name = "COMMAND", requires = "git")]
    build: Option<OsString>,
    /// Both programs and their arguments; with --git, the one program
    ///
    /// In each, `{}` stands for the run directory if the program records itself. A program without it is recorded as by
    /// `trueno-record run`, its CUDA work if there is no --sample.
    #[arg(required = true, last = true, value_name = "BASE … -- RUN …")]
    commands: Vec<OsString>,
}

/// One of both programs.
struct Side {
    /// Beginning of the names of its runs.
    name: &'static str,
    command: Vec<OsString>,
    /// Where it runs.
    directory: PathBuf,
    runs: Vec<PathBuf>,
}

/// Gives the exit code.
pub fn run(args: &Args) -> Result<u8, Failure> {
    let here = env::current_dir().map_err(|e| not_started(Path::new("."), "cannot be read", e))?;
    let mut sides = match args.git {
        // The directory of the base is that of its worktree, once there is one.
        Some(_) => [
            Side::new("base", &args.commands, &here),
            Side::new("run", &args.commands, &here),
        ],
        None => two(&args.commands, &here)?,
    };
    if args.sample.is_some() && sides.iter().any(Side::records_itself) {
        return Err(Failure::NotStarted(
            "--sample records programs as they are, and one with `{}` records itself; nothing was started (hint: leave out one \
             of both)"
                .to_owned(),
        ));
    }
    make_room(args)?;
    signals::prepare();
    let worktree = args.git.as_deref().map(Worktree::new).transpose()?;
    if let Some(worktree) = &worktree {
        sides[0].directory.clone_from(&worktree.directory);
    }
    let stopped = record_all(args, &mut sides)?;
    drop(worktree);
    if let Some(status) = stopped {
        say(&format!(
            "stopped; the runs so far are in {}",
            args.output.display()
        ));
        return Ok(if status.success() {
            STOPPED
        } else {
            signals::end_as(status)
        });
    }
    if args.no_compare {
        return Ok(0);
    }
    compare(args, &sides)
}

/// The programs before and after `--`.
fn two(commands: &[OsString], directory: &Path) -> Result<[Side; 2], Failure> {
    let mut parts = commands.splitn(2, |part| part == "--");
    let mut side = |name| {
        match parts.next() {
        Some(command) if !command.is_empty() => Ok(Side::new(name, command, directory)),
        _ => Err(Failure::NotStarted(
            "two programs are needed, `-- BASE … -- RUN …`; nothing was started (hint: `--git REVISION -- PROGRAM …` \
             compares one with a revision)"
                .to_owned(),
        )),
    }
    };
    Ok([side("base")?, side("run")?])
}

/// Builds and records both. Returns the status of the program after which the user stopped it.
fn record_all(args: &Args, sides: &mut [Side; 2]) -> Result<Option<ExitStatus>, Failure> {
    for side in &*sides {
        if let Some(build) = &args.build
            && let Some(stopped) = side.build(args, build)?
        {
            return Ok(Some(stopped));
        }
    }
    let progress = ProgressBar::new(u64::from(2 * (args.warmup + args.runs)));
    if !std::io::stderr().is_terminal() {
        progress.set_draw_target(indicatif::ProgressDrawTarget::hidden());
    }
    if let Ok(style) = ProgressStyle::with_template("{msg} {bar:30} {pos} of {len}") {
        progress.set_style(style.progress_chars("=> "));
    }
    for round in 0..args.warmup + args.runs {
        // The one that goes first takes turns, so that a steady drift harms neither.
        let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
        for at in order {
            let side = &mut sides[at];
            let number = (round + 1).saturating_sub(args.warmup);
            let name = if round < args.warmup {
                format!("{}-warmup", side.name)
            } else {
                format!("{}-{number:02}", side.name)
            };
            progress.set_message(name.clone());
            let status = record(args, side, &name)?;
            if signals::was_asked_to_end() {
                progress.abandon();
                return Ok(Some(status));
            }
            let path = finished(args, &name, status)?;
            if round < args.warmup {
                Destination::check(&path, true)?.clear()?;
            } else {
                side.runs.push(path);
            }
            progress.inc(1);
        }
    }
    progress.finish_and_clear();
    Ok(None)
}

impl Side {
    fn records_itself(&self) -> bool {
        self.command.iter().any(|part| has_place(part))
    }

    fn new(name: &'static str, command: &[OsString], directory: &Path) -> Self {
        Self {
            name,
            command: command.to_vec(),
            directory: directory.to_path_buf(),
            runs: Vec::new(),
        }
    }

    /// Returns the status of the command if the user stopped it.
    fn build(&self, args: &Args, build: &OsStr) -> Result<Option<ExitStatus>, Failure> {
        let name = format!("{}-build", self.name);
        say(&format!(
            "building {} in {}",
            self.name,
            self.directory.display()
        ));
        let mut command = signals::command("sh");
        command.arg("-c").arg(build);
        let status = self.ended(args, &name, Path::new("sh"), command)?;
        if signals::was_asked_to_end() {
            return Ok(Some(status));
        }
        if !status.success() {
            return Err(Failure::NotStarted(format!(
                "{name}: the build failed ({status}); it printed {}",
                log(args, &name).display()
            )));
        }
        Ok(None)
    }

    /// Runs a command to its end; all that it prints goes to a file.
    fn ended(
        &self,
        args: &Args,
        name: &str,
        program: &Path,
        mut command: Command,
    ) -> Result<ExitStatus, Failure> {
        let log = log(args, name);
        let file = File::create(&log).map_err(|e| not_started(&log, "cannot be written", e))?;
        let copy = file
            .try_clone()
            .map_err(|e| not_started(&log, "cannot be written", e))?;
        command
            .current_dir(&self.directory)
            .stdin(std::process::Stdio::null())
            .stdout(file)
            .stderr(copy);
        let mut child = command
            .spawn()
            .map_err(|e| not_started(program, "cannot be started", e))?;
        signals::child(child.id());
        let ended = child.wait();
        signals::child(0);
        ended.map_err(|e| not_started(program, "cannot be waited for", e))
    }
}

fn not_started(path: &Path, what: &str, error: std::io::Error) -> Failure {
    Failure::NotStarted(format!("{}: {what}: {error}", path.display()))
}

/// The folder, without runs of an earlier comparison.
fn make_room(args: &Args) -> Result<(), Failure> {
    let shown = args.output.display();
    fs::create_dir_all(&args.output).map_err(|e| not_started(&args.output, "cannot be made", e))?;
    let earlier = |name: &OsStr| {
        let name = name.as_bytes();
        name.ends_with(b".run") && (name.starts_with(b"base-") || name.starts_with(b"run-"))
    };
    let entries =
        fs::read_dir(&args.output).map_err(|e| not_started(&args.output, "cannot be read", e))?;
    for entry in entries
        .flatten()
        .filter(|entry| earlier(&entry.file_name()))
    {
        let path = entry.path();
        match Destination::check(&path, args.overwrite) {
            Err(Error::RunExists { .. }) => {
                return Err(Failure::NotStarted(format!(
                    "{shown}: has {} already, and nothing was started (hint: give --overwrite, or another folder with -o)",
                    path.display()
                )));
            }
            found => found?.clear()?,
        }
    }
    Ok(())
}

/// Records one run; all that the program prints goes to a file beside it.
fn record(args: &Args, side: &Side, name: &str) -> Result<ExitStatus, Failure> {
    let mut path = args.output.join(format!("{name}.run"));
    if args.git.is_some() {
        // The program runs in another folder.
        path = std::path::absolute(&path).map_err(|e| not_started(&path, "cannot be found", e))?;
    }
    let command = if side.records_itself() {
        let mut parts = side.command.iter().map(|part| with_place(part, &path));
        let mut command = signals::command(parts.next().unwrap_or_default());
        command.args(parts);
        command
    } else {
        let this = env::current_exe()
            .map_err(|e| not_started(Path::new("trueno-record"), "cannot be found", e))?;
        let mut command = signals::command(this);
        let sample = args.sample.map(|hz| format!("--sample={hz}"));
        command
            .arg("run")
            .args(sample)
            .arg("-o")
            .arg(&path)
            .arg("--")
            .args(&side.command);
        command
    };
    side.ended(args, name, Path::new(&side.command[0]), command)
}

fn log(args: &Args, name: &str) -> PathBuf {
    args.output.join(format!("{name}.log"))
}

fn has_place(part: &OsStr) -> bool {
    part.as_bytes().windows(PLACE.len()).any(|two| two == PLACE)
}

/// A part of a command with the run directory in it.
fn with_place(part: &OsStr, path: &Path) -> OsString {
    let mut rest = part.as_bytes();
    let mut out = Vec::new();
    while let Some(at) = rest.windows(PLACE.len()).position(|two| two == PLACE) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(path.as_os_str().as_bytes());
        rest = &rest[at + PLACE.len()..];
    }
    out.extend_from_slice(rest);
    OsString::from_vec(out)
}

/// The run of a program that succeeded.
fn finished(args: &Args, name: &str, status: ExitStatus) -> Result<PathBuf, Failure> {
    let (path, log) = (args.output.join(format!("{name}.run")), log(args, name));
    if !status.success() {
        return Err(Failure::NotStarted(format!(
            "{name}: the program failed ({status}), so there is nothing to compare; it printed {}",
            log.display()
        )));
    }
    if !path.join(RUN_JSON).is_file() {
        return Err(Failure::NotStarted(format!(
            "{name}: the program succeeded, and recorded nothing in {}; it printed {} (hint: `{{}}` in its arguments is the run directory)",
            path.display(),
            log.display()
        )));
    }
    Ok(path)
}

/// Hands all runs to the analyzer, if there is one.
fn compare(args: &Args, [base, run]: &[Side; 2]) -> Result<u8, Failure> {
    let mut words: Vec<OsString> = vec!["compare".into(), base.runs[0].clone().into()];
    words.extend(run.runs.iter().map(OsString::from));
    for more in &base.runs[1..] {
        words.extend(["--base".into(), more.into()]);
    }
    for (name, value) in [
        ("--fail-on", args.fail_on.as_ref().map(OsString::from)),
        ("--threshold", args.threshold.as_ref().map(OsString::from)),
        ("--html", args.html.as_ref().map(OsString::from)),
    ] {
        if let Some(value) = value {
            words.extend([name.into(), value]);
        }
    }
    let beside = env::current_exe()
        .ok()
        .and_then(|exe| Some(exe.parent()?.join(ANALYZER)));
    let analyzer = beside
        .filter(|path| path.is_file())
        .unwrap_or_else(|| ANALYZER.into());
    match Command::new(&analyzer).args(&words).status() {
        Ok(status) => Ok(signals::end_as(status)),
        Err(error) => {
            let words: Vec<String> = words
                .iter()
                .map(|word| word.to_string_lossy().into_owned())
                .collect();
            Err(Failure::NotStarted(format!(
                "{}: cannot be started: {error}; all is recorded: {ANALYZER} {}",
                analyzer.display(),
                words.join(" ")
            )))
        }
    }
}

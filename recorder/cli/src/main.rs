//! The command `trueno-record`.
//!
//! Exit codes are those of `trueno-analyze`: 0 fine, 2 it could not be done, 3 not measurable
//! on this machine. `run` ends as the program it ran did,
//! `compare` as `trueno-analyze compare`.

mod attach;
mod calls;
mod collect;
mod compare;
mod control;
mod doctor;
mod driver;
mod examples;
mod head;
mod interposed;
mod interrupted;
mod kept;
mod libraries;
mod peaks;
mod revision;
mod run;
mod samples;
mod signals;
mod subject;
mod table;
mod window;
mod windows;
mod wrap;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::LazyLock;

use clap::{CommandFactory, Parser, Subcommand};
use trueno_command_line::{CompletionArgs, HelpArgs, ManArgs, every_flag};
use trueno_format::schema::{FORMAT_MAJOR, FORMAT_MINOR};

/// Record programs without changing them, and measure what this machine can do
#[derive(Debug, Parser)]
#[command(
    name = "trueno-record",
    version,
    long_version = long_version(),
    after_help = examples::ROOT,
    max_term_width = 100,
    propagate_version = true,
    disable_help_flag = true,
    disable_version_flag = true,
    arg_required_else_help = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    help: HelpArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a program and record what it does, without changing it
    #[command(after_help = examples::RUN)]
    Run(run::Args),
    /// Record two programs alternately and compare their speed
    #[command(after_help = examples::COMPARE)]
    Compare(compare::Args),
    /// Pause, resume or cut the recording of a program that records itself
    #[command(after_help = examples::CONTROL)]
    Control(control::Args),
    /// Recover the recording of a `run` that was killed
    #[command(after_help = examples::COLLECT)]
    Collect(collect::Args),
    /// Show what this machine can record, and why not the rest
    #[command(after_help = examples::DOCTOR)]
    Doctor(doctor::Args),
    /// Measure this machine's limits (bandwidth, arithmetic) for rooflines
    #[command(after_help = examples::PEAKS)]
    Peaks(peaks::Args),
    /// Print the manual page, or write those of all commands
    #[command(after_help = examples::MAN)]
    Man(ManArgs),
    /// Print shell completions
    #[command(after_help = examples::COMPLETIONS)]
    Completions(CompletionArgs),
}

/// Text of `--version`.
fn long_version() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let format = format!("{FORMAT_MAJOR}.{FORMAT_MINOR}");
        trueno_command_line::long_version(env!("CARGO_PKG_VERSION"), &[("run format", format)])
    });
    &TEXT
}

/// A reason why there is nothing to show.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Peaks(#[from] peaks::Failure),
    #[error(transparent)]
    Recorder(#[from] trueno_recorder::Error),
    #[error(transparent)]
    Format(#[from] trueno_format::Error),
    #[error(transparent)]
    Import(#[from] trueno_import::Error),
    #[error("cannot print: {0}")]
    Output(#[source] io::Error),
    /// Nothing was started.
    #[error("{0}")]
    NotStarted(String),
    /// Nothing can be measured here.
    #[error("{0}")]
    NotMeasurable(String),
}

impl Failure {
    fn exit_code(&self) -> u8 {
        match self {
            Self::NotMeasurable(_) | Self::Peaks(peaks::Failure::NoGpu(_)) => NOT_MEASURABLE,
            _ => 2,
        }
    }
}

/// The exit code for what cannot be measured.
const NOT_MEASURABLE: u8 = 3;

fn main() -> ExitCode {
    trueno_command_line::start_debug_log();
    let cli: Cli = trueno_command_line::parse(std::env::args_os().collect())
        .unwrap_or_else(|error| error.exit());
    tracing::debug!(command = ?cli.command, "started");
    let done = match cli.command {
        Command::Run(args) => run::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Control(args) => control::run(&args),
        Command::Collect(args) => collect::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Peaks(args) => peaks::run(&args).map_err(Failure::Peaks),
        Command::Man(args) => printed(trueno_command_line::man(every_flag(Cli::command()), &args)),
        Command::Completions(args) => printed(trueno_command_line::completions(
            &mut every_flag(Cli::command()),
            &args,
        )),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        // The reader has seen enough: `... | head`.
        Err(Failure::Peaks(peaks::Failure::Output(e)) | Failure::Output(e))
            if e.kind() == io::ErrorKind::BrokenPipe =>
        {
            ExitCode::SUCCESS
        }
        Err(error) => {
            say(&format!("error: {error}"));
            ExitCode::from(error.exit_code())
        }
    }
}

/// The exit code of a text that was printed.
fn printed(done: io::Result<()>) -> Result<u8, Failure> {
    done.map(|()| 0).map_err(Failure::Output)
}

/// A count with the word that agrees with it.
fn many(count: u64, one: &str, more: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {more}"),
    }
}

/// A line on standard error.
fn say(text: &str) {
    // With standard error gone there is nobody left to tell.
    let _ = writeln!(io::stderr(), "{text}");
}

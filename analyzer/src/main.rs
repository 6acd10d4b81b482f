//! The command: parse, run, error to exit code.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::CommandFactory;
use trueno_analyze::cli::{Cli, Color};
use trueno_analyze::commands;
use trueno_analyze::project::{Arguments, with_project};
use trueno_host::plugin::OwnOutput;
use trueno_model::exit;
use trueno_model::width::{is_hidden, printable};
use trueno_render::style::Meaning;

/// Limits memory held after it is freed. By default glibc keeps eight heaps per core, and raises to 32 MB the size
/// from which a freed block returns to the system at once.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn share_heaps() {
    const LARGE_BYTES: libc::c_int = 1 << 20;
    let heaps = libc::c_int::try_from(trueno_engine::cores::count()).unwrap_or(libc::c_int::MAX);
    // SAFETY: it may be called at any time; what it refuses stays as it is.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BYTES);
        libc::mallopt(libc::M_ARENA_MAX, heaps);
    }
}

fn main() -> ExitCode {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    share_heaps();
    trueno_command_line::start_debug_log();
    // A folder that is gone has no project.
    let folder = std::env::current_dir().unwrap_or_default();
    let arguments = with_project(Cli::command(), std::env::args_os().collect(), &folder);
    let done = arguments.map(|arguments| parsed(&arguments));
    let color = done.as_ref().map_or(Color::Auto, |cli| cli.color);
    let done = done.and_then(|cli| commands::run(&cli));
    match done {
        Ok(code) => ExitCode::from(code),
        // The reader has seen enough: `… | head`.
        Err(error) if is_broken_pipe(&error) => ExitCode::from(exit::FINE),
        Err(error) => {
            let palette = commands::palette(color, std::io::stderr().is_terminal());
            let lead = palette.paint(Meaning::Error, "error:");
            // With standard error gone there is nobody left to tell.
            let _ = writeln!(OwnOutput::Stderr, "{lead} {}", lines(&error_chain(&error)));
            ExitCode::from(exit::CANNOT_ANALYSE)
        }
    }
}

/// Parses the command line, or exits with an error. Notes about the project file are printed first.
fn parsed(arguments: &Arguments) -> Cli {
    let parsed: Result<Cli, clap::Error> = trueno_command_line::parse(arguments.all.clone());
    let color = parsed.as_ref().map_or(Color::Auto, |cli| cli.color);
    let palette = commands::palette(color, std::io::stderr().is_terminal());
    arguments.project.say(palette);
    parsed.unwrap_or_else(|error| {
        let is_odd = |argument: &OsString| argument.to_string_lossy().contains(is_hidden);
        if !arguments.all.iter().any(is_odd) {
            error.exit();
        }
        // Names of files are typed for us by the shell: none begins a line of its own.
        let text = error.render().to_string();
        let _ = writeln!(std::io::stderr(), "{}", printable(text.trim_end()));
        std::process::exit(error.exit_code());
    })
}

/// Makes each line printable. Arguments are escaped first, so that a line break in one cannot start a line.
fn lines(text: &str) -> String {
    let mut text = text.to_owned();
    for argument in std::env::args_os() {
        let argument = argument.to_string_lossy();
        if let shown @ Cow::Owned(_) = printable(&argument) {
            text = text.replace(&*argument, &shown);
        }
    }
    let lines: Vec<_> = text.lines().map(printable).collect();
    lines.join("\n")
}

/// The error and its causes, without causes that a message already quotes.
fn error_chain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error
        .chain()
        .find_map(|cause| cause.downcast_ref::<std::io::Error>());
    io.is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
}

//! The command `trueno-record`.
//!
//! Exit codes are those of `trueno-analyze`: 0 fine, 2 it could not be done, 3 not measurable
//! on this machine.

mod peaks;
mod table;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Find out what this machine can do.
#[derive(Debug, Parser)]
#[command(name = "trueno-record", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Measure what this machine can do at most: bandwidths and arithmetic, for rooflines.
    Peaks(peaks::Args),
}

fn main() -> ExitCode {
    let done = match Cli::parse().verb {
        Verb::Peaks(args) => peaks::run(&args),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        // The reader has seen enough: `... | head`.
        Err(peaks::Failure::Output(e)) if e.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            // With standard error gone there is nobody left to tell.
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}

//! The command `trueno-store`: jobs of object stores, mirrored into local folders, where segments can be mapped.

mod analyzer;
mod cache;
mod cli;
mod connection;
mod download;
mod fetch;
mod listing;
mod mirror;
mod redaction;
mod report;
mod uri;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};

/// Exit code of failures, as in `trueno-analyze`.
const FAILED: u8 = 2;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let done = runtime.map_err(anyhow::Error::from).and_then(|runtime| {
        let done = match &cli.command {
            Command::Fetch(args) => runtime.block_on(fetch::run(args)),
            Command::Report(args) => runtime.block_on(report::run(args)),
        };
        runtime.shutdown_background();
        done
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // With standard error gone there is nobody left to tell.
            let text = format!("error: {error:#}");
            let text = text.replace(char::is_control, " ");
            let _ = writeln!(std::io::stderr(), "{text}");
            ExitCode::from(FAILED)
        }
    }
}

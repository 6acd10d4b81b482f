//! The command: parse, run, error to exit code.

mod address;
mod attempts;
mod child;
mod cli;
mod driver;
mod executor;
mod function;
mod job_source;
mod log_lines;
mod plan_shape;
mod programs;
mod question;
mod rank_list;
mod readiness;
mod remote_job;
mod rounds;
mod scheduler;
mod settings;
mod submission;
mod task;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};

/// Exit code of failures, as in `trueno-analyze`.
const FAILED: u8 = 2;

fn main() -> ExitCode {
    let cli = Cli::parse();
    log_lines::begin(cli.verbose, &cli.command);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let done = runtime.map_err(anyhow::Error::from).and_then(|runtime| {
        let done = runtime.block_on(run(&cli));
        // A thread that waits for a child holds up nobody.
        runtime.shutdown_background();
        done
    });
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            // With standard error gone there is nobody left to tell.
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::from(FAILED)
        }
    }
}

async fn run(cli: &Cli) -> anyhow::Result<u8> {
    match &cli.command {
        Command::Scheduler(args) => scheduler::serve(args).await.map(|()| 0),
        Command::Executor(args) => executor::serve(args).await.map(|()| 0),
        Command::Run(args) => driver::run(args, cli.verbose > 0).await,
        Command::Query(args) => question::run(args, cli.verbose > 0).await.map(|()| 0),
    }
}

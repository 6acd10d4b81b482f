//! `trueno-record collect`.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;

use trueno_ceilings::gpu::GpuCeilings;
use trueno_format::run_directory::Destination;
use trueno_import::cuda::spool::collect;

use crate::{Failure, run};

/// Arguments of `collect`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder that `run` made next to the run: NAME.capture-NUMBER
    folder: PathBuf,
    /// The run directory to make
    #[arg(short, long, value_name = "RUN")]
    output: PathBuf,
}

/// Gives the exit code.
pub fn run(args: &Args) -> Result<u8, Failure> {
    Destination::check(&args.output, false)?;
    // It may have been brought here from another machine.
    let summary = collect(&args.folder, &args.output, false, &GpuCeilings::cached_as)?;
    run::tell(&summary, ExitStatus::from_raw(0));
    Ok(if summary.runs.is_empty() { 2 } else { 0 })
}

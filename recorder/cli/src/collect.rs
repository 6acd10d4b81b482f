//! `trueno-record collect`.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;

use trueno_ceilings::gpu::GpuCeilings;
use trueno_import::cuda::spool::collect;

use crate::{Failure, run};

/// Arguments of `collect`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder that `run` made beside the run: its name ends with `.capture-` and a number.
    folder: PathBuf,
    /// Run directory to make.
    #[arg(short, long, value_name = "RUN")]
    output: PathBuf,
}

/// Gives the exit code.
pub fn run(args: &Args) -> Result<u8, Failure> {
    if args.output.symlink_metadata().is_ok() {
        return Err(Failure::NotStarted(format!(
            "{}: is there already (hint: give another path with -o)",
            args.output.display()
        )));
    }
    // It may have been brought here from another machine.
    let summary = collect(&args.folder, &args.output, false, &GpuCeilings::cached_as)?;
    run::tell(&summary, ExitStatus::from_raw(0));
    Ok(if summary.runs.is_empty() { 2 } else { 0 })
}

//! `trueno-analyze import`.

mod counters;
pub(super) mod nsys_parquet;
mod ranks;
mod samples;
pub(super) mod single;
mod summary;

use trueno_model::exit;

use super::runs::Runs;
use super::staging::Staging;
use super::stderr::Stderr;
use super::stdout::to_stdout;
use crate::cli::ImportArgs;

/// Makes a run of other profilers' files and reports the outcome of their records.
pub fn import(args: &ImportArgs, runs: &Runs<'_>, stderr: &Stderr) -> anyhow::Result<u8> {
    if let Some(run) = &args.into {
        return match args.files.iter().any(|file| samples::is_run(file)) {
            true => samples::join(args, run, runs, stderr),
            false => counters::join(args, run, runs, stderr),
        };
    }
    match args.files.as_slice() {
        [file] if args.ranks.is_empty() && !args.by_process => {
            single::check(file)?;
            let output = Staging::new(&args.output, args.overwrite, "importing")?;
            let (summary, _) = single::import(
                file,
                output.work(),
                &args.output,
                args.format.as_deref(),
                &args.options(),
                stderr,
            )?;
            output.keep()?;
            summary.counts.warn(stderr);
            let text = match args.json {
                true => serde_json::to_string_pretty(&summary)? + "\n",
                false => summary.text(),
            };
            to_stdout(text.as_bytes())?;
            Ok(match summary.counts.is_empty() {
                true => exit::NOT_MEASURABLE,
                false => exit::FINE,
            })
        }
        _ => ranks::import(args, stderr),
    }
}

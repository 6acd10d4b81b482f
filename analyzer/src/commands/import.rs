//! `trueno-analyze import`.

mod counters;
pub(super) mod folders;
pub(super) mod job;
pub(super) mod nsys_parquet;
pub(super) mod parts;
mod rank_names;
mod ranks;
mod samples;
pub(super) mod single;
pub(super) mod summary;
pub(super) mod trace_files;

use single::Input;
use trueno_import::Error;
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
        [file]
            if args.ranks.is_empty() && !args.by_process && !trace_files::may_hold_traces(file) =>
        {
            single::check(file)?;
            let output = Staging::new(&args.output, args.overwrite, "importing")?;
            let input = Input {
                files: &[file],
                label: None,
                format: args.input_format(),
                options: &args.options(),
            };
            let imported = match single::import(&input, output.work(), &args.output, stderr) {
                Ok(imported) => imported,
                Err(error) => match error.downcast_ref() {
                    Some(Error::Merged { ranks, .. }) => {
                        std::fs::remove_dir_all(output.work())?;
                        return ranks::import_merged(args, ranks, output, stderr);
                    }
                    _ => return Err(error),
                },
            };
            let summary = imported.summary;
            output.keep(stderr)?;
            summary.counts.warn(stderr);
            let text = match args.is_json() {
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

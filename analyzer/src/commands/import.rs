//! `trueno-analyze import`.

mod counters;
pub(super) mod job;
pub(super) mod nsys_parquet;
mod rank_names;
mod ranks;
mod samples;
pub(super) mod single;
pub(super) mod summary;
pub(super) mod trace_files;

use single::Input;
use trueno_model::exit;

use super::runs::Runs;
use super::staging::Staging;
use super::stderr::Stderr;
use super::stdout::to_stdout;
use crate::cli::ImportArgs;

/// Makes a run of other profilers' files and reports the outcome of their records.
pub fn import(args: &ImportArgs, runs: &Runs<'_>, stderr: &Stderr) -> anyhow::Result<u8> {
    let files = runs.with_standard_input(&args.files)?;
    import_files(&args.with_files(files), runs, stderr).map_err(|error| runs.shown_in(error))
}

fn import_files(args: &ImportArgs, runs: &Runs<'_>, stderr: &Stderr) -> anyhow::Result<u8> {
    if let Some(run) = &args.into {
        return if args.files.iter().any(|file| samples::is_run(file)) {
            samples::join(args, run, runs, stderr)
        } else {
            counters::join(args, run, runs, stderr)
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
            let mut summary = single::import(&input, output.work(), &args.output, stderr)?.summary;
            summary.file = runs.shown(&summary.file);
            output.keep(stderr)?;
            summary.counts.warn(stderr);
            let text = if args.is_json() {
                serde_json::to_string_pretty(&summary)? + "\n"
            } else {
                summary.text()
            };
            to_stdout(text.as_bytes())?;
            Ok(if summary.counts.is_empty() {
                exit::NOT_MEASURABLE
            } else {
                exit::FINE
            })
        }
        _ => ranks::import(args, stderr),
    }
}

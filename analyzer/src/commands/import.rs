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
            let mut summary = imported.summary;
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

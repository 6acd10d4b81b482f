//! `trueno-analyze import`.

mod counters;
mod one;
mod ranks;
mod summary;

use super::talk::Talk;
use super::target::Target;
use super::to_stdout;
use crate::cli::ImportArgs;
use crate::exit;

/// Makes a run of other profilers' files and says what became of their records.
pub fn import(args: &ImportArgs, talk: &Talk) -> anyhow::Result<u8> {
    if let Some(run) = &args.into {
        return counters::join(args, run, talk);
    }
    match args.files.as_slice() {
        [file] if args.ranks.is_empty() => {
            one::check(file)?;
            let output = Target::new(&args.output, args.overwrite, "importing")?;
            let (summary, _) = one::import(file, output.work(), &args.output, args, talk)?;
            output.keep()?;
            summary.counts.warn(talk);
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
        _ => ranks::import(args, talk),
    }
}

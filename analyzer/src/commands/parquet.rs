//! `trueno-analyze export parquet`.

use std::fs;
use std::io::{self, IsTerminal};
use std::path::Path;

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use trueno_engine::run::Run;
use trueno_export::{self, ParquetSizes};
use trueno_model::exit;

use super::staging::Staging;
use super::stderr::Stderr;
use crate::cli::ParquetArgs;

pub(super) fn export(run: &Run, parquet: &ParquetArgs, stderr: &Stderr) -> anyhow::Result<u8> {
    let args = &parquet.args;
    if args.output == Path::new("-") {
        bail!("-o -: a Parquet run is a folder (hint: give its path)");
    }
    keep_apart(&args.run, &args.output)?;
    match parquet.by_table {
        true => write_tables(run, &args.output, args.overwrite, stderr),
        false => {
            let target = Staging::new(&args.output, args.overwrite, "exporting")?;
            make(run, target, stderr, &write)
        }
    }
    .with_context(|| format!("{}: not exported", args.run.display()))?;
    Ok(exit::FINE)
}

/// Writes the tables of a job into a folder for databases.
///
/// # Errors
/// The run is not a job, or the folder contains something else; see [`trueno_export::ExportError`].
pub(super) fn write_tables(
    run: &Run,
    output: &Path,
    overwrite: bool,
    stderr: &Stderr,
) -> anyhow::Result<()> {
    let target = Staging::of_tables(output, overwrite, "exporting")?;
    make(run, target, stderr, &|run, to, progress| {
        Ok(trueno_export::to_table_folders(run, to, progress)?)
    })
}

/// Writes a run into an empty folder. The callback receives the number of rows written since its last call.
type Write<'a> = &'a dyn Fn(&Run, &Path, &mut dyn FnMut(u64)) -> anyhow::Result<()>;

fn make(run: &Run, target: Staging, stderr: &Stderr, write: Write<'_>) -> anyhow::Result<()> {
    let cannot_make = || format!("{}: cannot be made", target.work().display());
    fs::create_dir(target.work()).with_context(cannot_make)?;
    let bar = bar(run.facts().rows, stderr);
    let done = write(run, target.work(), &mut |rows| bar.inc(rows));
    bar.finish_and_clear();
    done?;
    target.keep(stderr)
}

/// A plain run becomes one folder of tables; a job becomes one folder `rank=<n>` per rank.
fn write(run: &Run, to: &Path, progress: &mut dyn FnMut(u64)) -> anyhow::Result<()> {
    let ranks = run.ranks();
    if ranks.is_empty() {
        return Ok(trueno_export::to_folder(
            run,
            to,
            ParquetSizes::default(),
            progress,
        )?);
    }
    for (rank, run) in ranks {
        let folder = to.join(format!("rank={rank}"));
        fs::create_dir(&folder).with_context(|| format!("{}: cannot be made", folder.display()))?;
        trueno_export::to_folder(run, &folder, ParquetSizes::default(), progress)?;
    }
    Ok(())
}

/// Rejects an output that is the source run, contains it or lies in it: the export replaces what is there.
fn keep_apart(run: &Path, output: &Path) -> anyhow::Result<()> {
    let Ok(run) = fs::canonicalize(run) else {
        return Ok(());
    };
    let parent = output.parent().filter(|parent| *parent != Path::new(""));
    let place = fs::canonicalize(output).or_else(|_| {
        let parent = fs::canonicalize(parent.unwrap_or(Path::new(".")))?;
        io::Result::Ok(parent.join(output.file_name().unwrap_or_default()))
    });
    match place {
        Ok(place) if run.starts_with(&place) || place.starts_with(&run) => bail!(
            "{}: lies in the run to export, or the other way round (hint: choose another path)",
            output.display()
        ),
        _ => Ok(()),
    }
}

fn bar(rows: u64, stderr: &Stderr) -> ProgressBar {
    if !io::stderr().is_terminal() || stderr.is_quiet() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(rows), ProgressDrawTarget::stderr());
    let style = "{bar:30} {human_pos} of {human_len} rows, {eta} left";
    match ProgressStyle::with_template(style) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

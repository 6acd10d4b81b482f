//! `trueno-analyze export`.

use std::io::Write;

use anyhow::Context;
use flate2::{Compression, GzBuilder};
use trueno_engine::run::Run;
use trueno_export::{DEEPEST, ExportError, Exporter, Written};
use trueno_model::exit;
use trueno_plugin::{agreeing, counted};

use super::output::Files;
use super::runs::Runs;
use super::stderr::Stderr;
use super::{dot, parquet};
use crate::cli::{ExportArgs, ExportCommand, FileExport};

/// Writes a run in another format.
pub fn export(command: &ExportCommand, runs: &Runs<'_>, stderr: &Stderr) -> anyhow::Result<u8> {
    let FileExport { exporter, args } = match command {
        ExportCommand::File(export) => export,
        ExportCommand::Parquet(args) => {
            return parquet::export(&open(args, runs, stderr)?, args, stderr);
        }
        ExportCommand::Dot(args) => return dot::dot(args, runs, stderr),
    };
    let run = open(args, runs, stderr)?;
    let compressed = args.output.extension().is_some_and(|ending| ending == "gz");
    let (mut failed, mut deep) = (None, 0);
    Files::read([]).write("-o", &args.output)?.replace(|to| {
        let result = if compressed {
            gzip(&run, *exporter, to)
        } else {
            exporter.write(&run, to)
        };
        match result {
            Ok(Written { deeper }) => {
                deep = deeper;
                Ok(())
            }
            Err(ExportError::Write(error)) => Err(error),
            Err(error) => {
                failed = Some(error);
                Ok(())
            }
        }
    })?;
    match failed {
        Some(error) => Err(error).with_context(|| format!("{}: not exported", args.run.display())),
        None => {
            if deep > 0 {
                stderr.warn(&format!(
                    "{} in more than {DEEPEST} others: {} time is in frames called [deeper]",
                    counted(deep, "row lies", "rows lie"),
                    agreeing(deep, "its", "their")
                ));
            }
            Ok(exit::FINE)
        }
    }
}

fn open(args: &ExportArgs, runs: &Runs<'_>, stderr: &Stderr) -> anyhow::Result<Run> {
    let run = runs.open(&args.run)?;
    if run.facts().complete == Some(false) {
        stderr.warn(&format!(
            "{}: the run is not complete, and so is its export (hint: see `trueno-analyze info`)",
            args.run.display()
        ));
    }
    stderr.doubts(&args.run, &run);
    Ok(run)
}

/// No name and no time in the head: the same run gives the same bytes.
fn gzip(run: &Run, exporter: &dyn Exporter, to: &mut dyn Write) -> Result<Written, ExportError> {
    let mut packed = GzBuilder::new().write(to, Compression::default());
    let written = exporter.write(run, &mut packed)?;
    packed.finish()?;
    Ok(written)
}

//! `trueno-analyze export`.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use flate2::{Compression, GzBuilder};
use trueno_engine::run::Run;
use trueno_export::{DEEPEST, ExportError, Exporter, OTLP, Written};
use trueno_model::exit;
use trueno_plugin::{agreeing, counted};

use super::output::Files;
use super::runs::Runs;
use super::stderr::Stderr;
use super::{dot, otlp, parquet};
use crate::cli::{ExportCommand, FileExport};

/// Writes a run in another format.
pub fn export(command: &ExportCommand, runs: &Runs<'_>, stderr: &Stderr) -> anyhow::Result<u8> {
    let (exporter, path, output) = match command {
        ExportCommand::File(FileExport { exporter, args }) => (*exporter, &args.run, &args.output),
        ExportCommand::Otlp(args) => match &args.output {
            Some(output) => (OTLP, &args.run, output),
            None => {
                let endpoint = otlp::endpoint(args)?;
                return otlp::push(&open(&args.run, runs, stderr)?, &endpoint, args, stderr);
            }
        },
        ExportCommand::Parquet(args) => {
            return parquet::export(&open(&args.args.run, runs, stderr)?, args, stderr);
        }
        ExportCommand::Dot(args) => return dot::dot(args, runs, stderr),
    };
    let run = open(path, runs, stderr)?;
    let compressed = output.extension().is_some_and(|ending| ending == "gz");
    let (mut failed, mut deep) = (None, 0);
    let output = Files::read([]).write("-o", output)?;
    output.replace(stderr, |to| {
        let result = if compressed {
            gzip(&run, exporter, to)
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
        Some(error) => Err(error).with_context(|| format!("{}: not exported", path.display())),
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

fn open(path: &Path, runs: &Runs<'_>, stderr: &Stderr) -> anyhow::Result<Run> {
    let run = runs.open(path)?;
    if run.facts().complete == Some(false) {
        stderr.warn(&format!(
            "{path}: the run is incomplete, and so is this export (hint: `trueno-analyze info {path}` says what is missing)",
            path = path.display()
        ));
    }
    stderr.doubts(path, &run);
    Ok(run)
}

/// No name and no time in the head: the same run gives the same bytes.
fn gzip(run: &Run, exporter: &dyn Exporter, to: &mut dyn Write) -> Result<Written, ExportError> {
    let mut packed = GzBuilder::new().write(to, Compression::default());
    let written = exporter.write(run, &mut packed)?;
    packed.finish()?;
    Ok(written)
}

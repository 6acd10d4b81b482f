//! `trueno-analyze export`.

use std::io::Write;
use trueno_plugin::{agreeing, counted};

use anyhow::Context;
use flate2::{Compression, GzBuilder};

use super::output::Files;
use super::parquet;
use super::talk::Talk;
use crate::cli::{ExportArgs, ExportFormat};
use crate::exit;
use crate::export::{self, DEEPEST, ExportError, FileFormat, Written};
use crate::run::Run;

/// Writes a run in another format.
pub fn export(args: &ExportArgs, talk: &Talk) -> anyhow::Result<u8> {
    let run = Run::open(&args.run)?;
    if !run.facts().complete {
        talk.warn(&format!(
            "{}: the run is not complete, and so is its export (hint: see `trueno-analyze info`)",
            args.run.display()
        ));
    }
    let format = match args.format {
        ExportFormat::Chrome => FileFormat::Chrome,
        ExportFormat::Perfetto => FileFormat::Perfetto,
        ExportFormat::Folded => FileFormat::Folded,
        ExportFormat::Flamegraph => FileFormat::Flamegraph,
        ExportFormat::Otlp => FileFormat::Otlp,
        ExportFormat::Parquet => return parquet::export(&run, args, talk),
    };
    let compressed = args.output.extension().is_some_and(|ending| ending == "gz");
    let (mut failed, mut deep) = (None, 0);
    Files::read([]).write("-o", &args.output)?.replace(|to| {
        let result = if compressed {
            gzip(&run, format, to)
        } else {
            export::to_file(&run, format, to)
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
                talk.warn(&format!(
                    "{} in more than {DEEPEST} others: {} time is in frames called [deeper]",
                    counted(deep, "row lies", "rows lie"),
                    agreeing(deep, "its", "their")
                ));
            }
            Ok(exit::FINE)
        }
    }
}

/// No name and no time in the head: the same run gives the same bytes.
fn gzip(run: &Run, format: FileFormat, to: &mut dyn Write) -> Result<Written, ExportError> {
    let mut packed = GzBuilder::new().write(to, Compression::default());
    let written = export::to_file(run, format, &mut packed)?;
    packed.finish()?;
    Ok(written)
}

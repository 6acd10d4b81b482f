//! `trueno-analyze export`.

use std::io::Write;

use anyhow::Context;
use flate2::{Compression, GzBuilder};

use super::output::Files;
use super::parquet;
use super::talk::Talk;
use crate::cli::{ExportArgs, ExportFormat};
use crate::exit;
use crate::export::{self, ExportError, FileFormat};
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
    let mut failed = None;
    Files::read([]).write("-o", &args.output)?.replace(|to| {
        let result = if compressed {
            gzip(&run, format, to)
        } else {
            export::to_file(&run, format, to)
        };
        match result {
            Ok(()) => Ok(()),
            Err(ExportError::Write(error)) => Err(error),
            Err(error) => {
                failed = Some(error);
                Ok(())
            }
        }
    })?;
    match failed {
        Some(error) => Err(error).with_context(|| format!("{}: not exported", args.run.display())),
        None => Ok(exit::FINE),
    }
}

/// No name and no time in the head: the same run gives the same bytes.
fn gzip(run: &Run, format: FileFormat, to: &mut dyn Write) -> Result<(), ExportError> {
    let mut packed = GzBuilder::new().write(to, Compression::default());
    export::to_file(run, format, &mut packed)?;
    packed.finish().map(drop).map_err(ExportError::from)
}

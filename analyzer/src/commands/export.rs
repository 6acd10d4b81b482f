//! `trueno-analyze export`.

use std::io::{self, Write};
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::mpsc::{self, SyncSender};
use std::thread;

use anyhow::Context;
use flate2::{Compression, GzBuilder};
use trueno_engine::run::Run;
use trueno_export::{DEEPEST, ExportError, Exporter, OTLP, Written};
use trueno_model::exit;
use trueno_plugin::{agreeing, counted};

use super::output::{Files, Raw};
use super::runs::Runs;
use super::stderr::Stderr;
use super::{dot, otlp, parquet};
use crate::cli::{ExportCommand, FileExport};

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
    output.replace_raw(stderr, Raw::Data, |to| {
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

/// Writes no name and no time into the gzip header, so the same run gives the same bytes. Events are formatted on a
/// thread of their own.
fn gzip(run: &Run, exporter: &dyn Exporter, to: &mut dyn Write) -> Result<Written, ExportError> {
    let mut packed = GzBuilder::new().write(to, Compression::default());
    let written = thread::scope(|scope| {
        let (send, received) = mpsc::sync_channel(WAITING_WRITES);
        let export = scope.spawn(move || {
            let mut to = Handed {
                writes: Writes::default(),
                send,
            };
            let written = exporter.write(run, &mut to)?;
            to.flush()?;
            Ok(written)
        });
        // Where that fails the receiver is gone, and so the exporter ends.
        let compressed = (received.into_iter()).try_for_each(|writes| writes.write_to(&mut packed));
        let written = export.join().unwrap_or_else(|panic| resume_unwind(panic));
        compressed.map_err(ExportError::Write).and(written)
    })?;
    packed.finish()?;
    Ok(written)
}

const HANDED_BYTES: usize = 1 << 18;
const WAITING_WRITES: usize = 4;

/// A batch of writes. Their boundaries are preserved, because they affect how the bytes are compressed.
#[derive(Default)]
struct Writes {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Writes {
    fn write_to(&self, to: &mut impl Write) -> io::Result<()> {
        let mut from = 0;
        for end in &self.ends {
            to.write_all(&self.bytes[from..*end])?;
            from = *end;
        }
        Ok(())
    }
}

struct Handed {
    writes: Writes,
    send: SyncSender<Writes>,
}

impl Write for Handed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writes.bytes.extend_from_slice(bytes);
        self.writes.ends.push(self.writes.bytes.len());
        if self.writes.bytes.len() >= HANDED_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let writes = std::mem::take(&mut self.writes);
        let sent = self.send.send(writes);
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

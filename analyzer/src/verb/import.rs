//! `trueno-analyze import`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use trueno_import::{Format, Notes, Options, chrome, detect, nsys, renacer, strace};
use trueno_recorder::rest;
use trueno_recorder::run_json::{Producer, RUN_JSON, RunJson};
use trueno_recorder::run_writer::RunWriter;

use super::talk::Talk;
use super::to_stdout;
use crate::cli::{ImportArgs, ImportFormat};
use crate::exit;
use crate::report::width::printable;

/// Makes a run of another profiler's file and says what became of its records.
pub fn import(args: &ImportArgs, talk: &Talk) -> anyhow::Result<u8> {
    let [file] = args.files.as_slice() else {
        bail!(
            "{} files: one run is made of one file for now (hint: import each on its own)",
            args.files.len()
        );
    };
    if fs::metadata(file)
        .with_context(|| format!("{}: cannot be read", file.display()))?
        .is_dir()
    {
        bail!(
            "{}: expected a file, found a folder (hint: give the trace itself)",
            file.display()
        );
    }
    let output = Target::new(&args.output, args.overwrite)?;
    let format = match args.format {
        Some(format) => known(format),
        None => detect::detect(file)?,
    };
    let run = RunJson {
        producer: Producer {
            name: "trueno-analyze import".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
        imported: true,
        ..RunJson::default()
    };
    let mut into = RunWriter::create(&output.work, run)?;
    let mut notes = Notes::default();
    let options = Options {
        partial: args.partial,
        max_ratio: args.max_ratio,
    };
    let bar = bar(file, talk);
    let mut progress = |bytes| bar.set_position(bytes);
    let wall_ns = match format {
        Format::Kineto => {
            chrome::import_with(file, &options, &mut into, &mut notes, &mut progress)?
        }
        Format::NsysSqlite => nsys::import(file, &mut into, &mut notes, &mut progress)?,
        Format::Renacer => renacer::import(file, &mut into, &mut notes, &mut progress)?,
        Format::Strace => strace::import(file, &mut into, &mut notes, &mut progress)?,
        Format::NcuCsv => bail!(
            "{}: Nsight Compute's counters have no times of their own, and joining them to a traced \
             run is not there yet (hint: import the trace of Nsight Systems or Kineto)",
            file.display()
        ),
    };
    into.finish(wall_ns)?;
    bar.finish_and_clear();
    output.keep()?;

    for warning in &notes.warnings {
        talk.warn(warning);
    }
    let summary = Summary {
        file: file.display().to_string(),
        format: format.name(),
        run: args.output.display().to_string(),
        wall_ns,
        read: &notes.read,
        kept: &notes.kept,
        left_out: &notes.left_out,
        warnings: &notes.warnings,
    };
    let text = if args.json {
        serde_json::to_string_pretty(&summary)? + "\n"
    } else {
        summary.text()
    };
    to_stdout(text.as_bytes())?;
    Ok(if notes.kept.is_empty() {
        exit::NOT_MEASURABLE
    } else {
        exit::FINE
    })
}

fn known(format: ImportFormat) -> Format {
    match format {
        ImportFormat::Kineto => Format::Kineto,
        ImportFormat::NsysSqlite => Format::NsysSqlite,
        ImportFormat::NcuCsv => Format::NcuCsv,
        ImportFormat::Renacer => Format::Renacer,
        ImportFormat::Strace => Format::Strace,
    }
}

/// Bytes of the file, on a terminal only.
fn bar(file: &Path, talk: &Talk) -> ProgressBar {
    if !io::stderr().is_terminal() || talk.is_quiet() {
        return ProgressBar::hidden();
    }
    let length = fs::metadata(file).map_or(0, |file| file.len());
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
    let style = "{bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left";
    match ProgressStyle::with_template(style) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Where the run goes. It is made beside its place, so that a failed import costs nothing
/// that was there.
struct Target {
    place: PathBuf,
    work: PathBuf,
    is_kept: bool,
}

impl Target {
    fn new(place: &Path, overwrite: bool) -> anyhow::Result<Self> {
        let is_empty = || fs::read_dir(place).is_ok_and(|mut entries| entries.next().is_none());
        if place.symlink_metadata().is_ok() && !is_empty() {
            if !place.join(RUN_JSON).is_file() {
                bail!(
                    "{}: exists and is not a run directory (hint: choose another path)",
                    place.display()
                );
            }
            if rest::is_recording(place) == Some(true) {
                bail!(
                    "{}: is being recorded now (hint: choose another path, or wait for its end)",
                    place.display()
                );
            }
            if !overwrite {
                bail!(
                    "{}: a run is there already (hint: choose another path, or give --overwrite)",
                    place.display()
                );
            }
        }
        let Some(name) = place.file_name() else {
            bail!("{}: no name for a run directory", place.display());
        };
        let mut work = std::ffi::OsString::from(".");
        work.push(name);
        work.push(format!(".importing-{}", std::process::id()));
        Ok(Self {
            place: place.to_owned(),
            work: place.with_file_name(work),
            is_kept: false,
        })
    }

    fn keep(mut self) -> anyhow::Result<()> {
        if self.place.symlink_metadata().is_ok() {
            fs::remove_dir_all(&self.place)
                .with_context(|| format!("{}: cannot be replaced", self.place.display()))?;
        }
        fs::rename(&self.work, &self.place)
            .with_context(|| format!("{}: cannot be made", self.place.display()))?;
        self.is_kept = true;
        Ok(())
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if !self.is_kept {
            // What cannot be removed has a name that says what it is.
            let _ = fs::remove_dir_all(&self.work);
        }
    }
}

#[derive(Serialize)]
struct Summary<'a> {
    file: String,
    format: &'static str,
    run: String,
    wall_ns: Option<i64>,
    read: &'a BTreeMap<String, u64>,
    kept: &'a BTreeMap<&'static str, u64>,
    left_out: &'a BTreeMap<String, u64>,
    warnings: &'a [String],
}

impl Summary<'_> {
    /// Writing to a string cannot fail, so the results below are dropped.
    fn text(&self) -> String {
        let mut out = String::new();
        let (file, format, run) = (printable(&self.file), self.format, printable(&self.run));
        let _ = writeln!(out, "{file} ({format}) is now the run {run}");
        section(&mut out, "read", self.read);
        section(&mut out, "kept, as rows", self.kept);
        section(&mut out, "left out", self.left_out);
        out
    }
}

fn section<T: AsRef<str>>(out: &mut String, title: &str, counts: &BTreeMap<T, u64>) {
    let _ = writeln!(out, "\n{title}: {}", counts.values().sum::<u64>());
    for (what, count) in counts {
        let _ = writeln!(out, "  {count:>12}  {}", printable(what.as_ref()));
    }
}

//! One file of another profiler becomes one run.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, IsTerminal};
use std::path::Path;

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use trueno_engine::run::is_run;
use trueno_format::run_json::{Producer, RunJson};
use trueno_format::run_writer::RunWriter;
use trueno_import::chrome::import_parts;
use trueno_import::{Error, Import, Notes, Options, Part, detect, importer, nsys};

use super::folders::{self, Folder};
use super::summary::Summary;
use super::trace_files::listed;
use crate::commands::import::nsys_parquet;
use crate::commands::stderr::Stderr;

pub(in crate::commands) struct Input<'a> {
    /// One file or folder, or several traces of one process in order of time.
    pub(in crate::commands) files: &'a [&'a Path],
    /// Label of the run; `None` uses the one in the file, or else the name of the first file.
    pub(in crate::commands) label: Option<&'a str>,
    /// `None` detects the format.
    pub(in crate::commands) format: Option<&'a str>,
    pub(in crate::commands) options: &'a Options,
}

pub(in crate::commands) struct Imported {
    pub(in crate::commands) summary: Summary,
    pub(super) run: RunJson,
    pub(super) processes: BTreeSet<u64>,
    pub(super) host_processes: BTreeSet<u64>,
    pub(super) extent_ns: Option<(i64, i64)>,
}

/// Imports files into a run at `work`. `shown` is the run's final path, for messages.
pub(in crate::commands) fn import(
    input: &Input<'_>,
    work: &Path,
    shown: &Path,
    stderr: &Stderr,
) -> anyhow::Result<Imported> {
    let options = input.options;
    let file = *input.files.first().context("no file is given")?;
    check(file)?;
    let importer = match input.format {
        Some(_) if file.is_dir() => bail!(
            "{}: --format is of files, and this is a folder (hint: leave it out)",
            file.display()
        ),
        None if file.is_dir() => None,
        Some(name) => Some(importer(name).context("no importer has that name")?),
        None => Some(detect(file)?),
    };
    let folder = Folder::of(file).filter(|_| importer.is_none());
    let run = RunJson {
        producer: Producer {
            name: "trueno-analyze import".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
        imported: true,
        ..RunJson::default()
    };
    let mut into = RunWriter::create(work, run)?;
    let mut notes = Notes::default();
    let bar = bar(input.files, stderr);
    let import = Import {
        path: file,
        options,
        into: &mut into,
        notes: &mut notes,
        progress: &mut |bytes| bar.set_position(bytes),
    };
    let wall_ns = match importer {
        _ if input.files.len() > 1 => import_parts(input.files, import)?,
        None => folder
            .as_ref()
            .with_context(|| format!("{}: a folder of no format that is known", file.display()))?
            .import(import)?,
        Some(importer) => importer.import(import)?,
    };
    let format_name = match (&folder, importer) {
        (Some(folder), _) => folder.format(),
        (None, importer) => importer.map_or("", |importer| importer.name),
    };
    let stated = into.run();
    let record = notes.for_run(file, format_name, &stated.problems);
    // A trace may state a title of its own; a file of a profiler's choosing is none.
    let label = || {
        input
            .label
            .map_or_else(|| record.file.clone(), str::to_owned)
    };
    stated.label.get_or_insert_with(label);
    stated.import = Some(record);
    let run = into.finish(wall_ns)?;
    bar.finish_and_clear();
    let (processes, extent_ns) = (std::mem::take(&mut notes.processes), notes.extent_ns);
    let host_processes = std::mem::take(&mut notes.host_processes);
    let names = input.files.iter().map(|file| file.display().to_string());
    let summary = Summary {
        file: listed(&names.collect::<Vec<_>>()),
        format: format_name,
        run: shown.display().to_string(),
        wall_ns,
        counts: notes.into(),
    };
    Ok(Imported {
        summary,
        run,
        processes,
        host_processes,
        extent_ns,
    })
}

/// Options of the parts that become ranks: each process that ran kernels in an export of Nsight Systems, or each
/// process with rows in a trace. `aside` is a folder that may be created to find them.
pub(super) fn of_processes(
    file: &Path,
    options: &Options,
    aside: &Path,
    stderr: &Stderr,
) -> anyhow::Result<Vec<(Option<u32>, Options)>> {
    let name = file.display();
    let of = |part| Options {
        part: Some(part),
        ..options.clone()
    };
    let is_nsys = !file.is_dir() && detect(file)?.name == nsys::IMPORTER.name;
    let parts: Vec<(Option<u32>, Options)> = if file.is_dir() || is_nsys {
        let processes = match file.is_dir() {
            true => nsys_parquet::processes(file, options)?,
            false => nsys::processes(file)?,
        };
        let parts = processes.into_iter().map(Part::Process);
        parts.map(|part| (None, of(part))).collect()
    } else {
        let input = Input {
            files: &[file],
            label: None,
            format: None,
            options,
        };
        match import(&input, aside, aside, stderr) {
            Ok(whole) => {
                let _ = fs::remove_dir_all(aside);
                let parts = whole.host_processes.into_iter().map(Part::ProcessId);
                parts.map(|part| (None, of(part))).collect()
            }
            Err(error) => {
                let _ = fs::remove_dir_all(aside);
                match error.downcast_ref() {
                    Some(Error::Merged { ranks, .. }) => parts_of_ranks(ranks, options),
                    _ => return Err(error),
                }
            }
        }
    };
    if parts.len() < 2 {
        bail!(
            "{name}: {} (hint: leave --by-process out)",
            match parts.len() {
                1 if is_nsys || file.is_dir() => "one process alone ran kernels",
                _ if is_nsys || file.is_dir() => "no process is known to have run kernels",
                1 => "holds the rows of one process",
                _ => "its rows name no process by a number",
            }
        );
    }
    Ok(parts)
}

/// The ranks that a tool merged into one file, with options that select each.
pub(in crate::commands) fn parts_of_ranks(
    ranks: &[(u32, String)],
    options: &Options,
) -> Vec<(Option<u32>, Options)> {
    let parts = ranks.iter().map(|(rank, label)| {
        let options = Options {
            part: Some(Part::Rank(label.clone())),
            ..options.clone()
        };
        (Some(*rank), options)
    });
    parts.collect()
}

/// Checks that a path is a file, or a folder whose files are the tables of one export.
pub(super) fn check(path: &Path) -> anyhow::Result<()> {
    let name = path.display();
    let found = fs::metadata(path).with_context(|| format!("{name}: cannot be read"))?;
    if !found.is_dir() {
        return Ok(());
    }
    if is_run(path) {
        bail!("{name}: is already a run (hint: see `trueno-analyze report`)");
    }
    if !folders::recognises(path) {
        bail!(
            "{name}: expected a file, a folder of traces, a folder of Parquet files as `nsys export \
             --type parquetdir` makes them, or the CSV files of rocprofv3, found another folder (hint: give the trace \
             itself)"
        );
    }
    Ok(())
}

fn bar(files: &[&Path], stderr: &Stderr) -> ProgressBar {
    if !io::stderr().is_terminal() || stderr.is_quiet() {
        return ProgressBar::hidden();
    }
    let length = |file: &Path| match fs::metadata(file) {
        Ok(found) if found.is_dir() => nsys_parquet::bytes(file),
        found => found.map_or(0, |found| found.len()),
    };
    let length = files.iter().map(|file| length(file)).sum();
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
    let style = "{bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left";
    match ProgressStyle::with_template(style) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

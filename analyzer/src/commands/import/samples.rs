//! Samples of a program join the run that the program itself recorded at the same time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, bail};
use polars::prelude::DataFrame;
use serde::Serialize;
use trueno_engine::frame::{Rows, bool_at, i64_at, text_at, u64_at};
use trueno_engine::query::collect;
use trueno_engine::run::{Adding, Run};
use trueno_format::run_json::Joined;
use trueno_format::run_writer::RunWriter;
use trueno_format::schema::{SampleRow, StackRow, ThreadRow};
use trueno_model::exit;
use trueno_model::width::printable;
use xxhash_rust::xxh3::xxh3_64;

use crate::cli::ImportArgs;
use crate::commands::runs::Runs;
use crate::commands::staging::Staging;
use crate::commands::stderr::Stderr;
use crate::commands::stdout::to_stdout;

const SAMPLES: &str =
    "SELECT time_ns, thread, stack, event, period, cpu FROM samples ORDER BY time_ns, thread";
const STACKS: &str =
    "SELECT id, caller, function, module, address, file, line, inlined FROM stacks ORDER BY id";
const THREADS: &str = "SELECT thread, name, os_id, process FROM threads ORDER BY thread";
/// Reasons why a sample is in no row.
const OTHER_PROCESS: &str = "sample of another process";
const NOT_RECORDED_THEN: &str = "sample before the recording began, or after it ended";

#[derive(Serialize)]
struct Summary {
    file: String,
    into: String,
    run: String,
    samples: u64,
    /// Threads that did not record themselves.
    threads_added: u64,
    left_out: BTreeMap<String, u64>,
}

/// True for a run directory, which no tool writes.
pub(super) fn is_run(file: &Path) -> bool {
    file.join("run.json").is_file()
}

/// Makes a run of `into` and the samples of another one; exit code 3, and no run, where none belongs to it.
pub(super) fn join(
    args: &ImportArgs,
    into: &Path,
    runs: &Runs<'_>,
    stderr: &Stderr,
) -> anyhow::Result<u8> {
    let [file] = args.files.as_slice() else {
        bail!(
            "{} files: samples of one run at a time are joined",
            args.files.len()
        );
    };
    let output = Staging::new(&args.output, args.overwrite, "importing")?;
    let base = runs.directory(into)?;
    let (run, sampled) = (Run::open(&base)?, Run::open(file)?);
    let shift_ns = check((&run, into), (&sampled, file))?;
    let ask = |run: &Run, sql: &str, path: &Path| {
        collect(&run.sql_context()?, sql)
            .with_context(|| format!("{}: cannot be read", path.display()))
    };
    let mut threads = Threads::new(&ask(&run, THREADS, into)?, run.facts().program.pid);
    threads.of_samples(&ask(&sampled, THREADS, file)?);
    let (samples, stacks) = (ask(&sampled, SAMPLES, file)?, ask(&sampled, STACKS, file)?);
    let about = file.join("run.json");
    let about =
        std::fs::read(&about).with_context(|| format!("{}: cannot be read", about.display()))?;
    let mut adding = Adding::begin(&base, output.work())?;
    let wall_ns = run.facts().wall_ns.unwrap_or(i64::MAX);
    let mut left_out = BTreeMap::new();
    let kept = add_samples(
        adding.rows(),
        &samples,
        shift_ns,
        wall_ns,
        &mut threads,
        &mut left_out,
    )?;
    add_stacks(adding.rows(), &stacks)?;
    let threads_added = threads.add(adding.rows())?;
    if kept > 0 {
        adding.finish(Joined {
            tool: "trueno-record run --sample".to_owned(),
            file: file
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            xxh3: format!("{:016x}", xxh3_64(&about)),
            segments: Vec::new(),
            matched: [("samples".to_owned(), kept)].into(),
            left_out: left_out.clone(),
        })?;
        output.keep()?;
    } else {
        stderr.warn("no sample is of this run's program and time: no run was made");
    }
    let summary = Summary {
        file: file.display().to_string(),
        into: into.display().to_string(),
        run: args.output.display().to_string(),
        samples: kept,
        threads_added,
        left_out,
    };
    let text = match args.json {
        true => serde_json::to_string_pretty(&summary)? + "\n",
        false => text(&summary),
    };
    to_stdout(text.as_bytes())?;
    Ok(match kept {
        0 => exit::NOT_MEASURABLE,
        _ => exit::FINE,
    })
}

/// Checks that both are of one machine, and gives the time to be added to those of samples.
fn check((run, into): (&Run, &Path), (sampled, file): (&Run, &Path)) -> anyhow::Result<i64> {
    let rows = |run: &Run, table: &str| {
        let tables = &run.facts().tables;
        let found = tables.iter().find(|found| found.name == table);
        found.map_or(0, |found| found.rows_read)
    };
    if rows(sampled, "samples") == 0 {
        bail!(
            "{}: holds no samples (hint: `trueno-record run --sample -- PROGRAM` records them)",
            file.display()
        );
    }
    if rows(run, "samples") > 0 || rows(run, "stacks") > 0 {
        bail!("{}: holds samples or stacks already", into.display());
    }
    for (run, path) in [(run, into), (sampled, file)] {
        if !run.facts().ranks.is_empty() {
            bail!(
                "{}: holds several ranks (hint: give one of them, such as {}/rank=0)",
                path.display(),
                path.display()
            );
        }
    }
    let hosts = [run, sampled].map(|run| run.facts().host.name.clone());
    if hosts[0] != hosts[1] {
        bail!(
            "{} was recorded on {}, and {} on {}: their clocks are not one",
            into.display(),
            hosts[0].as_deref().unwrap_or("a machine that is not known"),
            file.display(),
            hosts[1].as_deref().unwrap_or("one that is not known"),
        );
    }
    let origin_ns = |run: &Run, path: &Path| {
        let origin_ns = run.facts().clock.origin_realtime_ns;
        origin_ns.with_context(|| format!("{}: does not say when it began", path.display()))
    };
    origin_ns(sampled, file)?
        .checked_sub(origin_ns(run, into)?)
        .with_context(|| format!("{}: began at a time that cannot be", file.display()))
}

/// A thread that is in the samples.
struct Sampled {
    name: Option<String>,
    os_id: u64,
    /// Its row in the new run; `None`: of another process.
    row: Option<u32>,
    is_used: bool,
}

/// Threads by their numbers in the operating system.
struct Threads {
    process: Option<u64>,
    recorded: BTreeMap<u64, u32>,
    /// Behind the numbers of those that recorded themselves.
    first_new: u32,
    next: u32,
    sampled: BTreeMap<u32, Sampled>,
}

impl Threads {
    fn new(recorded: &DataFrame, process: Option<u32>) -> Self {
        let number = |row| u64_at(recorded, "thread", row).and_then(|n| u32::try_from(n).ok());
        let rows = 0..recorded.height();
        let numbers: BTreeSet<u32> = rows.clone().filter_map(number).collect();
        let by_id = rows.filter_map(|row| Some((u64_at(recorded, "os_id", row)?, number(row)?)));
        let first_new = numbers.last().map_or(0, |last| last.saturating_add(1));
        Self {
            process: process.map(u64::from),
            recorded: by_id.collect(),
            first_new,
            next: first_new,
            sampled: BTreeMap::new(),
        }
    }

    fn of_samples(&mut self, threads: &DataFrame) {
        for row in 0..threads.height() {
            let number = u64_at(threads, "thread", row).and_then(|n| u32::try_from(n).ok());
            let (Some(number), Some(os_id)) = (number, u64_at(threads, "os_id", row)) else {
                continue;
            };
            let is_own = self.process.is_some() && u64_at(threads, "process", row) == self.process;
            let row_of_it = is_own.then(|| {
                *self.recorded.entry(os_id).or_insert_with(|| {
                    self.next += 1;
                    self.next - 1
                })
            });
            let thread = Sampled {
                name: text_at(threads, "name", row).map(str::to_owned),
                os_id,
                row: row_of_it,
                is_used: false,
            };
            self.sampled.insert(number, thread);
        }
    }

    /// Writes those that samples lie on and that did not record themselves: their numbers are behind the others.
    fn add(&self, rows: &mut RunWriter) -> anyhow::Result<u64> {
        let mut added = BTreeMap::new();
        for thread in self.sampled.values().filter(|thread| thread.is_used) {
            if let Some(row) = thread.row.filter(|row| *row >= self.first_new) {
                added.insert(row, thread);
            }
        }
        for (row, thread) in &added {
            let name = thread.name.as_ref().map(|name| rows.text(name));
            rows.add(&ThreadRow {
                thread: *row,
                name,
                os_id: Some(thread.os_id),
                process: self.process,
                ..ThreadRow::default()
            })?;
        }
        Ok(added.len() as u64)
    }
}

fn add_samples(
    rows: &mut RunWriter,
    samples: &DataFrame,
    shift_ns: i64,
    wall_ns: i64,
    threads: &mut Threads,
    left_out: &mut BTreeMap<String, u64>,
) -> anyhow::Result<u64> {
    let columns = Rows::new(samples);
    let (times, numbers) = (columns.i64("time_ns")?, columns.u64("thread")?);
    let (stacks, events) = (columns.u64("stack")?, columns.text("event")?);
    let (periods, processors) = (columns.u64("period")?, columns.u64("cpu")?);
    let mut kept = 0;
    for row in 0..samples.height() {
        let number = numbers
            .get(row)
            .and_then(|number| u32::try_from(number).ok());
        let thread = number.and_then(|number| threads.sampled.get_mut(&number));
        let Some((number, thread)) = thread.and_then(|thread| Some((thread.row?, thread))) else {
            *left_out.entry(OTHER_PROCESS.to_owned()).or_default() += 1;
            continue;
        };
        let time_ns = times
            .get(row)
            .and_then(|time_ns| time_ns.checked_add(shift_ns));
        let Some(time_ns) = time_ns.filter(|time_ns| (0..=wall_ns).contains(time_ns)) else {
            *left_out.entry(NOT_RECORDED_THEN.to_owned()).or_default() += 1;
            continue;
        };
        thread.is_used = true;
        let event = rows.text(events.get(row).unwrap_or_default());
        rows.add(&SampleRow {
            time_ns,
            thread: number,
            stack: stacks.get(row),
            event,
            period: periods.get(row),
            cpu: processors.get(row).and_then(|cpu| u32::try_from(cpu).ok()),
        })?;
        kept += 1;
    }
    Ok(kept)
}

fn add_stacks(rows: &mut RunWriter, stacks: &DataFrame) -> anyhow::Result<()> {
    for row in 0..stacks.height() {
        let Some(id) = u64_at(stacks, "id", row) else {
            continue;
        };
        let mut text = |column| text_at(stacks, column, row).map(|text| rows.text(text));
        let (function, module, file) = (text("function"), text("module"), text("file"));
        rows.add(&StackRow {
            id,
            caller: u64_at(stacks, "caller", row),
            function,
            module,
            address: u64_at(stacks, "address", row),
            file,
            line: i64_at(stacks, "line", row).and_then(|line| u32::try_from(line).ok()),
            inlined: bool_at(stacks, "inlined", row),
        })?;
    }
    Ok(())
}

fn text(summary: &Summary) -> String {
    let [file, into, run] =
        [&summary.file, &summary.into, &summary.run].map(|name| printable(name).into_owned());
    let mut lines = vec![match summary.samples {
        0 => format!("nothing of {file} could be joined to the run {into}"),
        samples => format!("{run} is now the run {into} with {samples} samples of {file}"),
    }];
    if summary.threads_added > 0 {
        lines.push(format!(
            "  {} threads that recorded nothing themselves are on it too",
            summary.threads_added
        ));
    }
    for (reason, count) in &summary.left_out {
        lines.push(format!("  left out: {count} × {reason}"));
    }
    lines.join("\n") + "\n"
}

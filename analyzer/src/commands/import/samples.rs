//! Samples of a program join the run that the program itself recorded at the same time.

mod rows;
mod threads;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail};
use serde::Serialize;
use trueno_engine::frame::u64_at;
use trueno_engine::query::collect;
use trueno_engine::run::{Adding, Run};
use trueno_format::run_json::Joined;
use trueno_format::schema::{TABLES, TableId};
use trueno_model::exit;
use trueno_model::width::printable;
use xxhash_rust::xxh3::xxh3_64;

use self::rows::Joining;
use self::threads::Threads;
use crate::cli::ImportArgs;
use crate::commands::runs::Runs;
use crate::commands::staging::Staging;
use crate::commands::stderr::Stderr;
use crate::commands::stdout::to_stdout;

const SAMPLES: &str =
    "SELECT time_ns, thread, stack, event, period, cpu FROM samples ORDER BY time_ns, thread";
const WAITS: &str = "SELECT thread, kind, name, start_ns, dur_ns, stack FROM syncs WHERE kind = 'off_cpu' OR kind = 'runnable' ORDER BY start_ns, thread";
const STACKS: &str =
    "SELECT id, caller, function, module, address, file, line, inlined FROM stacks ORDER BY id";
const THREADS: &str = "SELECT thread, name, os_id, process FROM threads ORDER BY thread";

#[derive(Serialize)]
struct Summary {
    file: String,
    into: String,
    run: String,
    samples: u64,
    waits: u64,
    /// Threads that only the samples have.
    threads_added: u64,
    left_out: BTreeMap<String, u64>,
}

pub(super) fn is_run(file: &Path) -> bool {
    file.join("run.json").is_file()
}

/// Makes a run from `into` and the samples of another run. Exit code 3, and no run, if no sample belongs to it.
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
    let [samples, waits, stacks] = [SAMPLES, WAITS, STACKS].map(|sql| ask(&sampled, sql, file));
    let (samples, waits, stacks) = (samples?, waits?, stacks?);
    let first_id = free_id(&run, into)?;
    let about = file.join("run.json");
    let about =
        std::fs::read(&about).with_context(|| format!("{}: cannot be read", about.display()))?;
    let mut adding = Adding::begin(&base, output.work())?;
    let mut joining = Joining {
        rows: adding.rows(),
        threads: &mut threads,
        shift_ns,
        wall_ns: run.facts().wall_ns.unwrap_or(i64::MAX),
        // `trueno-record run --calls` says so, with the calls that were asked for.
        is_traced: run.facts().values.contains_key("calls"),
        left_out: BTreeMap::new(),
    };
    let kept = joining.samples(&samples)?;
    let kept_waits = joining.waits(&waits, first_id)?;
    joining.stacks(&stacks)?;
    let left_out = joining.left_out;
    let threads_added = threads.add(adding.rows())?;
    let is_joined = kept > 0 || kept_waits > 0;
    if is_joined {
        adding.finish(Joined {
            tool: "trueno-record run --sample".to_owned(),
            file: file
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            xxh3: format!("{:016x}", xxh3_64(&about)),
            segments: Vec::new(),
            matched: [
                ("samples".to_owned(), kept),
                ("syncs".to_owned(), kept_waits),
            ]
            .into_iter()
            .filter(|(_, kept)| *kept > 0)
            .collect(),
            left_out: left_out.clone(),
        })?;
        output.keep(stderr)?;
    } else {
        stderr.warn("no sample matches this run's program and time: no run was created");
    }
    let summary = Summary {
        file: file.display().to_string(),
        into: into.display().to_string(),
        run: args.output.display().to_string(),
        samples: kept,
        waits: kept_waits,
        threads_added,
        left_out,
    };
    let text = if args.is_json() {
        serde_json::to_string_pretty(&summary)? + "\n"
    } else {
        text(&summary)
    };
    to_stdout(text.as_bytes())?;
    Ok(if is_joined {
        exit::FINE
    } else {
        exit::NOT_MEASURABLE
    })
}

/// An id that no row has; the ids after it are free as well.
fn free_id(run: &Run, path: &Path) -> anyhow::Result<u64> {
    let context = run.sql_context()?;
    let mut free = 1;
    for table in TABLES
        .iter()
        .filter(|table| table.name != TableId::Stacks.schema().name && table.column("id").is_some())
    {
        let sql = format!("SELECT MAX(id) AS id FROM {}", table.name);
        let last = collect(&context, &sql)
            .with_context(|| format!("{}: cannot be read", path.display()))?;
        let next = u64_at(&last, "id", 0).unwrap_or(0).checked_add(1);
        free = free.max(next.with_context(|| {
            format!(
                "{}: {} has ids up to the last that there is",
                path.display(),
                table.name
            )
        })?);
    }
    Ok(free)
}

/// Checks that both runs are of one machine. Returns the nanoseconds to add to times of the samples.
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
            "{} was recorded on {}, and {} on {}: they do not share a clock",
            into.display(),
            hosts[0].as_deref().unwrap_or("an unknown machine"),
            file.display(),
            hosts[1].as_deref().unwrap_or("one that is not known"),
        );
    }
    let origin_ns = |run: &Run, path: &Path| {
        let origin_ns = run.facts().clock.origin_realtime_ns;
        origin_ns.with_context(|| format!("{}: its start time was not recorded", path.display()))
    };
    origin_ns(sampled, file)?
        .checked_sub(origin_ns(run, into)?)
        .with_context(|| format!("{}: its start time is out of range", file.display()))
}

fn text(summary: &Summary) -> String {
    let [file, into, run] =
        [&summary.file, &summary.into, &summary.run].map(|name| printable(name).into_owned());
    let mut lines = vec![match (summary.samples, summary.waits) {
        (0, 0) => format!("nothing in {file} could be joined to the run {into}"),
        (samples, 0) => format!("{into} has the rows of {run}, and {samples} samples of {file}"),
        (samples, waits) => {
            format!(
                "{into} has the rows of {run}, and {samples} samples and {waits} waits of {file}"
            )
        }
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

//! Nsight Compute's counters join the kernels of a run.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, bail};
use polars::prelude::DataFrame;
use serde::Serialize;
use trueno_engine::frame::{i64_at, text_at, u64_at};
use trueno_engine::query::collect;
use trueno_engine::run::{Adding, Run};
use trueno_format::run_json::Joined;
use trueno_import::Notes;
use trueno_import::ncu::{self, TracedKernel, Unmatched};
use trueno_model::exit;
use trueno_model::width::{printable, shorten};
use xxhash_rust::xxh3::xxh3_64;

use super::single;
use super::summary::Counts;
use crate::cli::ImportArgs;
use crate::commands::runs::Runs;
use crate::commands::staging::Staging;
use crate::commands::stderr::Stderr;
use crate::commands::stdout::to_stdout;

/// Unmatched kernels listed in text; JSON has all.
const MAX_LISTED: usize = 20;

/// Longest kernel name in that list; template arguments can fill a page.
const MAX_NAME: usize = 60;

const KERNELS: &str = "SELECT id, name, grid_x, grid_y, grid_z, block_x, block_y, block_z, \
                       start_ns, correlation, device, stream FROM kernels";

#[derive(Serialize)]
struct Summary<'a> {
    file: String,
    format: &'static str,
    into: String,
    run: String,
    kernels: u64,
    unmatched: &'a [Unmatched],
    #[serde(flatten)]
    counts: Counts,
}

/// Makes a run from `into` and the counters of a CSV file. Exit code 3, and no run, if no kernel gets any.
pub(super) fn join(
    args: &ImportArgs,
    into: &Path,
    runs: &Runs<'_>,
    stderr: &Stderr,
) -> anyhow::Result<u8> {
    let [file] = args.files.as_slice() else {
        bail!(
            "{} files: counters of one file at a time are joined (hint: join the next one into the run of the last)",
            args.files.len()
        );
    };
    single::check(file)?;
    if args
        .input_format()
        .is_some_and(|format| format != ncu::NAME)
    {
        bail!("--into joins the CSV of Nsight Compute only (hint: leave --input-format out)");
    }
    if is_same(into, &args.output) {
        bail!(
            "{}: the result would replace its input (hint: choose another path for -o)",
            args.output.display()
        );
    }
    let output = Staging::new(&args.output, args.overwrite, "importing")?;
    let base = runs.directory(into)?;
    let run = Run::open(&base)?;
    check(&run, into)?;
    let found = collect(&run.sql_context()?, KERNELS)
        .with_context(|| format!("{}: its kernels cannot be read", into.display()))?;
    let mut adding = Adding::begin(&base, output.work())?;
    let mut notes = Notes::default();
    let kernels = (0..found.height()).filter_map(|row| kernel(&found, row));
    let joined = ncu::join(file, args.process, kernels, adding.rows(), &mut notes)?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let bytes =
        std::fs::read(file).with_context(|| format!("{}: cannot be read", file.display()))?;
    let is_any = joined.kernels > 0;
    if is_any {
        adding.finish(Joined {
            tool: ncu::SOURCE.to_owned(),
            file: name.into_owned(),
            xxh3: format!("{:016x}", xxh3_64(&bytes)),
            segments: Vec::new(),
            matched: [("kernels".to_owned(), joined.kernels)].into(),
            left_out: notes.left_out.clone(),
        })?;
        output.keep(stderr)?;
    }
    let counts = Counts::from(notes);
    counts.warn(stderr);
    if !is_any {
        stderr.warn("no kernel got counters: no run was made");
    }
    let summary = Summary {
        file: file.display().to_string(),
        format: ncu::NAME,
        into: into.display().to_string(),
        run: args.output.display().to_string(),
        kernels: joined.kernels,
        unmatched: &joined.unmatched,
        counts,
    };
    let text = if args.is_json() {
        serde_json::to_string_pretty(&summary)? + "\n"
    } else {
        text(&summary)
    };
    to_stdout(text.as_bytes())?;
    Ok(if is_any {
        exit::FINE
    } else {
        exit::NOT_MEASURABLE
    })
}

fn is_same(a: &Path, b: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    real(a).is_some_and(|a| Some(a) == real(b))
}

/// Ordinals are meaningful only if every kernel of the run was recorded.
fn check(run: &Run, path: &Path) -> anyhow::Result<()> {
    let path = path.display();
    if !run.facts().ranks.is_empty() {
        bail!(
            "{path}: has several ranks, but a profile belongs to one (hint: give the run of that rank, such as {path}/rank=0)"
        );
    }
    let kernels = run.facts().tables.iter().find(|t| t.name == "kernels");
    let Some(kernels) = kernels.filter(|table| table.rows_read > 0) else {
        bail!("{path}: has no kernel that counters could be joined to");
    };
    let missing = kernels.rows_lost.unwrap_or(0) + kernels.dropped.unwrap_or(0);
    if missing > 0 {
        bail!(
            "{path}: {missing} kernels are missing, so that the others cannot be counted off against a profile \
             (hint: record again, with a larger ring)"
        );
    }
    Ok(())
}

fn kernel(frame: &DataFrame, row: usize) -> Option<TracedKernel<'_>> {
    let number = |name: &str| u64_at(frame, name, row);
    let small = |name: &str| number(name).and_then(|number| u32::try_from(number).ok());
    let shape = |of: &str| -> Option<[u32; 3]> {
        let side = |axis: &str| small(&format!("{of}_{axis}"));
        Some([side("x")?, side("y")?, side("z")?])
    };
    Some(TracedKernel {
        id: number("id")?,
        name: text_at(frame, "name", row)?,
        grid: shape("grid"),
        block: shape("block"),
        start_ns: i64_at(frame, "start_ns", row)?,
        correlation: number("correlation"),
        device: small("device"),
        stream: small("stream"),
    })
}

fn text(summary: &Summary<'_>) -> String {
    let mut out = String::new();
    let (file, into, run) = (
        printable(&summary.file),
        printable(&summary.into),
        printable(&summary.run),
    );
    let _ = if summary.kernels > 0 {
        writeln!(
            out,
            "{into} has the rows of {run}, and counters of {file} for {} of its kernels",
            summary.kernels
        )
    } else {
        writeln!(out, "nothing in {file} could be joined to the run {into}")
    };
    summary.counts.text(&mut out);
    if !summary.unmatched.is_empty() {
        let _ = writeln!(out, "\nnot joined, by name and launch shape:");
    }
    for unmatched in summary.unmatched.iter().take(MAX_LISTED) {
        let shape = |[x, y, z]: [u32; 3]| format!("{x}×{y}×{z}");
        let _ = writeln!(
            out,
            "  {} of {} blocks of {} threads, {} in the profile and {} in the run: {}",
            printable(&shorten(&unmatched.name, MAX_NAME)),
            shape(unmatched.grid),
            shape(unmatched.block),
            unmatched.profiled,
            unmatched.in_run,
            unmatched.reason
        );
    }
    if let Some(more) = summary.unmatched.len().checked_sub(MAX_LISTED)
        && more > 0
    {
        let _ = writeln!(out, "  and {more} more (hint: --format json lists all)");
    }
    out
}

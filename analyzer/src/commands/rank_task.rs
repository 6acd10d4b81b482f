//! `trueno-analyze rank-task`: the parts of some ranks of a job, for a report that another process makes.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Parser;
use serde::Deserialize;
use serde_json::json;
use trueno_host::{Catalog, make_parts};
use trueno_model::exit;

use super::report_setup::ReportSetup;
use super::running::Running;
use super::runs::Runs;
use super::stderr::Stderr;
use super::stdout::to_stdout;
use crate::cli::{Cli, Command, RankTaskArgs, ReportArgs};

const HINT: &str = "hint: {\"job\": PATH, \"ranks\": [0, 1], \"parts\": FOLDER, \"catalog\": FILE, \"report\": [FLAG, …]}";
const MAX_TASK_BYTES: u64 = 16 << 20;
/// Output flags of a report. A task must not have them.
const OUTPUTS: [&str; 9] = [
    "--json",
    "--markdown",
    "--html",
    "--csv",
    "--charts",
    "--output",
    "-o",
    "--format",
    "--fail-on",
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Task {
    job: PathBuf,
    #[serde(default)]
    ranks: BTreeSet<u32>,
    /// The folder of parts, as in `report --parts`.
    parts: PathBuf,
    /// The catalog of the job. Without it, the task opens all ranks.
    catalog: Option<PathBuf>,
    /// Flags of the report, such as `--plugin-id` or `--set`.
    #[serde(default)]
    report: Vec<String>,
}

/// Computes the parts and prints progress on standard output.
pub(super) fn rank_task(
    args: &RankTaskArgs,
    runs: &Runs<'_>,
    stderr: &Stderr,
) -> anyhow::Result<u8> {
    let task = read(args.task.as_deref())?;
    let report = report_args(&task)?;
    if args.write_catalog {
        return write_catalog(&task, &report, runs, stderr);
    }
    anyhow::ensure!(!task.ranks.is_empty(), "the task names no ranks ({HINT})");
    let setup = match &task.catalog {
        None => ReportSetup::open(&report, runs, stderr)?,
        Some(file) => {
            let catalog = Catalog::read(file).map_err(anyhow::Error::msg)?;
            ReportSetup::open_ranks(&report, &task.ranks, catalog, runs, stderr)?
        }
    };
    let part_cache = setup.part_cache(&report)?;
    let running = Running::new(&setup.registry, stderr);
    let before_each = |id: &str| {
        stderr.step(&format!("running {id}"));
        running.begin(id);
    };
    let after_each = |id: &str| running.end(id);
    let request = setup.request(&report, part_cache.as_ref(), &before_each, &after_each);
    let made = make_parts(&request, &task.ranks);
    drop(running);
    for text in part_cache.iter().flat_map(trueno_host::PartCache::messages) {
        stderr.warn(&text);
    }
    let made = made?;
    let told = json!({
        "rounds": made.rounds,
        "made": made.made,
        "kept": made.kept,
        "not_kept": made.not_kept,
        "missing": made.missing,
    });
    to_stdout(format!("{told}\n").as_bytes())?;
    if made.not_kept.is_empty() {
        Ok(exit::FINE)
    } else {
        anyhow::bail!(
            "the parts of {} are not saved",
            trueno_model::ranks(&made.not_kept)
        )
    }
}

/// Writes the catalog that the task names, and prints how many ranks it is of.
fn write_catalog(
    task: &Task,
    report: &ReportArgs,
    runs: &Runs<'_>,
    stderr: &Stderr,
) -> anyhow::Result<u8> {
    let file = task.catalog.as_deref();
    let file = file.with_context(|| format!("the task names no catalog to write ({HINT})"))?;
    let setup = ReportSetup::open(report, runs, stderr)?;
    let catalog = Catalog::of(&setup.request(report, None, &|_| {}, &|_| {}));
    let written = catalog.and_then(|catalog| catalog.write(file));
    written.map_err(anyhow::Error::msg)?;
    let ranks = setup.run.rank_numbers().len();
    to_stdout(format!("{}\n", json!({"ranks": ranks})).as_bytes())?;
    Ok(exit::FINE)
}

fn read(file: Option<&Path>) -> anyhow::Result<Task> {
    let (name, text) = match file.filter(|file| *file != Path::new("-")) {
        Some(file) => {
            let text = trueno_format::regular_file::read(file);
            let name = file.display().to_string();
            (name.clone(), text.with_context(|| name)?)
        }
        None => {
            let mut text = Vec::new();
            io::stdin().take(MAX_TASK_BYTES).read_to_end(&mut text)?;
            ("standard input".to_owned(), text)
        }
    };
    serde_json::from_slice(&text)
        .map_err(|error| anyhow::anyhow!("{name}: not a task: {error} ({HINT})"))
}

fn report_args(task: &Task) -> anyhow::Result<ReportArgs> {
    let is_output = |flag: &&String| {
        let name = flag.split_once('=').map_or(flag.as_str(), |(name, _)| name);
        OUTPUTS.contains(&name)
    };
    if let Some(flag) = task.report.iter().find(is_output) {
        anyhow::bail!(
            "report: {flag} sets an output of the report, but a task writes no report (hint: give it to `report --parts`)"
        );
    }
    let mut line: Vec<OsString> = ["trueno-analyze", "report", "--parts"]
        .map(OsString::from)
        .into();
    line.push(task.parts.clone().into());
    line.extend(task.report.iter().map(OsString::from));
    line.extend([OsString::from("--"), task.job.clone().into()]);
    let cli = Cli::try_parse_from(line).map_err(|error| anyhow::anyhow!("report: {error}"))?;
    match cli.command {
        Command::Report(report) => Ok(*report),
        _ => anyhow::bail!("report: its flags name another command"),
    }
}

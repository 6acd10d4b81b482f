//! Parts of a job that a cluster makes, for a report that is made here: `trueno-cluster run`, a command of its own.

use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;

use anyhow::{Context, anyhow, bail};
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory};
use serde::Deserialize;
use tempfile::TempPath;
use trueno_host::{Catalog, Request};

use super::stderr::Stderr;
use crate::cli::{Cli, Engine, ReportArgs};
use crate::project::with_project;

const CLUSTER: &str = "trueno-cluster";
/// Arguments of a report that do not affect parts: the job and the cluster, outputs, and formatting.
const NOT_OF_PARTS: [&str; 24] = [
    "run",
    "parts",
    "engine",
    "cluster_deadline",
    "ranks_per_task",
    "json",
    "markdown",
    "html",
    "summary",
    "pdf",
    "card",
    "sarif",
    "editor",
    "csv",
    "csv_exact",
    "charts",
    "output",
    "format",
    "findings",
    "fail_on",
    "annotations",
    "top",
    "width",
    "together",
];

pub(super) struct MadeElsewhere {
    folder: PathBuf,
    /// Parts in the folder when the cluster had finished.
    parts: usize,
    is_all: bool,
}

#[derive(Deserialize)]
struct Summary {
    not_kept: Vec<u32>,
}

/// Has the cluster of a report compute the parts of its ranks; `None` if the report uses no cluster.
///
/// # Errors
/// There is no folder of parts or no command, or the cluster failed.
pub(super) fn make_parts(
    args: &ReportArgs,
    request: &Request<'_>,
    stderr: &Stderr,
) -> anyhow::Result<Option<MadeElsewhere>> {
    let Engine::Ballista(url) = &args.engine else {
        return Ok(None);
    };
    let folder = args.parts.as_deref().with_context(|| {
        format!("--engine {url}: parts need a folder that all machines see (hint: --parts DIR)")
    })?;
    let mut command = Command::new(program()?);
    command.args(["run", "--engine", url]);
    command.arg("--job").arg(&args.run);
    command.arg("--parts").arg(folder);
    let ranks = request.run.rank_numbers();
    command.arg("--ranks").arg(ranges(&ranks));
    if let Some(time) = &args.cluster_deadline {
        command.arg("--deadline").arg(time);
    }
    if let Some(count) = args.ranks_per_task {
        command.arg("--ranks-per-task").arg(count.to_string());
    }
    for flag in flags_of_parts()? {
        command.arg(format!("--report={flag}"));
    }
    let catalog = catalog(request, folder);
    match &catalog {
        Ok(file) => drop(command.arg("--catalog").arg(file)),
        Err(why) => stderr.warn(&format!("each task opens the whole job: {why}")),
    }
    if stderr.is_verbose() {
        command.arg("-v");
    }
    stderr.step(&format!(
        "making parts of {} at {url}",
        trueno_model::ranks(&ranks)
    ));
    let not_kept = summary(&mut command, stderr).with_context(|| format!("--engine {url}"))?;
    if !not_kept.is_empty() {
        stderr.warn(&format!(
            "the cluster could not store the parts of {}, so they are computed here",
            trueno_model::ranks(&not_kept)
        ));
    }
    Ok(Some(MadeElsewhere {
        folder: folder.to_owned(),
        parts: count(folder),
        is_all: not_kept.is_empty(),
    }))
}

/// Writes the catalog of the job beside the parts, until the tasks are done.
fn catalog(request: &Request<'_>, folder: &Path) -> Result<TempPath, String> {
    let file = tempfile::Builder::new()
        .prefix("catalog.")
        .tempfile_in(folder);
    let file = file.map_err(|error| format!("{}: {error}", folder.display()))?;
    let file = file.into_temp_path();
    Catalog::of(request)?.write(&file)?;
    Ok(file)
}

impl MadeElsewhere {
    /// Warns if parts were computed here although the cluster had computed all of them.
    pub(super) fn doubt(&self, stderr: &Stderr) {
        let own = count(&self.folder).saturating_sub(self.parts);
        if self.is_all && own > 0 {
            stderr.warn(&format!(
                "{own} parts were computed here, although the cluster had computed all: its machines have another build of \
                 trueno-analyze or of the plugins"
            ));
        }
    }
}

fn count(folder: &Path) -> usize {
    let entries = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_part = |path: &Path| path.extension().is_some_and(|ending| ending == "arrow");
    let keys = entries(folder).map(|key| key.path());
    keys.flat_map(|key| {
        entries(&key)
            .filter(|file| is_part(&file.path()))
            .collect::<Vec<_>>()
    })
    .count()
}

/// Runs the command. Returns the ranks whose parts it could not save.
fn summary(command: &mut Command, stderr: &Stderr) -> anyhow::Result<Vec<u32>> {
    let ended = Ended::of(command, "", stderr)?;
    let summary = serde_json::from_slice::<Summary>(&ended.stdout);
    let is_success = ended.status.success();
    match summary {
        Ok(summary) if is_success || !summary.not_kept.is_empty() => Ok(summary.not_kept),
        _ => {
            ended.succeeded()?;
            Err(anyhow!("{CLUSTER}: its answer is not valid"))
        }
    }
}

pub(super) struct Ended {
    status: ExitStatus,
    stdout: Vec<u8>,
    cause: String,
}

impl Ended {
    /// Runs the command with `stdin` as its input, and forwards its messages except the error.
    ///
    /// # Errors
    /// It cannot be run.
    pub(super) fn of(command: &mut Command, stdin: &str, stderr: &Stderr) -> anyhow::Result<Self> {
        command.stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| CLUSTER.to_owned())?;
        let pipe = child.stdin.take();
        let (cause, stdout) = thread::scope(|scope| {
            // One that ended before it read all says why itself.
            scope.spawn(move || pipe.map(|mut pipe| pipe.write_all(stdin.as_bytes())));
            let cause = cause(&mut child, stderr);
            let mut stdout = Vec::new();
            if let Some(mut pipe) = child.stdout.take() {
                pipe.read_to_end(&mut stdout)?;
            }
            anyhow::Ok((cause, stdout))
        })?;
        let status = child.wait()?;
        Ok(Self {
            status,
            stdout,
            cause,
        })
    }

    pub(super) fn succeeded(&self) -> anyhow::Result<()> {
        let Self { status, cause, .. } = self;
        match status.success() {
            true => Ok(()),
            false if cause.is_empty() => bail!("{CLUSTER}: it ended with {status}"),
            false => bail!("{cause}"),
        }
    }
}

fn cause(child: &mut Child, stderr: &Stderr) -> String {
    let mut cause = String::new();
    let lines = child
        .stderr
        .take()
        .map(|pipe| BufReader::new(pipe).split(b'\n'));
    for line in lines.into_iter().flatten().map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        match line.strip_prefix("error: ") {
            Some(error) => cause = error.to_owned(),
            None if cause.is_empty() => stderr.note(&format!("{CLUSTER}: {line}")),
            None => cause = format!("{cause}\n{line}"),
        }
    }
    cause.trim_end().to_owned()
}

/// Path of the command: next to this program, or else in PATH.
pub(super) fn program() -> anyhow::Result<PathBuf> {
    let own = env::current_exe()?;
    let beside = own.parent().map(Path::to_owned);
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = beside.into_iter().chain(env::split_paths(&path));
    let mut files = folders.map(|folder| folder.join(CLUSTER));
    files.find(|file| file.is_file()).with_context(|| {
        format!(
            "{CLUSTER} is neither beside this command nor in PATH (hint: cargo build --manifest-path \
             analyzer/cluster/Cargo.toml makes it)"
        )
    })
}

/// Flags from the command line and the project file that affect parts.
fn flags_of_parts() -> anyhow::Result<Vec<String>> {
    let folder = env::current_dir().unwrap_or_default();
    let arguments = with_project(Cli::command(), env::args_os().collect(), &folder)?;
    let matches = Cli::command().try_get_matches_from(arguments.all)?;
    match matches.subcommand() {
        Some(("report", report)) => flags(report),
        _ => Ok(Vec::new()),
    }
}

fn flags(report: &ArgMatches) -> anyhow::Result<Vec<String>> {
    let mut command = Cli::command();
    command.build();
    let known = command.find_subcommand("report");
    let known = known.into_iter().flat_map(|report| report.get_arguments());
    let mut flags = Vec::new();
    for argument in known {
        let id = argument.get_id().as_str();
        let is_typed = || report.value_source(id) == Some(ValueSource::CommandLine);
        let Some(name) = argument.get_long() else {
            continue;
        };
        if argument.is_global_set() || NOT_OF_PARTS.contains(&id) || !is_typed() {
            continue;
        }
        if !argument.get_action().takes_values() {
            flags.push(format!("--{name}"));
            continue;
        }
        for value in report.get_raw(id).into_iter().flatten() {
            let value = value
                .to_str()
                .with_context(|| format!("--{name}: a cluster takes UTF-8 only"))?;
            flags.push(format!("--{name}={value}"));
        }
    }
    Ok(flags)
}

/// Ranks in the form that the command reads: `0-15,17`.
fn ranges(ranks: &[u32]) -> String {
    let runs = ranks.chunk_by(|one, next| one.checked_add(1) == Some(*next));
    let shown = runs.filter_map(|run| match run {
        [] => None,
        [one] => Some(one.to_string()),
        [first, .., last] => Some(format!("{first}-{last}")),
    });
    shown.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_ranges() {
        assert_eq!(ranges(&[0, 1, 2, 3]), "0-3");
        assert_eq!(ranges(&[0, 2, 3, 7]), "0,2-3,7");
        assert_eq!(ranges(&[u32::MAX]), "4294967295");
    }

    #[test]
    fn flags_of_parts_are_those_that_change_them() {
        let line = "trueno-analyze report job --parts p --engine ballista://h:1 --json - --top 3 --skip a,b \
                    --set memory.x=-1 --no-isolate -q --window iteration=3 --ranks-per-task 2";
        let matches = Cli::command().get_matches_from(line.split_whitespace());
        let found = flags(matches.subcommand().expect("a command").1).expect("UTF-8");
        let expected = [
            "--window=iteration=3",
            "--skip=a",
            "--skip=b",
            "--set=memory.x=-1",
            "--no-isolate",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_not_passed_on_is_an_argument() {
        let mut command = Cli::command();
        command.build();
        let report = command.find_subcommand("report").expect("the command");
        for name in NOT_OF_PARTS {
            assert!(
                report.get_arguments().any(|one| one.get_id() == name),
                "{name}"
            );
        }
    }
}

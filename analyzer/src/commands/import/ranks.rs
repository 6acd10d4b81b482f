//! Several files of one job become the ranks of one run.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use serde::Serialize;
use trueno_model::exit;
use trueno_model::width::printable;

use super::job::{self, JobInput, Member};
use super::parts::{self, Part};
use super::single;
use super::summary::Summary;
use super::trace_files::{self, TraceFiles};
use crate::cli::ImportArgs;
use crate::commands::staging::Staging;
use crate::commands::stderr::Stderr;
use crate::commands::stdout::to_stdout;

#[derive(Serialize)]
struct All {
    run: String,
    ranks: Vec<Rank>,
}

#[derive(Serialize)]
struct Rank {
    rank: u32,
    #[serde(flatten)]
    summary: Summary,
}

/// Imports several files as one job, or each process in them as a rank.
pub(super) fn import(args: &ImportArgs, stderr: &Stderr) -> anyhow::Result<u8> {
    let output = Staging::new(&args.output, args.overwrite, "importing")?;
    let members = if args.by_process {
        import_parts(args, output.work(), stderr)?
    } else {
        import_files(args, output.work(), stderr)?
    };
    finish(args, output, &members, stderr)
}

pub(super) fn import_merged(
    args: &ImportArgs,
    ranks: &[(u32, String)],
    output: Staging,
    stderr: &Stderr,
) -> anyhow::Result<u8> {
    let work = output.work();
    fs::create_dir(work).with_context(|| format!("{}: cannot be made", work.display()))?;
    let parts = single::parts_of_ranks(ranks, &args.options());
    let parts = parts.into_iter().map(|(rank, options)| Part {
        file: &args.files[0],
        rank,
        options,
    });
    let parts: Vec<Part<'_>> = parts.collect();
    let members = parts::import(&parts, args.input_format(), work, &args.output, stderr)?;
    finish(args, output, &members, stderr)
}

fn finish(
    args: &ImportArgs,
    output: Staging,
    members: &[Member],
    stderr: &Stderr,
) -> anyhow::Result<u8> {
    output.keep(stderr)?;
    for member in members {
        member.summary.counts.warn(stderr);
    }
    let is_empty = members
        .iter()
        .all(|member| member.summary.counts.is_empty());
    let text = match members {
        [
            Member {
                rank: None,
                summary,
            },
        ] if args.is_json() => serde_json::to_string_pretty(summary)? + "\n",
        [
            Member {
                rank: None,
                summary,
            },
        ] => summary.text(),
        members => {
            let ranks = members.iter().map(|member| Rank {
                rank: member.rank.unwrap_or_default(),
                summary: member.summary.clone(),
            });
            let all = All {
                run: args.output.display().to_string(),
                ranks: ranks.collect(),
            };
            if args.is_json() {
                serde_json::to_string_pretty(&all)? + "\n"
            } else {
                all.text()
            }
        }
    };
    to_stdout(text.as_bytes())?;
    Ok(if is_empty {
        exit::NOT_MEASURABLE
    } else {
        exit::FINE
    })
}

fn check_count(args: &ImportArgs, count: usize, what: &str) -> anyhow::Result<()> {
    if args.ranks.is_empty() || args.ranks.len() == count {
        return Ok(());
    }
    bail!(
        "--ranks names {} ranks for {count} {what} (hint: give one for each, in their order)",
        args.ranks.len()
    );
}

/// Imports each file as the rank that it states, or all as one run.
fn import_files(args: &ImportArgs, work: &Path, stderr: &Stderr) -> anyhow::Result<Vec<Member>> {
    let (mut files, mut label, mut is_lenient) = (Vec::new(), None, args.partial);
    for path in &args.files {
        if trace_files::may_hold_traces(path) {
            let found = TraceFiles::find(path)?;
            if let Some(skipped) = found.skipped() {
                stderr.note(&format!("{}: {skipped}", path.display()));
            }
            files.extend(found.traces);
            label = path.file_name().filter(|_| args.files.len() == 1);
            is_lenient = true;
        } else {
            single::check(path)?;
            files.push(path.clone());
        }
    }
    check_count(args, files.len(), "files")?;
    let label = label.map(|name| name.to_string_lossy());
    let input = JobInput {
        files: &files,
        ranks: &args.ranks,
        label: label.as_deref(),
        format: args.input_format(),
        options: &args.options(),
        is_lenient,
    };
    let made = job::import(&input, work, &args.output, stderr)?;
    stderr.note(&made.text);
    Ok(made.members)
}

/// Imports each process in the files as a rank, or each rank of files that hold several.
fn import_parts(args: &ImportArgs, work: &Path, stderr: &Stderr) -> anyhow::Result<Vec<Member>> {
    args.files.iter().try_for_each(|file| single::check(file))?;
    fs::create_dir(work).with_context(|| format!("{}: cannot be made", work.display()))?;
    let mut parts: Vec<Part<'_>> = Vec::new();
    for file in &args.files {
        let aside = work.join("whole");
        let of = single::of_processes(file, &args.options(), &aside, stderr)?;
        parts.extend(of.into_iter().map(|(rank, options)| Part {
            file,
            rank,
            options,
        }));
    }
    check_count(args, parts.len(), "processes")?;
    for (part, rank) in parts.iter_mut().zip(&args.ranks) {
        part.rank = Some(*rank);
    }
    parts::import(&parts, args.input_format(), work, &args.output, stderr)
}

impl All {
    fn text(&self) -> String {
        let mut out = String::new();
        for rank in &self.ranks {
            let _ = writeln!(out, "{}", rank.summary.text());
        }
        let (run, count) = (printable(&self.run), self.ranks.len());
        let _ = writeln!(out, "{run} holds these {count} ranks");
        out
    }
}

//! Several files of one job become the ranks of one run.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use serde::Serialize;
use trueno_format::run_json::RunJson;
use trueno_import::Options;
use trueno_model::exit;
use trueno_model::width::printable;

use super::single;
use super::summary::Summary;
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

/// Imports each file, or each process of it, as a run of its own, in a folder `rank=<n>` of the run that is made.
pub(super) fn import(args: &ImportArgs, stderr: &Stderr) -> anyhow::Result<u8> {
    args.files.iter().try_for_each(|file| single::check(file))?;
    let mut parts: Vec<(&Path, Options)> = Vec::new();
    for file in &args.files {
        match args.by_process {
            true => {
                let of = single::of_processes(file, &args.options())?;
                parts.extend(of.into_iter().map(|options| (file.as_path(), options)));
            }
            false => parts.push((file, args.options())),
        }
    }
    if !args.ranks.is_empty() && args.ranks.len() != parts.len() {
        let what = if args.by_process {
            "processes"
        } else {
            "files"
        };
        bail!(
            "--ranks names {} ranks for {} {what} (hint: give one for each, in their order)",
            args.ranks.len(),
            parts.len()
        );
    }
    let output = Staging::new(&args.output, args.overwrite, "importing")?;
    let work = output.work();
    fs::create_dir(work).with_context(|| format!("{}: cannot be made", work.display()))?;
    let folder = |number: usize| work.join(format!("file={number}"));
    let mut made = Vec::new();
    for (number, (file, options)) in parts.iter().enumerate() {
        let of = options.process.map(|process| process.pid());
        let of = of.map_or(String::new(), |pid| format!(", process {pid}"));
        stderr.step(&format!("reading {}{of}", file.display()));
        made.push(single::import(
            file,
            &folder(number),
            &args.output,
            args.format.as_deref(),
            options,
            stderr,
        )?);
    }
    let files: Vec<StatedRank> = made
        .iter()
        .map(|(summary, run)| StatedRank::from_run(&summary.file, run))
        .collect();
    let ranks = decide(&files, &args.ranks)?;
    let mut all = Vec::new();
    for (number, ((mut summary, _), rank)) in made.into_iter().zip(ranks).enumerate() {
        let name = format!("rank={rank}");
        fs::rename(folder(number), work.join(&name))
            .with_context(|| format!("{}: cannot be named {name}", folder(number).display()))?;
        summary.run = args.output.join(name).display().to_string();
        all.push(Rank { rank, summary });
    }
    output.keep()?;
    all.sort_by_key(|rank| rank.rank);
    for rank in &all {
        rank.summary.counts.warn(stderr);
    }
    let is_empty = all.iter().all(|rank| rank.summary.counts.is_empty());
    let all = All {
        run: args.output.display().to_string(),
        ranks: all,
    };
    let text = match args.json {
        true => serde_json::to_string_pretty(&all)? + "\n",
        false => all.text(),
    };
    to_stdout(text.as_bytes())?;
    Ok(match is_empty {
        true => exit::NOT_MEASURABLE,
        false => exit::FINE,
    })
}

impl All {
    /// Writing to a string cannot fail, so the results below are dropped.
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

/// A file's own word on its place in the job.
#[derive(Clone, Debug, Default)]
struct StatedRank {
    file: String,
    rank: Option<u32>,
    world_size: Option<u32>,
}

impl StatedRank {
    /// The rank as Kineto says it, in `distributedInfo`.
    fn from_run(file: &str, run: &RunJson) -> Self {
        let number = |name: &str| {
            let key = format!("trace.distributedInfo.{name}");
            run.values.get(&key)?.parse().ok()
        };
        Self {
            file: file.to_owned(),
            rank: number("rank").filter(|rank: &u32| *rank < 1 << 16),
            world_size: number("world_size"),
        }
    }
}

/// The rank of each file: as given, or as it says, or else its place among the files.
fn decide(files: &[StatedRank], given: &[u32]) -> anyhow::Result<Vec<u32>> {
    const HINT: &str = "hint: say which file is which rank with --ranks N,…";
    let sized: Vec<&StatedRank> = files
        .iter()
        .filter(|file| file.world_size.is_some())
        .collect();
    if given.is_empty()
        && let Some(two) = sized
            .windows(2)
            .find(|two| two[0].world_size != two[1].world_size)
    {
        let size = |of: &StatedRank| of.world_size.unwrap_or_default();
        bail!(
            "{} is of a job of {} ranks, {} of one of {} ({HINT}, if they belong together)",
            two[0].file,
            size(two[0]),
            two[1].file,
            size(two[1])
        );
    }
    let mut taken: BTreeMap<u32, &str> = BTreeMap::new();
    let mut ranks = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let place = u32::try_from(number).unwrap_or(u32::MAX);
        let rank = given.get(number).copied().or(file.rank).unwrap_or(place);
        if let Some(other) = taken.insert(rank, &file.file) {
            let how = match (given.is_empty(), file.rank) {
                (false, _) => "by --ranks",
                (true, Some(_)) => "by what it says",
                (true, None) => "by its place, as it says nothing of its rank",
            };
            bail!(
                "{other} and {} would both be rank {rank}, the latter {how} ({HINT})",
                file.file
            );
        }
        ranks.push(rank);
    }
    Ok(ranks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(rank: Option<u32>, world_size: Option<u32>) -> StatedRank {
        StatedRank {
            file: format!("{rank:?}.json"),
            rank,
            world_size,
        }
    }

    #[test]
    fn ranks_are_as_given_or_said_or_in_order() {
        let said = [file(Some(1), Some(2)), file(Some(0), Some(2))];
        assert_eq!(decide(&said, &[]).unwrap(), [1, 0]);
        assert_eq!(decide(&said, &[4, 7]).unwrap(), [4, 7]);
        let silent = [file(None, None), file(None, None), file(Some(5), Some(9))];
        assert_eq!(decide(&silent, &[]).unwrap(), [0, 1, 5]);
    }

    #[test]
    fn contradictions_are_named_with_a_way_out() {
        let refused = |files: &[StatedRank], given: &[u32]| {
            decide(files, given).map_or_else(|e| e.to_string(), |r| panic!("{r:?}"))
        };
        let twice = refused(&[file(Some(1), None), file(Some(1), None)], &[]);
        assert!(
            twice.contains("both be rank 1") && twice.contains("--ranks"),
            "{twice}"
        );
        let place = refused(&[file(Some(1), None), file(None, None)], &[]);
        assert!(place.contains("by its place"), "{place}");
        let jobs = refused(&[file(Some(0), Some(2)), file(Some(1), Some(8))], &[]);
        assert!(
            jobs.contains("a job of 2 ranks") && jobs.contains("of 8"),
            "{jobs}"
        );
        assert!(decide(&[file(Some(0), Some(2)), file(Some(1), Some(8))], &[0, 1]).is_ok());
        let given = refused(&[file(None, None), file(None, None)], &[3, 3]);
        assert!(given.contains("by --ranks"), "{given}");
    }
}

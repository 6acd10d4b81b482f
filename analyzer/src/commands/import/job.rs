//! Several files become one run: a job with a rank for each, or the run of one process that wrote a file more than once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::json;
use trueno_format::run_json::{RUN_JSON, RunJson};
use trueno_format::schema::{FORMAT_MAJOR, FORMAT_MINOR, FORMAT_NAME};
use trueno_import::{Error, Options};

use super::rank_names;
use super::single::{self, Imported, Input};
use super::summary::Summary;
use super::trace_files::listed;
use crate::commands::stderr::Stderr;

/// Traces of one process are at most this far apart. Beyond it, an equal process id is a reused one.
const MAX_PAUSE_NS: i64 = 3_600_000_000_000;
const HINT: &str = "hint: say which file is which rank with `trueno-analyze import … --ranks N,…`";

pub(in crate::commands) struct JobInput<'a> {
    pub(in crate::commands) files: &'a [PathBuf],
    /// Ranks of the files, in their order. If empty, they are detected.
    pub(in crate::commands) ranks: &'a [u32],
    /// Label of all ranks; `None` uses the name of each file.
    pub(in crate::commands) label: Option<&'a str>,
    pub(in crate::commands) format: Option<&'a str>,
    pub(in crate::commands) options: &'a Options,
    pub(in crate::commands) is_lenient: bool,
}

pub(in crate::commands) struct Member {
    /// `None` if it is the whole run.
    pub(in crate::commands) rank: Option<u32>,
    pub(in crate::commands) summary: Summary,
}

pub(in crate::commands) struct Made {
    pub(in crate::commands) members: Vec<Member>,
    pub(in crate::commands) text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RankSource {
    Given,
    Stated,
    Named,
    Place,
}

#[derive(Clone, Debug, Default)]
struct Clues {
    file: String,
    stated: Option<u32>,
    named: Option<u32>,
    world_size: Option<u32>,
    processes: BTreeSet<u64>,
    extent_ns: Option<(i64, i64)>,
    /// Hash of the file; empty if unknown.
    id: String,
}

#[derive(Debug, PartialEq, Eq)]
struct Group {
    rank: u32,
    source: RankSource,
    /// Indices of the files, in order of time.
    members: Vec<usize>,
}

/// A job being imported. Each file is imported alone first, because only its run says which rank it is.
struct Making<'a> {
    input: &'a JobInput<'a>,
    work: &'a Path,
    shown: &'a Path,
    stderr: &'a Stderr,
    paths: Vec<&'a Path>,
    named: Vec<Option<u32>>,
    imported: Vec<(usize, Imported)>,
    lost: Vec<u32>,
}

pub(in crate::commands) fn import(
    input: &JobInput<'_>,
    work: &Path,
    shown: &Path,
    stderr: &Stderr,
) -> anyhow::Result<Made> {
    fs::create_dir(work).with_context(|| format!("{}: cannot be made", work.display()))?;
    let paths: Vec<&Path> = input.files.iter().map(PathBuf::as_path).collect();
    let mut making = Making {
        named: rank_names::by_names(&paths),
        input,
        work,
        shown,
        stderr,
        paths,
        imported: Vec::new(),
        lost: Vec::new(),
    };
    making.import_each()?;
    let clues = making.imported.iter();
    let clues = clues.map(|(number, one)| Clues::of(one, making.named[*number]));
    let clues: Vec<Clues> = clues.collect();
    let groups = group(&clues, input.ranks, stderr)?;
    let text = words(&groups, &clues, making.is_one_run(&groups));
    let mut members = making.members(&groups)?;
    if !making.lost.is_empty() {
        let all = members.iter().filter_map(|member| member.rank);
        expect(work, all.chain(making.lost).collect())?;
    }
    members.sort_by_key(|member| member.rank);
    Ok(Made { members, text })
}

impl Making<'_> {
    fn folder(&self, number: usize) -> PathBuf {
        self.work.join(format!("file={number}"))
    }

    fn import_each(&mut self) -> anyhow::Result<()> {
        let mut first = None;
        for (number, file) in self.paths.iter().enumerate() {
            self.stderr.step(&format!("reading {}", file.display()));
            let files = [*file];
            let input = self.input.of(&files);
            let folder = self.folder(number);
            match single::import(&input, &folder, self.shown, self.stderr) {
                Ok(one) => self.imported.push((number, one)),
                Err(error) if self.input.is_lenient => {
                    let _ = fs::remove_dir_all(folder);
                    // What is no trace is of no rank.
                    let is_trace = !matches!(error.downcast_ref(), Some(Error::Format { .. }));
                    if is_trace {
                        let place = u32::try_from(number).unwrap_or(u32::MAX);
                        self.lost.push(self.named[number].unwrap_or(place));
                    }
                    let cost = if is_trace {
                        "its rank is missing"
                    } else {
                        "skipped"
                    };
                    self.stderr.warn(&format!("{error:#}: {cost}"));
                    first.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        match first {
            Some(error) if self.imported.is_empty() => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether this is one run and not a job. With lost files or explicit ranks it is a job.
    fn is_one_run(&self, groups: &[Group]) -> bool {
        groups.len() == 1 && self.lost.is_empty() && self.input.ranks.is_empty()
    }

    fn members(&self, groups: &[Group]) -> anyhow::Result<Vec<Member>> {
        let mut members = Vec::new();
        for group in groups {
            let place = self.folder(self.imported[group.members[0]].0);
            let mut summary = self.one_run(group, &place)?;
            if self.is_one_run(groups) {
                lift(&place, self.work)
                    .with_context(|| format!("{}: cannot be made", self.work.display()))?;
                let rank = None;
                members.push(Member { rank, summary });
                continue;
            }
            let name = format!("rank={}", group.rank);
            fs::rename(&place, self.work.join(&name))
                .with_context(|| format!("{}: cannot be named {name}", place.display()))?;
            summary.run = self.shown.join(name).display().to_string();
            let rank = Some(group.rank);
            members.push(Member { rank, summary });
        }
        // Copies of other files.
        for (number, _) in &self.imported {
            let _ = fs::remove_dir_all(self.folder(*number));
        }
        Ok(members)
    }

    fn one_run(&self, group: &Group, place: &Path) -> anyhow::Result<Summary> {
        if let [one] = group.members.as_slice() {
            return Ok(self.imported[*one].1.summary.clone());
        }
        let mut files = Vec::new();
        for member in &group.members {
            let number = self.imported[*member].0;
            files.push(self.paths[number]);
            fs::remove_dir_all(self.folder(number))?;
        }
        let input = self.input.of(&files);
        Ok(single::import(&input, place, self.shown, self.stderr)?.summary)
    }
}

fn lift(from: &Path, to: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        fs::rename(entry.path(), to.join(entry.file_name()))?;
    }
    fs::remove_dir(from)
}

/// Records which ranks the job has, so that each report names missing ones.
fn expect(work: &Path, ranks: BTreeSet<u32>) -> anyhow::Result<()> {
    let run = json!({
        "format": {"name": FORMAT_NAME, "major": FORMAT_MAJOR, "minor": FORMAT_MINOR},
        "ranks": ranks,
    });
    let file = work.join(RUN_JSON);
    fs::write(&file, format!("{run:#}\n"))
        .with_context(|| format!("{}: cannot be written", file.display()))
}

impl JobInput<'_> {
    fn of<'f>(&'f self, files: &'f [&'f Path]) -> Input<'f> {
        Input {
            files,
            label: self.label,
            format: self.format,
            options: self.options,
        }
    }
}

impl Clues {
    fn of(imported: &Imported, named: Option<u32>) -> Self {
        Self {
            named,
            processes: imported.processes.clone(),
            extent_ns: imported.extent_ns,
            id: imported.run.run_id.clone(),
            ..Self::stated(&imported.summary.file, &imported.run)
        }
    }

    /// Reads what a trace says itself: Kineto in `distributedInfo`.
    fn stated(file: &str, run: &RunJson) -> Self {
        let number = |name: &str| {
            let key = format!("trace.distributedInfo.{name}");
            run.values.get(&key)?.parse().ok()
        };
        Self {
            file: file.to_owned(),
            stated: number("rank").filter(|rank: &u32| *rank < 1 << 16),
            world_size: number("world_size"),
            ..Self::default()
        }
    }

    fn rank(&self) -> Option<(u32, RankSource)> {
        let stated = self.stated.map(|rank| (rank, RankSource::Stated));
        stated.or(self.named.map(|rank| (rank, RankSource::Named)))
    }

    fn name(&self) -> String {
        let name = Path::new(&self.file).file_name();
        name.map_or_else(
            || self.file.clone(),
            |name| name.to_string_lossy().into_owned(),
        )
    }
}

/// Groups files of one process. Each group has a distinct rank.
fn group(files: &[Clues], given: &[u32], stderr: &Stderr) -> anyhow::Result<Vec<Group>> {
    if given.is_empty() {
        check_sizes(files)?;
    }
    let mut ranked: BTreeMap<u32, Vec<(usize, RankSource)>> = BTreeMap::new();
    let mut silent = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let given = given.get(number).map(|rank| (*rank, RankSource::Given));
        match given.or_else(|| file.rank()) {
            Some((rank, source)) => ranked.entry(rank).or_default().push((number, source)),
            None => silent.push(number),
        }
    }
    let mut groups: BTreeMap<u32, Group> = BTreeMap::new();
    for (rank, members) in ranked {
        let source = members[0].1;
        let mut numbers: Vec<usize> = members.iter().map(|(number, _)| *number).collect();
        if source != RankSource::Given {
            drop_copies(files, &mut numbers, stderr);
        }
        let may_be_parts = numbers.len() == 1 || source != RankSource::Given;
        let one_process = one_process(files, &numbers).filter(|_| may_be_parts);
        let Some(members) = one_process else {
            bail!(both(files, numbers[0], numbers[1], rank, members[1].1));
        };
        let group = Group {
            rank,
            source,
            members,
        };
        groups.insert(rank, group);
    }
    if given.is_empty() {
        check_times(files, &silent)?;
    }
    let silent = match one_process(files, &silent) {
        Some(members) if members.len() > 1 => vec![members],
        _ => silent.into_iter().map(|number| vec![number]).collect(),
    };
    for members in silent {
        let rank = members[0] as u32;
        let source = RankSource::Place;
        let group = Group {
            rank,
            source,
            members,
        };
        if let Some(other) = groups.get(&rank) {
            let (first, second) = (other.members[0], group.members[0]);
            let (first, second) = (first.min(second), first.max(second));
            bail!(both(files, first, second, rank, source));
        }
        groups.insert(rank, group);
    }
    Ok(groups.into_values().collect())
}

fn check_sizes(files: &[Clues]) -> anyhow::Result<()> {
    let sized = files
        .iter()
        .filter_map(|file| Some((file, file.world_size?)));
    let sized: Vec<(&Clues, u32)> = sized.collect();
    let Some([(first, size), (second, other)]) = sized
        .windows(2)
        .map(|two| [two[0], two[1]])
        .find(|[first, second]| first.1 != second.1)
    else {
        return Ok(());
    };
    bail!(
        "{} is of a job of {size} ranks, {} of one of {other} ({HINT}, if they belong together)",
        first.file,
        second.file
    );
}

/// Rejects traces that state no rank and are hours apart: they are not one job.
fn check_times(files: &[Clues], silent: &[usize]) -> anyhow::Result<()> {
    let timed = silent.iter().filter_map(|number| {
        let file = &files[*number];
        Some((file.extent_ns?, &file.file))
    });
    let mut timed: Vec<((i64, i64), &String)> = timed.collect();
    timed.sort_unstable();
    let Some((extent, mut last)) = timed.first().copied() else {
        return Ok(());
    };
    let mut end_ns = extent.1;
    for ((start_ns, file_end_ns), file) in timed {
        if start_ns.saturating_sub(end_ns) > MAX_PAUSE_NS {
            bail!(
                "{last} and {file} were recorded hours apart and state no rank, so they do not belong to one job (hint: give one \
                 of them)"
            );
        }
        if file_end_ns >= end_ns {
            (end_ns, last) = (file_end_ns, file);
        }
    }
    Ok(())
}

fn both(files: &[Clues], first: usize, second: usize, rank: u32, source: RankSource) -> String {
    let how = match source {
        RankSource::Given => "by --ranks",
        RankSource::Stated => "as it states, and they are not consecutive traces of one process",
        RankSource::Named => "by its name, and they are not consecutive traces of one process",
        RankSource::Place => "by its position, because it does not state its rank",
    };
    format!(
        "{} and {} would both be rank {rank}, the latter {how} ({HINT})",
        files[first].file, files[second].file
    )
}

fn drop_copies(files: &[Clues], numbers: &mut Vec<usize>, stderr: &Stderr) {
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    numbers.retain(|number| {
        let file = &files[*number];
        if file.id.is_empty() || file.extent_ns.is_none() {
            return true;
        }
        let first = *known.entry(&file.id).or_insert(*number);
        if first != *number {
            let original = &files[first].file;
            stderr.warn(&format!("{}: is a copy of {original}: skipped", file.file));
        }
        first == *number
    });
}

/// Sorts the files by time, if one process recorded them one after the other.
fn one_process(files: &[Clues], numbers: &[usize]) -> Option<Vec<usize>> {
    if numbers.len() < 2 {
        return Some(numbers.to_vec());
    }
    let mut timed = Vec::new();
    for number in numbers {
        timed.push((files[*number].extent_ns?, *number));
    }
    timed.sort_unstable();
    let follows = |two: &[((i64, i64), usize)]| {
        let pause_ns = two[1].0.0.checked_sub(two[0].0.1);
        pause_ns.is_some_and(|pause_ns| (0..=MAX_PAUSE_NS).contains(&pause_ns))
    };
    let all = timed.iter().map(|(_, number)| &files[*number].processes);
    let common = all.cloned().reduce(|common, other| &common & &other)?;
    let is_one = !common.is_empty() && timed.windows(2).all(follows);
    is_one.then(|| timed.into_iter().map(|(_, number)| number).collect())
}

fn words(groups: &[Group], files: &[Clues], is_one_run: bool) -> String {
    let count: usize = groups.iter().map(|group| group.members.len()).sum();
    let traces = match count {
        1 => "1 trace is".to_owned(),
        count => format!("{count} traces are"),
    };
    if is_one_run {
        return match count {
            1 => format!("{traces} one run"),
            _ => format!("{traces} of one process, one after the other, and become one run"),
        };
    }
    let sources = [
        (RankSource::Given, "by --ranks"),
        (RankSource::Stated, "as the traces state"),
        (RankSource::Named, "by file names"),
        (RankSource::Place, "in the order of file names"),
    ];
    let sources: Vec<&str> = sources
        .iter()
        .filter(|(source, _)| groups.iter().any(|group| group.source == *source))
        .map(|(_, words)| *words)
        .collect();
    let names = groups.iter().map(|group| {
        let names = group.members.iter().map(|number| files[*number].name());
        let names: Vec<String> = names.collect();
        format!("{} = {}", group.rank, listed(&names))
    });
    let names: Vec<String> = names.collect();
    let ranks = match groups.len() {
        1 => "1 rank".to_owned(),
        count => format!("{count} ranks"),
    };
    format!(
        "{traces} a job of {ranks}, numbered {} ({})",
        sources.join(" or "),
        listed(&names)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::Parser;
    use trueno_render::style::Palette;

    fn file(rank: Option<u32>, world_size: Option<u32>) -> Clues {
        Clues {
            file: format!("{rank:?}.json"),
            stated: rank,
            world_size,
            ..Clues::default()
        }
    }

    fn part(name: &str, named: Option<u32>, extent_ns: (i64, i64)) -> Clues {
        Clues {
            file: name.to_owned(),
            named,
            processes: [50, 51].into(),
            extent_ns: Some(extent_ns),
            id: name.to_owned(),
            ..Clues::default()
        }
    }

    fn grouped(files: &[Clues], given: &[u32]) -> Result<Vec<(u32, Vec<usize>)>, String> {
        let quiet = Cli::parse_from(["trueno-analyze", "-q", "categories"]);
        let stderr = Stderr::new(&quiet, Palette::new(false));
        let groups = group(files, given, &stderr).map_err(|error| error.to_string())?;
        let groups = groups.into_iter().map(|group| (group.rank, group.members));
        Ok(groups.collect())
    }

    fn ranks(files: &[Clues], given: &[u32]) -> Vec<u32> {
        let groups = grouped(files, given).unwrap();
        let mut ranks = vec![0; files.len()];
        for (rank, members) in groups {
            members.iter().for_each(|member| ranks[*member] = rank);
        }
        ranks
    }

    #[test]
    fn ranks_are_as_given_or_said_or_in_order() {
        let said = [file(Some(1), Some(2)), file(Some(0), Some(2))];
        assert_eq!(ranks(&said, &[]), [1, 0]);
        assert_eq!(ranks(&said, &[4, 7]), [4, 7]);
        let silent = [file(None, None), file(None, None), file(Some(5), Some(9))];
        assert_eq!(ranks(&silent, &[]), [0, 1, 5]);
        let mut named = silent;
        named[0].named = Some(3);
        named[2].named = Some(0);
        assert_eq!(ranks(&named, &[]), [3, 1, 5]);
    }

    #[test]
    fn contradictions_are_named_with_a_way_out() {
        let refused = |files: &[Clues], given: &[u32]| grouped(files, given).unwrap_err();
        let twice = refused(&[file(Some(1), None), file(Some(1), None)], &[]);
        assert!(
            twice.contains("both be rank 1") && twice.contains("--ranks"),
            "{twice}"
        );
        let place = refused(&[file(Some(1), None), file(None, None)], &[]);
        assert!(place.contains("by its position"), "{place}");
        let jobs = refused(&[file(Some(0), Some(2)), file(Some(1), Some(8))], &[]);
        assert!(
            jobs.contains("a job of 2 ranks") && jobs.contains("of 8"),
            "{jobs}"
        );
        assert!(grouped(&[file(Some(0), Some(2)), file(Some(1), Some(8))], &[0, 1]).is_ok());
        let given = refused(&[file(None, None), file(None, None)], &[3, 3]);
        assert!(given.contains("by --ranks"), "{given}");
    }

    #[test]
    fn traces_of_one_process_are_one_run_and_others_are_ranks() {
        let one = [part("b", None, (200, 300)), part("a", None, (0, 100))];
        assert_eq!(grouped(&one, &[]).unwrap(), [(1, vec![1, 0])]);
        // At the same time it cannot be one process, whatever its number.
        let both = [part("a", None, (0, 100)), part("b", None, (50, 150))];
        assert_eq!(grouped(&both, &[]).unwrap(), [(0, vec![0]), (1, vec![1])]);
        let far = [
            part("a", None, (0, 1)),
            part("b", None, (MAX_PAUSE_NS + 2, i64::MAX)),
        ];
        assert!(grouped(&far, &[]).unwrap_err().contains("hours apart"));
        assert_eq!(grouped(&far, &[0, 1]).unwrap().len(), 2);
        let mut other = one.clone();
        other[0].processes = [60].into();
        assert_eq!(grouped(&other, &[]).unwrap().len(), 2);
        // A rank that recorded twice, beside one that recorded once.
        let twice = [
            part("r0_a", Some(0), (200, 300)),
            part("r1", Some(1), (0, 300)),
            part("r0_b", Some(0), (0, 100)),
        ];
        assert_eq!(
            grouped(&twice, &[]).unwrap(),
            [(0, vec![2, 0]), (1, vec![1])]
        );
        let overlap = [part("a", Some(0), (0, 100)), part("b", Some(0), (50, 150))];
        assert!(
            grouped(&overlap, &[])
                .unwrap_err()
                .contains("not consecutive")
        );
        let mut copies = overlap;
        copies[1].id = "a".to_owned();
        assert_eq!(grouped(&copies, &[]).unwrap(), [(0, vec![0])]);
    }
}

//! Ranks of a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use trueno_format::journal::JOURNAL;
use trueno_format::regular_file;
use trueno_format::run_json::RUN_JSON;
use trueno_model::Problem;
use trueno_plugin::rank::MAX_RANKS;

const PREFIX: &str = "rank=";

#[derive(Debug, Default)]
pub(in crate::run) struct Folders {
    pub(super) ranks: BTreeMap<u32, PathBuf>,
    pub(super) expected: BTreeSet<u32>,
    pub(super) problems: Vec<Problem>,
}

#[derive(Debug)]
pub(in crate::run) enum Found {
    One,
    /// A run of its own that has folders of ranks beside its tables.
    OneBesideRanks(Problem),
    Ranks(Folders),
}

/// Looks for folders `rank=<n>`. A journal, or a `run.json` without a list `ranks`, beside them means that the
/// folder is a run of its own.
pub(in crate::run) fn find(path: &Path) -> Found {
    let mut folders = Folders::default();
    let names = fs::read_dir(path).into_iter().flatten().flatten();
    let mut names: Vec<String> = names
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.starts_with(PREFIX))
        .collect();
    names.sort_unstable();
    for name in names {
        folders.add(path, &name);
    }
    if folders.ranks.is_empty() {
        return Found::One;
    }
    let named = regular_file::read(&path.join(RUN_JSON));
    let is_there = named.is_ok();
    let value: Option<Value> = named
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok());
    let list = value.as_ref().and_then(|run| run["ranks"].as_array());
    if (is_there && list.is_none()) || path.join(JOURNAL).exists() {
        let text = "the run has tables of its own: the folders rank=<n> beside them are not read \
                    (hint: move run.json away, or open a rank's own folder)";
        return Found::OneBesideRanks(Problem::warning("ranks_not_read", text));
    }
    let list = list.into_iter().flatten();
    let list = list.filter_map(|rank| u32::try_from(rank.as_u64()?).ok());
    folders.expected.extend(list);
    Found::Ranks(folders)
}

impl Folders {
    /// Takes each of these runs as a rank, wherever they are.
    pub(in crate::run) fn from_paths(paths: &[PathBuf]) -> Self {
        Self {
            ranks: (0..).zip(paths.iter().cloned()).collect(),
            ..Self::default()
        }
    }

    fn add(&mut self, path: &Path, name: &str) {
        let number = &name[PREFIX.len()..];
        let rank = number.parse::<u32>().ok().filter(|rank| {
            u64::from(*rank) < MAX_RANKS && number.bytes().all(|b| b.is_ascii_digit())
        });
        let Some(rank) = rank else {
            let text = format!(
                "{name}: expected a number from 0 to {}: not read",
                MAX_RANKS - 1
            );
            self.problems.push(Problem::error("rank_unknown", text));
            return;
        };
        let folder = path.join(name);
        if let Some(before) = self.ranks.get(&rank) {
            let text = format!(
                "rank {rank} exists twice: {} is read, {name} is not",
                before.file_name().unwrap_or_default().to_string_lossy()
            );
            self.problems.push(Problem::error("rank_twice", text));
            return;
        }
        self.ranks.insert(rank, folder);
    }
}

/// Whether a folder is a run, or contains only ranks, so that it may be replaced.
pub fn is_run(path: &Path) -> bool {
    let is_ranks = || {
        let names = fs::read_dir(path).into_iter().flatten().flatten();
        let ours = |entry: fs::DirEntry| {
            let name = entry.file_name();
            name.to_str().is_some_and(|name| name.starts_with(PREFIX)) && is_run(&entry.path())
        };
        let mut all = names.map(ours).peekable();
        all.peek().is_some() && all.all(|ours| ours)
    };
    path.join(RUN_JSON).is_file() || is_ranks()
}

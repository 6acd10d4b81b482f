//! A folder of runs, `rank=<n>/` each, opened as one.
//!
//! Every rank is a run of its own, opened and checked as such. `rank_folders` lists them, `rank_alignment`
//! puts them on one timeline, `rank_facts` sums them up, and `rank_tables` makes one table of theirs, in
//! which `rank_keys` keeps ids, threads and devices of different ranks apart.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use polars::prelude::{DataFrame, PolarsResult};
use trueno_model::{Problem, RunFacts, TableInfo};

use super::job_catalog::Others;
use super::rank_folders::Folders;
use super::rank_tables::Combined;
use super::scan::Gathered;
use super::sources::SourceError;
use super::{Run, RunError, rank_alignment, rank_facts, rank_keys, rank_published, rank_tables};
use crate::catalog;
use crate::cores;
use crate::query::Database;

/// Limit for the ranks whose journals are in memory at once.
const AT_ONCE: usize = 64;

pub(super) struct Member {
    pub(super) rank: u32,
    pub(super) run: Run,
    pub(super) offset_ns: i64,
    /// Rows and values that are left out because their keys do not fit.
    pub(super) beyond: rank_keys::Beyond,
}

pub(super) struct Ranks {
    pub(super) members: Arc<[Member]>,
    /// The rank of each problem, in the order of the problems.
    pub(super) whose: Vec<Option<u32>>,
    pub(super) tables: BTreeMap<String, Arc<Combined>>,
    /// The tables `run` and `ranks`, created once because the database of each rank contains them.
    pub(super) about: OnceLock<[DataFrame; 2]>,
    /// Number of texts once all ranks were opened.
    pub(super) texts: usize,
    /// The ranks that are not opened, if only some are.
    pub(super) others: Option<Arc<Others>>,
}

impl Member {
    /// Its problems, as those of the job.
    pub(super) fn problems(&self) -> impl Iterator<Item = Problem> {
        let own = self.run.problems().iter().cloned();
        own.chain(self.beyond.problems()).map(|mut problem| {
            problem.text = format!("rank {}: {}", self.rank, problem.text);
            problem
        })
    }
}

/// Opens runs as ranks that all start at time 0. Those that cannot be opened are left out.
pub(super) fn open_members(
    folders: &[(u32, PathBuf)],
    mut left_out: impl FnMut(u32, RunError),
) -> Vec<Member> {
    let mut runs = Vec::new();
    for some in folders.chunks(AT_ONCE) {
        let gathered = cores::map(some, |(_, folder)| {
            let gathered = Gathered::read(folder)?;
            let checked = gathered.checked();
            Ok((gathered, checked))
        });
        for ((rank, _), gathered) in some.iter().zip(gathered) {
            match gathered {
                Ok((gathered, checked)) => {
                    runs.push((*rank, Run::from_checked(&gathered, checked)));
                }
                Err(error) => left_out(*rank, error),
            }
        }
    }
    let beyond = cores::map(&runs, |(_, run)| rank_keys::Beyond::find(run));
    let member = |((rank, run), beyond)| Member {
        rank,
        run,
        offset_ns: 0,
        beyond,
    };
    runs.into_iter().zip(beyond).map(member).collect()
}

impl Ranks {
    pub(super) fn numbers(&self) -> Vec<u32> {
        match &self.others {
            Some(others) => others.numbers(),
            None => self.members.iter().map(|member| member.rank).collect(),
        }
    }

    /// The job with all ranks, if this one is not opened.
    ///
    /// # Errors
    /// The others cannot be opened, or have changed.
    pub(super) fn whole_for(&self, rank: u32) -> Result<Option<&Run>, RunError> {
        match &self.others {
            Some(others) if self.members.iter().all(|member| member.rank != rank) => {
                others.whole().map(Some)
            }
            _ => Ok(None),
        }
    }

    pub(super) fn segments(&self) -> usize {
        match &self.others {
            Some(others) => others.segments(),
            None => self.members.iter().map(|of| of.run.segments().len()).sum(),
        }
    }

    pub(super) fn members(&self) -> impl Iterator<Item = (u32, &Run)> {
        self.members.iter().map(|member| (member.rank, &member.run))
    }

    /// A kernel source from the first rank that has it intact; see [`Run::kernel_source`].
    pub(super) fn kernel_source(&self, hash: &str) -> Result<(String, bool), SourceError> {
        let mut best = Err(SourceError::NoHash(hash.to_owned()));
        for member in self.members.iter() {
            match member.run.kernel_source(hash) {
                Ok((text, true)) => return Ok((text, true)),
                Ok(changed) => best = Ok(changed),
                Err(error) if best.is_err() => best = Err(error),
                Err(_) => {}
            }
        }
        best
    }

    /// Opens all ranks. Also returns facts and problems of the whole.
    ///
    /// # Errors
    /// None of them can be opened.
    pub(super) fn open(
        path: &Path,
        folders: Folders,
    ) -> Result<(Ranks, RunFacts, Vec<Problem>), RunError> {
        let mut problems: Vec<(Option<u32>, Problem)> = Vec::new();
        problems.extend(folders.problems.into_iter().map(|problem| (None, problem)));
        let expected = folders.expected;
        let mut lost = Vec::new();
        let mut first = None;
        let folders: Vec<(u32, PathBuf)> = folders.ranks.into_iter().collect();
        let mut members = open_members(&folders, |rank, error| {
            let text = format!("rank {rank} is left out: {error}");
            problems.push((Some(rank), Problem::error("rank_lost", text)));
            lost.push(rank);
            first.get_or_insert(error);
        });
        if members.is_empty() {
            return Err(first.unwrap_or(RunError::NotARun {
                path: path.to_path_buf(),
                reason: "none of its folders rank=<n> can be read",
            }));
        }
        let missing = rank_facts::missing(&members, &lost, &expected);
        if !missing.is_empty() {
            let text = format!(
                "{} of the run {} missing: no figure includes their work",
                trueno_model::ranks(&missing),
                if missing.len() == 1 { "is" } else { "are" }
            );
            problems.push((None, Problem::warning("rank_missing", text)));
        }
        problems.extend(rank_alignment::align(&mut members));
        for member in &members {
            let rank = member.rank;
            problems.extend(member.problems().map(|problem| (Some(rank), problem)));
        }
        let tables = rank_tables::tables(&members, &mut problems).into_iter();
        let tables = tables.map(|(name, table)| (name, Arc::new(table)));
        let tables = tables.collect();
        let is_whole = missing.is_empty() && lost.is_empty();
        let facts = rank_facts::combine(&members, is_whole);
        let (whose, problems) = problems.into_iter().unzip();
        let ranks = Ranks {
            texts: members[0].run.numbers().num_cats_upper_bound(),
            members: members.into(),
            whose,
            tables,
            about: OnceLock::new(),
            others: None,
        };
        Ok((ranks, facts, problems))
    }

    pub(super) fn tables(&self, problems: &[Problem]) -> Vec<TableInfo> {
        rank_published::tables(self, problems)
    }

    pub(super) fn sql_context(
        &self,
        facts: &RunFacts,
        problems: &[Problem],
    ) -> Result<Database, RunError> {
        let mut database = self.own_tables(facts, &self.members, problems, &self.whose)?;
        match &self.others {
            Some(others) => others.register(&self.tables, &mut database)?,
            None => self.register(&mut database, 0..self.members.len(), |_| true)?,
        }
        database.register_timeline();
        Ok(database)
    }

    pub(super) fn rank_context(
        &self,
        rank: u32,
        facts: &RunFacts,
        problems: &[Problem],
    ) -> Result<Option<Database>, RunError> {
        let Some(at) = self.members.iter().position(|member| member.rank == rank) else {
            return Ok(None);
        };
        let member = &self.members[at..=at];
        let of_rank = problems.iter().zip(&self.whose);
        let (problems, whose): (Vec<Problem>, Vec<Option<u32>>) = of_rank
            .filter(|(_, whose)| **whose == Some(rank))
            .map(|(problem, whose)| (problem.clone(), *whose))
            .unzip();
        let mut database = self.own_tables(facts, member, &problems, &whose)?;
        self.register(&mut database, at..at + 1, |_| true)?;
        database.register_timeline();
        Ok(Some(database))
    }

    pub(super) fn rank_rows(
        &self,
        rank: u32,
        tables: &[&str],
    ) -> Result<Option<Database>, RunError> {
        let Some(at) = self.members.iter().position(|member| member.rank == rank) else {
            return Ok(None);
        };
        let mut database = self.without_tables();
        self.register(&mut database, at..at + 1, |name| tables.contains(&name))?;
        Ok(Some(database))
    }

    fn register(
        &self,
        database: &mut Database,
        ranks: Range<usize>,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<(), RunError> {
        let members = &self.members[ranks.clone()];
        for (name, table) in self.tables.iter().filter(|(name, _)| is_wanted(name)) {
            if let Some(stored) = table.read_directly(members, name) {
                let (all, ranks) = (Arc::clone(&self.members), ranks.clone());
                let (of, named) = (Arc::clone(table), name.clone());
                let scan = move || of.frame(&all[ranks.clone()], &named);
                database.register_deferred(name, table.no_rows(), table.numbered(), Arc::new(scan));
                database.register_columns(name, stored);
                continue;
            }
            let frame = table.frame(members, name);
            let frame = frame.map_err(|error| cannot_plan(name, &error))?;
            // A column is as it is in the whole, whatever this rank has of it.
            database.register_numbered(name, frame.clone(), table.numbered());
            let stored = table.stored(frame, table.rows_of(members, name), table.numbered());
            let stored = stored.map_err(|error| cannot_plan(name, &error))?;
            database.register_columns(name, stored);
        }
        Ok(())
    }

    /// A database with the same text numbers as all others of this job.
    fn without_tables(&self) -> Database {
        let mut database = Database::new();
        database.keep_numbers(self.members[0].run.numbers());
        database
    }

    /// The tables about the job, with segments of these ranks and these problems.
    fn own_tables(
        &self,
        facts: &RunFacts,
        members: &[Member],
        problems: &[Problem],
        whose: &[Option<u32>],
    ) -> Result<Database, RunError> {
        let mut database = self.without_tables();
        let [run, ranks] = self.about(facts)?;
        let own: [(&str, PolarsResult<DataFrame>); 4] = [
            ("run", Ok(run.clone())),
            ("segments", rank_published::segments(members)),
            ("problems", rank_published::problems(whose, problems)),
            (catalog::RANKS, Ok(ranks.clone())),
        ];
        for (name, frame) in own {
            database.register(name, frame.map_err(|error| cannot_plan(name, &error))?);
        }
        Ok(database)
    }

    fn about(&self, facts: &RunFacts) -> Result<&[DataFrame; 2], RunError> {
        if let Some(about) = self.about.get() {
            return Ok(about);
        }
        let run = super::tables::run(facts).map_err(|error| cannot_plan("run", &error))?;
        let ranks = rank_published::ranks(facts);
        let ranks = ranks.map_err(|error| cannot_plan(catalog::RANKS, &error))?;
        Ok(self.about.get_or_init(|| [run, ranks]))
    }
}

pub(super) fn cannot_plan(table: &str, error: &polars::error::PolarsError) -> RunError {
    RunError::Plan {
        table: table.to_owned(),
        reason: error.to_string(),
    }
}

//! What opening all ranks of a job found, so that a task opens its own ranks only.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use polars::prelude::{Categories, DataFrame, IntoLazy, LazyFrame, PolarsError, PolarsResult};
use serde::{Deserialize, Serialize};
use trueno_model::{ColumnInfo, Problem, RunFacts};

use super::hash_of_files::{JobFiles, hash_of_folder, hash_of_run_json};
use super::rank_folders::{self, Folders, Found};
use super::rank_tables::Combined;
use super::ranks::{Member, Ranks, cannot_plan, open_members};
use super::{Run, RunError, rank_published};
use crate::columns::{Kind, kind};
use crate::query::{Database, Scan};

const SEGMENTS: &str = "segments";

/// A job as opening all its ranks found it.
#[derive(Serialize, Deserialize)]
pub struct JobCatalog {
    files: JobFiles,
    /// Folders of the ranks, also of those that could not be opened.
    folders: BTreeMap<u32, String>,
    facts: ExactFacts,
    /// With the rank of each.
    problems: Vec<(Option<u32>, Problem)>,
    segments: usize,
    tables: BTreeMap<String, CatalogTable>,
    /// In the order of their numbers.
    texts: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct CatalogTable {
    columns: Vec<ColumnInfo>,
    rows: u64,
    types: BTreeMap<String, Kind>,
    numbered: Vec<String>,
}

/// Facts with what their JSON lacks: fields that reports leave out, and the last bits of fractions.
#[derive(Serialize, Deserialize)]
struct ExactFacts {
    facts: RunFacts,
    recorder_ns: Option<u64>,
    recorder_cpu_ns: Option<u64>,
    cost_ns_per_span: Option<u64>,
    ticks_per_second: Option<u64>,
    resolution_ns: Option<u64>,
}

impl ExactFacts {
    fn of(facts: &RunFacts) -> Self {
        Self {
            recorder_ns: facts.recorder_ns,
            recorder_cpu_ns: facts.recorder_cpu_ns,
            cost_ns_per_span: facts.cost_ns_per_span.map(f64::to_bits),
            ticks_per_second: facts.clock.ticks_per_second.map(f64::to_bits),
            resolution_ns: facts.clock.resolution_ns.map(f64::to_bits),
            facts: facts.clone(),
        }
    }

    fn facts(&self) -> RunFacts {
        let mut facts = self.facts.clone();
        facts.recorder_ns = self.recorder_ns;
        facts.recorder_cpu_ns = self.recorder_cpu_ns;
        facts.cost_ns_per_span = self.cost_ns_per_span.map(f64::from_bits);
        facts.clock.ticks_per_second = self.ticks_per_second.map(f64::from_bits);
        facts.clock.resolution_ns = self.resolution_ns.map(f64::from_bits);
        facts
    }
}

impl CatalogTable {
    /// `None` if a column has a type that only the query engine supports.
    fn of(table: &Combined) -> Option<Self> {
        let types = table.types.iter();
        let types = types.map(|(name, dtype)| Some((name.clone(), kind(dtype)?)));
        Some(Self {
            columns: table.columns.clone(),
            rows: table.rows,
            types: types.collect::<Option<_>>()?,
            numbered: table.numbered.clone(),
        })
    }

    fn table(&self) -> Combined {
        let types = self.types.iter();
        Combined {
            columns: self.columns.clone(),
            rows: self.rows,
            types: types
                .map(|(name, kind)| (name.clone(), kind.data_type()))
                .collect(),
            numbered: self.numbered.clone(),
            ..Combined::default()
        }
    }
}

impl Run {
    /// What [`Run::open_some`] needs of this job, which must be opened as a whole.
    ///
    /// # Errors
    /// It is not a folder of ranks, or a file cannot be read.
    pub fn catalog(&self) -> Result<JobCatalog, RunError> {
        let refused = |reason: String| RunError::Catalog {
            path: self.path().to_path_buf(),
            reason,
        };
        let ranks = self.ranks.as_ref().filter(|ranks| ranks.others.is_none());
        let (Some(ranks), Found::Ranks(folders)) = (ranks, rank_folders::find(self.path())) else {
            return Err(refused("a catalog is of a folder of ranks".to_owned()));
        };
        let files = JobFiles::of(self).map_err(|source| unreadable(self.path(), source))?;
        let table = |(name, table): (&String, &Arc<Combined>)| {
            let odd = || {
                refused(format!(
                    "table {name} has a column of a type that a catalog cannot hold (hint: leave `catalog` out of the tasks)"
                ))
            };
            Ok((name.clone(), CatalogTable::of(table).ok_or_else(odd)?))
        };
        let problems = ranks.whose.iter().copied();
        let numbers = ranks.members[0].run.numbers();
        let texts = (0..).take(ranks.texts);
        let texts = texts.map(|number| numbers.cat_to_str(number).unwrap_or_default().to_owned());
        Ok(JobCatalog {
            files,
            folders: names(&folders),
            facts: ExactFacts::of(self.facts()),
            problems: problems.zip(self.problems().iter().cloned()).collect(),
            segments: ranks.segments(),
            tables: ranks.tables.iter().map(table).collect::<Result<_, _>>()?,
            texts: texts.collect(),
        })
    }

    /// Opens some ranks of a job that are as its catalog says, and takes what is known of the others from there. If rows
    /// of the others are read nevertheless, they are opened as well.
    ///
    /// # Errors
    /// The job has no such rank; a rank of these has changed.
    pub fn open_some(
        path: &Path,
        ranks: &BTreeSet<u32>,
        catalog: JobCatalog,
    ) -> Result<Run, RunError> {
        let run = Run::of_ranks(path, open_some(path, ranks, catalog)?);
        run.log();
        Ok(run)
    }

    /// Why ranks beside those of [`Run::open_some`] could not be opened when their rows were needed.
    pub fn others_failed(&self) -> Option<String> {
        let others = self.ranks.as_ref()?.others.as_ref()?;
        others.whole.get()?.as_ref().err().cloned()
    }
}

fn unreadable(path: &Path, source: io::Error) -> RunError {
    RunError::Unreadable {
        path: path.to_path_buf(),
        source,
    }
}

fn names(folders: &Folders) -> BTreeMap<u32, String> {
    let name = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    };
    let ranks = folders.ranks.iter();
    ranks.map(|(rank, path)| (*rank, name(path))).collect()
}

fn open_some(
    path: &Path,
    wanted: &BTreeSet<u32>,
    catalog: JobCatalog,
) -> Result<(Ranks, RunFacts, Vec<Problem>), RunError> {
    let changed = |what: &str| RunError::Catalog {
        path: path.to_path_buf(),
        reason: format!(
            "{what} since the catalog was written (hint: `trueno-analyze rank-task --write-catalog` writes it again)"
        ),
    };
    let known = catalog.files.ranks.keys();
    if let Some(rank) = wanted
        .iter()
        .find(|rank| !catalog.files.ranks.contains_key(rank))
    {
        return Err(RunError::NoSuchRank {
            rank: *rank,
            known: trueno_model::ranks(&known.copied().collect::<Vec<_>>()),
        });
    }
    let Found::Ranks(folders) = rank_folders::find(path) else {
        return Err(changed("its ranks have changed"));
    };
    let run_json = hash_of_run_json(path).map_err(|source| unreadable(path, source))?;
    if names(&folders) != catalog.folders || run_json != catalog.files.run_json {
        return Err(changed("its ranks have changed"));
    }
    let facts = catalog.facts.facts();
    // Texts have the numbers that opening all ranks gives them.
    let numbers = Categories::global().mapping();
    for text in &catalog.texts {
        // Full at 2^32 texts: queries would then say so.
        let _ = numbers.insert_cat(text);
    }
    let own = folders.ranks.into_iter();
    let own: Vec<(u32, PathBuf)> = own.filter(|(rank, _)| wanted.contains(rank)).collect();
    let mut failed = None;
    let mut members = open_members(&own, |rank, error| {
        failed.get_or_insert(changed(&format!("rank {rank} has changed ({error})")));
    });
    if let Some(error) = failed {
        return Err(error);
    }
    for member in &mut members {
        let rank = member.rank;
        let of_rank = facts.ranks.iter().find(|of| of.rank == rank);
        let files = hash_of_folder(member.run.path());
        let files = files.map_err(|source| unreadable(member.run.path(), source))?;
        let is_same = catalog.files.ranks.get(&rank) == Some(&files);
        let (Some(of_rank), true) = (of_rank, is_same && catalog.has_problems_of(member)) else {
            return Err(changed(&format!("rank {rank} has changed")));
        };
        member.offset_ns = of_rank.offset_ns;
    }
    let tables = catalog.tables.iter();
    let tables = tables.map(|(name, table)| (name.clone(), Arc::new(table.table())));
    let (whose, problems) = catalog.problems.iter().cloned().unzip();
    let ranks = Ranks {
        members: members.into(),
        whose,
        tables: tables.collect(),
        about: OnceLock::new(),
        texts: catalog.texts.len(),
        others: Some(Arc::new(Others {
            path: path.to_path_buf(),
            catalog,
            whole: OnceLock::new(),
        })),
    };
    Ok((ranks, facts, problems))
}

impl JobCatalog {
    /// Verifying a rank found what it found before. Problems that the others make it have come behind its own.
    fn has_problems_of(&self, member: &Member) -> bool {
        let known = self.problems.iter();
        let mut known = known.filter(|(rank, _)| *rank == Some(member.rank));
        let mut own = member.problems();
        own.all(|own| known.next().is_some_and(|(_, known)| *known == own))
    }
}

/// The ranks of a job that are not opened.
pub(super) struct Others {
    path: PathBuf,
    catalog: JobCatalog,
    /// The job with all ranks, opened when rows of others are needed.
    whole: OnceLock<Result<Run, String>>,
}

impl Others {
    pub(super) fn files(&self) -> &JobFiles {
        &self.catalog.files
    }

    pub(super) fn numbers(&self) -> Vec<u32> {
        self.catalog.files.ranks.keys().copied().collect()
    }

    pub(super) fn segments(&self) -> usize {
        self.catalog.segments
    }

    pub(super) fn whole(&self) -> Result<&Run, RunError> {
        let whole = self.whole.get_or_init(|| {
            let whole = Run::open(&self.path).map_err(|error| error.to_string())?;
            let now = whole.catalog().map_err(|error| error.to_string())?;
            if now.files == self.catalog.files && now.problems == self.catalog.problems {
                Ok(whole)
            } else {
                Err("other ranks have changed since the catalog was written".to_owned())
            }
        });
        whole.as_ref().map_err(|reason| RunError::Catalog {
            path: self.path.clone(),
            reason: reason.clone(),
        })
    }

    /// Publishes tables with the rows of all ranks, which are opened when a query reads them.
    pub(super) fn register(
        self: &Arc<Self>,
        tables: &BTreeMap<String, Arc<Combined>>,
        database: &mut Database,
    ) -> Result<(), RunError> {
        for (name, table) in tables {
            let scan = self.scan(name);
            database.register_deferred(name, table.no_rows(), table.numbered(), scan);
        }
        let none = rank_published::segments(&[]);
        let none = none.map_err(|error| cannot_plan(SEGMENTS, &error))?;
        let scan = self.scan(SEGMENTS);
        database.register_deferred(SEGMENTS, none.lazy(), std::iter::empty(), scan);
        Ok(())
    }

    fn scan(self: &Arc<Self>, table: &str) -> Scan {
        let (others, table) = (Arc::clone(self), table.to_owned());
        Arc::new(move || others.frame(&table))
    }

    fn frame(&self, table: &str) -> PolarsResult<LazyFrame> {
        let whole = self.whole();
        let whole = whole.map_err(|error| PolarsError::ComputeError(error.to_string().into()))?;
        let Some(ranks) = &whole.ranks else {
            return Ok(DataFrame::default().lazy());
        };
        match ranks.tables.get(table) {
            Some(combined) => combined.frame(&ranks.members, table),
            None => Ok(rank_published::segments(&ranks.members)?.lazy()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::manifest;

    #[test]
    fn facts_are_read_as_they_were_written() {
        let mut facts = manifest::facts(None);
        (facts.recorder_ns, facts.recorder_cpu_ns) = (Some(7), Some(8));
        let mut fraction = 0.1_f64;
        for _ in 0..2_000 {
            fraction = f64::from_bits(fraction.to_bits() + 0x1_2345_6789);
            facts.cost_ns_per_span = Some(fraction);
            facts.clock.ticks_per_second = Some(1.0 / fraction);
            facts.clock.resolution_ns = Some(f64::INFINITY);
            let text = serde_json::to_vec(&ExactFacts::of(&facts)).unwrap();
            let read: ExactFacts = serde_json::from_slice(&text).unwrap();
            assert_eq!(read.facts(), facts);
        }
    }
}

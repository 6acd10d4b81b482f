//! A run, opened.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use polars::prelude::{CategoricalMapping, Categories, DataFrame, LazyFrame, PolarsResult};
use trueno_format::Ceiling;
use trueno_format::run_json::RunJson;
use trueno_format::salvage::Salvaged;
use trueno_format::schema;
use trueno_model::{Problem, RUN_JSON_CHANGED, RunFacts, TableInfo};

use super::column_reader::ColumnReader;
use super::columns::{ColumnKinds, Published};
use super::journal::Journal;
use super::rank_folders::{self, Folders, Found};
use super::ranks::Ranks;
use super::scan::Gathered;
use super::segment::{Segment, Source, leave_copies_out};
use super::sources::{SourceError, Sources};
use super::verify::Checked;
use super::{RunError, completeness, exported, extent, live_segments, manifest, read, tables};
use crate::catalog;
use crate::columns::{self as table_columns, StoredTable};
use crate::query::Database;

/// A run directory, opened for reading.
///
/// Opening reads every segment once and verifies it against the journal. Queries read the files again as needed.
pub struct Run {
    path: PathBuf,
    manifest: Option<RunJson>,
    facts: RunFacts,
    problems: Vec<Problem>,
    segments: Vec<Segment>,
    published: BTreeMap<String, Arc<Published>>,
    /// Keeps the numbering of texts stable between queries.
    numbers: Arc<CategoricalMapping>,
    sources: Sources,
    /// The ranks, if the run consists of several. Segments and tables are theirs then.
    pub(super) ranks: Option<Box<Ranks>>,
    pub(super) given_ceilings: Vec<Ceiling>,
}

impl Run {
    /// Opens the run at `path`, or all runs in a folder of ranks as one.
    ///
    /// Damage is not an error as long as the directory is a run. [`Run::problems`] lists what is lost;
    /// everything else can be read.
    ///
    /// # Errors
    /// The directory does not exist, is not a run, was written with a newer major version of the format, or
    /// cannot be listed.
    pub fn open(path: &Path) -> Result<Run, RunError> {
        let folders = match rank_folders::find(path) {
            Found::One => return Run::open_one(path).inspect(Run::log),
            Found::OneBesideRanks(problem) => {
                let mut run = Run::open_one(path)?;
                run.problems.push(problem);
                return Ok(run);
            }
            Found::Ranks(folders) => folders,
        };
        Run::open_ranks(path, folders).inspect(Run::log)
    }

    pub(super) fn log(&self) {
        tracing::debug!(
            path = %self.path.display(),
            segments = self.segments.len(),
            tables = self.published.len(),
            ranks = self.facts.ranks.len(),
            problems = self.problems.len(),
            "run opened"
        );
    }

    /// Opens several runs as the ranks of one. None of them may contain ranks.
    ///
    /// # Errors
    /// As [`Run::open`] for any of them, or `paths` is empty.
    pub fn open_together(paths: &[PathBuf]) -> Result<Run, RunError> {
        for path in paths {
            if matches!(rank_folders::find(path), Found::Ranks(_)) {
                return Err(RunError::NotARun {
                    path: path.clone(),
                    reason: "it is a folder of ranks, which cannot be one of several runs",
                });
            }
            // One that cannot be opened is no rank that is missing.
            Run::open_one(path)?;
        }
        let first = paths.first().map_or(Path::new(""), PathBuf::as_path);
        Run::open_ranks(first, Folders::from_paths(paths))
    }

    fn open_ranks(path: &Path, folders: Folders) -> Result<Run, RunError> {
        Ok(Run::of_ranks(path, Ranks::open(path, folders)?))
    }

    pub(super) fn of_ranks(
        path: &Path,
        (ranks, mut facts, problems): (Ranks, RunFacts, Vec<Problem>),
    ) -> Run {
        facts.directory = directory_name(path);
        Run {
            facts,
            problems,
            segments: Vec::new(),
            published: BTreeMap::new(),
            numbers: Categories::global().mapping(),
            sources: Sources::default(),
            path: path.to_path_buf(),
            manifest: None,
            ranks: Some(Box::new(ranks)),
            given_ceilings: Vec::new(),
        }
    }

    pub(super) fn open_one(path: &Path) -> Result<Run, RunError> {
        Ok(Run::from_gathered(&Gathered::read(path)?))
    }

    pub(super) fn from_gathered(gathered: &Gathered) -> Run {
        Run::from_checked(gathered, BTreeMap::new())
    }

    /// As [`Run::from_gathered`], with the results of verifying its segments. Numbers texts; call it for one
    /// run after the other, so that the numbers do not depend on the order of threads.
    pub(super) fn from_checked(gathered: &Gathered, mut checked: BTreeMap<String, Checked>) -> Run {
        let Gathered {
            path,
            manifest,
            writer,
            journal,
            files,
            rest,
            problems,
        } = gathered;
        let (writer, mut problems) = (*writer, problems.clone());
        let mut facts = manifest::facts(manifest.as_ref());
        facts.directory = directory_name(path);
        let source = manifest.as_ref().and_then(|run| run.exported_from.as_ref());
        if let Some(source) = source {
            exported::apply(source, &mut facts);
        }
        if let Some(rest) = rest {
            let crash_safe = manifest.as_ref().and_then(|run| run.recorder.crash_safe);
            live_segments::complete_facts(&mut facts, rest, crash_safe);
        }
        let mut segments: Vec<Segment> = gathered
            .segment_names()
            .into_iter()
            .filter_map(|name| {
                read::read(
                    name,
                    files.get(name),
                    journal.chunks(name),
                    journal.is_whole,
                    checked.remove(name),
                )
            })
            .collect();
        leave_copies_out(&mut segments);
        if writer.is_alive() {
            segments.iter_mut().for_each(Segment::forgive_unwritten);
        }
        let on_disk = segments.len();
        segments.extend(rest.iter().flat_map(live_segments::segments));

        let mut names: BTreeSet<&str> = segments.iter().map(Segment::table).collect();
        names.extend(schema::TABLES.iter().map(|t| t.name));
        let mut column_problems = Vec::new();
        let published = names
            .into_iter()
            .map(|name| {
                (
                    name.to_owned(),
                    Published::plan(name, &table_segments(&segments, name), &mut column_problems),
                )
            })
            .collect();
        let numbers = number_texts(journal, rest.as_ref());
        let mut run = Run {
            path: path.clone(),
            manifest: manifest.clone(),
            facts: facts.clone(),
            problems: Vec::new(),
            segments,
            published,
            numbers,
            sources: Sources::new(path, rest.as_ref()),
            ranks: None,
            given_ceilings: Vec::new(),
        };

        let last_end_ns = (facts.wall_ns.is_none() || writer.is_unfinished())
            .then(|| run.last_end_ns())
            .flatten();
        completeness::fill(
            &mut facts,
            manifest.as_ref(),
            rest.as_ref(),
            &run.segments,
            last_end_ns,
        );
        let mut all: Vec<Problem> = Vec::new();
        if let Some(source) = source {
            let tables = manifest.as_ref().map(|run| &run.tables);
            let whole = run.segments.iter().all(Segment::is_whole);
            exported::apply_to_whole(
                source,
                tables.unwrap_or(&BTreeMap::new()),
                whole,
                &mut facts,
            );
            all.extend(exported::problems(source));
        } else {
            let end =
                completeness::end_problem(manifest.as_ref(), writer, last_end_ns.or(facts.wall_ns));
            all.extend(end);
        }
        all.extend(completeness::kept_problem(
            manifest.as_ref(),
            rest.as_ref(),
            writer,
        ));
        let left = &run.segments[on_disk..];
        all.extend(completeness::rest_problems(manifest.as_ref(), writer, left));
        all.append(&mut problems);
        let mut problems = all;
        if source.is_none() {
            problems.extend(completeness::recording_problems(
                manifest.as_ref(),
                rest.as_ref(),
            ));
            problems.extend(completeness::import_problems(&facts));
        }
        problems.extend(completeness::not_verified(&run.segments));
        problems.extend(completeness::segment_problems(&run.segments));
        problems.extend(completeness::count_problems(&facts, manifest.as_ref()));
        problems.extend(column_problems);
        problems.extend(completeness::newer_format(
            manifest.as_ref(),
            &run.published,
        ));
        if problems
            .iter()
            .any(|problem| problem.code == RUN_JSON_CHANGED)
        {
            facts.complete = Some(false);
        }
        run.facts = facts;
        run.problems = problems;
        run
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn manifest(&self) -> Option<&RunJson> {
        self.manifest.as_ref()
    }

    pub(super) fn published(&self, table: &str) -> Option<&Published> {
        self.published.get(table).map(Arc::as_ref)
    }

    /// All segments; those on disk come first.
    pub(super) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The opened ranks in order, each a run of its own. Empty for a run without ranks.
    pub fn ranks(&self) -> Vec<(u32, &Run)> {
        let ranks = self.ranks.iter();
        ranks.flat_map(|ranks| ranks.members()).collect()
    }

    /// The numbers of all ranks in order, of which [`Run::open_some`] opens some. Empty for a run without ranks.
    pub fn rank_numbers(&self) -> Vec<u32> {
        let ranks = self.ranks.iter();
        ranks.flat_map(|ranks| ranks.numbers()).collect()
    }

    /// The kernel source with this hash, and whether it still matches the hash.
    ///
    /// # Errors
    /// See [`SourceError`].
    pub fn kernel_source(&self, hash: &str) -> Result<(String, bool), SourceError> {
        match &self.ranks {
            Some(ranks) => ranks.kernel_source(hash),
            None => self.sources.get(hash),
        }
    }

    pub(super) fn frame(&self, table: &str) -> PolarsResult<Option<LazyFrame>> {
        let published = self.published.get(table);
        let frame = published.map(|p| p.frame(&table_segments(&self.segments, table)));
        frame.transpose()
    }

    /// The columns of a table, if all its rows are in files as the recorder wrote them.
    pub(super) fn stored(&self, table: &str) -> Option<StoredTable> {
        let segments = table_segments(&self.segments, table);
        let (columns, files) = self.published.get(table)?.stored(&segments)?;
        let rows = self.rows_of(table);
        let names = columns.to_vec();
        let reader = ColumnReader::new(columns, files, self.numbers.clone());
        Some(StoredTable::new(names, rows, Box::new(reader)))
    }

    /// A reader of the columns of a table, and their kinds; see [`Run::stored`].
    pub(super) fn column_reader(&self, table: &str) -> Option<(ColumnReader, ColumnKinds)> {
        let segments = table_segments(&self.segments, table);
        let (columns, files) = self.published.get(table)?.stored(&segments)?;
        let reader = ColumnReader::new(columns.clone(), files, self.numbers.clone());
        Some((reader, columns))
    }

    pub(super) fn rows_of(&self, table: &str) -> u64 {
        let segments = table_segments(&self.segments, table);
        let rows = segments.iter().map(|segment| segment.rows_read);
        rows.fold(0, u64::saturating_add)
    }

    /// As [`Run::frame`], if the table has rows and can be planned.
    pub(super) fn frame_with_rows(&self, table: &str) -> Option<LazyFrame> {
        let any = table_segments(&self.segments, table)
            .iter()
            .any(|s| s.rows_read > 0);
        any.then(|| self.frame(table).ok()?).flatten()
    }

    pub(super) fn numbers(&self) -> Arc<CategoricalMapping> {
        self.numbers.clone()
    }

    pub fn facts(&self) -> &RunFacts {
        &self.facts
    }

    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The published tables: those of the format in its order, then `run`, `segments` and `problems`, then
    /// tables only found in files, by name.
    pub fn tables(&self) -> Vec<TableInfo> {
        if let Some(ranks) = &self.ranks {
            return ranks.tables(&self.problems);
        }
        let event_table = |name: &str, doc: &str| TableInfo {
            name: name.to_owned(),
            doc: doc.to_owned(),
            columns: self
                .published
                .get(name)
                .map(|p| p.columns.clone())
                .unwrap_or_default(),
            rows: Some(self.rows_of(name)),
        };
        let known = schema::TABLES.iter().map(|t| event_table(t.name, t.doc));
        let own = catalog::RUN_TABLES.iter().map(|&name| TableInfo {
            name: name.to_owned(),
            doc: catalog::run_table_doc(name).to_owned(),
            columns: catalog::run_table_columns(name),
            rows: Some(match name {
                "segments" => self.segments.len() as u64,
                "problems" => self.problems.len() as u64,
                _ => 1,
            }),
        });
        let unknown = self
            .published
            .keys()
            .filter(|name| schema::table(name).is_none());
        known
            .chain(own)
            .chain(unknown.map(|name| event_table(name, "not a table this program knows")))
            .collect()
    }

    /// A database with all published tables, read when a query needs them.
    ///
    /// # Errors
    /// The query engine fails to plan the scan of a table.
    pub fn sql_context(&self) -> Result<Database, RunError> {
        let mut database = self.recorded_tables()?;
        self.publish_given_ceilings(&mut database)?;
        Ok(database)
    }

    /// As [`Run::sql_context`], with the rows, segments and problems of one rank. `run` and `ranks` are those
    /// of the job, and so are numbers and times. `None` if there is no such rank.
    ///
    /// # Errors
    /// As [`Run::sql_context`].
    pub fn rank_context(&self, rank: u32) -> Result<Option<Database>, RunError> {
        let Some(ranks) = &self.ranks else {
            return Ok(None);
        };
        let database = match ranks.whole_for(rank)? {
            Some(whole) => whole.rank_context(rank)?,
            None => ranks.rank_context(rank, &self.facts, &self.problems)?,
        };
        let with_ceilings = database.map(|mut database| {
            self.publish_given_ceilings(&mut database)?;
            Ok(database)
        });
        with_ceilings.transpose()
    }

    /// The rows of some tables of one rank, with the numbers and times of the job, and no other tables. This
    /// saves planning all tables when a thousand ranks are read one after the other. `None` if there is no such
    /// rank.
    ///
    /// # Errors
    /// As [`Run::sql_context`].
    pub fn rank_rows(&self, rank: u32, tables: &[&str]) -> Result<Option<Database>, RunError> {
        let Some(ranks) = &self.ranks else {
            return Ok(None);
        };
        match ranks.whole_for(rank)? {
            Some(whole) => whole.rank_rows(rank, tables),
            None => ranks.rank_rows(rank, tables),
        }
    }

    fn recorded_tables(&self) -> Result<Database, RunError> {
        if let Some(ranks) = &self.ranks {
            return ranks.sql_context(&self.facts, &self.problems);
        }
        let mut database = Database::new();
        database.keep_numbers(self.numbers.clone());
        for (name, published) in &self.published {
            let segments = table_segments(&self.segments, name);
            let mut stored = self.stored(name);
            let is_empty = |segment: &&Segment| matches!(segment.source, Source::Nothing);
            if segments.iter().all(is_empty) {
                let schema = published.schema.clone();
                database.register_without_rows(name, schema, published.numbered());
            } else {
                let frame = published
                    .frame(&segments)
                    .map_err(|error| plan_error(name, &error))?;
                if let (None, Some(columns)) = (&stored, published.kinds()) {
                    let (rows, numbered) = (self.rows_of(name), published.numbered());
                    let (frame, columns) = (frame.clone(), columns.to_vec());
                    stored = Some(table_columns::of_lazy(frame, columns, 0, rows, numbered));
                }
                database.register_numbered(name, frame, published.numbered());
            }
            if let Some(stored) = stored {
                database.register_columns(name, stored);
            }
        }
        let own: [(&str, PolarsResult<DataFrame>); 3] = [
            ("run", tables::run(&self.facts)),
            ("segments", tables::segments(&self.segments)),
            ("problems", tables::problems(&self.problems)),
        ];
        for (name, frame) in own {
            database.register(name, frame.map_err(|error| plan_error(name, &error))?);
        }
        database.register_timeline();
        Ok(database)
    }

    /// False for a text column without a companion. True if the table lacks the column.
    pub(super) fn is_numbered(&self, table: &str, column: &str) -> bool {
        let published = self.published.get(table);
        published.is_none_or(|table| table.has_not(column) || table.numbered().any(|n| n == column))
    }

    fn last_end_ns(&self) -> Option<i64> {
        let frames = schema::interval_tables().filter_map(|table| self.frame_with_rows(table.name));
        frames.filter_map(extent::last_end_ns).max()
    }
}

/// The name of the directory, also for `.`.
fn directory_name(path: &Path) -> Option<String> {
    let name = |path: &Path| Some(path.file_name()?.to_string_lossy().into_owned());
    name(path).or_else(|| name(&path.canonicalize().ok()?))
}

pub(super) fn table_segments<'a>(segments: &'a [Segment], table: &str) -> Vec<&'a Segment> {
    segments.iter().filter(|s| s.table() == table).collect()
}

fn plan_error(table: &str, error: &polars::error::PolarsError) -> RunError {
    RunError::Plan {
        table: table.to_owned(),
        reason: error.to_string(),
    }
}

/// Numbers the texts in the order of the journal and of the leftovers, so that the numbers do not depend on the
/// order of threads.
fn number_texts(journal: &Journal, rest: Option<&Salvaged>) -> Arc<CategoricalMapping> {
    let numbers = Categories::global().mapping();
    let chunks = journal.segments.values().flatten().map(|chunk| &chunk.new);
    let left = rest.iter().flat_map(|rest| &rest.segments);
    let left = left.flat_map(|segment| segment.batches.iter().map(|batch| &batch.new));
    for text in chunks.chain(left).flat_map(|new| new.values().flatten()) {
        // Full at 2^32 texts: queries would then say so.
        let _ = numbers.insert_cat(text);
    }
    numbers
}

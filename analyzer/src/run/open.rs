//! A run, opened.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use polars::prelude::{CategoricalMapping, Categories, DataFrame, PolarsResult};
use trueno_recorder::journal::JOURNAL;
use trueno_recorder::run_json::RUN_JSON;
use trueno_recorder::schema;

use super::assess::{self, Writer};
use super::journal::Journal;
use super::publish::Published;
use super::segment::Segment;
use super::{Problem, RunError, RunFacts, layout, manifest, reach, read, tables};
use crate::catalog::{self, TableInfo};
use crate::query::Database;

/// A run directory, opened for reading.
///
/// Opening reads every segment once and compares it with the journal; queries
/// read what they need from the files again.
pub struct Run {
    facts: RunFacts,
    problems: Vec<Problem>,
    segments: Vec<Segment>,
    /// Published event tables by name.
    published: BTreeMap<String, Published>,
    /// Keeps the numbers of texts the same from one query to the next.
    numbers: std::sync::Arc<CategoricalMapping>,
}

impl Run {
    /// Opens the run at `path`.
    ///
    /// Damage is no error as long as the directory is a run: what is lost is
    /// listed in [`Run::problems`], everything else can be read.
    ///
    /// # Errors
    ///
    /// If there is no such directory, if it is no run, if a newer major version of the
    /// format wrote it, or if the directory cannot be listed.
    pub fn open(path: &Path) -> Result<Run, RunError> {
        let mut problems = Vec::new();
        check_directory(path)?;
        let manifest = manifest::read(path, &mut problems)?;
        let writer = manifest.as_ref().map_or(Writer::Ended, Writer::of);
        let mut facts = manifest::facts(manifest.as_ref());
        // Before the files: every chunk it lists is then either there or being written.
        let journal = Journal::read(path, &mut problems);
        let files =
            layout::segments(path, &mut problems).map_err(|source| RunError::Unreadable {
                path: path.to_path_buf(),
                source,
            })?;

        let names: BTreeSet<&String> = journal.segments.keys().chain(files.keys()).collect();
        let mut segments: Vec<Segment> = names
            .into_iter()
            .filter_map(|name| {
                read::read(
                    name,
                    files.get(name),
                    journal.segments.get(name).map_or(&[], Vec::as_slice),
                )
            })
            .collect();
        if writer.is_alive() {
            segments.iter_mut().for_each(Segment::forgive_unwritten);
        }

        let mut names: BTreeSet<&str> = segments.iter().map(Segment::table).collect();
        names.extend(schema::TABLES.iter().map(|t| t.name));
        let mut column_problems = Vec::new();
        let published = names
            .into_iter()
            .map(|name| {
                (
                    name.to_owned(),
                    Published::plan(name, &of_table(&segments, name), &mut column_problems),
                )
            })
            .collect();
        let numbers = number_texts(&journal);
        let mut run = Run {
            facts: facts.clone(),
            problems: Vec::new(),
            segments,
            published,
            numbers,
        };

        let last_end_ns = (facts.wall_ns.is_none() || writer.is_unfinished())
            .then(|| run.last_end_ns())
            .flatten();
        assess::fill(&mut facts, manifest.as_ref(), &run.segments, last_end_ns);
        problems.extend(assess::recording_problems(
            manifest.as_ref(),
            writer,
            last_end_ns,
        ));
        problems.extend(assess::segment_problems(&run.segments));
        problems.extend(assess::count_problems(&facts, manifest.as_ref()));
        problems.extend(column_problems);
        run.facts = facts;
        run.problems = problems;
        Ok(run)
    }

    /// What the run says about itself, and what was found.
    pub fn facts(&self) -> &RunFacts {
        &self.facts
    }

    /// What is wrong with it, in a fixed order.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The published tables: those of the format in its order, `run`, `segments`
    /// and `problems`, then tables only the files know, by name.
    pub fn tables(&self) -> Vec<TableInfo> {
        let rows = |name: &str| {
            of_table(&self.segments, name)
                .iter()
                .map(|s| s.rows_read)
                .sum()
        };
        let event_table = |name: &str, doc: &str| TableInfo {
            name: name.to_owned(),
            doc: doc.to_owned(),
            columns: self
                .published
                .get(name)
                .map(|p| p.columns.clone())
                .unwrap_or_default(),
            rows: rows(name),
        };
        let known = schema::TABLES.iter().map(|t| event_table(t.name, t.doc));
        let own = catalog::RUN_TABLES.iter().map(|&name| TableInfo {
            name: name.to_owned(),
            doc: catalog::run_table_doc(name).to_owned(),
            columns: catalog::run_table_columns(name),
            rows: match name {
                "segments" => self.segments.len() as u64,
                "problems" => self.problems.len() as u64,
                _ => 1,
            },
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

    /// A database with all published tables, read when a query asks for them.
    ///
    /// # Errors
    ///
    /// If the query engine will not plan the scan of a table.
    pub fn sql_context(&self) -> Result<Database, RunError> {
        let mut database = Database::new();
        database.keep_numbers(self.numbers.clone());
        for (name, published) in &self.published {
            let frame = published
                .frame(&of_table(&self.segments, name))
                .map_err(|error| plan_error(name, &error))?;
            database.register_lazy(name, frame);
        }
        let own: [(&str, PolarsResult<DataFrame>); 3] = [
            ("run", tables::run(&self.facts)),
            ("segments", tables::segments(&self.segments)),
            ("problems", tables::problems(&self.problems)),
        ];
        for (name, frame) in own {
            database.register(name, frame.map_err(|error| plan_error(name, &error))?);
        }
        Ok(database)
    }

    /// End of the last interval of any table.
    fn last_end_ns(&self) -> Option<i64> {
        let of = |table: &&str| {
            let segments = of_table(&self.segments, table);
            let any = segments.iter().any(|s| s.rows_read > 0);
            let frame = any
                .then(|| self.published.get(*table)?.frame(&segments).ok())
                .flatten()?;
            reach::last_end_ns(frame)
        };
        reach::SPAN_TABLES.iter().filter_map(of).max()
    }
}

fn of_table<'a>(segments: &'a [Segment], table: &str) -> Vec<&'a Segment> {
    segments.iter().filter(|s| s.table() == table).collect()
}

fn plan_error(table: &str, error: &polars::error::PolarsError) -> RunError {
    RunError::Plan {
        table: table.to_owned(),
        reason: error.to_string(),
    }
}

/// Numbers the texts in the order of the journal, so that the numbers do not depend on
/// which thread meets a text first.
fn number_texts(journal: &Journal) -> std::sync::Arc<CategoricalMapping> {
    let numbers = Categories::global().mapping();
    let chunks = journal.segments.values().flatten();
    for text in chunks.flat_map(|chunk| chunk.new.values().flatten()) {
        // Full at 2^32 texts: queries would then say so.
        let _ = numbers.insert_cat(text);
    }
    numbers
}

fn check_directory(path: &Path) -> Result<(), RunError> {
    let not_a_run = |reason| RunError::NotARun {
        path: path.to_path_buf(),
        reason,
    };
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(RunError::Missing {
                path: path.to_path_buf(),
            });
        }
        Err(source) => {
            return Err(RunError::Unreadable {
                path: path.to_path_buf(),
                source,
            });
        }
        Ok(metadata) if !metadata.is_dir() => return Err(not_a_run("it is a file")),
        Ok(_) => {}
    }
    if path.join(RUN_JSON).exists() || path.join(JOURNAL).exists() {
        return Ok(());
    }
    let files = layout::segments(path, &mut Vec::new()).map_err(|source| RunError::Unreadable {
        path: path.to_path_buf(),
        source,
    })?;
    if files.is_empty() {
        return Err(not_a_run("it holds neither run.json nor segments"));
    }
    Ok(())
}

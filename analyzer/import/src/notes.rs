//! Counts of what an import read, kept and left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use trueno_format::run_json::ImportRecord;
use trueno_format::run_writer::RunWriter;
use trueno_format::schema::{TableId, TableRow};

use crate::Error;

/// Counts for the summary; what is left out is listed with its reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Records of the file by their own kind, such as `X cpu_op` or a table's name.
    pub read: BTreeMap<String, u64>,
    pub kept: BTreeMap<&'static str, u64>,
    pub left_out: BTreeMap<String, u64>,
    /// Reasons among `left_out` that lose nothing of the program's work.
    pub skipped: BTreeSet<String>,
    /// Records that repeat a row, such as the arrow from a call to its kernel.
    pub repeated: BTreeMap<String, u64>,
    pub arguments_left_out: BTreeMap<String, u64>,
    /// Facts that a user must know about the result, without duplicates.
    pub warnings: Vec<String>,
    /// Processes whose ids are numbers; of Chrome traces only.
    pub processes: BTreeSet<u64>,
    /// Those of `processes` whose threads have rows; of Chrome traces only.
    pub host_processes: BTreeSet<u64>,
    /// First and last time, by the file's clock; of Chrome traces only.
    pub extent_ns: Option<(i64, i64)>,
}

impl Notes {
    pub fn read(&mut self, kind: &str) {
        add(&mut self.read, kind);
    }

    pub fn keep(&mut self, table: &'static str) {
        *self.kept.entry(table).or_default() += 1;
    }

    pub(crate) fn add<R: TableRow>(&mut self, into: &mut RunWriter, row: &R) -> Result<(), Error> {
        into.add(row)?;
        self.keep(R::TABLE.schema().name);
        Ok(())
    }

    /// Counts the rows of `stacks`, which are written by [`Stacks`](trueno_format::stacks::Stacks).
    pub(crate) fn count_stacks(&mut self, into: &RunWriter) {
        let count = into.rows(TableId::Stacks);
        if count > 0 {
            self.kept.insert(TableId::Stacks.schema().name, count);
        }
    }

    /// Counts a record of the program's work that became no row. Reports of the run mention it.
    pub fn leave_out(&mut self, reason: &str) {
        add(&mut self.left_out, reason);
    }

    /// Counts a record that runs cannot hold, such as the order of threads on screen. The import mentions it,
    /// reports do not.
    pub fn skip(&mut self, reason: &str) {
        self.skip_many(reason, 1);
    }

    pub fn skip_many(&mut self, reason: &str, count: u64) {
        match self.left_out.get_mut(reason) {
            Some(known) => *known += count,
            None => {
                self.left_out.insert(reason.to_owned(), count);
                self.skipped.insert(reason.to_owned());
            }
        }
    }

    /// Something that every report of the run must say, such as that the file is truncated or damaged.
    pub fn problem(&mut self, into: &mut RunWriter, text: impl Into<String>) {
        let text = text.into();
        into.run().problems.push(text.clone());
        self.warn(text);
    }

    /// The part that is stored in the run, so that a report mentions it even if the run comes from a cache.
    pub fn for_run(&self, file: &Path, format: &str, problems: &[String]) -> ImportRecord {
        let lost = self.left_out.iter();
        let lost = lost.filter(|(reason, _)| !self.skipped.contains(*reason));
        let warnings = self.warnings.iter();
        let warnings = warnings.filter(|warning| !problems.contains(warning));
        ImportRecord {
            file: file
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default(),
            format: format.to_owned(),
            lost: lost
                .map(|(reason, count)| (reason.clone(), *count))
                .collect(),
            warnings: warnings.cloned().collect(),
        }
    }

    pub fn repeat(&mut self, what: &str) {
        add(&mut self.repeated, what);
    }

    pub fn leave_out_argument(&mut self, name: &str) {
        add(&mut self.arguments_left_out, name);
    }

    /// Adds a warning unless it was added before.
    pub fn warn(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.warnings.contains(&text) {
            self.warnings.push(text);
        }
    }
}

/// Looks up before allocating: there are few kinds and many records.
fn add(counts: &mut BTreeMap<String, u64>, kind: &str) {
    match counts.get_mut(kind) {
        Some(count) => *count += 1,
        None => {
            counts.insert(kind.to_owned(), 1);
        }
    }
}

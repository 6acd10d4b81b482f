//! Counts of what an import read, kept and left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use trueno_format::run_json::ImportRecord;
use trueno_format::run_writer::RunWriter;
use trueno_format::schema::TableRow;

use crate::Error;

/// Counts by kind, for the summary; what is left out stands there with its reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Records of the file by their own kind, such as `X cpu_op` or a table's name.
    pub read: BTreeMap<String, u64>,
    /// Rows written, by table.
    pub kept: BTreeMap<&'static str, u64>,
    /// Records that became no row, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// Reasons among those that cost nothing of the program's work.
    pub skipped: BTreeSet<String>,
    /// Records that say again what a row says already, such as the arrow from a call to its kernel.
    pub repeated: BTreeMap<String, u64>,
    /// Arguments of records that no column takes, by name.
    pub arguments_left_out: BTreeMap<String, u64>,
    /// Facts that a user must know about the result, in words; each once.
    pub warnings: Vec<String>,
    /// Processes whose threads the file tells of, as far as they are numbers; of Chrome's traces only.
    pub processes: BTreeSet<u64>,
    /// Those among them whose threads have rows; of Chrome's traces only.
    pub host_processes: BTreeSet<u64>,
    /// First and last time of the file, as its clock counts; of Chrome's traces only.
    pub extent_ns: Option<(i64, i64)>,
}

impl Notes {
    /// A record of that kind was met.
    pub fn read(&mut self, kind: &str) {
        add(&mut self.read, kind);
    }

    /// A row was written.
    pub fn keep(&mut self, table: &'static str) {
        *self.kept.entry(table).or_default() += 1;
    }

    /// Writes a row, and counts it.
    pub(crate) fn add<R: TableRow>(&mut self, into: &mut RunWriter, row: &R) -> Result<(), Error> {
        into.add(row)?;
        self.keep(R::TABLE.schema().name);
        Ok(())
    }

    /// A record of the program's work became no row. Reports of the run say so.
    pub fn leave_out(&mut self, reason: &str) {
        add(&mut self.left_out, reason);
    }

    /// A record became no row because runs have no place for it, such as the order of threads on a screen. The import
    /// says so, reports do not.
    pub fn skip(&mut self, reason: &str) {
        self.skip_many(reason, 1);
    }

    /// As [`Notes::skip`], for `count` records.
    pub fn skip_many(&mut self, reason: &str, count: u64) {
        match self.left_out.get_mut(reason) {
            Some(known) => *known += count,
            None => {
                self.left_out.insert(reason.to_owned(), count);
                self.skipped.insert(reason.to_owned());
            }
        }
    }

    /// The file is cut or damaged: what follows the damage is missing. The run is not complete, and says so.
    pub fn cut_short(&mut self, into: &mut RunWriter, text: impl Into<String>) {
        let text = text.into();
        into.run().problems.push(text.clone());
        self.warn(text);
    }

    /// What the run itself keeps of the import: a report says it also where the run comes from a cache.
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

    /// A record says again what a row says.
    pub fn repeat(&mut self, what: &str) {
        add(&mut self.repeated, what);
    }

    /// An argument of a record has no column.
    pub fn leave_out_argument(&mut self, name: &str) {
        add(&mut self.arguments_left_out, name);
    }

    /// Says something once.
    pub fn warn(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.warnings.contains(&text) {
            self.warnings.push(text);
        }
    }
}

/// Looks before it allocates: there are few kinds and many records.
fn add(counts: &mut BTreeMap<String, u64>, kind: &str) {
    match counts.get_mut(kind) {
        Some(count) => *count += 1,
        None => {
            counts.insert(kind.to_owned(), 1);
        }
    }
}

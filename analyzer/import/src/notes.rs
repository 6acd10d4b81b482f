//! Counts of what an import read, kept and left out.

use std::collections::BTreeMap;

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
    /// Records that say again what a row says already, such as the arrow from a call to its kernel.
    pub repeated: BTreeMap<String, u64>,
    /// Arguments of records that no column takes, by name.
    pub arguments_left_out: BTreeMap<String, u64>,
    /// Facts that a user must know about the result, in words; each once.
    pub warnings: Vec<String>,
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

    /// A record became no row.
    pub fn leave_out(&mut self, reason: &str) {
        add(&mut self.left_out, reason);
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

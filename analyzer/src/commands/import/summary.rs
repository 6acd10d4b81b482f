//! Summary of an import.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;
use trueno_import::Notes;
use trueno_model::width::printable;

use crate::commands::stderr::Stderr;

#[derive(Clone, Serialize)]
pub(in crate::commands) struct Summary {
    pub(super) file: String,
    pub(super) format: &'static str,
    pub(super) run: String,
    pub(super) wall_ns: Option<i64>,
    #[serde(flatten)]
    pub(in crate::commands) counts: Counts,
}

#[derive(Clone, Serialize)]
pub(in crate::commands) struct Counts {
    read: BTreeMap<String, u64>,
    kept: BTreeMap<&'static str, u64>,
    left_out: BTreeMap<String, u64>,
    repeated: BTreeMap<String, u64>,
    arguments_left_out: BTreeMap<String, u64>,
    warnings: Vec<String>,
}

impl From<Notes> for Counts {
    fn from(notes: Notes) -> Self {
        Self {
            read: notes.read,
            kept: notes.kept,
            left_out: notes.left_out,
            repeated: notes.repeated,
            arguments_left_out: notes.arguments_left_out,
            warnings: notes.warnings,
        }
    }
}

impl Counts {
    pub(in crate::commands) fn warn(&self, stderr: &Stderr) {
        for warning in &self.warnings {
            stderr.warn(warning);
        }
        if self.is_empty() {
            stderr.warn("no rows were imported");
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    pub(super) fn text(&self, out: &mut String) {
        section(out, "read", &self.read);
        section(out, "kept, as rows", &self.kept);
        section(out, "left out", &self.left_out);
        if !self.repeated.is_empty() {
            section(out, "also in another record", &self.repeated);
        }
        if !self.arguments_left_out.is_empty() {
            let arguments = &self.arguments_left_out;
            section(out, "arguments without a column, by name", arguments);
        }
    }
}

impl Summary {
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        let (file, format, run) = (printable(&self.file), self.format, printable(&self.run));
        let _ = writeln!(out, "{file} ({format}) converted to the run {run}");
        self.counts.text(&mut out);
        out
    }
}

fn section<T: AsRef<str>>(out: &mut String, title: &str, counts: &BTreeMap<T, u64>) {
    let _ = writeln!(out, "\n{title}: {}", counts.values().sum::<u64>());
    for (what, count) in counts {
        let _ = writeln!(out, "  {count:>12}  {}", printable(what.as_ref()));
    }
}

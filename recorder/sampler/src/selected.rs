//! Processes of a program that are recorded, by what the kernel tells of them.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};

use trueno_processes::Selection;

use crate::event::ThreadOf;

pub(crate) struct Selected {
    selection: Selection,
    first: u32,
    taken: HashMap<u32, bool>,
    /// Processes after an exec whose new file is not known yet.
    named: HashMap<u32, (ThreadOf, OsString)>,
}

/// A process that is recorded from now on, or no longer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub of: ThreadOf,
    pub name: OsString,
    pub is_taken: bool,
}

impl Selected {
    pub fn new(selection: Selection, first: u32) -> Self {
        Self {
            selection,
            first,
            taken: HashMap::new(),
            named: HashMap::new(),
        }
    }

    pub fn takes(&self, process: u32) -> bool {
        match self.selection {
            Selection::All => true,
            Selection::First => process == self.first,
            Selection::Named(_) => self.taken.get(&process).copied().unwrap_or(false),
        }
    }

    fn is_by_name(&self) -> bool {
        matches!(self.selection, Selection::Named(_))
    }

    pub fn meets(&mut self, process: u32) {
        if self.is_by_name() {
            let (selection, first) = (&self.selection, self.first);
            self.taken.entry(process).or_insert_with(|| {
                selection.takes_process(process == first, process.cast_signed())
            });
        }
    }

    pub fn begins(&mut self, process: u32, by: u32) {
        if self.is_by_name() && process != by {
            self.taken.insert(process, self.takes(by));
        }
    }

    pub fn execs(&mut self, of: ThreadOf, name: &OsStr) {
        if self.is_by_name() {
            self.named.insert(of.process, (of, name.to_owned()));
        }
    }

    /// Call when a process has mapped a file: the first one after an exec is its program.
    pub fn runs(&mut self, process: u32, file: &OsStr) -> Option<Change> {
        let (of, name) = self.named.remove(&process)?;
        let is_first = process == self.first;
        let is_taken = self.selection.takes(is_first, &name, Some(file));
        let before = self.taken.insert(process, is_taken).unwrap_or(false);
        (before != is_taken).then_some(Change { of, name, is_taken })
    }

    pub fn ends(&mut self, process: u32) {
        self.taken.remove(&process);
        self.named.remove(&process);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn main_thread(process: u32) -> ThreadOf {
        ThreadOf {
            process,
            thread: process,
        }
    }

    #[test]
    fn a_process_is_recorded_while_it_runs_the_program_of_that_name() {
        let mut all = Selected::new(Selection::Named("python3".to_owned()), 1);
        all.begins(2, 1);
        assert!(!all.takes(2));
        all.execs(main_thread(2), OsStr::new("script.py"));
        let change = all.runs(2, OsStr::new("/usr/bin/python3")).unwrap();
        assert!(change.is_taken && all.takes(2) && change.of == main_thread(2));
        all.begins(3, 2);
        assert!(all.takes(3));
        assert_eq!(all.runs(2, OsStr::new("/lib/x.so")), None);
        all.execs(main_thread(3), OsStr::new("sh"));
        assert!(!all.runs(3, OsStr::new("/usr/bin/dash")).unwrap().is_taken);
        assert!(!all.takes(3));
        all.ends(2);
        assert!(!all.takes(2));
    }

    #[test]
    fn without_children_there_is_the_first_process_alone() {
        let mut all = Selected::new(Selection::First, 1);
        all.begins(2, 1);
        all.execs(main_thread(1), OsStr::new("other"));
        assert!(all.takes(1) && !all.takes(2));
    }
}

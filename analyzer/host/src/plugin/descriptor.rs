//! A plugin as it describes itself, and where it runs.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};
use trueno_plugin::abi;

use super::isolate::limits::Limits;
use super::linked::Code;

pub const MAX_INPUTS: usize = 256;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// The plugin requests it by this name.
    pub name: String,
    pub sql: String,
    pub baseline: bool,
    pub optional: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Descriptor {
    pub id: String,
    pub version: String,
    /// One line for users.
    pub summary: String,
    pub build: String,
    pub abi_minor: u32,
    pub inputs: Vec<Input>,
    /// Inputs for merging, if it can work on the ranks of a job one by one.
    pub merge_inputs: Option<Vec<Input>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    /// All rows to the section of the report.
    Whole,
    /// The rows of one rank to a part.
    Part,
    /// Parts to one part.
    Merge,
    /// Parts to the section of the report.
    Final,
}

impl Descriptor {
    /// Checks what can be checked without the library, so that it also works for one sent by another process.
    ///
    /// # Errors
    /// Its fault, in words.
    pub fn check(&self, file: &Path) -> Result<(), String> {
        let id = &self.id;
        if !trueno_plugin::is_identifier(id) {
            return Err(format!("the id {id:?} does not fit [a-z][a-z0-9_]*"));
        }
        if let Some(expected) = super::find::id_of(file)
            && expected != *id
        {
            return Err(format!(
                "its id is {id}, its file name says {expected} (hint: rename the file or change the id)"
            ));
        }
        if self.inputs.len() > MAX_INPUTS {
            return Err(format!(
                "it lists {} inputs, at most {MAX_INPUTS} are taken",
                self.inputs.len()
            ));
        }
        check_inputs(&self.inputs)?;
        self.merge_inputs
            .as_deref()
            .map_or(Ok(()), check_inputs)
            .map_err(|why| format!("of its merging, {why}"))
    }

    pub fn inputs_of(&self, stage: Stage) -> &[Input] {
        match stage {
            Stage::Whole | Stage::Part => &self.inputs,
            Stage::Merge | Stage::Final => self.merge_inputs.as_deref().unwrap_or_default(),
        }
    }

    pub fn reads(&self, table: &str) -> bool {
        self.inputs.iter().any(|input| input.sql.contains(table))
    }
}

fn check_inputs(inputs: &[Input]) -> Result<(), String> {
    let mut names = BTreeSet::new();
    for (number, Input { name, sql, .. }) in inputs.iter().enumerate() {
        if name.is_empty() {
            return Err(format!("input {number} has no name"));
        }
        if sql.trim().is_empty() {
            return Err(format!("input {name} has no query"));
        }
        if !names.insert(name) {
            return Err(format!("two inputs are named {name}"));
        }
    }
    Ok(())
}

/// A plugin in memory is never unloaded.
#[derive(Clone, Debug)]
pub struct Plugin {
    pub descriptor: Descriptor,
    pub code: Code,
    pub execution: Execution,
}

#[derive(Clone, Copy, Debug)]
pub struct Functions {
    pub(super) run: abi::RunFn,
    /// Computing the part of a rank, and merging.
    pub(super) parts: Option<(abi::RunFn, abi::RunFn)>,
    /// The library does not ship with the program, so its output is redirected.
    pub(super) is_foreign: bool,
}

impl Functions {
    pub fn is_foreign(self) -> bool {
        self.is_foreign
    }

    /// The function for a stage. Without functions for parts it is the whole analysis.
    pub(super) fn of(self, stage: Stage) -> abi::RunFn {
        match (stage, self.parts) {
            (Stage::Part, Some((part, _))) => part,
            (Stage::Merge | Stage::Final, Some((_, merge))) => merge,
            (Stage::Whole, _) | (_, None) => self.run,
        }
    }
}

#[derive(Clone, Debug)]
pub enum Execution {
    InProcess(Functions),
    Isolated(Limits),
}

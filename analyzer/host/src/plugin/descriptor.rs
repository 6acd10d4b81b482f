//! A plugin as it describes itself, and where it runs.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};
use trueno_plugin::abi;

use super::isolate::limits::Limits;
use super::linked::Code;

/// Most inputs of one plugin.
pub const MAX_INPUTS: usize = 256;

/// One table a plugin wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// Name, by which the plugin asks for it.
    pub name: String,
    /// The query over the published tables and other plugins' tables.
    pub sql: String,
    /// Tells whether the query is asked of the baseline run.
    pub baseline: bool,
    /// Tells whether the plugin can do without.
    pub optional: bool,
}

/// A plugin's description of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Descriptor {
    /// Name, and namespace of its tables.
    pub id: String,
    /// Version of the plugin.
    pub version: String,
    /// Description for people, in one line.
    pub summary: String,
    /// Compiler, target and commit it was built with.
    pub build: String,
    /// Minor version of the ABI it was built against.
    pub abi_minor: u32,
    /// Its inputs, in its own order.
    pub inputs: Vec<Input>,
    /// Inputs of its merging, if it can work on the ranks of a job one by one.
    pub merge_inputs: Option<Vec<Input>>,
}

/// Work that a plugin is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    /// All rows at once, to the section of the report.
    Whole,
    /// The rows of one rank, to a part.
    Part,
    /// Parts, to one part.
    Merge,
    /// Parts, to the section of the report.
    Final,
}

impl Descriptor {
    /// Checks what can be asked without the library: also of one that another process has sent.
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

    /// The inputs of this stage; none of one that it does not have.
    pub fn inputs_of(&self, stage: Stage) -> &[Input] {
        match stage {
            Stage::Whole | Stage::Part => &self.inputs,
            Stage::Merge | Stage::Final => self.merge_inputs.as_deref().unwrap_or_default(),
        }
    }

    /// Tells whether an input names this table.
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

/// A plugin, ready to run. One in memory is never unloaded.
#[derive(Clone, Debug)]
pub struct Plugin {
    /// Its description of itself.
    pub descriptor: Descriptor,
    /// The library it came from, or the program that it is linked into.
    pub code: Code,
    /// The process it runs in.
    pub execution: Execution,
}

/// Functions of a library.
#[derive(Clone, Copy, Debug)]
pub struct Functions {
    /// The whole analysis.
    pub(super) run: abi::RunFn,
    /// The part of a rank, and merging.
    pub(super) parts: Option<(abi::RunFn, abi::RunFn)>,
    /// The library does not ship with the program: what it writes is not the program's.
    pub(super) is_foreign: bool,
}

impl Functions {
    /// Tells whether the library does not ship with the program.
    pub fn is_foreign(self) -> bool {
        self.is_foreign
    }

    /// The function of a stage; one that the plugin does not have is its whole analysis.
    pub(super) fn of(self, stage: Stage) -> abi::RunFn {
        match (stage, self.parts) {
            (Stage::Part, Some((part, _))) => part,
            (Stage::Merge | Stage::Final, Some((_, merge))) => merge,
            (Stage::Whole, _) | (_, None) => self.run,
        }
    }
}

/// Process that a plugin runs in.
#[derive(Clone, Debug)]
pub enum Execution {
    InProcess(Functions),
    /// In a process of its own, with these limits.
    Isolated(Limits),
}

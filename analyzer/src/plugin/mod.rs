//! Plugins: where they are found, how they are loaded, how they are run.

mod call;
mod find;
pub(crate) mod frame;
mod host;
pub mod isolate;
mod known;
mod later;
mod load;
mod roster;
mod trust;

pub use call::{Cause, Outcome, Sources, gather, run, run_on};
pub use find::{
    Candidate, FindError, Found, PATH_VARIABLE, Place, Refused, Search, Shadowed, find, id_of,
};
pub use host::Taken;
pub use known::{Known, known_options, refused_options};
pub use load::{LoadError, load, load_apart};
pub use roster::{Entry, Roster, RosterError, Status};

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One table a plugin wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// What the plugin calls it.
    pub name: String,
    /// The query over the published tables and other plugins' tables.
    pub sql: String,
    /// Whether the query is asked of the baseline run.
    pub baseline: bool,
    /// Whether the plugin can do without.
    pub optional: bool,
}

/// What a plugin says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Descriptor {
    /// Name, and namespace of its tables.
    pub id: String,
    /// Version of the plugin.
    pub version: String,
    /// One line for people.
    pub summary: String,
    /// Compiler, target and commit it was built with.
    pub build: String,
    /// Minor version of the ABI it was built against.
    pub abi_minor: u32,
    /// What it reads, in its own order.
    pub inputs: Vec<Input>,
}

impl Descriptor {
    /// Whether an input names this table.
    pub fn reads(&self, table: &str) -> bool {
        self.inputs.iter().any(|input| input.sql.contains(table))
    }
}

/// A plugin, ready to run. One in memory is never unloaded.
#[derive(Clone, Debug)]
pub struct Plugin {
    /// What it says about itself.
    pub descriptor: Descriptor,
    /// The library it came from.
    pub file: PathBuf,
    /// Where it runs.
    pub way: Way,
}

/// Where a plugin runs.
#[derive(Clone, Debug)]
pub enum Way {
    /// In this process.
    Here(trueno_plugin::abi::RunFn),
    /// In a process of its own, with these limits.
    Apart(isolate::Limits),
}

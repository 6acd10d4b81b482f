//! A report to make.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use trueno_engine::run::Run;
use trueno_model::categories::CategoryRules;

use crate::kept_parts::KeptParts;
use crate::plan::Wish;
use crate::plugin::Registry;
use crate::window::Wanted;

/// Prefix of the names of a third run's tables.
pub const REFERENCE: &str = "reference_";

/// A report to make.
pub struct Request<'a> {
    /// The run.
    pub run: &'a Run,
    /// The run to compare it with.
    pub baseline: Option<&'a Run>,
    /// A third run that says which of the two moved: its tables are published beside those of the run, with names that
    /// begin with `reference_`.
    pub reference: Option<&'a Run>,
    /// The plugins there are.
    pub registry: &'a Registry,
    /// Choice among them.
    pub wish: &'a Wish,
    /// Categories for names that have none.
    pub categories: &'a CategoryRules,
    /// The part of the run to look at; `None`: all of it.
    pub window: Option<Wanted>,
    /// Options by plugin and key.
    pub options: &'a BTreeMap<String, Map<String, Value>>,
    /// Way of plugins over the ranks of a job.
    pub over_ranks: OverRanks<'a>,
    /// Told the id of each plugin before it runs; of those that work rank by rank, the rank.
    pub before_each: &'a dyn Fn(&str),
    /// Told it again when it has ended.
    pub after_each: &'a dyn Fn(&str),
}

/// Way of plugins over the ranks of a job.
#[derive(Clone, Copy)]
pub struct OverRanks<'a> {
    /// Gives all rows at once also to plugins that can work rank by rank. They give the same.
    pub together: bool,
    /// Rows that a plugin which cannot work rank by rank may read at most.
    pub most_rows: u64,
    /// Parts of ranks that are kept, and where those that are made are kept too.
    pub kept: Option<&'a KeptParts>,
}

impl Default for OverRanks<'_> {
    fn default() -> Self {
        Self {
            together: false,
            most_rows: MOST_ROWS,
            kept: None,
        }
    }
}

/// Rows of a job that are given to a plugin at once unless told otherwise: some 5 GB.
pub const MOST_ROWS: u64 = 64_000_000;

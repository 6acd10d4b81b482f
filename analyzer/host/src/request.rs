//! A report to make.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value};
use trueno_engine::run::Run;
use trueno_model::categories::CategoryRules;

use crate::part_cache::PartCache;
use crate::plan::PluginSelection;
use crate::plugin::Registry;
use crate::window::WindowSpec;

/// Prefix of the names of a third run's tables.
pub const REFERENCE: &str = "reference_";

/// A report to make.
pub struct Request<'a> {
    pub run: &'a Run,
    /// The run to compare it with.
    pub baseline: Option<&'a Run>,
    /// A third run that says which of the two moved: its tables are published beside those of the run, with names that
    /// begin with `reference_`.
    pub reference: Option<&'a Run>,
    /// The plugins there are.
    pub registry: &'a Registry,
    pub selection: &'a PluginSelection,
    /// Categories for names that have none.
    pub categories: &'a CategoryRules,
    /// The part of the run to look at; `None`: all of it.
    pub window: Option<WindowSpec>,
    /// Options by plugin and key.
    pub options: &'a BTreeMap<String, Map<String, Value>>,
    /// Way of plugins over the ranks of a job.
    pub over_ranks: OverRanks<'a>,
    /// Called with the id of each plugin before it runs, or with the rank for one that works rank by rank.
    pub before_each: &'a dyn Fn(&str),
    /// Called with the same when it has ended.
    pub after_each: &'a dyn Fn(&str),
}

static NO_RULES: LazyLock<CategoryRules> = LazyLock::new(CategoryRules::default);
static NO_OPTIONS: BTreeMap<String, Map<String, Value>> = BTreeMap::new();

impl<'a> Request<'a> {
    /// A report of all of one run, without options.
    pub fn new(run: &'a Run, registry: &'a Registry, selection: &'a PluginSelection) -> Self {
        Self {
            run,
            baseline: None,
            reference: None,
            registry,
            selection,
            categories: &NO_RULES,
            window: None,
            options: &NO_OPTIONS,
            over_ranks: OverRanks::default(),
            before_each: &|_| {},
            after_each: &|_| {},
        }
    }
}

/// Way of plugins over the ranks of a job.
#[derive(Clone, Copy)]
pub struct OverRanks<'a> {
    /// Gives all rows at once also to plugins that can work rank by rank. They give the same.
    pub together: bool,
    /// Rows that a plugin which cannot work rank by rank may read at most.
    pub max_rows: u64,
    /// Holds the parts of ranks between reports.
    pub part_cache: Option<&'a PartCache>,
}

impl Default for OverRanks<'_> {
    fn default() -> Self {
        Self {
            together: false,
            max_rows: MAX_ROWS,
            part_cache: None,
        }
    }
}

/// Rows of a job that are given to a plugin at once unless told otherwise: some 5 GB.
pub const MAX_ROWS: u64 = 64_000_000;

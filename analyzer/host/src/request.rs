//! A report to make.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value};
use trueno_engine::run::Run;
use trueno_model::categories::CategoryRules;

use crate::catalog::Lookups;
use crate::part_cache::PartCache;
use crate::plan::PluginSelection;
use crate::plugin::Registry;
use crate::window::WindowSpec;

pub const REFERENCE: &str = "reference_";

pub struct Request<'a> {
    pub run: &'a Run,
    pub baseline: Option<&'a Run>,
    /// A third run that shows which of the two changed. Its tables are published next to those of the run, with
    /// names that begin with `reference_`.
    pub reference: Option<&'a Run>,
    pub registry: &'a Registry,
    pub selection: &'a PluginSelection,
    pub categories: &'a CategoryRules,
    /// `None` means the whole run.
    pub window: Option<WindowSpec>,
    pub options: &'a BTreeMap<String, Map<String, Value>>,
    pub over_ranks: OverRanks<'a>,
    /// Called with the id of each plugin before it runs, or with the rank when working rank by rank.
    pub before_each: &'a dyn Fn(&str),
    pub after_each: &'a dyn Fn(&str),
}

static NO_RULES: LazyLock<CategoryRules> = LazyLock::new(CategoryRules::default);
static NO_OPTIONS: BTreeMap<String, Map<String, Value>> = BTreeMap::new();

impl<'a> Request<'a> {
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

    /// The same over a window, with other plugins. Parts of ranks are neither read from a cache nor added to it.
    pub(crate) fn over<'b>(
        &'b self,
        window: WindowSpec,
        selection: &'b PluginSelection,
    ) -> Request<'b> {
        Request {
            run: self.run,
            baseline: self.baseline,
            reference: self.reference,
            registry: self.registry,
            selection,
            categories: self.categories,
            window: Some(window),
            options: self.options,
            over_ranks: OverRanks {
                part_cache: None,
                ..self.over_ranks
            },
            before_each: self.before_each,
            after_each: self.after_each,
        }
    }
}

#[derive(Clone, Copy)]
pub struct OverRanks<'a> {
    /// Gives all rows at once even to plugins that can work rank by rank. Results are the same.
    pub together: bool,
    /// Limit on rows read by a plugin that cannot work rank by rank.
    pub max_rows: u64,
    pub part_cache: Option<&'a PartCache>,
    /// From the catalog of a run of which some ranks are opened.
    pub lookups: Option<&'a Lookups>,
}

impl Default for OverRanks<'_> {
    fn default() -> Self {
        Self {
            together: false,
            max_rows: MAX_ROWS,
            part_cache: None,
            lookups: None,
        }
    }
}

/// Default limit on rows of a job for one plugin, some 5 GB.
pub const MAX_ROWS: u64 = 64_000_000;

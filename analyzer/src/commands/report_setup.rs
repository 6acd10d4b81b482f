//! Runs, plugins and options of a report, from the command line.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::once;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Map, Value};
use trueno_compare::golden::Opened;
use trueno_compare::tolerances::Tolerances;
use trueno_engine::run::Run;
use trueno_host::plan::PluginSelection;
use trueno_host::plugin::{Registry, Status};
use trueno_host::window::WindowSpec;
use trueno_host::{Catalog, Lookups, OverRanks, PartCache, Request};
use trueno_model::categories::CategoryRules;

use super::ceilings;
use super::options;
use super::runs::Runs;
use super::search::gather;
use super::stderr::Stderr;
use crate::cli::ReportArgs;

const ROOFLINE: &str = "roofline";
const OPERATORS: &str = "operators";
const CRITICAL_PATH: &str = "critical_path";
/// The plugin that `--parallel` applies to.
const STRAGGLERS: &str = "stragglers";

pub(super) struct ReportSetup {
    pub(super) run: Run,
    lookups: Option<Lookups>,
    baseline: Option<Opened>,
    reference: Option<Opened>,
    pub(super) registry: Registry,
    selection: PluginSelection,
    pub(super) categories: CategoryRules,
    options: BTreeMap<String, Map<String, Value>>,
}

impl ReportSetup {
    /// Opens the runs, loads the plugins and checks their options.
    ///
    /// # Errors
    /// One of them cannot be opened.
    pub(super) fn open(
        args: &ReportArgs,
        runs: &Runs<'_>,
        stderr: &Stderr,
    ) -> anyhow::Result<Self> {
        let open = || {
            let paths = once(&args.run).chain(&args.more);
            let paths: Vec<&Path> = paths.map(PathBuf::as_path).collect();
            Ok((runs.open_all(&paths)?, None))
        };
        Self::with(args, open, runs, stderr)
    }

    /// As [`Self::open`], with these ranks of the job only.
    ///
    /// # Errors
    /// As [`Self::open`]; the job is not as the catalog says.
    pub(super) fn open_ranks(
        args: &ReportArgs,
        ranks: &BTreeSet<u32>,
        catalog: Catalog,
        runs: &Runs<'_>,
        stderr: &Stderr,
    ) -> anyhow::Result<Self> {
        let Catalog { job, lookups } = catalog;
        let open = || {
            let run = Run::open_some(&runs.directory(&args.run)?, ranks, job)?;
            Ok((run, Some(lookups)))
        };
        Self::with(args, open, runs, stderr)
    }

    fn with(
        args: &ReportArgs,
        open: impl FnOnce() -> anyhow::Result<(Run, Option<Lookups>)>,
        runs: &Runs<'_>,
        stderr: &Stderr,
    ) -> anyhow::Result<Self> {
        let categories = match &args.categories {
            Some(file) => CategoryRules::read(file)?,
            None => CategoryRules::default(),
        };
        let registry = gather(&args.plugins, stderr)?;
        warn_of_refused(&registry, stderr);
        let mut selection = PluginSelection {
            only: args.only.clone(),
            skip: args.skip.clone(),
        };
        let options = options_of(args, &mut selection)?;
        options::check(&options, &registry)?;
        let (mut run, lookups) = open()?;
        ceilings::give(&mut run, &args.ceilings)?;
        let baseline = baseline(args, runs)?;
        let reference = args.reference.as_deref();
        let reference = reference.map(|path| runs.open_side(path)).transpose()?;
        if registry.plugins.is_empty() {
            anyhow::bail!(registry.nothing_found());
        }
        Ok(Self {
            run,
            lookups,
            baseline,
            reference,
            registry,
            selection,
            categories,
            options,
        })
    }

    pub(super) fn request<'a>(
        &'a self,
        args: &ReportArgs,
        part_cache: Option<&'a PartCache>,
        before_each: &'a dyn Fn(&str),
        after_each: &'a dyn Fn(&str),
    ) -> Request<'a> {
        Request {
            baseline: self.baseline.as_ref().map(Opened::run),
            reference: self.reference.as_ref().map(Opened::run),
            categories: &self.categories,
            window: window_of(args),
            options: &self.options,
            over_ranks: OverRanks {
                together: args.together,
                max_rows: args.max_rows,
                part_cache,
                lookups: self.lookups.as_ref(),
            },
            before_each,
            after_each,
            ..Request::new(&self.run, &self.registry, &self.selection)
        }
    }

    /// The folder of parts, if given.
    ///
    /// # Errors
    /// The run has no ranks; a file that parts depend on cannot be read; the folder cannot be created.
    pub(super) fn part_cache(&self, args: &ReportArgs) -> anyhow::Result<Option<PartCache>> {
        let Some(folder) = &args.parts else {
            return Ok(None);
        };
        if self.run.rank_numbers().is_empty() {
            anyhow::bail!(
                "--parts {}: {} is one run, and parts are of ranks (hint: leave --parts out)",
                folder.display(),
                args.run.display()
            );
        }
        let cache = PartCache::new(folder, &self.request(args, None, &|_| {}, &|_| {}));
        let cache = cache.with_context(|| format!("--parts {}", folder.display()))?;
        Ok(Some(cache))
    }
}

fn warn_of_refused(registry: &Registry, stderr: &Stderr) {
    for entry in &registry.entries {
        if let Status::Refused { why } = &entry.status {
            stderr.warn(&format!("plugin not loaded: {why}"));
        }
    }
}

fn options_of(
    args: &ReportArgs,
    selection: &mut PluginSelection,
) -> anyhow::Result<BTreeMap<String, Map<String, Value>>> {
    let mut options = options::gather(args.options_file.as_deref(), &args.set)?;
    if args.compare_backends {
        selection.only.push(ROOFLINE.to_owned());
        options
            .entry(ROOFLINE.to_owned())
            .or_default()
            .insert("compare_backends".to_owned(), Value::Bool(true));
    }
    let tolerances = Tolerances::given(&args.tolerance)?.options();
    if !tolerances.is_empty() {
        options
            .entry("divergence".to_owned())
            .or_default()
            .extend(tolerances);
    }
    if let Some(file) = &args.operators {
        let rules = std::fs::read_to_string(file)
            .with_context(|| format!("--operators {}: cannot be read", file.display()))?;
        options
            .entry(OPERATORS.to_owned())
            .or_default()
            .insert("rules".to_owned(), Value::from(rules));
    }
    if let Some(parallel) = &args.parallel {
        options
            .entry(STRAGGLERS.to_owned())
            .or_default()
            .insert("parallel".to_owned(), Value::from(parallel.clone()));
    }
    if !args.what_if.is_empty() {
        select_critical_path(selection)?;
        options
            .entry(CRITICAL_PATH.to_owned())
            .or_default()
            .insert("what_if".to_owned(), Value::from(args.what_if.clone()));
    }
    Ok(options)
}

/// Selects the critical path plugin if a prediction was requested, whatever else is selected.
fn select_critical_path(selection: &mut PluginSelection) -> anyhow::Result<()> {
    anyhow::ensure!(
        !selection.skip.iter().any(|skip| skip == CRITICAL_PATH),
        "--what-if: {CRITICAL_PATH} predicts, and --skip {CRITICAL_PATH} leaves it out (hint: give one of the two)"
    );
    if !selection.only.is_empty() {
        selection.only.push(CRITICAL_PATH.to_owned());
    }
    Ok(())
}

/// The baseline. Several runs are allowed only if a plugin can distinguish them.
fn baseline(args: &ReportArgs, runs: &Runs<'_>) -> anyhow::Result<Option<Opened>> {
    Ok(match args.baseline.as_slice() {
        [] => None,
        [one] => Some(runs.open_side(one)?),
        several if args.compare_backends => {
            let several = several.iter().map(|path| runs.directory(path));
            Some(Opened::together(
                &several.collect::<anyhow::Result<Vec<_>>>()?,
            )?)
        }
        several => anyhow::bail!(
            "a report is compared with one run, not with {} (hint: --compare-backends takes several; \
             `trueno-analyze compare` takes repetitions)",
            several.len()
        ),
    })
}

fn window_of(args: &ReportArgs) -> Option<WindowSpec> {
    let times = || {
        let any = args.from.is_some() || args.to.is_some();
        any.then_some(WindowSpec::Times(args.from, args.to))
    };
    args.window.clone().or_else(times)
}

//! Makes a report: plan, run each plugin, gather what it gave.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::thread;

use serde_json::{Map, Value};
use trueno_engine::cores;
use trueno_engine::query::Database;
use trueno_engine::run::{Run, RunError};
use trueno_model::{Header, HeaderWindow, Level, Problem, Report, Window};

use crate::by_rank::{self, Made};
use crate::coverage::coverage_of;
use crate::name_tables::NameTables;
use crate::plan::{PluginSelection, Step, UnknownPlugin, plan};
use crate::plugin::{Entry, Registry, Stage, Status};
use crate::request::{REFERENCE, Request};
use crate::rows::{Rows, of_rank};
use crate::sections::{OfWindow, Sections};
use crate::side_by_side::{self, Databases};
use crate::window::{self, WindowError};

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    #[error(transparent)]
    UnknownPlugin(#[from] UnknownPlugin),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Window(#[from] WindowError),
}

/// Runs the plugins and gathers the report. A plugin that fails loses only its own section.
///
/// # Errors
/// See [`BuildError`].
pub fn build(request: &Request<'_>) -> Result<Report, BuildError> {
    let plugins = &request.registry.plugins;
    let (registry, options, selection) = (request.registry, request.options, request.selection);
    let (steps, prepared) = thread::scope(|scope| {
        let steps = scope.spawn(|| steps(registry, options, selection));
        let prepared = PreparedRun::new(request);
        let steps = steps.join().unwrap_or_else(|panic| resume_unwind(panic));
        (steps, prepared)
    });
    let steps = steps?;
    let PreparedRun {
        mut tables,
        rows,
        mut problems,
    } = prepared?;
    let wall_ns = request.run.facts().wall_ns;
    let mut sections = Sections::new(request, &steps);
    let coverage = thread::scope(|scope| {
        let coverage =
            scope.spawn(|| coverage_of(&rows, wall_ns).map_err(|error| error.to_string()));
        tables.run_all(request, &steps, rows.ranks(), &mut sections);
        let panicked = |_| Err("the analyzer panicked (this is a bug of the analyzer)".to_owned());
        coverage.join().unwrap_or_else(panicked)
    });
    let mut header = header(request.run, coverage, &mut problems);
    let of_window = tables.window.map(|window| {
        let reads = |step: &&Step| plugins[step.plugin].descriptor.reads(window::TABLE);
        let shown = steps.iter().filter(|step| step.shown);
        let plugins = shown.filter(reads).map(|step| step.id.clone()).collect();
        (window, plugins)
    });
    let window = of_window.or_else(|| sections.part());
    header.window = window.map(|(window, plugins)| HeaderWindow { window, plugins });
    let sections = sections.in_order(&mut problems);
    Ok(Report {
        header,
        sections,
        problems,
    })
}

/// Runs the plugins over the window of the request, which must have one. Problems of the run itself are left out.
fn of_window(request: &Request<'_>) -> Result<OfWindow, BuildError> {
    let steps = steps(request.registry, request.options, request.selection)?;
    let PreparedRun {
        mut tables, rows, ..
    } = PreparedRun::new(request)?;
    let mut sections = Sections::new(request, &steps);
    tables.run_all(request, &steps, rows.ranks(), &mut sections);
    let window = tables.window.ok_or(WindowError::NoEnd)?;
    let mut problems = Vec::new();
    let sections = sections.in_order(&mut problems);
    Ok(OfWindow {
        window,
        sections,
        problems,
    })
}

/// Computes the parts of some ranks of a job. [`build`] in another process merges them.
///
/// # Errors
/// See [`BuildError`].
pub fn make_parts(request: &Request<'_>, only: &BTreeSet<u32>) -> Result<Made, BuildError> {
    let steps = steps(request.registry, request.options, request.selection)?;
    let PreparedRun {
        mut tables, rows, ..
    } = PreparedRun::new(request)?;
    let known = rows.ranks();
    if let Some(rank) = only.iter().find(|rank| !known.contains(rank)) {
        return Err(BuildError::Run(RunError::NoSuchRank {
            rank: *rank,
            known: trueno_model::ranks(known),
        }));
    }
    let mut sections = Sections::new(request, &steps);
    Ok(tables.rank_by_rank(request, &steps, known, Some(only), &mut sections))
}

fn steps(
    registry: &Registry,
    options: &BTreeMap<String, Map<String, Value>>,
    selection: &PluginSelection,
) -> Result<Vec<Step>, UnknownPlugin> {
    let plugins = &registry.plugins;
    let unknown = |id: &&String| registry.get(id).is_none();
    if let Some(name) = options.keys().find(unknown) {
        let known = plugins.iter().map(|plugin| plugin.descriptor.id.clone());
        return Err(UnknownPlugin {
            flag: "--set",
            name: name.clone(),
            known: known.collect(),
        });
    }
    let descriptors: Vec<_> = plugins.iter().map(|plugin| &plugin.descriptor).collect();
    plan(&descriptors, selection)
}

struct PreparedRun<'a> {
    tables: Tables,
    rows: Rows<'a>,
    problems: Vec<Problem>,
}

struct Tables {
    database: Database,
    baseline: Option<Database>,
    names: Option<NameTables>,
    window: Option<Window>,
}

impl Tables {
    fn run_all(
        &mut self,
        request: &Request<'_>,
        steps: &[Step],
        ranks: &[u32],
        sections: &mut Sections<'_>,
    ) {
        if !ranks.is_empty() && !request.over_ranks.together {
            self.rank_by_rank(request, steps, ranks, None, sections);
            return;
        }
        let databases = Databases {
            subject: &mut self.database,
            baseline: self.baseline.as_ref(),
        };
        let plugins = &request.registry.plugins;
        let threads = cores::count();
        side_by_side::run_all(steps, plugins, Stage::Whole, threads, databases, sections);
    }

    fn rank_by_rank(
        &mut self,
        request: &Request<'_>,
        steps: &[Step],
        ranks: &[u32],
        only: Option<&BTreeSet<u32>>,
        sections: &mut Sections<'_>,
    ) -> Made {
        let (names, window) = (self.names.as_ref(), self.window.as_ref());
        let open = |rank| open(request.run, rank, names, window);
        let in_window =
            |window, selection: &PluginSelection| of_window(&request.over(window, selection)).ok();
        let ranks = by_rank::Ranks {
            numbers: ranks,
            open: &open,
            in_window: &in_window,
            window,
        };
        let databases = Databases {
            subject: &mut self.database,
            baseline: self.baseline.as_ref(),
        };
        by_rank::run_all(request, steps, &ranks, only, databases, sections)
    }
}

impl<'a> PreparedRun<'a> {
    fn new(request: &Request<'a>) -> Result<Self, BuildError> {
        let mut database = request.run.sql_context()?;
        let mut baseline = request.baseline.map(Run::sql_context).transpose()?;
        let reference = request.reference.map(Run::sql_context).transpose()?;
        if let Some(reference) = &reference {
            database.register_all(REFERENCE, reference);
        }
        let mut problems: Vec<Problem> = request.run.problems().to_vec();
        problems.extend(request.registry.entries.iter().filter_map(from_entry));
        let rows = Rows::new(request.run, &database);
        let lookups = request.over_ranks.lookups;
        let known = lookups.map(|lookups| &lookups.names);
        let names = NameTables::make(request.categories, &rows, known, baseline.as_ref());
        let names = names.inspect_err(|why| {
            problems.push(Problem {
                severity: Level::Warning,
                code: "category_rules_not_applied".into(),
                text: format!("rules for names without a category were not applied: {why}"),
            });
        });
        let names = names.ok();
        let wall_ns = request.run.facts().wall_ns;
        let window = match &request.window {
            Some(wanted) => Some(match lookups.and_then(|lookups| lookups.window(wanted)) {
                Some(window) => window,
                None => wanted.find(&rows, wall_ns)?,
            }),
            None => None,
        };
        publish(&mut database, names.as_ref(), window.as_ref()).map_err(WindowError::Query)?;
        if let (Some(names), Some(baseline)) = (&names, &mut baseline) {
            names.publish_of_baseline(baseline);
        }
        Ok(Self {
            tables: Tables {
                database,
                baseline,
                names,
                window,
            },
            rows,
            problems,
        })
    }
}

fn publish(
    database: &mut Database,
    names: Option<&NameTables>,
    window: Option<&Window>,
) -> Result<(), String> {
    if let Some(names) = names {
        names.publish(database);
    }
    window.map_or(Ok(()), |window| window::publish(window, database))
}

fn open(
    run: &Run,
    rank: u32,
    names: Option<&NameTables>,
    window: Option<&Window>,
) -> Result<Database, String> {
    let mut database = of_rank(run, rank).map_err(|error| error.to_string())?;
    publish(&mut database, names, window)?;
    Ok(database)
}

fn header(run: &Run, coverage: Result<Option<f64>, String>, problems: &mut Vec<Problem>) -> Header {
    let facts = run.facts().clone();
    let coverage = coverage.unwrap_or_else(|error| {
        let text = format!("how much of the wall time is covered is not known: {error}");
        problems.push(Problem {
            severity: Level::Warning,
            code: "coverage_not_measured".into(),
            text,
        });
        None
    });
    Header {
        spans: facts.intervals(),
        facts,
        coverage,
        window: None,
    }
}

/// Problem of a refused library. It is named without its folder, so that a report does not depend on where plugins
/// lie.
fn from_entry(entry: &Entry) -> Option<Problem> {
    let Status::Refused { why } = &entry.status else {
        return None;
    };
    let mut text = why.clone();
    if let Some(dir) = entry
        .file
        .parent()
        .filter(|dir| !dir.as_os_str().is_empty())
    {
        let last = dir
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let dir = dir.display().to_string();
        text = text.replace(&format!("{dir}/"), "").replace(&dir, &last);
    }
    Some(Problem {
        severity: Level::Warning,
        code: "plugin_refused".into(),
        text: format!("plugin not loaded: {text}"),
    })
}

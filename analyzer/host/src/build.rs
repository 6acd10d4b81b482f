//! Makes a report: plan, run each plugin, gather what it gave.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use trueno_engine::closed_types;
use trueno_engine::query::Database;
use trueno_engine::run::{Run, RunError};
use trueno_model::categories::CategoryRules;
use trueno_model::{Finding, Header, HeaderWindow, Level, Problem, Report, Section, SectionStatus};
use trueno_plugin::{Column, Table};

use crate::category_table;
use crate::coverage::coverage;
use crate::plan::{Blocked, Step, UnknownPlugin, Wish, plan};
use crate::plugin::{Entry, Outcome, Plugin, Registry, Sources, Status, Taken, run};
use crate::window::{self, Wanted, WindowError};

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
    /// Told the id of each plugin before it runs.
    pub before_each: &'a dyn Fn(&str),
}

/// The reason why there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A flag names a plugin that is not there.
    #[error(transparent)]
    UnknownPlugin(#[from] UnknownPlugin),
    /// A table of a run cannot be published.
    #[error(transparent)]
    Run(#[from] RunError),
    /// There is no such part of the run.
    #[error(transparent)]
    Window(#[from] WindowError),
}

/// Runs the plugins and gathers the report. What goes wrong in a plugin costs its own section.
///
/// # Errors
/// See [`BuildError`].
pub fn build(request: &Request<'_>) -> Result<Report, BuildError> {
    let plugins = &request.registry.plugins;
    if let Some(name) = request
        .options
        .keys()
        .find(|id| request.registry.get(id).is_none())
    {
        let known = plugins
            .iter()
            .map(|plugin| plugin.descriptor.id.clone())
            .collect();
        return Err(UnknownPlugin {
            flag: "--set",
            name: name.clone(),
            known,
        }
        .into());
    }
    let descriptors: Vec<_> = plugins.iter().map(|plugin| &plugin.descriptor).collect();
    let steps = plan(&descriptors, request.wish)?;
    let mut database = request.run.sql_context()?;
    let mut baseline = request.baseline.map(Run::sql_context).transpose()?;

    let reference = request.reference.map(Run::sql_context).transpose()?;
    if let Some(reference) = &reference {
        database.register_all(REFERENCE, reference);
    }

    let mut problems: Vec<Problem> = request.run.problems().to_vec();
    problems.extend(request.registry.entries.iter().filter_map(from_entry));
    for database in [Some(&mut database), baseline.as_mut()]
        .into_iter()
        .flatten()
    {
        if let Err(why) = category_table::publish(request.categories, database) {
            problems.push(Problem {
                severity: Level::Warning,
                code: "category_rules_not_applied".into(),
                text: format!("names without a category have none: {why}"),
            });
        }
    }
    let wall_ns = request.run.facts().wall_ns;
    let window = match &request.window {
        Some(wanted) => Some(wanted.find(&database, wall_ns)?),
        None => None,
    };
    let mut header = header(request.run, &database, &mut problems);
    if let Some(window) = window {
        window::publish(&window, &mut database).map_err(WindowError::Query)?;
        let reads = |step: &&Step| plugins[step.plugin].descriptor.reads(window::TABLE);
        let shown = steps.iter().filter(|step| step.shown);
        header.window = Some(HeaderWindow {
            window,
            plugins: shown.filter(reads).map(|step| step.id.clone()).collect(),
        });
    }

    let mut sections = Vec::new();
    let mut statuses: BTreeMap<&str, SectionStatus> = BTreeMap::new();
    for (i, step) in steps.iter().enumerate() {
        let plugin = &plugins[step.plugin];
        keep_columns(&steps[i..], plugins, &database, baseline.as_ref());
        let section = match why_not(step, &statuses) {
            Some((status, message)) => empty_section(plugin, status, message),
            None => {
                (request.before_each)(&step.id);
                let options = request.options.get(&step.id).map_or_else(
                    || "{}".to_owned(),
                    |keys| Value::Object(keys.clone()).to_string(),
                );
                let sources = Sources {
                    subject: &database,
                    baseline: baseline.as_ref(),
                };
                let outcome = run(plugin, sources, &options);
                problems.extend(wrote(&step.id, &outcome));
                section(plugin, outcome)
            }
        };
        statuses.insert(&step.id, section.status);
        if section.status == SectionStatus::Ok {
            publish(&section, &steps[i + 1..], &mut database, &mut problems);
        }
        if step.shown {
            problems.extend(
                section
                    .tables
                    .iter()
                    .filter_map(|table| not_a_number(&section.plugin, table)),
            );
            sections.push(section);
        }
    }
    Ok(Report {
        header,
        sections,
        problems,
    })
}

/// Lets go of columns in memory that no plugin reads any more.
fn keep_columns(
    steps: &[Step],
    plugins: &[Plugin],
    subject: &Database,
    baseline: Option<&Database>,
) {
    let inputs = || {
        let plugins = steps.iter().map(|step| &plugins[step.plugin]);
        plugins.flat_map(|plugin| &plugin.descriptor.inputs)
    };
    let of = |baseline: bool| {
        let inputs = inputs().filter(move |input| input.baseline == baseline);
        inputs.map(|input| input.sql.as_str())
    };
    subject.keep_columns_of(of(false));
    if let Some(baseline) = baseline {
        baseline.keep_columns_of(of(true));
    }
}

fn header(run: &Run, database: &Database, problems: &mut Vec<Problem>) -> Header {
    let facts = run.facts().clone();
    let coverage = coverage(database, facts.wall_ns).unwrap_or_else(|error| {
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

/// The reason why a step cannot run: the plan says so, or something it needs has failed since.
fn why_not(
    step: &Step,
    statuses: &BTreeMap<&str, SectionStatus>,
) -> Option<(SectionStatus, String)> {
    match &step.blocked {
        Some(Blocked::Cycle(why)) => return Some((SectionStatus::Failed, why.clone())),
        Some(Blocked::Missing(why)) => return Some((SectionStatus::Skipped, why.clone())),
        None => {}
    }
    step.needs
        .iter()
        .filter(|need| !need.optional)
        .find_map(|need| {
            let became = match statuses.get(need.plugin.as_str())? {
                SectionStatus::Ok => return None,
                SectionStatus::Failed => "failed",
                SectionStatus::Skipped => "was skipped",
            };
            let message = format!(
                "it reads {}.{}, and {} {became}",
                need.plugin, need.table, need.plugin
            );
            Some((SectionStatus::Skipped, message))
        })
}

fn empty_section(plugin: &Plugin, status: SectionStatus, message: String) -> Section {
    Section {
        plugin: plugin.descriptor.id.clone(),
        version: plugin.descriptor.version.clone(),
        summary: plugin.descriptor.summary.clone(),
        status,
        message: Some(message),
        tables: Vec::new(),
        findings: Vec::new(),
        charts: Vec::new(),
    }
}

/// Problem of output that it should not have printed.
fn wrote(id: &str, outcome: &Outcome) -> Option<Problem> {
    let taken = match outcome {
        Outcome::Finished(taken) | Outcome::Failed { taken, .. } => taken,
        Outcome::Skipped { .. } => return None,
    };
    taken.wrote.as_ref().map(|note| Problem {
        severity: Level::Info,
        code: "plugin_wrote_output".into(),
        text: format!("plugin {id}: {note}"),
    })
}

fn section(plugin: &Plugin, outcome: Outcome) -> Section {
    let (status, message, taken) = match outcome {
        Outcome::Finished(taken) => (SectionStatus::Ok, None, taken),
        Outcome::Failed { message, taken, .. } => (SectionStatus::Failed, Some(message), taken),
        Outcome::Skipped { message } => (SectionStatus::Skipped, Some(message), Taken::default()),
    };
    let Taken {
        tables,
        findings,
        charts,
        ..
    } = taken;
    let findings: Vec<Finding> = findings;
    let mut section = empty_section(plugin, status, String::new());
    section.message = message;
    (section.tables, section.findings, section.charts) = (tables, findings, charts);
    section
}

/// Registers the tables that later plugins read, as `plugin.table`.
fn publish(
    section: &Section,
    later: &[Step],
    database: &mut Database,
    problems: &mut Vec<Problem>,
) {
    let needs = later
        .iter()
        .flat_map(|step| &step.needs)
        .filter(|need| need.plugin == section.plugin);
    let asked: BTreeSet<&str> = needs.map(|need| need.table.as_str()).collect();
    for table in section
        .tables
        .iter()
        .filter(|table| asked.contains(table.name()))
    {
        match closed_types::to_frame(table) {
            Ok(frame) => database.register(&format!("{}.{}", section.plugin, table.name()), frame),
            Err(why) => {
                let text = format!(
                    "table {}.{} cannot be read by other plugins: {why}",
                    section.plugin,
                    table.name()
                );
                problems.push(Problem {
                    severity: Level::Warning,
                    code: "table_not_published".into(),
                    text,
                });
            }
        }
    }
}

/// A refused library, named without its folder: the same run gives the same report wherever plugins lie.
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

fn not_a_number(plugin: &str, table: &Table) -> Option<Problem> {
    let odd = |column: &Column| match column {
        Column::F64(values) => values
            .iter()
            .flatten()
            .filter(|value| !value.is_finite())
            .count(),
        _ => 0,
    };
    let columns: Vec<String> = table
        .columns()
        .filter_map(|(name, column)| Some((name, odd(column))).filter(|(_, count)| *count > 0))
        .map(|(name, count)| format!("{name} ({count})"))
        .collect();
    if columns.is_empty() {
        return None;
    }
    let text = format!(
        "table {plugin}.{} has values that are not a finite number, null in JSON: {}",
        table.name(),
        columns.join(", ")
    );
    Some(Problem {
        severity: Level::Warning,
        code: "not_a_number".into(),
        text,
    })
}

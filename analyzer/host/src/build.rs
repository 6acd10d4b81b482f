//! Makes a report: plan, run each plugin, gather what it gave.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;

use serde_json::{Map, Value};
use trueno_engine::query::Database;
use trueno_engine::run::{Run, RunError};
use trueno_engine::{closed_types, cores};
use trueno_model::categories::CategoryRules;
use trueno_model::{Finding, Header, HeaderWindow, Level, Problem, Report, Section, SectionStatus};
use trueno_plugin::{Column, Table};

use crate::by_rank;
use crate::coverage::coverage_of;
use crate::name_tables::NameTables;
use crate::plan::{Blocked, Step, UnknownPlugin, Wish, plan, tables_of};
use crate::plugin::{Entry, Outcome, Plugin, Registry, Stage, Status, Taken};
use crate::rows::{Rows, of_rank};
use crate::side_by_side::{self, Databases, Watch};
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
    /// How plugins go over the ranks of a job.
    pub over_ranks: OverRanks,
    /// Told the id of each plugin before it runs; of those that work rank by rank, the rank.
    pub before_each: &'a dyn Fn(&str),
    /// Told it again when it has ended.
    pub after_each: &'a dyn Fn(&str),
}

/// How plugins go over the ranks of a job.
#[derive(Clone, Copy, Debug)]
pub struct OverRanks {
    /// Gives all rows at once also to plugins that can work rank by rank. They give the same.
    pub together: bool,
    /// Rows that a plugin which cannot work rank by rank may read at most.
    pub most_rows: u64,
}

impl Default for OverRanks {
    fn default() -> Self {
        Self {
            together: false,
            most_rows: MOST_ROWS,
        }
    }
}

/// Rows of a job that are given to a plugin at once unless told otherwise: some 5 GB.
pub const MOST_ROWS: u64 = 64_000_000;

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
    let rows = Rows::new(request.run, &database);
    let names = NameTables::make(request.categories, &rows, baseline.as_ref());
    let names = names.inspect_err(|why| {
        problems.push(Problem {
            severity: Level::Warning,
            code: "category_rules_not_applied".into(),
            text: format!("names without a category have none: {why}"),
        });
    });
    let names = names.ok();
    let wall_ns = request.run.facts().wall_ns;
    let window = match &request.window {
        Some(wanted) => Some(wanted.find(&rows, wall_ns)?),
        None => None,
    };
    // The same in the database of the run and in those of its ranks.
    let publish = |database: &mut Database| {
        if let Some(names) = &names {
            names.publish(database);
        }
        match &window {
            Some(window) => window::publish(window, database),
            None => Ok(()),
        }
    };
    publish(&mut database).map_err(WindowError::Query)?;
    if let (Some(names), Some(baseline)) = (&names, &mut baseline) {
        names.publish_of_baseline(baseline);
    }

    let mut sections = Sections {
        request,
        steps: &steps,
        plugins,
        made: steps.iter().map(|_| None).collect(),
    };
    let databases = Databases {
        subject: &mut database,
        baseline: baseline.as_ref(),
    };
    let coverage = thread::scope(|scope| {
        let coverage =
            scope.spawn(|| coverage_of(&rows, wall_ns).map_err(|error| error.to_string()));
        match rows.ranks().is_empty() || request.over_ranks.together {
            true => side_by_side::run_all(
                &steps,
                plugins,
                Stage::Whole,
                cores::count(),
                databases,
                &mut sections,
            ),
            false => {
                let open = |rank| {
                    let mut database =
                        of_rank(request.run, rank).map_err(|error| error.to_string())?;
                    publish(&mut database)?;
                    Ok(database)
                };
                let ranks = by_rank::Ranks {
                    numbers: rows.ranks(),
                    open: &open,
                };
                by_rank::run_all(request, &steps, &ranks, databases, &mut sections);
            }
        }
        let panicked = |_| Err("the analyzer panicked (this is a bug of the analyzer)".to_owned());
        coverage.join().unwrap_or_else(panicked)
    });
    let mut header = header(request.run, coverage, &mut problems);
    if let Some(window) = window {
        let reads = |step: &&Step| plugins[step.plugin].descriptor.reads(window::TABLE);
        let shown = steps.iter().filter(|step| step.shown);
        header.window = Some(HeaderWindow {
            window,
            plugins: shown.filter(reads).map(|step| step.id.clone()).collect(),
        });
    }
    let sections = sections.in_order(&mut problems);
    Ok(Report {
        header,
        sections,
        problems,
    })
}

/// Sections in the making.
pub(crate) struct Sections<'a> {
    request: &'a Request<'a>,
    steps: &'a [Step],
    plugins: &'a [Plugin],
    /// By step: a section, and what is to be said of it.
    made: Vec<Option<(Section, Vec<Problem>)>>,
}

impl Watch for Sections<'_> {
    fn begin(&mut self, step: usize) -> Option<String> {
        let of = &self.steps[step];
        if let Some((status, message)) = self.why_not(of) {
            let section = empty_section(&self.plugins[of.plugin], status, message);
            self.made[step] = Some((section, Vec::new()));
            return None;
        }
        (self.request.before_each)(&of.id);
        Some(self.options(step))
    }

    fn end(&mut self, step: usize, outcome: Outcome, database: &mut Database) {
        let of = &self.steps[step];
        (self.request.after_each)(&of.id);
        let mut problems: Vec<Problem> = wrote(&of.id, &outcome).into_iter().collect();
        let section = section(&self.plugins[of.plugin], outcome);
        if section.status == SectionStatus::Ok {
            publish(&section, self.steps, database, &mut problems);
        }
        self.made[step] = Some((section, problems));
    }
}

impl<'a> Sections<'a> {
    /// The options of a plugin, a JSON object.
    pub(crate) fn options(&self, step: usize) -> String {
        let options = self.request.options.get(&self.steps[step].id);
        options.map_or_else(
            || "{}".to_owned(),
            |keys| Value::Object(keys.clone()).to_string(),
        )
    }

    /// The plugin of a step.
    pub(crate) fn plugin(&self, step: usize) -> &'a Plugin {
        &self.plugins[self.steps[step].plugin]
    }

    /// The reason why a plugin that gets all rows at once does not: there are too many.
    pub(crate) fn too_many(&self, step: usize) -> Option<String> {
        let inputs = self.plugin(step).descriptor.inputs.iter();
        let read = inputs.filter(|input| !input.baseline).flat_map(tables_of);
        let read: BTreeSet<String> = read.collect();
        let tables = self.request.run.tables().into_iter();
        let rows = tables.filter(|table| read.contains(&table.name));
        let rows = rows.filter_map(|table| table.rows);
        let rows = rows.fold(0, u64::saturating_add);
        let most = self.request.over_ranks.most_rows;
        (rows > most).then(|| {
            format!(
                "it reads {rows} rows of all ranks at once, and {most} at most are given (hint: --most-rows N, at some 80 bytes of memory a row; or open fewer ranks)"
            )
        })
    }

    /// Takes the reason why a step did not run.
    pub(crate) fn skip(&mut self, step: usize, message: String) {
        let section = empty_section(self.plugin(step), SectionStatus::Skipped, message);
        self.made[step] = Some((section, Vec::new()));
    }

    /// Adds what is to be said of a step that has ended.
    pub(crate) fn say(&mut self, step: usize, problems: Vec<Problem>) {
        if let Some((_, said)) = &mut self.made[step] {
            said.extend(problems);
        }
    }

    /// The reason why a step cannot run: the plan says so, or something it needs has failed since.
    fn why_not(&self, step: &Step) -> Option<(SectionStatus, String)> {
        match &step.blocked {
            Some(Blocked::Cycle(why)) => return Some((SectionStatus::Failed, why.clone())),
            Some(Blocked::Missing(why)) => return Some((SectionStatus::Skipped, why.clone())),
            None => {}
        }
        let status = |id: &str| {
            let place = self.steps.iter().position(|step| step.id == id)?;
            let (section, _) = self.made[place].as_ref()?;
            Some(section.status)
        };
        let mut needs = step.needs.iter().filter(|need| !need.optional);
        needs.find_map(|need| {
            let became = match status(&need.plugin)? {
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

    /// Those that are shown, in the order of the plan, and what is to be said of all.
    fn in_order(self, problems: &mut Vec<Problem>) -> Vec<Section> {
        let mut sections = Vec::new();
        for (step, made) in self.steps.iter().zip(self.made) {
            let Some((section, own)) = made else {
                continue;
            };
            problems.extend(own);
            if step.shown {
                let tables = section.tables.iter();
                problems.extend(tables.filter_map(|table| not_a_number(&section.plugin, table)));
                sections.push(section);
            }
        }
        sections
    }
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

/// Registers the tables that other plugins read, as `plugin.table`.
fn publish(
    section: &Section,
    steps: &[Step],
    database: &mut Database,
    problems: &mut Vec<Problem>,
) {
    let needs = steps
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

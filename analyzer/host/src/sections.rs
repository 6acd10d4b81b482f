//! Sections of a report in the making.

use std::collections::BTreeSet;

use serde_json::Value;
use trueno_engine::closed_types;
use trueno_engine::query::Database;
use trueno_model::{Finding, Level, Problem, Section, SectionStatus, Window};
use trueno_plugin::{Column, Table};

use crate::plan::{Blocked, Step};
use crate::plugin::{Outcome, Plugin, PluginOutput};
use crate::request::Request;
use crate::side_by_side::Watch;
use crate::window;

pub(crate) struct Sections<'a> {
    request: &'a Request<'a>,
    steps: &'a [Step],
    plugins: &'a [Plugin],
    made: Vec<Option<(Section, Vec<Problem>)>>,
    /// A part of the run, and the steps that analysed only it although the report is about the whole run.
    in_part: Option<(Window, Vec<usize>)>,
}

/// Sections about a window.
pub(crate) struct OfWindow {
    pub(crate) window: Window,
    pub(crate) sections: Vec<Section>,
    pub(crate) problems: Vec<Problem>,
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
    pub(crate) fn new(request: &'a Request<'a>, steps: &'a [Step]) -> Self {
        Self {
            request,
            steps,
            plugins: &request.registry.plugins,
            made: steps.iter().map(|_| None).collect(),
            in_part: None,
        }
    }

    pub(crate) fn options(&self, step: usize) -> String {
        let options = self.request.options.get(&self.steps[step].id);
        options.map_or_else(
            || "{}".to_owned(),
            |keys| Value::Object(keys.clone()).to_string(),
        )
    }

    pub(crate) fn plugin(&self, step: usize) -> &'a Plugin {
        &self.plugins[self.steps[step].plugin]
    }

    pub(crate) fn request(&self) -> &'a Request<'a> {
        self.request
    }

    pub(crate) fn skip(&mut self, step: usize, message: String) {
        (self.request.after_each)(&self.steps[step].id);
        let section = empty_section(self.plugin(step), SectionStatus::Skipped, message);
        self.made[step] = Some((section, Vec::new()));
    }

    /// Takes over sections about a window of the run, and publishes their tables.
    pub(crate) fn add_part(&mut self, steps: &[usize], part: OfWindow, database: &mut Database) {
        let OfWindow {
            window,
            sections,
            mut problems,
        } = part;
        if let Err(why) = window::publish_part(&window, database) {
            problems.push(not_published("report_part", &why));
        }
        for section in sections {
            let of_plugin = |step: &&usize| self.steps[**step].id == section.plugin;
            let Some(&step) = steps.iter().find(of_plugin) else {
                continue;
            };
            if section.status == SectionStatus::Ok {
                publish(&section, self.steps, database, &mut problems);
            }
            self.made[step] = Some((section, std::mem::take(&mut problems)));
        }
        self.in_part = Some((window, steps.to_vec()));
    }

    /// The part of the run that some sections are about, and the ids of those that are shown.
    pub(crate) fn part(&self) -> Option<(Window, Vec<String>)> {
        let (window, steps) = self.in_part.as_ref()?;
        let is_done = |step: &&usize| {
            let made = self.made[**step].as_ref();
            self.steps[**step].shown
                && made.is_some_and(|made| made.0.status != SectionStatus::Skipped)
        };
        let done = steps.iter().filter(is_done);
        let ids: Vec<String> = done.map(|step| self.steps[*step].id.clone()).collect();
        (!ids.is_empty()).then(|| (window.clone(), ids))
    }

    pub(crate) fn say(&mut self, step: usize, problems: Vec<Problem>) {
        if let Some((_, said)) = &mut self.made[step] {
            said.extend(problems);
        }
    }

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

    /// The shown sections, in the order of the plan. Problems of all steps are added to `problems`.
    pub(crate) fn in_order(self, problems: &mut Vec<Problem>) -> Vec<Section> {
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
        Outcome::Skipped { message } => (
            SectionStatus::Skipped,
            Some(message),
            PluginOutput::default(),
        ),
    };
    let PluginOutput {
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
                let name = format!("{}.{}", section.plugin, table.name());
                problems.push(not_published(&name, &why));
            }
        }
    }
}

fn not_published(table: &str, why: &str) -> Problem {
    Problem {
        severity: Level::Warning,
        code: "table_not_published".into(),
        text: format!("table {table} cannot be read by other plugins: {why}"),
    }
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

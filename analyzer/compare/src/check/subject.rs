//! The run that is checked, and what plugins say of it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::{Map, Value};
use trueno_engine::query::Database;
use trueno_engine::run::{Run, RunError};
use trueno_host::plan::PluginSelection;
use trueno_host::plugin::Registry;
use trueno_host::window::WindowSpec;
use trueno_host::{Request, build};
use trueno_model::categories::CategoryRules;
use trueno_model::{Report, SectionStatus};
use trueno_plugin::Table;

use super::loss::{Missing, Tables, missing};
use crate::golden::Opened;

pub struct Subject<'a> {
    pub run: &'a Run,
    pub shown: String,
    pub database: Database,
    pub golden: Option<(&'a Opened, String)>,
    pub reference: Option<&'a Run>,
    pub registry: &'a Registry,
    pub rules: &'a CategoryRules,
    /// Reports by plugin, window and options: assertions often need the same one.
    reports: RefCell<BTreeMap<String, Rc<Result<Report, String>>>>,
}

impl<'a> Subject<'a> {
    /// Opens the run's tables.
    ///
    /// # Errors
    /// They cannot be published.
    pub fn new(
        run: &'a Run,
        shown: String,
        golden: Option<(&'a Opened, String)>,
        registry: &'a Registry,
        rules: &'a CategoryRules,
    ) -> Result<Self, RunError> {
        Ok(Self {
            run,
            shown,
            database: run.sql_context()?,
            golden,
            reference: None,
            registry,
            rules,
            reports: RefCell::default(),
        })
    }

    pub fn with_reference(self, reference: Option<&'a Run>) -> Self {
        Self { reference, ..self }
    }

    pub(super) fn missing(&self, tables: &Tables) -> Option<Missing> {
        let golden = self.golden.as_ref().map(|(golden, _)| *golden);
        missing(tables, self.run, golden, self.reference)
    }

    /// All tables of a plugin's report.
    ///
    /// # Errors
    /// The reason for there being none.
    pub fn tables(&self, plugin: &str, window: Option<&WindowSpec>) -> Result<Vec<Table>, String> {
        // Nobody asks what gains there would be, and they take the longest.
        let few = [("opportunity_names", 0), ("slack_rows", 0)];
        let few = few
            .into_iter()
            .filter(|_| plugin == "critical_path")
            .map(|(key, value)| (key.to_owned(), Value::from(value)));
        self.tables_by(plugin, window, few.collect())
    }

    fn tables_by(
        &self,
        plugin: &str,
        window: Option<&WindowSpec>,
        options: Map<String, Value>,
    ) -> Result<Vec<Table>, String> {
        if self.registry.get(plugin).is_none() {
            return Err(format!("there is no plugin {plugin}"));
        }
        let shown = Value::Object(options.clone());
        let key = format!("{plugin} {window:?} {shown}");
        let known = self.reports.borrow().get(&key).cloned();
        let report = known.unwrap_or_else(|| {
            let report = Rc::new(self.report(plugin, window.cloned(), options));
            self.reports.borrow_mut().insert(key, report.clone());
            report
        });
        let report = report.as_ref().as_ref().map_err(String::clone)?;
        let section = report.sections.first().ok_or("the plugin gave nothing")?;
        match section.status {
            SectionStatus::Ok => Ok(section.tables.clone()),
            _ => Err(format!(
                "plugin {plugin}: {}",
                section.message.as_deref().unwrap_or("it failed")
            )),
        }
    }

    /// One table of a plugin's report.
    ///
    /// # Errors
    /// The reason for its absence.
    pub fn table(
        &self,
        plugin: &str,
        table: &str,
        window: Option<&WindowSpec>,
    ) -> Result<Table, String> {
        named(self.tables(plugin, window)?, plugin, table)
    }

    /// One table of a plugin that runs with these options.
    ///
    /// # Errors
    /// The reason for its absence.
    pub fn table_by(
        &self,
        plugin: &str,
        table: &str,
        window: Option<&WindowSpec>,
        options: Map<String, Value>,
    ) -> Result<Table, String> {
        named(self.tables_by(plugin, window, options)?, plugin, table)
    }

    fn report(
        &self,
        plugin: &str,
        window: Option<WindowSpec>,
        options: Map<String, Value>,
    ) -> Result<Report, String> {
        let options = BTreeMap::from([(plugin.to_owned(), options)]);
        build(&Request {
            baseline: self.golden.as_ref().map(|(golden, _)| golden.run()),
            reference: self.reference,
            categories: self.rules,
            window,
            options: &options,
            ..Request::new(self.run, self.registry, &PluginSelection::only([plugin]))
        })
        .map_err(|error| error.to_string())
    }
}

fn named(tables: Vec<Table>, plugin: &str, table: &str) -> Result<Table, String> {
    let found = tables.into_iter().find(|found| found.name() == table);
    found.ok_or_else(|| format!("plugin {plugin} has no table {table}"))
}

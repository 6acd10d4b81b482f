//! The section of one plugin on a run.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use trueno_engine::run::Run;
use trueno_host::plan::PluginSelection;
use trueno_host::plugin::Registry;
use trueno_host::{Request, build};
use trueno_model::{Section, SectionStatus};
use trueno_plugin::Table;

/// Runs a plugin with these options.
///
/// # Errors
/// The reason for there being no section, for people.
pub fn section(
    run: &Run,
    registry: &Registry,
    plugin: &str,
    options: Map<String, Value>,
) -> Result<Section, String> {
    section_without(run, registry, plugin, options, &[])
}

/// Like [`section`], but without some of the plugins that it reads from.
///
/// # Errors
/// See [`section`].
pub fn section_without(
    run: &Run,
    registry: &Registry,
    plugin: &str,
    options: Map<String, Value>,
    unneeded: &[&str],
) -> Result<Section, String> {
    let skip = unneeded.iter().filter(|id| registry.get(id).is_some());
    let selection = PluginSelection {
        skip: skip.map(|id| (*id).to_owned()).collect(),
        ..PluginSelection::only([plugin])
    };
    if registry.get(plugin).is_none() {
        return Err(format!(
            "there is no plugin {plugin} (hint: `trueno-analyze plugins list` says where it was looked for)"
        ));
    }
    let report = build(&Request {
        options: &BTreeMap::from([(plugin.to_owned(), options)]),
        ..Request::new(run, registry, &selection)
    })
    .map_err(|error| error.to_string())?;
    let mut sections = report.sections.into_iter();
    let section = sections.find(|section| section.plugin == plugin);
    let section = section.ok_or("the plugin gave nothing")?;
    match section.status {
        SectionStatus::Ok => Ok(section),
        _ => Err(section.message.unwrap_or_else(|| "it failed".into())),
    }
}

pub fn table<'a>(section: &'a Section, name: &str) -> Option<&'a Table> {
    section.tables.iter().find(|table| table.name() == name)
}

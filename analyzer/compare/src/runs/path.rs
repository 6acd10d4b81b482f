//! The critical path of a run, summed up by kind and name.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use trueno_engine::run::Run;
use trueno_host::plan::Wish;
use trueno_host::plugin::Registry;
use trueno_host::{Request, build};
use trueno_model::SectionStatus;
use trueno_model::categories::CategoryRules;
use trueno_model::name_groups::NameGroups;

const PLUGIN: &str = "critical_path";

/// Durations of the pieces by kind and name, nanoseconds; groups stand in the place of the names in them.
///
/// # Errors
/// The reason for there being none, for people.
pub fn path(
    run: &Run,
    groups: &NameGroups,
    registry: &Registry,
) -> Result<BTreeMap<(String, String), i64>, String> {
    if registry.get(PLUGIN).is_none() {
        return Err(format!(
            "there is no plugin {PLUGIN} (hint: `trueno-analyze plugins list` says where it was looked for)"
        ));
    }
    // Only the sums are shown.
    let none = ["path_rows", "slack_rows", "opportunity_names"];
    let options: Map<String, Value> = none
        .into_iter()
        .map(|key| (key.to_owned(), Value::from(0)))
        .collect();
    let report = build(&Request {
        run,
        baseline: None,
        reference: None,
        registry,
        wish: &Wish {
            only: vec![PLUGIN.to_owned()],
            skip: Vec::new(),
        },
        categories: &CategoryRules::default(),
        window: None,
        options: &BTreeMap::from([(PLUGIN.to_owned(), options)]),
        before_each: &|_| {},
    })
    .map_err(|error| error.to_string())?;
    let section = report.sections.first().ok_or("the plugin gave nothing")?;
    if section.status != SectionStatus::Ok {
        return Err(section
            .message
            .clone()
            .unwrap_or_else(|| "it failed".into()));
    }
    let table = section
        .tables
        .iter()
        .find(|table| table.name() == "by_name");
    let table = table.ok_or("it gave no table by_name")?;
    let wrong = |error: trueno_plugin::Error| error.to_string();
    let (kinds, names) = (
        table.text("kind").map_err(wrong)?,
        table.text("name").map_err(wrong)?,
    );
    let durations = table.i64("dur_ns").map_err(wrong)?;
    let mut path = BTreeMap::new();
    for row in 0..table.rows() {
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let name = text(names.get(row));
        let key = (text(kinds.get(row)), groups.group(&name).unwrap_or(name));
        *path.entry(key).or_default() += durations.get(row).unwrap_or(0);
    }
    Ok(path)
}

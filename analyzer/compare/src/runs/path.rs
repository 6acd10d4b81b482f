//! The critical path of a run, summed up by kind and name.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use trueno_engine::run::Run;
use trueno_host::plugin::Registry;
use trueno_model::name_groups::NameGroups;

use super::plugin_section::{section_without, table};

/// Time on the critical path by kind and name, in nanoseconds. Names in groups are replaced by their group.
///
/// # Errors
/// The reason for there being none, for people.
pub fn path(
    run: &Run,
    groups: &NameGroups,
    registry: &Registry,
) -> Result<BTreeMap<(String, String), i64>, String> {
    // Only the sums are shown.
    let options: Map<String, Value> = [
        ("path_rows".to_owned(), Value::from(0)),
        ("path_only".to_owned(), Value::from(true)),
    ]
    .into_iter()
    .collect();
    // They are read for gains only.
    let unneeded = ["roofline", "operators"];
    let section = section_without(run, registry, "critical_path", options, &unneeded)?;
    let table = table(&section, "by_name")
        .ok_or("none was found (hint: `report --plugin-id critical_path` says why)")?;
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

//! The critical path and the slack of rows, from the plugin that finds them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use trueno_engine::run::Run;
use trueno_host::plan::PluginSelection;
use trueno_host::plugin::Registry;
use trueno_host::{Request, build};
use trueno_model::{Section, SectionStatus};

use super::Graph;

const PLUGIN: &str = "critical_path";
/// The critical path, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Critical {
    /// Time of all pieces.
    pub path_ns: i64,
    /// Time of the pieces of rows of this graph.
    pub marked_ns: i64,
    /// Of gaps, in which nothing is known to have run.
    pub gap_ns: i64,
}

/// The critical path of a run, to be marked in its graph.
pub struct Path {
    section: Section,
}

/// Finds the critical path, and with `slack` that of rows.
///
/// # Errors
/// The reason for not finding it, for people.
pub fn path(run: &Run, registry: &Registry, slack: bool) -> Result<Path, String> {
    if registry.get(PLUGIN).is_none() {
        return Err(format!(
            "there is no plugin {PLUGIN} (hint: `trueno-analyze plugins list` says where it was looked for)"
        ));
    }
    let none = |key: &str| (key.to_owned(), Value::from(0));
    let by_id = |key: &str, is_wanted: bool| (key.to_owned(), Value::from(is_wanted));
    // Gains are not shown, and take the longest; nor is what only they need.
    let unneeded = ["roofline"]
        .into_iter()
        .filter(|id| registry.get(id).is_some());
    let options = [
        none("path_rows"),
        none("slack_rows"),
        none("opportunity_names"),
        by_id("path_by_id", true),
        by_id("slack_by_id", slack),
    ];
    let options: Map<String, Value> = options.into_iter().collect();
    let report = build(&Request {
        options: &BTreeMap::from([(PLUGIN.to_owned(), options)]),
        ..Request::new(
            run,
            registry,
            &PluginSelection {
                only: vec![PLUGIN.to_owned()],
                skip: unneeded.map(str::to_owned).collect(),
            },
        )
    })
    .map_err(|error| error.to_string())?;
    let section = report.sections.into_iter().next();
    let section = section.ok_or("the plugin gave nothing")?;
    if section.status != SectionStatus::Ok {
        return Err(section.message.unwrap_or_else(|| "it failed".into()));
    }
    Ok(Path { section })
}

/// Marks the rows on the critical path, and their slack where it was computed.
///
/// # Errors
/// The reason for not marking them, for people.
pub fn mark(graph: &mut Graph, path: &Path) -> Result<Critical, String> {
    let section = &path.section;
    let table = |name: &str| {
        let table = section.tables.iter().find(|table| table.name() == name);
        table.ok_or_else(|| format!("it gave no table {name}"))
    };
    let wrong = |error: trueno_plugin::Error| error.to_string();
    let path = table("path")?;
    let mut critical = Critical::default();
    let durations = path.i64("dur_ns").map_err(wrong)?;
    let kinds = path.text("kind").map_err(wrong)?;
    for (row, dur_ns) in durations.iter().enumerate() {
        let dur_ns = dur_ns.unwrap_or(0);
        critical.path_ns = critical.path_ns.saturating_add(dur_ns);
        if kinds.get(row) == Some("gap") {
            critical.gap_ns = critical.gap_ns.saturating_add(dur_ns);
        }
    }
    let by_id = table("path_by_id")?;
    let ids = by_id.u64("id").map_err(wrong)?;
    let durations = by_id.i64("dur_ns").map_err(wrong)?;
    let mut pieces = Vec::new();
    for (id, dur_ns) in ids.iter().zip(durations.iter()) {
        if let (Some(at), Some(dur_ns)) = (id.and_then(|id| graph.find(id)), dur_ns) {
            let at = graph.shown(at);
            pieces.push((at, dur_ns));
            critical.marked_ns = critical.marked_ns.saturating_add(dur_ns);
        }
    }
    graph.mark_path(pieces);
    if let Ok(slack) = table("slack_by_id") {
        let ids = slack.u64("id").map_err(wrong)?;
        let values = slack.i64("slack_ns").map_err(wrong)?;
        for (id, slack_ns) in ids.iter().zip(values.iter()) {
            if let Some(at) = id.and_then(|id| graph.find(id)) {
                graph.set_slack(at, slack_ns);
            }
        }
    }
    Ok(critical)
}

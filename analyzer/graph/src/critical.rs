//! The critical path and the slack of rows, from the plugin that finds them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use trueno_analysis::id_index::IdIndex;
use trueno_engine::run::Run;
use trueno_host::plan::PluginSelection;
use trueno_host::plugin::Registry;
use trueno_host::{Request, build};
use trueno_model::{Section, SectionStatus};
use trueno_plugin::Table;

use super::Graph;
use super::durations::Durations;

const PLUGIN: &str = "critical_path";
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Critical {
    pub path_ns: i64,
    /// Time of pieces whose rows are in this graph.
    pub marked_ns: i64,
    /// Time of gaps, in which nothing is known to have run.
    pub gap_ns: i64,
}

pub struct Path {
    critical: Critical,
    ids: IdIndex<u32>,
    path_ns: Durations,
    /// Table of the plugin; `None` if slack was not computed.
    slack: Option<Table>,
}

impl Path {
    fn new(section: Section) -> Result<Path, String> {
        let mut tables = section.tables;
        let mut take = |name: &str| {
            let at = tables.iter().position(|table| table.name() == name);
            at.map(|at| tables.swap_remove(at))
        };
        let wrong = |error: trueno_plugin::Error| error.to_string();
        let none = |name: &str| format!("it gave no table {name}");
        let path = take("path").ok_or_else(|| none("path"))?;
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
        let by_id = take("path_by_id").ok_or_else(|| none("path_by_id"))?;
        let ids = by_id.u64("id").map_err(wrong)?;
        let pieces = ids.iter().zip(by_id.i64("dur_ns").map_err(wrong)?.iter());
        // Of an id that is there again the place is the last.
        let places: IdIndex<u32> = IdIndex::new(|| {
            let places = ids.iter().zip(0..);
            places.filter_map(|(id, at)| Some((id?, at)))
        });
        let mut path_ns = Durations::zeros(ids.len());
        for (id, ns) in pieces {
            if let (Some(at), Some(ns)) = (id.and_then(|id| places.get(id)), ns) {
                path_ns.add(at as usize, ns);
            }
        }
        Ok(Path {
            critical,
            ids: places,
            path_ns,
            slack: take("slack_by_id"),
        })
    }

    pub(super) fn ns(&self, id: u64) -> i64 {
        let place = self.ids.get(id);
        place.map_or(0, |place| self.path_ns.ns(place as usize))
    }
}

/// Finds the critical path, and the slack of rows if requested.
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
    let unneeded = ["roofline", "operators"]
        .into_iter()
        .filter(|id| registry.get(id).is_some());
    let options = [
        none("path_rows"),
        none("slack_rows"),
        none("opportunity_names"),
        by_id("path_by_id", true),
        by_id("slack_by_id", slack),
        by_id("path_only", !slack),
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
    Path::new(section)
}

/// Marks the rows on the critical path, and their slack if it was computed.
///
/// # Errors
/// The reason for not marking them, for people.
pub fn mark(graph: &mut Graph, path: Path) -> Result<Critical, String> {
    let mut critical = path.critical;
    critical.marked_ns = graph.mark_path(|id| path.ns(id));
    if let Some(slack) = path.slack {
        let wrong = |error: trueno_plugin::Error| error.to_string();
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

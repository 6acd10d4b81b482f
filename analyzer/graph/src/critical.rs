//! The critical path and the slack of rows, from the plugin that finds them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use trueno_engine::run::Run;
use trueno_host::plan::Wish;
use trueno_host::plugin::Registry;
use trueno_host::{Request, build};
use trueno_model::categories::CategoryRules;
use trueno_model::{Section, SectionStatus};

use super::{Graph, sums};

const PLUGIN: &str = "critical_path";
/// Pieces and rows asked for one by one; what is shorter stands in sums.
const ROWS: u64 = 1_000_000;

/// The critical path, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Critical {
    /// Time of all pieces.
    pub path_ns: i64,
    /// Time of the pieces of rows of this graph.
    pub marked_ns: i64,
    /// Of gaps, in which nothing is known to have run. What remains is in pieces too short to be listed.
    pub gap_ns: i64,
}

/// Marks the rows on the critical path, and with their slack if asked for: it takes as long again.
///
/// # Errors
/// The reason for not marking them, for people.
pub fn critical(
    graph: &mut Graph,
    run: &Run,
    registry: &Registry,
    slack: bool,
) -> Result<Critical, String> {
    if registry.get(PLUGIN).is_none() {
        return Err(format!(
            "there is no plugin {PLUGIN} (hint: `trueno-analyze plugins list` says where it was looked for)"
        ));
    }
    let rows = |key: &str, rows: u64| (key.to_owned(), Value::from(rows));
    let slack_rows = if slack { ROWS } else { 0 };
    // Gains are not shown, and take the longest; nor is what only they need.
    let unneeded = ["roofline"]
        .into_iter()
        .filter(|id| registry.get(id).is_some());
    let options = [
        rows("path_rows", ROWS),
        rows("slack_rows", slack_rows),
        rows("opportunity_names", 0),
    ];
    let options: Map<String, Value> = options.into_iter().collect();
    let report = build(&Request {
        run,
        baseline: None,
        reference: None,
        registry,
        wish: &Wish {
            only: vec![PLUGIN.to_owned()],
            skip: unneeded.map(str::to_owned).collect(),
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
    mark(graph, section)
}

fn mark(graph: &mut Graph, section: &Section) -> Result<Critical, String> {
    let table = |name: &str| {
        let table = section.tables.iter().find(|table| table.name() == name);
        table.ok_or_else(|| format!("it gave no table {name}"))
    };
    let wrong = |error: trueno_plugin::Error| error.to_string();
    let path = table("path")?;
    let mut critical = Critical::default();
    let durations = path.i64("dur_ns").map_err(wrong)?;
    critical.path_ns = durations.iter().flatten().sum();
    if !path.has("id") {
        return Err("its table path does not say which rows the pieces are of (column id)".into());
    }
    let ids = path.u64("id").map_err(wrong)?;
    let kinds = path.text("kind").map_err(wrong)?;
    for (row, (id, dur_ns)) in ids.iter().zip(durations.iter()).enumerate() {
        if kinds.get(row) == Some("gap") {
            critical.gap_ns += dur_ns.unwrap_or(0);
        } else if let (Some(at), Some(dur_ns)) = (id.and_then(|id| graph.find(id)), dur_ns) {
            let at = graph.shown(at);
            graph.nodes[at as usize].path_self_ns += dur_ns;
            critical.marked_ns += dur_ns;
        }
    }
    sums::add_up_path(graph);
    if let Ok(slack) = table("slack") {
        let ids = slack.u64("id").map_err(wrong)?;
        let values = slack.i64("slack_ns").map_err(wrong)?;
        for (id, slack_ns) in ids.iter().zip(values.iter()) {
            if let Some(at) = id.and_then(|id| graph.find(id)) {
                graph.nodes[at as usize].slack_ns = slack_ns;
            }
        }
    }
    Ok(critical)
}

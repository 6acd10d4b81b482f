//! The plan: plugins that run, in their order.
//!
//! A plugin that reads `other.table` runs after `other`. The order depends on
//! the plugins and their inputs alone, not on where or when they were found;
//! ids break ties.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::Topo;
use trueno_engine::query::may_read_dotted;
use trueno_engine::spans::is_computed;

use crate::plugin::{Descriptor, Input};

#[derive(Clone, Debug, Default)]
pub struct PluginSelection {
    /// Sections to show; empty for all.
    pub only: Vec<String>,
    pub skip: Vec<String>,
}

impl PluginSelection {
    pub fn only(ids: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            only: ids.into_iter().map(Into::into).collect(),
            skip: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{flag} {}: no such plugin (hint: the plugins are {})", trueno_model::width::printable(.name), list(.known))]
pub struct UnknownPlugin {
    pub flag: &'static str,
    pub name: String,
    pub known: Vec<String>,
}

fn list(ids: &[String]) -> String {
    if ids.is_empty() {
        "none".to_owned()
    } else {
        ids.join(", ")
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Index in the list that the plan was made from.
    pub plugin: usize,
    pub id: String,
    /// Whether its section is shown. If not, another plugin needs its tables.
    pub shown: bool,
    pub needs: Vec<Need>,
    pub blocked: Option<Blocked>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Need {
    pub plugin: String,
    pub table: String,
    /// Whether every input that reads it is optional.
    pub optional: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// Its inputs depend on its own results.
    Cycle(String),
    Missing(String),
}

/// Plans the selected plugins and those that they need. Ids of `plugins` must be unique.
///
/// # Errors
/// The selection names a plugin that is not there.
pub fn plan(
    plugins: &[&Descriptor],
    selection: &PluginSelection,
) -> Result<Vec<Step>, UnknownPlugin> {
    // The walk below takes the last node that is ready, so nodes go in by descending id.
    let by_id: BTreeMap<&str, usize> = plugins
        .iter()
        .enumerate()
        .map(|(i, plugin)| (plugin.id.as_str(), i))
        .collect();
    check_names("--plugin-id", &selection.only, &by_id)?;
    check_names("--skip", &selection.skip, &by_id)?;
    let needs: BTreeMap<&str, Vec<Need>> = by_id
        .iter()
        .map(|(id, i)| (*id, needs_of(plugins[*i])))
        .collect();
    let skipped = |id: &str| selection.skip.iter().any(|skip| skip == id);

    let mut graph: DiGraph<&str, ()> = DiGraph::new();
    let nodes: BTreeMap<&str, NodeIndex> = by_id
        .keys()
        .rev()
        .map(|id| (*id, graph.add_node(*id)))
        .collect();
    for (id, needs) in needs.iter().rev() {
        for need in needs.iter().rev() {
            if let Some(from) = nodes.get(need.plugin.as_str()) {
                graph.update_edge(*from, nodes[id], ());
            }
        }
    }
    let cycles = cut_cycles(&mut graph);
    let wanted = plugins_to_run(&needs, selection, &by_id);

    let mut steps = Vec::new();
    let mut walk = Topo::new(&graph);
    while let Some(node) = walk.next(&graph) {
        let id = graph[node];
        if skipped(id) || !wanted.contains(id) {
            continue;
        }
        let missing = || {
            needs[id].iter().find(|need| {
                !need.optional
                    && (skipped(&need.plugin) || !by_id.contains_key(need.plugin.as_str()))
            })
        };
        let blocked = match (cycles.get(id), missing()) {
            (Some(cycle), _) => Some(Blocked::Cycle(cycle.clone())),
            (None, Some(need)) => Some(Blocked::Missing(why_missing(need, skipped(&need.plugin)))),
            (None, None) => None,
        };
        let shown = selection.only.is_empty() || selection.only.iter().any(|only| only == id);
        steps.push(Step {
            plugin: by_id[id],
            id: id.to_owned(),
            shown,
            needs: needs[id].clone(),
            blocked,
        });
    }
    Ok(steps)
}

fn check_names(
    flag: &'static str,
    names: &[String],
    by_id: &BTreeMap<&str, usize>,
) -> Result<(), UnknownPlugin> {
    match names.iter().find(|name| !by_id.contains_key(name.as_str())) {
        Some(name) => Err(UnknownPlugin {
            flag,
            name: name.clone(),
            known: by_id.keys().map(|id| (*id).to_owned()).collect(),
        }),
        None => Ok(()),
    }
}

fn why_missing(need: &Need, skipped: bool) -> String {
    let Need { plugin, table, .. } = need;
    if skipped {
        format!("it reads {plugin}.{table}, and --skip leaves out {plugin}")
    } else {
        format!(
            "it reads {plugin}.{table}, and there is no plugin {plugin} (hint: see `trueno-analyze plugins list`)"
        )
    }
}

/// Tables of other plugins that the queries read, sorted. A query that cannot be parsed reads none; it fails when
/// it is run.
pub(crate) fn needs_of(plugin: &Descriptor) -> Vec<Need> {
    let mut found = tables_of_others(&plugin.inputs);
    for (table, optional) in tables_of_others(plugin.merge_inputs.as_deref().unwrap_or_default()) {
        // Its own tables are those of its parts.
        if table.0 != plugin.id {
            *found.entry(table).or_insert(true) &= optional;
        }
    }
    found
        .into_iter()
        .map(|((plugin, table), optional)| Need {
            plugin,
            table,
            optional,
        })
        .collect()
}

/// Removes the edges inside each cycle. Returns for each member how it depends on itself.
fn cut_cycles<'a>(graph: &mut DiGraph<&'a str, ()>) -> BTreeMap<&'a str, String> {
    let mut named = BTreeMap::new();
    for group in tarjan_scc(&*graph) {
        let members: BTreeSet<NodeIndex> = group.iter().copied().collect();
        let start = group.iter().copied().min_by_key(|node| graph[*node]);
        let Some(start) = start else { continue };
        if group.len() == 1 && graph.find_edge(start, start).is_none() {
            continue;
        }
        let text = format!(
            "plugins read each other in a cycle: {}",
            way_back(graph, start, &members)
        );
        named.extend(group.iter().map(|node| (graph[*node], text.clone())));
        graph.retain_edges(|graph, edge| {
            graph
                .edge_endpoints(edge)
                .is_none_or(|(from, to)| !(members.contains(&from) && members.contains(&to)))
        });
    }
    named
}

/// The shortest cycle through `start`, as `a reads b reads a`.
fn way_back(graph: &DiGraph<&str, ()>, start: NodeIndex, members: &BTreeSet<NodeIndex>) -> String {
    use petgraph::Direction::Incoming;
    let mut before: BTreeMap<NodeIndex, NodeIndex> = BTreeMap::new();
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        let mut next: Vec<NodeIndex> = graph
            .neighbors_directed(node, Incoming)
            .filter(|other| members.contains(other))
            .collect();
        next.sort_by_key(|other| graph[*other]);
        if next.contains(&start) {
            let mut names = vec![graph[start]];
            let mut at = node;
            while at != start {
                names.push(graph[at]);
                at = before[&at];
            }
            names.push(graph[start]);
            names.reverse();
            return names.join(" reads ");
        }
        for other in next {
            if let std::collections::btree_map::Entry::Vacant(place) = before.entry(other) {
                place.insert(node);
                queue.push_back(other);
            }
        }
    }
    graph[start].to_owned()
}

/// Each `(plugin, table)` that these queries read, and whether every input that reads it is optional.
pub(crate) fn tables_of_others(inputs: &[Input]) -> BTreeMap<(String, String), bool> {
    let mut found: BTreeMap<(String, String), bool> = BTreeMap::new();
    let may = |input: &&Input| !input.baseline && may_read_dotted(&input.sql);
    for input in inputs.iter().filter(may) {
        for name in tables_of(input) {
            // What the engine itself makes is of no plugin.
            if is_computed(&name) {
                continue;
            }
            if let Some((other, table)) = name.split_once('.') {
                let optional = found
                    .entry((other.to_owned(), table.to_owned()))
                    .or_insert(true);
                *optional &= input.optional;
            }
        }
    }
    found
}

/// Tables of other plugins that must be ready before a part is computed: required ones, and those that merging does
/// not read.
pub(crate) fn seen_by_parts(plugin: &Descriptor) -> BTreeSet<(String, String)> {
    let merged = tables_of_others(plugin.merge_inputs.as_deref().unwrap_or_default());
    let read = tables_of_others(&plugin.inputs).into_iter();
    read.filter(|(table, is_optional)| !is_optional || !merged.contains_key(table))
        .map(|(table, _)| table)
        .collect()
}

pub(crate) fn tables_of(input: &Input) -> Vec<String> {
    let tables = trueno_engine::query::tables_of(&input.sql);
    tables.unwrap_or_default().into_iter().collect()
}

fn plugins_to_run<'a>(
    needs: &BTreeMap<&'a str, Vec<Need>>,
    selection: &PluginSelection,
    by_id: &BTreeMap<&'a str, usize>,
) -> BTreeSet<&'a str> {
    let mut wanted: BTreeSet<&str> = BTreeSet::new();
    let shown =
        |id: &&&str| selection.only.is_empty() || selection.only.iter().any(|only| only == **id);
    let mut open: Vec<&str> = by_id.keys().filter(shown).copied().collect();
    while let Some(id) = open.pop() {
        if wanted.insert(id) {
            let more = needs[id]
                .iter()
                .filter_map(|need| by_id.get_key_value(need.plugin.as_str()));
            open.extend(more.map(|(id, _)| *id));
        }
    }
    wanted
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;

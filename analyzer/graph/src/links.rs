//! Links from rows to the rows they hang below.
//!
//! Calls are no parents of device work: a kernel hangs beside the call that launched it, below the brick of both.

use std::collections::BTreeMap;

use trueno_analysis::hash::FastMap;
use trueno_analysis::id_index::IdIndex;
use trueno_engine::query::Database;

use super::columns::{Names, Rows};
use super::{Class, Graph, GraphError, NONE};

/// No row or no correlation. Recorders and importers assign ids in ascending order, so it does not occur.
pub(super) const NO_ID: u64 = u64::MAX;

pub(super) struct Edge {
    from: u64,
    to: u64,
    kind: u32,
    is_launch: bool,
}

pub(super) fn edges(database: &Database, names: &mut Names) -> Result<Vec<Edge>, GraphError> {
    let kinds = names.number_column(database, "edges", "kind")?;
    // `from` and `to` are words of SQL.
    let sql = "SELECT \"from\" AS source, \"to\" AS target, kind_id FROM edges";
    let rows = Rows::ask(database, "edges", sql)?;
    let (source, target) = (rows.numbers("source")?, rows.numbers("target")?);
    let kind = rows.numbers("kind_id")?;
    let edge = |row| {
        let kind = *kinds.get(&kind.i64(row)?)?;
        Some(Edge {
            from: source.u64(row)?,
            to: target.u64(row)?,
            kind,
            is_launch: names.names[kind as usize] == "launches",
        })
    };
    Ok((0..rows.len()).filter_map(edge).collect())
}

pub(super) fn thread_names(database: &Database) -> Result<BTreeMap<u64, String>, GraphError> {
    let mut names = Names::default();
    let texts = names.number_column(database, "threads", "name")?;
    let rows = Rows::ask(database, "threads", "SELECT thread, name_id FROM threads")?;
    let (thread, name) = (rows.numbers("thread")?, rows.numbers("name_id")?);
    let named = |row| {
        let name = texts.get(&name.i64(row)?)?;
        Some((thread.u64(row)?, names.names[*name as usize].clone()))
    };
    Ok((0..rows.len()).filter_map(named).collect())
}

/// Sets the parents of rows that name their parent. `links` are in the order before sorting.
pub(super) fn hang_by_name(graph: &mut Graph, links: &[u64], order: &[u32]) {
    let first = graph.lanes.len();
    let nodes = &mut graph.nodes;
    // Of one id the last of the list counts: from the back, so the first node.
    let ids = &nodes.ids;
    graph.ids = IdIndex::new(|| {
        let rows = (first..ids.len()).rev();
        rows.map(|at| (ids[at], at as u32))
    });
    let mut last = (NO_ID, None);
    for (at, from) in (first..).zip(order) {
        let link = links[*from as usize];
        if link != last.0 {
            last = (link, graph.ids.get(link).filter(|_| link != NO_ID));
        }
        let linked = last.1.filter(|parent| *parent as usize != at);
        nodes.parents[at] = linked.unwrap_or(NONE);
    }
}

/// Sets the parents of other rows; those on host threads were set by [`sweep`](super::sweep). Device work without a
/// link gets the parent of the call that launched it, everything else the lane.
pub(super) fn hang_others(graph: &mut Graph, correlations: &[u64], edges: &[Edge]) {
    let mut launched = Vec::new();
    for at in graph.lanes.len()..graph.nodes.len() {
        if graph.nodes.parents[at] == NONE {
            let lane = graph.nodes.lanes[at];
            if graph.lanes[lane as usize].is_device {
                launched.push(at);
            }
            graph.nodes.parents[at] = lane;
        }
    }
    below_launchers(graph, correlations, edges, &launched);
    cut_circles(graph);
}

/// `correlations` are in the order of rows; empty if no row has any.
fn below_launchers(graph: &mut Graph, correlations: &[u64], edges: &[Edge], launched: &[usize]) {
    if launched.is_empty() {
        return;
    }
    let first = graph.lanes.len();
    let by_edge: FastMap<u64, u64> = edges
        .iter()
        .rev()
        .filter(|edge| edge.is_launch)
        .map(|edge| (edge.to, edge.from))
        .collect();
    let correlation = |at: usize| {
        let correlation = correlations.get(at - first).copied();
        correlation.filter(|correlation| *correlation != NO_ID)
    };
    let mut by_correlation: FastMap<u64, u32> = FastMap::default();
    for at in (first..graph.nodes.len()).rev() {
        if let (Class::Call, Some(correlation)) = (graph.nodes.classes[at], correlation(at)) {
            by_correlation.insert(correlation, at as u32);
        }
    }
    for &at in launched {
        let id = graph.nodes.ids[at];
        let by_edge = by_edge.get(&id).and_then(|from| graph.find(*from));
        let by_correlation = || by_correlation.get(&correlation(at)?).copied();
        let Some(launcher) = by_edge.or_else(by_correlation) else {
            continue;
        };
        let launcher = graph.node(launcher);
        // A call is how it was launched; what it belongs to is the call's own parent.
        graph.nodes.parents[at] = match launcher.class {
            Class::Call => launcher.parent,
            _ => graph.find(launcher.id).unwrap_or(launcher.lane),
        };
    }
}

/// Breaks cycles: in a damaged run a row may contain itself.
fn cut_circles(graph: &mut Graph) {
    const NEW: u8 = 0;
    const OPEN: u8 = 1;
    const DONE: u8 = 2;
    let nodes = &mut graph.nodes;
    if nodes.precede_children() {
        return;
    }
    let mut state = vec![NEW; nodes.len()];
    let mut way = Vec::new();
    for from in 0..nodes.len() {
        let mut at = from;
        while state[at] == NEW {
            state[at] = OPEN;
            way.push(at);
            let parent = nodes.parents[at];
            if parent == NONE {
                break;
            }
            if state[parent as usize] == OPEN {
                nodes.parents[at] = nodes.lanes[at];
                graph.circles += 1;
                break;
            }
            at = parent as usize;
        }
        way.drain(..).for_each(|at| state[at] = DONE);
    }
}

pub(super) fn keep_edges(graph: &mut Graph, edges: &[Edge]) {
    let ends = |edge: &Edge| Some((graph.find(edge.from)?, graph.find(edge.to)?, edge.kind));
    let mut kept: Vec<_> = edges.iter().filter_map(ends).collect();
    kept.sort_unstable();
    graph.edges_left_out = (edges.len() - kept.len()) as u64;
    graph.edges = kept;
}

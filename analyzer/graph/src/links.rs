//! Links from rows to the rows they hang below.
//!
//! Calls are no parents of device work: a kernel hangs beside the call that launched it, below the brick of both.

use std::collections::{BTreeMap, HashMap};

use trueno_analysis::id_index::IdIndex;
use trueno_engine::query::Database;

use super::columns::{Names, Rows};
use super::{Class, Graph, GraphError, NONE};

/// A row's own word on what it belongs to.
#[derive(Clone, Copy)]
pub(super) struct Link {
    to: u64,
    correlation: u64,
}

/// No row, no correlation: recorders and importers count ids up.
const NO_ID: u64 = u64::MAX;

impl Link {
    pub(super) fn new(to: Option<u64>, correlation: Option<u64>) -> Self {
        Self {
            to: to.unwrap_or(NO_ID),
            correlation: correlation.unwrap_or(NO_ID),
        }
    }

    /// The row it lies in.
    fn to(self) -> Option<u64> {
        (self.to != NO_ID).then_some(self.to)
    }

    /// Shared by a call and the work it launched.
    fn correlation(self) -> Option<u64> {
        (self.correlation != NO_ID).then_some(self.correlation)
    }
}

/// A row of `edges`.
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

/// Gives every row its parent. Host rows come first: device work without a link of its own
/// hangs below that of the call that launched it.
pub(super) fn hang(graph: &mut Graph, links: &[Link], around: &[u32], edges: &[Edge]) {
    let first = graph.lanes.len();
    // Of one id the last of the list counts: from the back, so the first node.
    graph.ids = IdIndex::new(|| {
        let nodes = graph.nodes.iter().enumerate().skip(first).rev();
        nodes.map(|(at, node)| (node.id, at as u32))
    });
    let mut launched = Vec::new();
    for at in first..graph.nodes.len() {
        let node = &graph.nodes[at];
        let linked = links[at - first].to().and_then(|id| graph.find(id));
        let parent = match linked {
            Some(parent) if parent as usize != at => parent,
            _ if graph.lanes[node.lane as usize].is_device => {
                launched.push(at);
                node.lane
            }
            _ if around[at] != NONE => around[at],
            _ => node.lane,
        };
        graph.nodes[at].parent = parent;
    }
    below_launchers(graph, links, edges, &launched);
    cut_circles(graph);
}

fn below_launchers(graph: &mut Graph, links: &[Link], edges: &[Edge], launched: &[usize]) {
    if launched.is_empty() {
        return;
    }
    let first = graph.lanes.len();
    let by_edge: HashMap<u64, u64> = edges
        .iter()
        .rev()
        .filter(|edge| edge.is_launch)
        .map(|edge| (edge.to, edge.from))
        .collect();
    let mut by_correlation: HashMap<u64, u32> = HashMap::new();
    for at in (first..graph.nodes.len()).rev() {
        if let (Class::Call, Some(correlation)) =
            (graph.nodes[at].class, links[at - first].correlation())
        {
            by_correlation.insert(correlation, at as u32);
        }
    }
    for &at in launched {
        let id = graph.nodes[at].id;
        let by_edge = by_edge.get(&id).and_then(|from| graph.find(*from));
        let by_correlation = || {
            let correlation = links[at - first].correlation()?;
            by_correlation.get(&correlation).copied()
        };
        let Some(launcher) = by_edge.or_else(by_correlation) else {
            continue;
        };
        let launcher = &graph.nodes[launcher as usize];
        // A call is how it was launched; what it belongs to is the call's own parent.
        graph.nodes[at].parent = match launcher.class {
            Class::Call => launcher.parent,
            _ => graph.find(launcher.id).unwrap_or(launcher.lane),
        };
    }
}

/// A damaged run may say that a row lies in itself, by some way round.
fn cut_circles(graph: &mut Graph) {
    const NEW: u8 = 0;
    const OPEN: u8 = 1;
    const DONE: u8 = 2;
    let mut state = vec![NEW; graph.nodes.len()];
    let mut way = Vec::new();
    for from in 0..graph.nodes.len() {
        let mut at = from;
        while state[at] == NEW {
            state[at] = OPEN;
            way.push(at);
            let parent = graph.nodes[at].parent;
            if parent == NONE {
                break;
            }
            if state[parent as usize] == OPEN {
                graph.nodes[at].parent = graph.nodes[at].lane;
                graph.circles += 1;
                break;
            }
            at = parent as usize;
        }
        way.drain(..).for_each(|at| state[at] = DONE);
    }
}

/// Keeps the edges between rows that are here.
pub(super) fn keep_edges(graph: &mut Graph, edges: &[Edge]) {
    let ends = |edge: &Edge| Some((graph.find(edge.from)?, graph.find(edge.to)?, edge.kind));
    let mut kept: Vec<_> = edges.iter().filter_map(ends).collect();
    kept.sort_unstable();
    graph.edges_left_out = (edges.len() - kept.len()) as u64;
    graph.edges = kept;
}

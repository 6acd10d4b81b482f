//! Times of the selected rows and all below them, lane by lane.

use trueno_execution_graph::{Graph, Group};

/// Resolution: parts per screen column.
const PARTS: usize = 8;
/// Limit on nodes to visit, outer ones first.
const MAX_NODES: usize = 500_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    pub lane: u32,
    /// Busy eighths of each column.
    pub busy: Vec<u8>,
    pub critical: Vec<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strip {
    pub from_ns: i64,
    pub to_ns: i64,
    pub lanes: Vec<Lane>,
    pub is_partial: bool,
}

/// The strip of a group, `columns` wide; `None` if no row has times.
pub fn strip(graph: &Graph, group: &Group, columns: usize) -> Option<Strip> {
    let mut nodes = group.members.clone();
    let mut at = 0;
    while at < nodes.len() && nodes.len() < MAX_NODES {
        nodes.extend_from_slice(graph.children(nodes[at]));
        at += 1;
    }
    let is_partial = at < nodes.len();
    // A lane has no times of its own: it is there from the beginning to the end of the run.
    nodes.retain(|node| graph.node(*node).is_timed() && *node as usize >= graph.lanes.len());
    let from_ns = nodes.iter().map(|at| graph.node(*at).start_ns).min()?;
    let to_ns = nodes.iter().map(|at| graph.node(*at).end_ns()).max()?;
    let slots = columns.max(1) * PARTS;
    let length = i128::from(to_ns) - i128::from(from_ns);
    let slot = |ns: i64| {
        let after = i128::from(ns) - i128::from(from_ns);
        (after * slots as i128 / length.max(1)) as usize
    };
    // Beginnings and ends by slot: something runs where more began than ended.
    let mut lanes: Vec<Option<[Vec<i32>; 2]>> = vec![None; graph.lanes.len()];
    for at in nodes {
        let node = graph.node(at);
        let first = slot(node.start_ns).min(slots - 1);
        // What is shorter than a slot is still seen.
        let end = slot(node.end_ns()).clamp(first + 1, slots);
        let [all, critical] = lanes[node.lane as usize]
            .get_or_insert_with(|| [vec![0; slots + 1], vec![0; slots + 1]]);
        all[first] += 1;
        all[end] -= 1;
        if graph.on_path(at).self_ns > 0 {
            critical[first] += 1;
            critical[end] -= 1;
        }
    }
    let lanes = lanes
        .into_iter()
        .enumerate()
        .filter_map(|(lane, marks)| {
            let [all, critical] = marks?.map(|marks| by_column(&marks, columns.max(1)));
            Some(Lane {
                lane: lane as u32,
                busy: all,
                critical: critical.into_iter().map(|parts| parts > 0).collect(),
            })
        })
        .collect();
    Some(Strip {
        from_ns,
        to_ns,
        lanes,
        is_partial,
    })
}

fn by_column(marks: &[i32], columns: usize) -> Vec<u8> {
    let mut open = 0;
    let mut busy = vec![0; columns];
    for (slot, mark) in marks[..columns * PARTS].iter().enumerate() {
        open += mark;
        busy[slot / PARTS] += u8::from(open > 0);
    }
    busy
}

//! Children, and sums over all that hangs below a node.

use super::node::{HAS_DEVICE, HAS_UNTIMED_DEVICE};
use super::{Class, Graph, NONE};
use crate::durations::Durations;

/// Lists the children of every node in order of start. Hidden nodes are not listed.
pub(super) fn index(graph: &mut Graph) {
    let nodes = &graph.nodes;
    let shown = |at: usize| nodes.parents[at] != NONE && !graph.hides(nodes.classes[at]);
    // One further than it will be: filling in the children moves each one back.
    let mut offsets = vec![0_u32; nodes.len() + 2];
    for at in (0..nodes.len()).filter(|at| shown(*at)) {
        offsets[nodes.parents[at] as usize + 2] += 1;
    }
    for at in 1..offsets.len() {
        offsets[at] += offsets[at - 1];
    }
    let mut children = vec![0_u32; *offsets.last().unwrap_or(&0) as usize];
    for at in (0..nodes.len()).filter(|at| shown(*at)) {
        let place = &mut offsets[nodes.parents[at] as usize + 1];
        children[*place as usize] = at as u32;
        *place += 1;
    }
    offsets.pop();
    (graph.offsets, graph.children) = (offsets, children);
}

/// Whether every row follows its parent and is shown. Nodes are then in topological order.
fn is_downwards(graph: &Graph) -> bool {
    let nodes = &graph.nodes;
    let hides_some = graph.hides(Class::Tile) && nodes.classes.contains(&Class::Tile);
    !hides_some && nodes.precede_children()
}

/// Visits shown nodes, children before their parents. A child may start before the parent that it names.
fn upwards(graph: &Graph, mut each: impl FnMut(usize)) {
    if is_downwards(graph) {
        return (0..graph.nodes.len()).rev().for_each(each);
    }
    let mut order: Vec<u32> = (0..graph.lanes.len() as u32).collect();
    let mut at = 0;
    while let Some(&node) = order.get(at) {
        order.extend_from_slice(graph.children(node));
        at += 1;
    }
    order.into_iter().rev().for_each(|at| each(at as usize));
}

pub(super) fn add_up(graph: &mut Graph) {
    if !graph.lanes.iter().any(|lane| lane.is_device) {
        return;
    }
    let nodes = &graph.nodes;
    let mut devices_ns = Durations::zeros(nodes.len());
    let mut has_devices = vec![0_u8; nodes.len()];
    let rows = has_devices.iter_mut().enumerate();
    for (at, has_device) in rows.skip(graph.lanes.len()) {
        if graph.lanes[nodes.lanes[at] as usize].is_device {
            devices_ns.set(at, nodes.selfs_ns.ns(at));
            *has_device = if nodes.is_timed(at) {
                HAS_DEVICE
            } else {
                HAS_UNTIMED_DEVICE
            };
        }
    }
    upwards(graph, |at| {
        let parent = nodes.parents[at];
        if parent != NONE && has_devices[at] != 0 {
            devices_ns.add(parent as usize, devices_ns.ns(at));
            has_devices[parent as usize] |= has_devices[at];
        }
    });
    (graph.nodes.devices_ns, graph.nodes.has_devices) = (devices_ns, has_devices);
}

pub(super) fn add_up_path(graph: &mut Graph) {
    let mut all_ns = graph.path_self_ns.clone();
    upwards(graph, |at| {
        let (parent, ns) = (graph.nodes.parents[at], all_ns.ns(at));
        if parent != NONE && ns != 0 {
            all_ns.add(parent as usize, ns);
        }
    });
    graph.path_all_ns = all_ns;
}

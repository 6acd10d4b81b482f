//! Children, and sums over all that hangs below a node.

use super::{Graph, NONE, Node};

/// Lists the children of every node, in the order of their starts; hidden ones are on no list.
pub(super) fn index(graph: &mut Graph) {
    let mut offsets = vec![0_u32; graph.nodes.len() + 1];
    let shown = |node: &&Node| node.parent != NONE && !graph.hides(node.class);
    for node in graph.nodes.iter().filter(shown) {
        offsets[node.parent as usize + 1] += 1;
    }
    for at in 1..offsets.len() {
        offsets[at] += offsets[at - 1];
    }
    let mut next = offsets.clone();
    let mut children = vec![0_u32; *offsets.last().unwrap_or(&0) as usize];
    for (at, node) in graph.nodes.iter().enumerate() {
        if shown(&node) {
            let place = &mut next[node.parent as usize];
            children[*place as usize] = at as u32;
            *place += 1;
        }
    }
    (graph.offsets, graph.children) = (offsets, children);
}

/// Parents before children: in time a child may begin before the row that it names.
fn downwards(graph: &Graph) -> Vec<u32> {
    let mut order: Vec<u32> = (0..graph.lanes.len() as u32).collect();
    let mut at = 0;
    while let Some(&node) = order.get(at) {
        order.extend_from_slice(graph.children(node));
        at += 1;
    }
    order
}

pub(super) fn add_up(graph: &mut Graph) {
    for at in 0..graph.nodes.len() {
        let is_device = graph.lanes[graph.nodes[at].lane as usize].is_device;
        let is_row = at >= graph.lanes.len();
        let node = &mut graph.nodes[at];
        if is_device && is_row {
            node.device_ns = node.self_ns;
            node.has_device = node.is_timed();
            node.has_untimed_device = !node.is_timed();
        }
    }
    for at in downwards(graph).into_iter().rev() {
        let node = &graph.nodes[at as usize];
        let (device_ns, parent) = (node.device_ns, node.parent);
        let (timed, untimed) = (node.has_device, node.has_untimed_device);
        if parent != NONE {
            let parent = &mut graph.nodes[parent as usize];
            parent.device_ns = parent.device_ns.saturating_add(device_ns);
            parent.has_device |= timed;
            parent.has_untimed_device |= untimed;
        }
    }
}

/// Time on the critical path, upwards.
pub(super) fn add_up_path(graph: &mut Graph) {
    for on_path in &mut graph.on_path {
        on_path.all_ns = on_path.self_ns;
    }
    for at in downwards(graph).into_iter().rev() {
        let all_ns = graph.on_path[at as usize].all_ns;
        let parent = graph.nodes[at as usize].parent;
        if parent != NONE {
            let parent = &mut graph.on_path[parent as usize];
            parent.all_ns = parent.all_ns.saturating_add(all_ns);
        }
    }
}

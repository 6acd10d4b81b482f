//! Lanes of short-lived threads of one role.

use trueno_analysis::pools::{Pools, ThreadLife};

use super::Graph;

/// Finds the pools of the lanes. Their names come to the others.
pub(super) fn find(graph: &mut Graph) {
    let mut lives: Vec<Option<(i64, i64, u32)>> = vec![None; graph.lanes.len()];
    for node in graph.nodes[graph.lanes.len()..]
        .iter()
        .filter(|node| node.is_timed())
    {
        let life = &mut lives[node.lane as usize];
        let (first_ns, last_ns, name) = life.unwrap_or((node.start_ns, node.end_ns(), node.name));
        // Nodes are in the order of their starts.
        *life = Some((first_ns, last_ns.max(node.end_ns()), name));
    }
    let lives = graph.lanes.iter().zip(&lives).map(|(lane, life)| {
        let (first_ns, last_ns, name) = life.filter(|_| !lane.is_device)?;
        Some(ThreadLife {
            lane: &lane.name,
            begins_with: &graph.names[name as usize],
            first_ns,
            last_ns,
        })
    });
    let pools = Pools::new(lives);
    graph.pooled_lanes = vec![None; graph.lanes.len()];
    for pool in &pools.pools {
        let name = graph.names.len() as u32;
        graph.names.push(pool.name.clone());
        for lane in &pool.threads {
            graph.pooled_lanes[*lane] = Some((pool.threads[0] as u32, name));
        }
    }
}

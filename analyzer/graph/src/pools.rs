//! Lanes of short-lived threads of one role.

use trueno_analysis::pools::{Pools, ThreadLife};

use super::Graph;

pub(super) fn find(graph: &mut Graph) {
    let mut lives: Vec<Option<(i64, i64, u32)>> = vec![None; graph.lanes.len()];
    let nodes = &graph.nodes;
    for at in graph.lanes.len()..nodes.len() {
        if !nodes.is_timed(at) {
            continue;
        }
        let life = &mut lives[nodes.lanes[at] as usize];
        let (start_ns, end_ns) = (nodes.starts_ns[at], nodes.end_ns(at));
        let (first_ns, last_ns, name) = life.unwrap_or((start_ns, end_ns, nodes.names[at]));
        // Nodes are in the order of their starts.
        *life = Some((first_ns, last_ns.max(end_ns), name));
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

//! Orders of the nodes, and the earliest and latest moments that they allow.
//!
//! Each node has two events, its start and its end. Its time, where it is known, leads from one to the other; what lies in
//! it begins after its start and ends before its end. So a node lasts as long as its time, or as what lies in it where that
//! is longer, and nothing is counted twice.
//!
//! Nodes recorded in a scope follow one another, as they were recorded: by one program, kernels and transfers as on one
//! stream. Where edges between nodes of a scope order some of them, these edges are the order in that scope. What was put
//! together by [`ExecutionGraph::add_node`] has no order but its edges.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{ExecutionGraph, ExecutionNodeId};

/// Nodes whose edges form a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cycle(pub Vec<ExecutionNodeId>);

/// Times of all events, in nanoseconds from the start of the first.
#[derive(Debug)]
pub(super) struct Schedule {
    earliest: Vec<u64>,
    latest: Vec<u64>,
    before: Vec<Option<usize>>,
    pub total_ns: u64,
}

fn start(node: usize) -> usize {
    2 * node
}

fn end(node: usize) -> usize {
    2 * node + 1
}

impl Schedule {
    pub fn of(graph: &ExecutionGraph) -> Result<Self, Cycle> {
        let next = arcs(graph);
        let order = topological_order(&next)?;
        let mut earliest = vec![0u64; next.len()];
        let mut before = vec![None; next.len()];
        for &event in &order {
            for &(to, ns) in &next[event] {
                let at = earliest[event].saturating_add(ns);
                if at > earliest[to] {
                    (earliest[to], before[to]) = (at, Some(event));
                }
            }
        }
        let total_ns = earliest.iter().copied().max().unwrap_or(0);
        let mut latest = vec![total_ns; next.len()];
        for &event in order.iter().rev() {
            let bounds = next[event].iter();
            let bound = bounds.map(|(to, ns)| latest[*to].saturating_sub(*ns)).min();
            latest[event] = bound.unwrap_or(total_ns);
        }
        Ok(Self {
            earliest,
            latest,
            before,
            total_ns,
        })
    }

    /// Nodes whose times add up to the total, in their order.
    pub fn path(&self) -> Vec<ExecutionNodeId> {
        let last = self.earliest.iter().position(|at| *at == self.total_ns);
        let mut nodes = Vec::new();
        let mut event = last.filter(|_| self.total_ns > 0);
        while let Some(at) = event {
            event = self.before[at];
            if at % 2 == 1 && event == Some(start(at / 2)) {
                nodes.push(ExecutionNodeId((at / 2) as u32));
            }
        }
        nodes.reverse();
        nodes
    }

    /// Time by which a node could begin later.
    pub fn slack_ns(&self, node: usize) -> u64 {
        self.latest[start(node)] - self.earliest[start(node)]
    }
}

/// Successors of each event, with the delay in nanoseconds.
fn arcs(graph: &ExecutionGraph) -> Vec<Vec<(usize, u64)>> {
    let mut next = vec![Vec::new(); 2 * graph.nodes.len()];
    let holds_time = nodes_that_hold_time(graph);
    for (id, node) in graph.numbered() {
        let at = id.0 as usize;
        // A scope's own time stands in where nothing in it has one.
        let stated = node.timing_ns();
        let measured = graph.facts[at].measured_ns.filter(|_| !holds_time[at]);
        next[start(at)].push((end(at), stated.or(measured).unwrap_or(0)));
    }
    let mut ordered_scopes = BTreeSet::new();
    for edge in &graph.edges {
        let (src, dst) = (edge.src.0 as usize, edge.dst.0 as usize);
        if edge.edge_type.is_nesting() {
            next[start(src)].push((start(dst), 0));
            next[end(dst)].push((end(src), 0));
        } else if !lies_in(graph, edge.src, edge.dst) && !lies_in(graph, edge.dst, edge.src) {
            next[end(src)].push((start(dst), 0));
            let (of_src, of_dst) = (graph.facts[src].parent, graph.facts[dst].parent);
            if of_src == of_dst {
                ordered_scopes.insert(of_src);
            }
        }
    }
    let mut last_in = BTreeMap::new();
    for (at, facts) in graph.facts.iter().enumerate() {
        if facts.is_in_order
            && !ordered_scopes.contains(&facts.parent)
            && let Some(before) = last_in.insert(facts.parent, at)
        {
            next[end(before)].push((start(at), 0));
        }
    }
    next
}

fn lies_in(graph: &ExecutionGraph, node: ExecutionNodeId, outer: ExecutionNodeId) -> bool {
    let mut at = Some(node);
    // A node that lies in itself is a cycle, found later.
    for _ in 0..=graph.nodes.len() {
        match at {
            Some(node) if node == outer => return true,
            Some(node) => at = graph.facts[node.0 as usize].parent,
            None => return false,
        }
    }
    false
}

/// Nodes with a timed node inside them.
fn nodes_that_hold_time(graph: &ExecutionGraph) -> Vec<bool> {
    let mut parents = vec![Vec::new(); graph.nodes.len()];
    for edge in graph
        .edges
        .iter()
        .filter(|edge| edge.edge_type.is_nesting())
    {
        parents[edge.dst.0 as usize].push(edge.src.0 as usize);
    }
    let mut holds = vec![false; graph.nodes.len()];
    let timed = graph
        .numbered()
        .filter(|(id, _)| graph.time_ns(*id).is_some());
    let mut waiting: Vec<usize> = timed.map(|(id, _)| id.0 as usize).collect();
    while let Some(node) = waiting.pop() {
        for &parent in &parents[node] {
            if !std::mem::replace(&mut holds[parent], true) {
                waiting.push(parent);
            }
        }
    }
    holds
}

fn topological_order(next: &[Vec<(usize, u64)>]) -> Result<Vec<usize>, Cycle> {
    let mut waits_for = vec![0usize; next.len()];
    for (to, _) in next.iter().flatten() {
        waits_for[*to] += 1;
    }
    let free = |count: &usize| *count == 0;
    let mut ready: VecDeque<usize> = (0..next.len()).filter(|at| free(&waits_for[*at])).collect();
    let mut order = Vec::with_capacity(next.len());
    while let Some(event) = ready.pop_front() {
        order.push(event);
        for (to, _) in &next[event] {
            waits_for[*to] -= 1;
            if waits_for[*to] == 0 {
                ready.push_back(*to);
            }
        }
    }
    if order.len() == next.len() {
        return Ok(order);
    }
    let stuck = (0..next.len())
        .filter(|at| waits_for[*at] > 0)
        .map(|event| event / 2);
    let nodes: BTreeSet<usize> = stuck.collect();
    Err(Cycle(
        nodes
            .into_iter()
            .map(|node| ExecutionNodeId(node as u32))
            .collect(),
    ))
}

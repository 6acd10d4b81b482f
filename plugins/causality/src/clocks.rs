//! Lamport clocks (L. Lamport, "Time, Clocks, and the Ordering of Events in a Distributed System", CACM 21, 1978).
//!
//! One pass along predecessors (R. Tarjan, "Depth-First Search and Linear Graph Algorithms", SIAM J. Comput. 1, 1972)
//! meets every event after all those before it, and finds those that come before themselves: these have no clock. For
//! the events after them such a circle counts as one event, so that their clocks keep all other order.

use crate::event_graph::EventGraph;
use crate::events::Event;

/// Bit set in a node's state once its clock is known.
const KNOWN: u32 = 1 << 31;

#[derive(Debug)]
pub struct Clocks {
    values: Vec<u32>,
    /// Nodes of each cycle, sorted. Cycles are in the order of their first node.
    pub circles: Vec<Vec<u32>>,
    /// All nodes on cycles, sorted. They have no clock.
    without: Vec<u32>,
    /// The greatest clock: the number of events on the longest chain.
    pub max: u32,
}

impl Clocks {
    pub fn new(graph: &EventGraph) -> Self {
        let mut pass = Pass {
            graph,
            states: vec![0; graph.nodes() as usize],
            last_index: 0,
            frames: Vec::new(),
            stack: Vec::new(),
            circles: Vec::new(),
        };
        for node in 0..graph.nodes() {
            pass.visit(node);
        }
        let Pass {
            mut states,
            mut circles,
            ..
        } = pass;
        states.iter_mut().for_each(|state| *state &= !KNOWN);
        circles.sort_unstable();
        let mut without = circles.concat();
        without.sort_unstable();
        Self {
            max: states.iter().copied().max().unwrap_or(0),
            values: states,
            circles,
            without,
        }
    }

    /// The clock of an event; `None` if it is on a cycle.
    #[inline]
    pub fn get(&self, event: Event) -> Option<u32> {
        let is_known = self.without.is_empty() || self.without.binary_search(&event).is_err();
        is_known.then(|| self.values[event as usize])
    }
}

/// A node on the depth-first path from the root (Tarjan's algorithm).
struct Frame {
    node: u32,
    looked_at: u32,
    /// Tarjan's low link: the least index reachable from the node.
    low: u32,
    latest: u32,
    is_before_itself: bool,
}

struct Pass<'a> {
    graph: &'a EventGraph,
    /// By node: 0 if not visited, its index (from 1) while open, its clock with the [`KNOWN`] bit when done.
    states: Vec<u32>,
    last_index: u32,
    frames: Vec<Frame>,
    stack: Vec<u32>,
    circles: Vec<Vec<u32>>,
}

impl Pass<'_> {
    fn visit(&mut self, root: u32) {
        if self.states[root as usize] != 0 || self.settle(root) {
            return;
        }
        self.open(root);
        while let Some(frame) = self.frames.last_mut() {
            let (node, looked_at) = (frame.node, frame.looked_at as usize);
            frame.looked_at += 1;
            let [in_order, by_edges] = self.graph.predecessors(node);
            let behind = looked_at.wrapping_sub(in_order.len());
            let next = in_order.get(looked_at).or_else(|| by_edges.get(behind));
            match next {
                None => self.close(),
                Some(&next) => match self.states[next as usize] {
                    0 => self.open(next),
                    state if state & KNOWN != 0 => {
                        frame.latest = frame.latest.max(state & !KNOWN);
                    }
                    index => {
                        frame.low = frame.low.min(index);
                        frame.is_before_itself |= next == node;
                    }
                },
            }
        }
    }

    /// Sets a node's clock without opening it, if the clocks of all predecessors are known.
    fn settle(&mut self, node: u32) -> bool {
        let mut latest = 0;
        for before in self.graph.predecessors(node).into_iter().flatten() {
            let state = self.states[*before as usize];
            if state & KNOWN == 0 {
                return false;
            }
            latest = latest.max(state & !KNOWN);
        }
        self.states[node as usize] = (latest + u32::from(!self.graph.is_gate(node))) | KNOWN;
        true
    }

    fn open(&mut self, node: u32) {
        self.last_index += 1;
        self.states[node as usize] = self.last_index;
        self.stack.push(node);
        self.frames.push(Frame {
            node,
            looked_at: 0,
            low: self.last_index,
            latest: 0,
            is_before_itself: false,
        });
    }

    /// Closes the innermost frame, once all its predecessors were visited.
    fn close(&mut self) {
        let Some(frame) = self.frames.pop() else {
            return;
        };
        let mut latest = frame.latest;
        if frame.low == self.states[frame.node as usize] {
            let from = self.stack.iter().rposition(|node| *node == frame.node);
            let nodes = self.stack.split_off(from.unwrap_or(0));
            let is_circle = nodes.len() > 1 || frame.is_before_itself;
            latest += u32::from(is_circle || !self.graph.is_gate(frame.node));
            for node in &nodes {
                self.states[*node as usize] = latest | KNOWN;
            }
            if is_circle {
                let mut nodes = nodes;
                nodes.sort_unstable();
                self.circles.push(nodes);
            }
        }
        if let Some(parent) = self.frames.last_mut() {
            parent.latest = parent.latest.max(latest);
            parent.low = parent.low.min(frame.low);
        }
    }
}

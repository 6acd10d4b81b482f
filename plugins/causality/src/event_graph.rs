//! The graph of events: who comes directly before whom, by program order and by edges.

use crate::edges::Edge;
use crate::events::{Event, Events};
use crate::program_order::ProgramOrder;

pub struct EventGraph {
    order: ProgramOrder,
    /// By node: start of its slice of `sources`, with one more entry at the end.
    starts: Vec<u32>,
    /// Source events of the edges, grouped by target event.
    sources: Vec<Event>,
}

impl EventGraph {
    pub fn new(events: &Events<'_>, edges: &[Edge]) -> Self {
        let order = ProgramOrder::new(events);
        let mut starts = vec![0; order.nodes() as usize + 1];
        for edge in edges {
            starts[edge.events().1 as usize] += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        // Each part is filled from its end, so the last edges go first.
        let mut sources = vec![0; edges.len()];
        for edge in edges.iter().rev() {
            let (from, to) = edge.events();
            let start = &mut starts[to as usize];
            *start -= 1;
            sources[*start as usize] = from;
        }
        Self {
            order,
            starts,
            sources,
        }
    }

    pub fn nodes(&self) -> u32 {
        self.order.nodes()
    }

    /// True for a gate. Its clock is that of its latest predecessor, not one more.
    #[inline]
    pub fn is_gate(&self, node: u32) -> bool {
        self.order.is_gate(node)
    }

    /// Predecessors by program order, then by edges.
    #[inline]
    pub fn predecessors(&self, node: u32) -> [&[u32]; 2] {
        let node_at = node as usize;
        let part = self.starts[node_at] as usize..self.starts[node_at + 1] as usize;
        [self.order.of(node), &self.sources[part]]
    }
}

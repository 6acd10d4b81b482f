//! Nodes and edges, looked up.

use super::{
    EdgeType, ExecutionEdge, ExecutionGraph, ExecutionNode, ExecutionNodeId, TransferDirection,
};

impl ExecutionGraph {
    /// The node of that number.
    pub fn node(&self, id: ExecutionNodeId) -> Option<&ExecutionNode> {
        self.nodes.get(id.0 as usize)
    }

    /// The last node of that name.
    pub fn node_by_name(&self, name: &str) -> Option<(ExecutionNodeId, &ExecutionNode)> {
        let id = *self.names.get(name)?;
        Some((id, self.node(id)?))
    }

    /// Every node, by number.
    pub fn nodes(&self) -> &[ExecutionNode] {
        &self.nodes
    }

    /// Every edge, in the order of recording.
    pub fn edges(&self) -> &[ExecutionEdge] {
        &self.edges
    }

    /// Counts the nodes.
    pub fn num_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Counts the edges.
    pub fn num_edges(&self) -> usize {
        self.edges.len()
    }

    /// Edges from a node.
    pub fn outgoing_edges(&self, node: ExecutionNodeId) -> impl Iterator<Item = &ExecutionEdge> {
        self.edges.iter().filter(move |edge| edge.src == node)
    }

    /// Edges to a node.
    pub fn incoming_edges(&self, node: ExecutionNodeId) -> impl Iterator<Item = &ExecutionEdge> {
        self.edges.iter().filter(move |edge| edge.dst == node)
    }

    /// Every kernel, by number.
    pub fn kernel_nodes(&self) -> impl Iterator<Item = (ExecutionNodeId, &ExecutionNode)> {
        self.numbered().filter(|(_, node)| node.is_kernel())
    }

    /// The brick that took longest of those that launch kernels, and its time: the time of the brick, not of a kernel.
    /// Bricks without a time have no part in it.
    pub fn slowest_kernel(&self) -> Option<(ExecutionNodeId, &ExecutionNode, u64)> {
        let mut launches = vec![false; self.nodes.len()];
        for edge in &self.edges {
            launches[edge.src.0 as usize] |= edge.edge_type == EdgeType::Launches;
        }
        let bricks = self
            .numbered()
            .filter(|(id, node)| node.is_brick() && launches[id.0 as usize])
            .filter_map(|(id, node)| Some((id, node, self.time_ns(id)?)));
        bricks.max_by_key(|(id, _, ns)| (*ns, std::cmp::Reverse(*id)))
    }

    /// The time of a node: as the program states it, else of a scope from push to pop. `None`: not known.
    pub fn time_ns(&self, id: ExecutionNodeId) -> Option<u64> {
        let stated = self.node(id)?.timing_ns();
        stated.or(self.facts[id.0 as usize].measured_ns)
    }

    pub(super) fn numbered(&self) -> impl Iterator<Item = (ExecutionNodeId, &ExecutionNode)> {
        let ids = (0..).map(ExecutionNodeId);
        ids.zip(&self.nodes)
    }

    pub(super) fn label(node: &ExecutionNode) -> String {
        match node {
            ExecutionNode::Layer { index } => format!("Layer {index}"),
            ExecutionNode::Transfer {
                src,
                dst,
                direction,
                ..
            } => format!("{direction:?}: {src} → {dst}"),
            node => node.name(),
        }
    }

    pub(super) fn place(node: &ExecutionNode) -> Option<String> {
        match node {
            ExecutionNode::Function {
                file: Some(file),
                line,
                ..
            } => Some(line.map_or(file.clone(), |line| format!("{file}:{line}"))),
            _ => None,
        }
    }

    /// Device side, bytes and direction of a transfer between host and device. Device side and bytes identify
    /// the transfer back.
    pub(super) fn device_side(node: &ExecutionNode) -> Option<(&str, u64, TransferDirection)> {
        match node {
            ExecutionNode::Transfer {
                src,
                dst,
                bytes,
                direction,
                ..
            } => match direction {
                TransferDirection::H2D => Some((dst, *bytes, *direction)),
                TransferDirection::D2H => Some((src, *bytes, *direction)),
                TransferDirection::D2D => None,
            },
            _ => None,
        }
    }
}

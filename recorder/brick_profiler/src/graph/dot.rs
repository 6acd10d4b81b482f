//! The graph in the language of Graphviz.

use std::fmt::Write;

use super::{EdgeType, ExecutionGraph, ExecutionNode};
use crate::wording::us;

impl ExecutionGraph {
    /// A digraph: boxes coloured by kind, edges styled by type. What is not ours in it is ASCII.
    pub fn to_dot(&self) -> String {
        let mut dot = "digraph ExecutionGraph {\n  rankdir=TB;\n  node [shape=box];\n\n".to_owned();
        for (id, node) in self.numbered() {
            let (colour, more) = self.box_of(id, node);
            let mut label = escaped(&node_title(node));
            for line in more {
                label.push_str("\\n");
                label.push_str(&escaped(&line));
            }
            let number = id.0;
            let _ = writeln!(
                dot,
                "  n{number} [label=\"{label}\",style=filled,fillcolor={colour}];"
            );
        }
        dot.push('\n');
        for edge in &self.edges {
            let style = match edge.edge_type {
                EdgeType::Calls => "style=solid",
                EdgeType::Contains => "style=dashed",
                EdgeType::Launches => "style=bold,color=red",
                EdgeType::Sequence => "style=dotted",
                EdgeType::DependsOn => "style=solid,color=blue",
                EdgeType::Transfer { .. } => "style=bold,color=orange",
            };
            let _ = writeln!(dot, "  n{} -> n{} [{style}];", edge.src.0, edge.dst.0);
        }
        dot.push_str("}\n");
        dot
    }

    fn box_of(
        &self,
        id: super::ExecutionNodeId,
        node: &ExecutionNode,
    ) -> (&'static str, Vec<String>) {
        let time = self.time_ns(id).map(|ns| us(ns, "us"));
        match node {
            ExecutionNode::Layer { .. } => ("lightblue", Vec::new()),
            ExecutionNode::Brick { .. } => {
                let time = time.unwrap_or_else(|| "no time".to_owned());
                ("lightgreen", vec![time])
            }
            ExecutionNode::Kernel { grid, block, .. } => {
                let mut lines = vec![launch(*grid, *block)];
                lines.extend(time);
                ("lightyellow", lines)
            }
            ExecutionNode::Function { .. } => {
                ("lightgray", Self::place(node).into_iter().collect())
            }
            ExecutionNode::Transfer {
                src, dst, bytes, ..
            } => {
                let mut lines = vec![format!("{src}->{dst}"), format!("{bytes} bytes")];
                lines.extend(time);
                ("lightsalmon", lines)
            }
            ExecutionNode::AsyncTask {
                poll_count,
                yield_count,
                ..
            } => {
                let mut lines = vec![format!("polls:{poll_count} yields:{yield_count}")];
                lines.extend(time);
                ("lightcyan", lines)
            }
        }
    }
}

fn node_title(node: &ExecutionNode) -> String {
    match node {
        ExecutionNode::Transfer { direction, .. } => format!("{direction:?}"),
        node => ExecutionGraph::label(node),
    }
}

pub(super) fn launch(grid: (u32, u32, u32), block: (u32, u32, u32)) -> String {
    let size = |(x, y, z): (u32, u32, u32)| format!("({x},{y},{z})");
    format!("<<<{},{}>>>", size(grid), size(block))
}

fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    text.replace(['\n', '\r'], " ")
}

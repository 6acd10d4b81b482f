//! The graph as a tree of lines.

use std::collections::BTreeSet;

use super::dot::launch;
use super::{ExecutionGraph, ExecutionNode, ExecutionNodeId};
use crate::wording::us;

impl ExecutionGraph {
    /// A line a node, below the node that it lies in. One that lies in several is shown in each, its own contents in the
    /// first. Times are those of [`ExecutionGraph::time_ns`], `–` where there is none.
    pub fn to_ascii_tree(&self) -> String {
        let mut children = vec![Vec::new(); self.nodes.len()];
        let mut is_root = vec![true; self.nodes.len()];
        for edge in self.edges.iter().filter(|edge| edge.edge_type.is_nesting()) {
            children[edge.src.0 as usize].push(edge.dst);
            is_root[edge.dst.0 as usize] = false;
        }
        let roots = (0..self.nodes.len() as u32).filter(|id| is_root[*id as usize]);
        let mut roots: Vec<_> = roots.map(ExecutionNodeId).collect();
        if self.nodes.is_empty() {
            return "(empty graph)".to_owned();
        }
        if roots.is_empty() {
            // They lie in one another: one of them has to be on top.
            roots.push(ExecutionNodeId(0));
        }
        let is_alone = roots.len() == 1;
        let mut lines = Vec::new();
        if !is_alone {
            lines.push("Execution Graph".to_owned());
        }
        let mut shown = BTreeSet::new();
        // Of each line to come: the node, what stands before its branch, whether it is the last of its siblings; the
        // next one on top.
        let last = roots.len() - 1;
        let mut stack: Vec<_> = roots
            .iter()
            .enumerate()
            .rev()
            .map(|(at, id)| (*id, String::new(), at == last, is_alone))
            .collect();
        while let Some((id, before, is_last, is_top)) = stack.pop() {
            let branch = match (is_top, is_last) {
                (true, _) => "",
                (_, true) => "└── ",
                (_, false) => "├── ",
            };
            lines.push(format!("{before}{branch}{}", self.line(id)));
            if !shown.insert(id) {
                continue;
            }
            let below = match (is_top, is_last) {
                (true, _) => before,
                (_, true) => before + "    ",
                (_, false) => before + "│   ",
            };
            let inner = &children[id.0 as usize];
            for (at, child) in inner.iter().enumerate().rev() {
                stack.push((*child, below.clone(), at + 1 == inner.len(), false));
            }
        }
        lines.join("\n")
    }

    fn line(&self, id: ExecutionNodeId) -> String {
        let node = &self.nodes[id.0 as usize];
        let time = self.time_ns(id).map(|ns| us(ns, "µs"));
        let label = Self::label(node);
        let behind = |time: Option<String>| time.map(|time| format!(" {time}")).unwrap_or_default();
        match node {
            ExecutionNode::Layer { .. } => label,
            ExecutionNode::Brick { elements, .. } => {
                let time = time.unwrap_or_else(|| "–".to_owned());
                format!("{label}  {time} ({elements} elem)")
            }
            ExecutionNode::Kernel {
                grid,
                block,
                shared_mem,
                ..
            } => {
                let launch = launch(*grid, *block);
                format!("{label}  {launch} smem={shared_mem}B{}", behind(time))
            }
            ExecutionNode::Function { .. } => match Self::place(node) {
                Some(place) => format!("{label} ({place})"),
                None => label,
            },
            ExecutionNode::Transfer { bytes, .. } => format!("{label}  {bytes}B{}", behind(time)),
            ExecutionNode::AsyncTask {
                poll_count,
                yield_count,
                ..
            } => {
                // Polls that were ready, of all.
                let ready = poll_count.saturating_sub(*yield_count) as f64;
                let share = (*poll_count > 0)
                    .then(|| format!(" ({:.0}% eff)", 100.0 * ready / *poll_count as f64));
                let share = share.unwrap_or_default();
                let time = behind(time);
                format!("{label}  polls:{poll_count} yields:{yield_count}{time}{share}")
            }
        }
    }
}

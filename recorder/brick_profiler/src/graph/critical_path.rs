//! The chain of nodes that the whole took as long as, and the room that the others have.

use std::collections::HashMap;
use std::fmt::Write;

use super::schedule::{Cycle, Schedule};
use super::{ExecutionGraph, ExecutionNodeId};
use crate::wording::us;

const MAX_LISTED: usize = 5;

impl ExecutionGraph {
    /// The longest chain of nodes, and its length in nanoseconds: the sum of their times.
    ///
    /// A node counts once: as itself, or as what lies in it where that takes longer. Nodes recorded in a scope follow one
    /// another, unless edges between nodes of that scope say otherwise; nodes without a time have no part in it. A graph
    /// without any times, or whose order contradicts itself, has no path: no nodes, and 0. Of a program that several
    /// threads or streams run, the plugin `critical_path` tells from the run.
    pub fn critical_path(&self) -> (Vec<ExecutionNodeId>, u64) {
        match Schedule::of(self) {
            Ok(schedule) => (schedule.path(), schedule.total_ns),
            Err(Cycle(_)) => (Vec::new(), 0),
        }
    }

    /// Time by which each node could begin later without the whole taking longer: 0 of those on the path. Nodes without a
    /// time, of their own or inside, are left out; of a graph whose order contradicts itself, all.
    pub fn compute_slack(&self) -> HashMap<ExecutionNodeId, u64> {
        let Ok(schedule) = Schedule::of(self) else {
            return HashMap::new();
        };
        let ids = self.numbered().map(|(id, _)| id);
        let timed = ids.filter(|id| self.time_ns(*id).is_some());
        timed
            .map(|id| (id, schedule.slack_ns(id.0 as usize)))
            .collect()
    }

    /// Nodes that have to wait for one another, so that there is no critical path; none: the order is sound.
    pub fn contradictory_nodes(&self) -> Vec<ExecutionNodeId> {
        Schedule::of(self)
            .err()
            .map_or_else(Vec::new, |Cycle(nodes)| nodes)
    }

    /// Critical path and slack in words, with what has no part in them.
    pub fn critical_path_summary(&self) -> String {
        let mut text = String::new();
        match Schedule::of(self) {
            Ok(schedule) if schedule.total_ns > 0 => self.write_path(&mut text, &schedule),
            Ok(_) => text.push_str("Critical Path: none, no node has a time\n"),
            Err(Cycle(nodes)) => {
                let named: Vec<_> = nodes
                    .iter()
                    .take(MAX_LISTED)
                    .map(|id| self.named(*id))
                    .collect();
                let more = if nodes.len() > MAX_LISTED {
                    ", …"
                } else {
                    ""
                };
                let named = named.join(", ");
                let _ = writeln!(
                    text,
                    "Critical Path: none, these nodes wait for one another: {named}{more}"
                );
            }
        }
        let untimed = |of: fn(&super::ExecutionNode) -> bool| {
            let those = self.numbered().filter(|(_, node)| of(node));
            those.filter(|(id, _)| self.time_ns(*id).is_none()).count()
        };
        let kinds = [
            (untimed(super::ExecutionNode::is_brick), "bricks"),
            (untimed(super::ExecutionNode::is_kernel), "kernels"),
            (untimed(super::ExecutionNode::is_transfer), "transfers"),
        ];
        for (count, what) in kinds.into_iter().filter(|(count, _)| *count > 0) {
            let _ = writeln!(text, "{count} {what} have no time and are not part of it");
        }
        if self.unkept > 0 {
            let _ = writeln!(text, "{} later nodes are in the run only", self.unkept);
        }
        if self.refused_edges > 0 {
            let count = self.refused_edges;
            let _ = writeln!(text, "{count} edges name nodes that do not exist");
        }
        text
    }

    fn write_path(&self, text: &mut String, schedule: &Schedule) {
        let path = schedule.path();
        let ms = schedule.total_ns as f64 / 1e6;
        let _ = writeln!(text, "Critical Path: {ms:.2}ms ({} nodes)", path.len());
        let _ = writeln!(text, "{}", "─".repeat(50));
        for (at, id) in path.iter().enumerate() {
            let bracket = match at {
                0 => "┌",
                _ if at + 1 == path.len() => "└",
                _ => "│",
            };
            let ns = self.time_ns(*id).unwrap_or(0);
            let _ = writeln!(text, "{bracket} {} ({})", self.named(*id), us(ns, "µs"));
        }
        let with_time = self.numbered().map(|(id, _)| id);
        let with_time = with_time.filter(|id| self.time_ns(*id).is_some());
        let slack = with_time.map(|id| (schedule.slack_ns(id.0 as usize), id));
        let mut slack: Vec<_> = slack.filter(|(ns, _)| *ns > 0).collect();
        slack.sort_by_key(|(ns, id)| (std::cmp::Reverse(*ns), *id));
        if !slack.is_empty() {
            text.push_str("\nParallelization Opportunities (high slack):\n");
        }
        for (ns, id) in slack.iter().take(MAX_LISTED) {
            let _ = writeln!(text, "  {} slack={}", self.named(*id), us(*ns, "µs"));
        }
    }

    fn named(&self, id: ExecutionNodeId) -> String {
        self.node(id).map(Self::label).unwrap_or_default()
    }
}

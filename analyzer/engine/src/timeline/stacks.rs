//! Self time by stack of names, over sorted lanes.
//!
//! An instant belongs to the innermost interval open on its lane, as everywhere in a report.

use std::collections::HashMap;

use trueno_analysis::sweep::{Open, OpenIntervals};
use trueno_model::timeline::Frame;

use super::read::{Interval, Lanes};

/// Limit for distinct stacks. Deeper calls count as their caller's own time.
const MAX_NODES: usize = 200_000;

struct Node {
    parent: usize,
    name: u32,
    depth: usize,
    self_ns: i64,
}

#[derive(Default)]
struct Tree {
    nodes: Vec<Node>,
    children: HashMap<(usize, u32), usize>,
}

/// The widest `most` frames with their positions. Children are within their parent, sorted by name.
pub(super) fn frames(lanes: &Lanes, most: usize) -> Vec<Frame> {
    let mut tree = Tree::default();
    let mut roots: Vec<(usize, &str)> = Vec::new();
    let mut pools: HashMap<&str, usize> = HashMap::new();
    for lane in &lanes.lanes {
        let known = lane.pool.as_deref().and_then(|pool| pools.get(pool));
        let root = match known {
            Some(root) => *root,
            None => {
                let name = lane.pool.as_deref().unwrap_or(&lane.name);
                let root = tree.root();
                roots.push((root, name));
                if lane.pool.is_some() {
                    pools.insert(name, root);
                }
                root
            }
        };
        tree.fold(root, &lane.intervals);
    }
    let mut totals: Vec<i64> = tree.nodes.iter().map(|node| node.self_ns).collect();
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); tree.nodes.len()];
    for at in (0..tree.nodes.len()).rev() {
        let parent = tree.nodes[at].parent;
        if parent != at {
            totals[parent] = i64::saturating_add(totals[parent], totals[at]);
            below[parent].push(at);
        }
    }
    let name = |at: usize| &lanes.names[tree.nodes[at].name as usize];
    let mut frames = Vec::new();
    let mut at_ns = 0;
    for (root, of_root) in &roots {
        let mut open = vec![(*root, at_ns)];
        while let Some((at, at_ns)) = open.pop() {
            let node = &tree.nodes[at];
            frames.push(Frame {
                name: if at == *root {
                    (*of_root).to_owned()
                } else {
                    name(at).clone()
                },
                depth: node.depth,
                at_ns,
                total_ns: totals[at],
                self_ns: node.self_ns,
            });
            below[at].sort_by_key(|child| name(*child));
            let mut child_ns = at_ns;
            for child in &below[at] {
                open.push((*child, child_ns));
                child_ns = i64::saturating_add(child_ns, totals[*child]);
            }
        }
        at_ns = i64::saturating_add(at_ns, totals[*root]);
    }
    frames.sort_by(|a, b| {
        b.total_ns
            .cmp(&a.total_ns)
            .then(a.depth.cmp(&b.depth))
            .then(a.at_ns.cmp(&b.at_ns))
            .then_with(|| a.name.cmp(&b.name))
    });
    frames.truncate(most);
    frames.retain(|frame| frame.total_ns > 0);
    frames
}

impl Tree {
    fn root(&mut self) -> usize {
        let root = self.nodes.len();
        self.nodes.push(Node {
            parent: root,
            name: 0,
            depth: 0,
            self_ns: 0,
        });
        root
    }

    fn child(&mut self, parent: usize, name: u32) -> usize {
        if let Some(child) = self.children.get(&(parent, name)) {
            return *child;
        }
        if self.nodes.len() >= MAX_NODES {
            return parent;
        }
        let depth = self.nodes[parent].depth + 1;
        self.nodes.push(Node {
            parent,
            name,
            depth,
            self_ns: 0,
        });
        self.children.insert((parent, name), self.nodes.len() - 1);
        self.nodes.len() - 1
    }

    fn fold(&mut self, root: usize, intervals: &[Interval]) {
        let mut open: OpenIntervals<usize> = OpenIntervals::default();
        for interval in intervals {
            open.advance(interval.start_ns, |stack, from_ns, to_ns| {
                self.book(stack, from_ns, to_ns);
            });
            let parent = open.innermost().unwrap_or(root);
            let node = self.child(parent, interval.name);
            open.open(interval.end_ns, node);
        }
        open.advance(i64::MAX, |stack, from_ns, to_ns| {
            self.book(stack, from_ns, to_ns);
        });
    }

    fn book(&mut self, stack: &[Open<usize>], from_ns: i64, to_ns: i64) {
        if let Some(innermost) = stack.last() {
            let self_ns = &mut self.nodes[innermost.item].self_ns;
            *self_ns = self_ns.saturating_add(to_ns.saturating_sub(from_ns));
        }
    }
}

//! Time on the path by name, with all that belongs to the intervals of the name.
//!
//! A piece of the path counts for its interval and for everything around it, for each name once. However
//! deep intervals nest, each of them is visited once, to find the chain of labels that it ends. Pieces are added up by
//! chain, from the innermost outwards, and a name's time is that of its outermost intervals.

use std::cmp::Reverse;

use trueno_analysis::hash::FastMap;
use trueno_analysis::lanes::{Class, Label};

use crate::graph::Graph;
use crate::ownership::{NONE, Ownership};
use crate::walk::{Piece, PieceKind, durations};

/// Time of one name on the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathTime {
    /// Number of its text.
    pub name: u32,
    /// Time on the path, with what belongs to its intervals.
    pub path_ns: i64,
    /// Of that the time of its intervals themselves.
    pub own_ns: i64,
}

/// Names with time on the path, those with the most time first.
pub fn path_time_by_name(
    graph: &Graph<'_>,
    ownership: &Ownership,
    path: &[Piece],
) -> Vec<PathTime> {
    let forest = Forest::from_path(graph, ownership, path);
    let text = |name: u32| graph.run.texts.text(name);
    let mut out: Vec<PathTime> = forest
        .sums()
        .into_iter()
        .map(|(name, sum)| PathTime {
            name,
            path_ns: sum.path_ns,
            own_ns: sum.own_ns,
        })
        .collect();
    out.sort_unstable_by_key(|row| (Reverse(row.path_ns), text(row.name)));
    out
}

/// All intervals with the same labels from the outermost to themselves: there are far fewer of these chains than
/// intervals.
struct Node {
    /// The chain without its last, or [`NONE`].
    parent: u32,
    label: Label,
    /// On the path, by its intervals themselves; while sums are made, also what is below it.
    path_ns: i64,
}

#[derive(Default)]
struct Forest {
    nodes: Vec<Node>,
    /// By the chain around and the number of a label.
    known: FastMap<(u32, u32), u32>,
}

/// An interval that is being looked at.
const ON_THE_WAY: u32 = NONE - 1;

#[derive(Default)]
struct Sum {
    path_ns: i64,
    own_ns: i64,
    /// Chains that end with the name around the one that is looked at, itself among them.
    open: u32,
}

impl Forest {
    fn from_path(graph: &Graph<'_>, ownership: &Ownership, path: &[Piece]) -> Self {
        let mut out = Self::default();
        // By number of an interval.
        let mut nodes = vec![NONE; ownership.len()];
        let mut way: Vec<(u32, u32)> = Vec::new(); // interval, its label
        let works = |piece: &Piece| matches!(piece.kind, PieceKind::Work | PieceKind::Transfer);
        for (piece, dur_ns) in durations(path, graph.run.wall_ns).filter(|(piece, _)| works(piece))
        {
            let lane = graph.segments.lane(piece.segment);
            let innermost = ownership.first(lane) + graph.segments.span[piece.segment as usize];
            let (mut at, mut node) = (Some(innermost), NONE);
            while let Some(number) = at {
                match nodes[number as usize] {
                    NONE => {}
                    // A circle of spawns at one instant: it is left open.
                    ON_THE_WAY => break,
                    known => {
                        node = known;
                        break;
                    }
                }
                nodes[number as usize] = ON_THE_WAY;
                let place = ownership.place(number);
                let label = graph.run.lanes[place.lane as usize].spans[place.index as usize].label;
                way.push((number, label));
                // A wait lasts as long as what it waits for: what is done in it is not of what is around it.
                at = match graph.run.labels.get(label).class {
                    Class::Wait => None,
                    _ => ownership.owner(number),
                };
            }
            while let Some((number, label)) = way.pop() {
                node = out.node(graph, node, label);
                nodes[number as usize] = node;
            }
            out.nodes[node as usize].path_ns += dur_ns;
        }
        out
    }

    /// The chain that goes on with a label.
    fn node(&mut self, graph: &Graph<'_>, parent: u32, label: u32) -> u32 {
        *self.known.entry((parent, label)).or_insert_with(|| {
            self.nodes.push(Node {
                parent,
                label: graph.run.labels.get(label),
                path_ns: 0,
            });
            (self.nodes.len() - 1) as u32
        })
    }

    /// Sums by name.
    fn sums(mut self) -> FastMap<u32, Sum> {
        let (first, below) = self.below();
        let mut sums: FastMap<u32, Sum> = FastMap::default();
        let mut open: Vec<(u32, u32)> = Vec::new(); // node, the next below it
        for root in 0..self.nodes.len() as u32 {
            if self.nodes[root as usize].parent != NONE {
                continue;
            }
            self.enter(root, &mut sums);
            open.push((root, first[root as usize]));
            while let Some((at, next)) = open.last_mut() {
                if *next < first[*at as usize + 1] {
                    let child = below[*next as usize];
                    *next += 1;
                    self.enter(child, &mut sums);
                    open.push((child, first[child as usize]));
                } else {
                    let at = *at;
                    open.pop();
                    self.leave(at, &mut sums);
                }
            }
        }
        sums
    }

    /// Children of each node: where its list begins, and all lists.
    fn below(&self) -> (Vec<u32>, Vec<u32>) {
        let parents = || self.nodes.iter().map(|node| node.parent);
        let mut first = vec![0_u32; self.nodes.len() + 1];
        for parent in parents().filter(|parent| *parent != NONE) {
            first[parent as usize + 1] += 1;
        }
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let mut next = first.clone();
        let mut below = vec![0_u32; first[self.nodes.len()] as usize];
        for (child, parent) in (0..).zip(parents()).filter(|(_, parent)| *parent != NONE) {
            below[next[parent as usize] as usize] = child;
            next[parent as usize] += 1;
        }
        (first, below)
    }

    fn enter(&self, at: u32, sums: &mut FastMap<u32, Sum>) {
        let node = &self.nodes[at as usize];
        if counts(node.label) {
            let sum = sums.entry(node.label.name).or_default();
            sum.open += 1;
            sum.own_ns += node.path_ns;
        }
    }

    fn leave(&mut self, at: u32, sums: &mut FastMap<u32, Sum>) {
        let Node {
            parent,
            label,
            path_ns,
        } = self.nodes[at as usize];
        if counts(label) {
            let sum = sums.entry(label.name).or_default();
            sum.open -= 1;
            if sum.open == 0 {
                sum.path_ns += path_ns;
            }
        }
        if parent != NONE {
            self.nodes[parent as usize].path_ns += path_ns;
        }
    }
}

/// Frames take in everything, and waits are no work.
fn counts(label: Label) -> bool {
    !matches!(label.class, Class::Scope | Class::Wait)
}

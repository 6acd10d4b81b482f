//! Time on the path by name, with all that belongs to the intervals of the name.
//!
//! A piece of the path counts for its interval and for everything around it, for each name once. Pieces are added up by
//! [chain](crate::graph::chains) of labels, from the innermost outwards, and a name's time is that of its outermost intervals.

use std::cmp::Reverse;

use trueno_analysis::hash::FastMap;
use trueno_analysis::lanes::{Class, Label};

use crate::graph::chains::Chains;
use crate::graph::dependency_graph::Graph;
use crate::graph::ownership::NONE;
use crate::graph::walk::{Piece, PieceKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathTime {
    pub name: u32,
    /// Time on the path, including what belongs to its intervals.
    pub path_ns: i64,
    pub own_ns: i64,
}

pub struct PathTimes<'g> {
    graph: &'g Graph<'g>,
    chains: &'g Chains,
    /// By chain. While sums are computed, it also includes enclosed chains.
    path_ns: Vec<i64>,
}

#[derive(Default)]
struct Sum {
    path_ns: i64,
    own_ns: i64,
    /// Number of open chains whose last label has this name, to count nested ones once.
    open: u32,
}

impl<'g> PathTimes<'g> {
    pub fn new(graph: &'g Graph<'g>, chains: &'g Chains) -> Self {
        Self {
            graph,
            chains,
            path_ns: vec![0; chains.all().len()],
        }
    }

    #[inline]
    pub fn add(&mut self, piece: &Piece) {
        if matches!(piece.kind, PieceKind::Work | PieceKind::Transfer) {
            let span = self.graph.segments.span[piece.segment as usize];
            let chain = self.chains.get(piece.lane as usize, span);
            self.path_ns[chain as usize] += piece.dur_ns;
        }
    }

    pub fn by_name(self) -> Vec<PathTime> {
        let texts = &self.graph.run.texts;
        let sums = self.sums().into_iter();
        let mut out: Vec<PathTime> = sums
            .filter(|(_, sum)| sum.path_ns > 0)
            .map(|(name, sum)| PathTime {
                name,
                path_ns: sum.path_ns,
                own_ns: sum.own_ns,
            })
            .collect();
        out.sort_unstable_by_key(|row| (Reverse(row.path_ns), texts.text(row.name)));
        out
    }

    fn sums(mut self) -> FastMap<u32, Sum> {
        let chains = self.chains.all();
        let (first, below) = self.below();
        let mut sums: FastMap<u32, Sum> = FastMap::default();
        let mut open: Vec<(u32, u32)> = Vec::new(); // chain, the next below it
        for root in 0..chains.len() as u32 {
            if chains[root as usize].around != NONE {
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

    /// Children of each chain: where its list begins, and the concatenated lists.
    fn below(&self) -> (Vec<u32>, Vec<u32>) {
        let chains = self.chains.all();
        let parents = || chains.iter().map(|chain| chain.around);
        let mut first = vec![0_u32; chains.len() + 1];
        for parent in parents().filter(|parent| *parent != NONE) {
            first[parent as usize + 1] += 1;
        }
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let mut next = first.clone();
        let mut below = vec![0_u32; first[chains.len()] as usize];
        for (child, parent) in (0..).zip(parents()).filter(|(_, parent)| *parent != NONE) {
            below[next[parent as usize] as usize] = child;
            next[parent as usize] += 1;
        }
        (first, below)
    }

    fn label(&self, at: u32) -> Label {
        let chain = self.chains.all()[at as usize];
        self.graph.run.labels.get(chain.label)
    }

    fn enter(&self, at: u32, sums: &mut FastMap<u32, Sum>) {
        let label = self.label(at);
        if counts(label) {
            let sum = sums.entry(label.name).or_default();
            sum.open += 1;
            sum.own_ns += self.path_ns[at as usize];
        }
    }

    fn leave(&mut self, at: u32, sums: &mut FastMap<u32, Sum>) {
        let (label, path_ns) = (self.label(at), self.path_ns[at as usize]);
        if counts(label) {
            let sum = sums.entry(label.name).or_default();
            sum.open -= 1;
            if sum.open == 0 {
                sum.path_ns += path_ns;
            }
        }
        let around = self.chains.all()[at as usize].around;
        if around != NONE {
            self.path_ns[around as usize] += path_ns;
        }
    }
}

/// Frames contain everything, and waits are no work.
fn counts(label: Label) -> bool {
    !matches!(label.class, Class::Scope | Class::Wait)
}

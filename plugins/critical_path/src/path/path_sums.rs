//! Time and pieces of a path by label and kind.

use std::collections::BTreeMap;

use crate::graph::dependency_graph::Graph;
use crate::graph::walk::{Piece, PieceKind};
use crate::load::inferred::Rule;

const KINDS: usize = PieceKind::ALL.len();

pub type Sum = (i64, u64);

pub struct PathSums<'g> {
    graph: &'g Graph<'g>,
    /// By label and kind; gaps have no label.
    by_label: Vec<[Sum; KINDS]>,
    gap: Sum,
    /// Time by the rule that inferred why a piece is on the path, in the order of `Rule::ALL`.
    pub inferred_ns: [i64; Rule::ALL.len()],
    pub lanes: Vec<bool>,
}

impl<'g> PathSums<'g> {
    pub fn new(graph: &'g Graph<'g>) -> Self {
        Self {
            graph,
            by_label: vec![[(0, 0); KINDS]; graph.run.labels.all().len()],
            gap: (0, 0),
            inferred_ns: [0; Rule::ALL.len()],
            lanes: vec![false; graph.run.lanes.len()],
        }
    }

    #[inline]
    pub fn add(&mut self, piece: &Piece) {
        let sum = match piece.kind {
            PieceKind::Gap => &mut self.gap,
            kind => {
                let span = self.graph.span(piece.segment, piece.lane as usize);
                &mut self.by_label[span.label as usize][kind as usize]
            }
        };
        *sum = (sum.0 + piece.dur_ns, sum.1 + 1);
        if let Some(is_on_path) = self.lanes.get_mut(piece.lane as usize) {
            *is_on_path = true;
        }
        if let Some(rule) = piece.inferred {
            self.inferred_ns[rule as usize] += piece.dur_ns;
        }
    }

    pub fn gap(&self) -> Sum {
        self.gap
    }

    /// Sums by label and kind, without empty ones.
    pub fn by_label(&self) -> impl Iterator<Item = (u32, PieceKind, Sum)> {
        let labels = (0..).zip(&self.by_label);
        let sums = labels.flat_map(|(label, sums)| {
            let kinds = PieceKind::ALL.into_iter().zip(sums);
            kinds.map(move |(kind, sum)| (label, kind, *sum))
        });
        sums.filter(|(_, _, sum)| sum.1 > 0)
    }

    /// Sums by kind, without empty ones.
    pub fn by_kind(&self) -> BTreeMap<PieceKind, Sum> {
        let mut out = BTreeMap::new();
        let gap = (self.gap.1 > 0).then_some((PieceKind::Gap, self.gap));
        let labelled = self.by_label().map(|(_, kind, sum)| (kind, sum));
        for (kind, (ns, pieces)) in labelled.chain(gap) {
            let sum: &mut Sum = out.entry(kind).or_default();
            *sum = (sum.0 + ns, sum.1 + pieces);
        }
        out
    }
}

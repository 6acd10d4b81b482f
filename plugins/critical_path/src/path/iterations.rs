//! The path of the run during every iteration.

use std::iter::Peekable;
use std::vec;

use trueno_analysis::lanes::{Class, Lanes};

use crate::graph::walk::{Piece, PieceKind};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iteration {
    pub id: u64,
    pub name: u32,
    pub lane: usize,
    pub start_ns: i64,
    pub dur_ns: i64,
    /// Time on the path by kind; adds up to `dur_ns`.
    pub by_kind_ns: [i64; PieceKind::ALL.len()],
}

pub struct Iterations {
    /// Sorted by lane and start.
    all: Vec<Iteration>,
    /// Indexes of iterations that have not begun, sorted by start.
    coming: Peekable<vec::IntoIter<usize>>,
    /// Indexes of iterations that have begun but not ended.
    open: Vec<usize>,
}

impl Iterations {
    pub fn new(run: &Lanes) -> Self {
        let kind = |number: u32| run.texts.text(run.labels.get(number).kind);
        let labels: Vec<bool> = (0..run.labels.all().len() as u32)
            .map(|label| run.labels.get(label).class == Class::Scope && kind(label) == "iteration")
            .collect();
        let mut all = Vec::new();
        let lanes = run.lanes.iter().enumerate();
        for (lane, of_lane) in lanes.filter(|_| labels.contains(&true)) {
            let spans = of_lane.spans.iter();
            let rows = spans.filter(|span| labels[span.label as usize]);
            all.extend(rows.map(|span| Iteration {
                id: span.id,
                name: run.labels.get(span.label).name,
                lane,
                start_ns: span.start_ns,
                dur_ns: span.dur_ns(),
                by_kind_ns: [0; PieceKind::ALL.len()],
            }));
        }
        let mut coming: Vec<usize> = (0..all.len()).collect();
        coming.sort_by_key(|at| all[*at].start_ns);
        Self {
            all,
            coming: coming.into_iter().peekable(),
            open: Vec::new(),
        }
    }

    /// Pieces must come sorted by time.
    #[inline]
    pub fn add(&mut self, piece: &Piece) {
        let end_ns = piece.start_ns + piece.dur_ns;
        let all = &mut self.all;
        while let Some(at) = self.coming.next_if(|at| all[*at].start_ns < end_ns) {
            self.open.push(at);
        }
        self.open.retain(|&at| {
            let row = &mut all[at];
            let row_end_ns = row.start_ns + row.dur_ns;
            let inside_ns = end_ns.min(row_end_ns) - piece.start_ns.max(row.start_ns);
            row.by_kind_ns[piece.kind as usize] += inside_ns.max(0);
            row_end_ns > end_ns
        });
    }

    pub fn finish(self) -> Vec<Iteration> {
        self.all
    }
}

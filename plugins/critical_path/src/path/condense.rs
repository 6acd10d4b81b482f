//! Keeps the list of pieces readable: the longest one by one, the rest in sums.
//!
//! A path through ten million intervals has as many pieces. Of those that are
//! not listed, neighbours become one row for each kind, so that the rows of
//! the path still add up to the window.

use std::cmp::{Ordering, Reverse};

use crate::graph::walk::{Piece, PieceKind};
use crate::load::inferred::Rule;
use crate::path::smallest_rows::Least;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub start_ns: i64,
    pub dur_ns: i64,
    pub kind: PieceKind,
    pub of: Of,
    /// A sum has none; see [`Piece::inferred`].
    pub inferred: Option<Rule>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// A single piece; see [`Piece::segment`].
    Segment(u32),
    /// A sum of this many shorter pieces.
    Pieces(u64),
}

type Sums = [(i64, u64); PieceKind::ALL.len()];

/// A piece that may be listed, with the sums of all pieces before it. Sorted longest first; ties go to the earlier
/// piece.
#[derive(Clone, Copy)]
struct Candidate {
    piece: Piece,
    number: u32,
    before: Sums,
}

impl Candidate {
    fn key(&self) -> (Reverse<i64>, u32) {
        (Reverse(self.piece.dur_ns), self.number)
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Candidate {}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

pub struct Condenser {
    pieces: u32,
    sums: Sums,
    longest: Least<Candidate>,
}

impl Condenser {
    /// Lists the `limit` longest pieces; ties go to the earlier one.
    pub fn new(limit: usize) -> Self {
        Self {
            pieces: 0,
            sums: Sums::default(),
            longest: Least::new(limit),
        }
    }

    /// Pieces must come sorted by time.
    #[inline]
    pub fn add(&mut self, piece: &Piece) {
        // Of equals the earlier are listed: this is asked before anything is copied.
        let bound = self.longest.bound();
        if bound.is_none_or(|bound| piece.dur_ns > bound.piece.dur_ns) {
            self.longest.add(Candidate {
                piece: *piece,
                number: self.pieces,
                before: self.sums,
            });
        }
        self.pieces += 1;
        let sum = &mut self.sums[piece.kind as usize];
        *sum = (sum.0 + piece.dur_ns, sum.1 + 1);
    }

    pub fn into_rows(self) -> Vec<Row> {
        let mut listed = self.longest.into_rows();
        listed.sort_unstable_by_key(|candidate| candidate.number);
        let mut out = Vec::new();
        // A path begins with its window.
        let (mut until_ns, mut until) = (0, Sums::default());
        for Candidate { piece, before, .. } in listed {
            sum_up(until_ns, &until, &before, &mut out);
            out.push(Row {
                start_ns: piece.start_ns,
                dur_ns: piece.dur_ns,
                kind: piece.kind,
                of: Of::Segment(piece.segment),
                inferred: piece.inferred,
            });
            (until_ns, until) = (piece.start_ns + piece.dur_ns, before);
            let sum = &mut until[piece.kind as usize];
            *sum = (sum.0 + piece.dur_ns, sum.1 + 1);
        }
        sum_up(until_ns, &until, &self.sums, &mut out);
        out
    }
}

fn sum_up(start_ns: i64, from: &Sums, to: &Sums, out: &mut Vec<Row>) {
    for (kind, (from, to)) in PieceKind::ALL.into_iter().zip(from.iter().zip(to)) {
        let (dur_ns, pieces) = (to.0 - from.0, to.1 - from.1);
        if pieces > 0 {
            out.push(Row {
                start_ns,
                dur_ns,
                kind,
                of: Of::Pieces(pieces),
                inferred: None,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn nothing_is_lost(durs in prop::collection::vec((1..20_i64, 0..6_usize), 0..60), limit in 0..60_usize) {
            let mut now_ns = 0;
            let mut path = Vec::new();
            for (segment, (dur_ns, kind)) in durs.iter().enumerate() {
                path.push(Piece { start_ns: now_ns, dur_ns: *dur_ns, segment: segment as u32, lane: 0, kind: PieceKind::ALL[*kind], inferred: None });
                now_ns += dur_ns;
            }
            let mut rows = Condenser::new(limit);
            path.iter().for_each(|piece| rows.add(piece));
            let rows = rows.into_rows();
            for kind in PieceKind::ALL {
                let expected: i64 = durs.iter().filter(|d| PieceKind::ALL[d.1] == kind).map(|d| d.0).sum();
                prop_assert_eq!(rows.iter().filter(|row| row.kind == kind).map(|row| row.dur_ns).sum::<i64>(), expected);
            }
            let listed: Vec<i64> = rows.iter().filter(|row| matches!(row.of, Of::Segment(_))).map(|row| row.dur_ns).collect();
            prop_assert_eq!(listed.len(), limit.min(durs.len()));
            let mut longest: Vec<i64> = durs.iter().map(|d| d.0).collect();
            longest.sort_unstable_by(|a, b| b.cmp(a));
            prop_assert_eq!(listed.iter().sum::<i64>(), longest[..listed.len()].iter().sum::<i64>());
            prop_assert!(rows.is_sorted_by_key(|row| row.start_ns));
        }
    }
}

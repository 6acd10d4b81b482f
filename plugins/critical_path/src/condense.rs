//! Keeps the list of pieces readable: the longest one by one, the rest in sums.
//!
//! A path through ten million intervals has as many pieces. Of those that are
//! not listed, neighbours become one row for each kind, so that the rows of
//! the path still add up to the window.

use std::cmp::Reverse;
use std::iter::Peekable;
use std::vec;

use crate::inferred::Rule;
use crate::least::Least;
use crate::walk::{Piece, PieceKind};

/// A row of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Start; of a sum, the start of its first piece.
    pub start_ns: i64,
    /// Its duration.
    pub dur_ns: i64,
    /// Its kind.
    pub kind: PieceKind,
    /// The segment; of a sum the number of its pieces.
    pub of: Of,
    /// Rule of the piece ([`Piece::inferred`]); a sum has none.
    pub inferred: Option<Rule>,
}

/// A piece or a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// A segment; see [`Piece::segment`].
    Segment(u32),
    /// Number of shorter pieces.
    Pieces(u64),
}

/// The `limit` longest pieces of a path, of equals the earlier.
pub struct Longest {
    pieces: u32,
    least: Least<(Reverse<i64>, u32)>,
}

impl Longest {
    /// Of no pieces so far.
    pub fn new(limit: usize) -> Self {
        Self {
            pieces: 0,
            least: Least::new(limit),
        }
    }

    /// Takes in a piece.
    #[inline]
    pub fn add(&mut self, piece: &Piece) {
        self.least.add((Reverse(piece.dur_ns), self.pieces));
        self.pieces += 1;
    }

    /// A list that has these one by one, and sums of all others.
    pub fn into_rows(self) -> Rows {
        let longest = self.least.into_rows().into_iter();
        let mut listed: Vec<u32> = longest.map(|(_, at)| at).collect();
        listed.sort_unstable();
        Rows {
            listed: listed.into_iter().peekable(),
            pieces: 0,
            sums: Default::default(),
            stretch_ns: None,
            out: Vec::new(),
        }
    }
}

/// Rows in the making.
pub struct Rows {
    listed: Peekable<vec::IntoIter<u32>>,
    pieces: u32,
    sums: [(i64, u64); PieceKind::ALL.len()],
    stretch_ns: Option<i64>,
    out: Vec<Row>,
}

impl Rows {
    /// Takes in a piece; the same as were looked at for the longest, in the order of time.
    #[inline]
    pub fn add(&mut self, piece: &Piece) {
        let is_listed = self.listed.next_if_eq(&self.pieces).is_some();
        self.pieces += 1;
        if is_listed {
            self.flush();
            self.out.push(Row {
                start_ns: piece.start_ns,
                dur_ns: piece.dur_ns,
                kind: piece.kind,
                of: Of::Segment(piece.segment),
                inferred: piece.inferred,
            });
        } else {
            self.stretch_ns.get_or_insert(piece.start_ns);
            let sum = &mut self.sums[piece.kind as usize];
            *sum = (sum.0 + piece.dur_ns, sum.1 + 1);
        }
    }

    /// All rows.
    pub fn finish(mut self) -> Vec<Row> {
        self.flush();
        self.out
    }

    fn flush(&mut self) {
        let Some(start_ns) = self.stretch_ns.take() else {
            return;
        };
        for (kind, sum) in PieceKind::ALL.into_iter().zip(&mut self.sums) {
            let (dur_ns, pieces) = std::mem::take(sum);
            if pieces > 0 {
                self.out.push(Row {
                    start_ns,
                    dur_ns,
                    kind,
                    of: Of::Pieces(pieces),
                    inferred: None,
                });
            }
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
            let mut longest = Longest::new(limit);
            path.iter().for_each(|piece| longest.add(piece));
            let mut rows = longest.into_rows();
            path.iter().for_each(|piece| rows.add(piece));
            let rows = rows.finish();
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

//! Keeps the list of pieces readable: the longest one by one, the rest in sums.
//!
//! A path through ten million intervals has as many pieces. Of those that are
//! not listed, neighbours become one row for each kind, so that the rows of
//! the path still add up to the window.

use crate::inferred::Rule;
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

/// Lists the `limit` longest pieces, of equals the earlier, and sums up the others.
pub fn condense(path: &[Piece], wall_ns: i64, limit: usize) -> Vec<Row> {
    let end_ns = |at: usize| path.get(at + 1).map_or(wall_ns, |next| next.start_ns);
    let dur_ns = |at: usize| end_ns(at) - path[at].start_ns;
    let mut listed = vec![true; path.len()];
    if path.len() > limit {
        let mut longest: Vec<u32> = (0..path.len() as u32).collect();
        if limit > 0 {
            longest.select_nth_unstable_by_key(limit - 1, |at| {
                (std::cmp::Reverse(dur_ns(*at as usize)), *at)
            });
        }
        longest[limit..]
            .iter()
            .for_each(|at| listed[*at as usize] = false);
    }
    let mut out = Vec::new();
    let mut sums = [(0_i64, 0_u64); PieceKind::ALL.len()];
    let mut stretch_ns = None;
    for (at, piece) in path.iter().enumerate() {
        if listed[at] {
            flush(&mut sums, &mut stretch_ns, &mut out);
            let of = Of::Segment(piece.segment);
            out.push(Row {
                start_ns: piece.start_ns,
                dur_ns: dur_ns(at),
                kind: piece.kind,
                of,
                inferred: piece.inferred,
            });
        } else {
            stretch_ns.get_or_insert(piece.start_ns);
            let sum = &mut sums[piece.kind as usize];
            *sum = (sum.0 + dur_ns(at), sum.1 + 1);
        }
    }
    flush(&mut sums, &mut stretch_ns, &mut out);
    out
}

fn flush(sums: &mut [(i64, u64)], stretch_ns: &mut Option<i64>, out: &mut Vec<Row>) {
    let Some(start_ns) = stretch_ns.take() else {
        return;
    };
    for (kind, sum) in PieceKind::ALL.into_iter().zip(sums) {
        let (dur_ns, pieces) = std::mem::take(sum);
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
                path.push(Piece { start_ns: now_ns, segment: segment as u32, kind: PieceKind::ALL[*kind], inferred: None });
                now_ns += dur_ns;
            }
            let rows = condense(&path, now_ns, limit);
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

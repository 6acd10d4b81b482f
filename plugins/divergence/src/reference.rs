//! The side that moved, by a third run that neither of the two is taken from: scalar code in f64, say.
//!
//! Each side of a pair that diverges is held against the third run's record of the same key, with the tolerance of
//! the pair. Types may differ there; shapes may not.

use crate::align::{Item, align};
use crate::judge::{Judged, Verdict, differ};
use crate::order::Groups;
use crate::rows::{NONE, Side};
use crate::tolerance::{Rule, Tolerance};

/// Which side is farther from the reference than the tolerance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    Run,
    Baseline,
    Both,
    /// The runs are farther apart than either is from the reference.
    Neither,
}

impl Moved {
    pub const ALL: [Self; 4] = [Self::Run, Self::Baseline, Self::Both, Self::Neither];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Baseline => "baseline",
            Self::Both => "both",
            Self::Neither => "neither",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Against {
    pub moved: Moved,
    /// Lower bounds of the relative error of the run and of the baseline; `None` if not finite.
    pub errors: [Option<f64>; 2],
}

/// Distances of the diverged items: `None` for other items, and for those that the reference lacks. Also returns
/// how many rows of both sides have a partner in the reference.
pub fn against(
    sides: [&Side; 2],
    reference: &Side,
    items: &[Item],
    judged: &[Judged],
    (tolerance, rules): (&Tolerance, &[Rule]),
) -> (Vec<Option<Against>>, usize) {
    let partners = sides.map(|side| partners(side, reference));
    let known = partners.iter().flatten();
    let known = known.filter(|row| **row != NONE).count();
    let one = |(item, judged): (&Item, &Judged)| {
        if judged.verdict != Verdict::Diverged || item.rows.contains(&NONE) {
            return None;
        }
        let name = sides[0].name[item.rows[0] as usize];
        let rule = rules.get(name as usize).copied().flatten();
        let mut off = [false; 2];
        let mut errors = [None; 2];
        for side in 0..2 {
            let row = item.rows[side] as usize;
            let third = Some(partners[side][row]).filter(|row| *row != NONE)? as usize;
            let of = sides[side];
            if of.elements[row] != reference.elements[third]
                || of.shape[row] != reference.shape[third]
            {
                return None;
            }
            if of.dtype[row] == reference.dtype[third] && of.hash[row] == reference.hash[third] {
                errors[side] = Some(0.0);
                continue;
            }
            let atol = tolerance.absolute(rule);
            let (verdict, _, error) = differ([of, reference], [row, third], judged.tolerance, atol);
            (off[side], errors[side]) = (verdict == Verdict::Diverged, error);
        }
        let moved = match off {
            [true, false] => Moved::Run,
            [false, true] => Moved::Baseline,
            [true, true] => Moved::Both,
            [false, false] => Moved::Neither,
        };
        Some(Against { moved, errors })
    };
    (items.iter().zip(judged).map(one).collect(), known)
}

/// By row: its partner in the reference, or [`NONE`].
fn partners(side: &Side, reference: &Side) -> Vec<u32> {
    let groups = Groups::new([side, reference]);
    let mut to = vec![NONE; side.len];
    for item in align([side, reference], &groups) {
        if item.rows[0] != NONE {
            to[item.rows[0] as usize] = item.rows[1];
        }
    }
    to
}

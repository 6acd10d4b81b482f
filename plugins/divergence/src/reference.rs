//! The side that moved, by a third run that neither of the two is taken from: scalar code in f64, say.
//!
//! Each side of a pair that diverges is held against the third run's record of the same key, with the tolerance of
//! the pair. Types may differ there; shapes may not.

use trueno_plugin::Result;

use crate::align::{Aligner, Item};
use crate::judge::{Values, Verdict, differ};
use crate::order::Rows;
use crate::rows::{NONE, Side};
use crate::statistics::{Reader, Statistics};

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

/// The third run, beside the two.
pub struct Reference<'a> {
    side: &'a Side,
    /// By side and row: its partner here, or [`NONE`].
    partners: [Vec<u32>; 2],
    statistics: Reader<'a>,
}

impl<'a> Reference<'a> {
    /// `statistics` are those of the third run, [kept](Reader::kept).
    pub fn new(
        sides: [&Side; 2],
        rows: [&Rows; 2],
        (side, own_rows): (&'a Side, &Rows),
        places: usize,
        statistics: Reader<'a>,
    ) -> Self {
        let mut aligner = Aligner::default();
        let partners = [0, 1].map(|number| {
            let mut to = vec![NONE; sides[number].len];
            for place in 0..places {
                let both = ([sides[number], side], [rows[number], own_rows]);
                aligner.align(both.0, both.1, place, &mut |item| {
                    if let Some(row) = item.on(0) {
                        to[row] = item.rows[1];
                    }
                });
            }
            to
        });
        Self {
            side,
            partners,
            statistics,
        }
    }

    /// Number of rows of both sides with a partner here.
    pub fn known(&self) -> usize {
        let known = self.partners.iter().flatten();
        known.filter(|row| **row != NONE).count()
    }

    /// Distances of a pair that diverged; `None` if they cannot be known.
    ///
    /// # Errors
    /// The statistics cannot be read.
    pub fn against(
        &mut self,
        sides: [&Side; 2],
        item: &Item,
        statistics: &[Statistics; 2],
        (rtol, atol): (f64, f64),
    ) -> Result<Option<Against>> {
        let mut off = [false; 2];
        let mut errors = [None; 2];
        for side in 0..2 {
            let Some(row) = item.on(side) else {
                return Ok(None);
            };
            let third = self.partners[side][row];
            if third == NONE {
                return Ok(None);
            }
            let third = third as usize;
            let (own, other) = (sides[side].tensor(row), self.side.tensor(third));
            if own.elements != other.elements || own.shape != other.shape {
                return Ok(None);
            }
            if own.dtype == other.dtype && sides[side].hash[row] == self.side.hash[third] {
                errors[side] = Some(0.0);
                continue;
            }
            let of_third = self.statistics.take(third)?;
            let values = [
                Values::of(sides[side], row, &statistics[side]),
                Values::of(self.side, third, &of_third),
            ];
            let (verdict, _, error) = differ(values, rtol, atol);
            (off[side], errors[side]) = (verdict == Verdict::Diverged, error);
        }
        let moved = match off {
            [true, false] => Moved::Run,
            [false, true] => Moved::Baseline,
            [true, true] => Moved::Both,
            [false, false] => Moved::Neither,
        };
        Ok(Some(Against { moved, errors }))
    }
}

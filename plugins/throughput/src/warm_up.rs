//! End of warm-up, and outliers after it.
//!
//! The rule: `later` is the median of the second half of a series and its spread their median
//! absolute deviation. The series has settled at the first iteration of the first half whose own
//! time is not above `later` by more than the allowance, and from which on the median of `window` iterations is
//! within `tolerance` of `later`. The allowance is the larger of `mads` deviations and `tolerance`
//! of `later`. Where no iteration of the first half is that, the series has no steady state.

use trueno_analysis::quantiles::{median, median_absolute_deviation};

use crate::Options;

/// A series with fewer iterations is not judged.
pub const MIN_ITERATIONS: usize = 8;
/// An outlier deviates by at least this share of the median, however small the spread is.
pub const FLOOR: f64 = 0.01;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SteadyState {
    TooFew,
    /// The steady state begins at this iteration.
    From(usize),
    /// No steady state begins in the first half.
    Never,
}

pub fn steady_state(wall_ns: &[i64], options: &Options) -> SteadyState {
    let n = wall_ns.len();
    if n < MIN_ITERATIONS {
        return SteadyState::TooFew;
    }
    let values = floats(wall_ns);
    let half = &values[n / 2..];
    let (Some(later), window) = (
        median(&mut half.to_vec()),
        usize::try_from(options.window).unwrap_or(n).clamp(1, n),
    ) else {
        return SteadyState::TooFew;
    };
    let near = options.tolerance * later;
    let allowance = near.max(options.mads * median_absolute_deviation(half, later).unwrap_or(0.0));
    let fits = |from: &usize| {
        let next = &values[*from..n.min(from + window)];
        values[*from] <= later + allowance
            && median(&mut next.to_vec()).is_some_and(|median| (median - later).abs() <= near)
    };
    (0..=n / 2)
        .find(fits)
        .map_or(SteadyState::Never, SteadyState::From)
}

/// Median of steady iterations, and the distance from it at which outliers begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fence {
    pub median: f64,
    /// The larger of `mads` deviations and [`FLOOR`] times the median.
    pub distance: f64,
}

fn floats(wall_ns: &[i64]) -> Vec<f64> {
    wall_ns.iter().map(|wall| *wall as f64).collect()
}

pub fn fence(wall_ns: &[i64], options: &Options) -> Option<Fence> {
    let mut values = floats(wall_ns);
    let median = median(&mut values)?;
    Some(Fence {
        median,
        distance: (options.mads * median_absolute_deviation(&values, median)?).max(FLOOR * median),
    })
}

impl Fence {
    /// `slow`, `fast`, or neither.
    pub fn judge(&self, wall_ns: i64) -> Option<&'static str> {
        let off = wall_ns as f64 - self.median;
        if off > self.distance {
            Some("slow")
        } else if off < -self.distance {
            Some("fast")
        } else {
            None
        }
    }
}

/// Median of the last third of the steady iterations over that of the first third, minus 1. `None` for fewer than
/// [`MIN_ITERATIONS`].
pub fn drift(wall_ns: &[i64]) -> Option<f64> {
    let third = wall_ns.len() / 3;
    if wall_ns.len() < MIN_ITERATIONS {
        return None;
    }
    let middle = |part: &[i64]| median(&mut floats(part));
    let (first, last) = (
        middle(&wall_ns[..third])?,
        middle(&wall_ns[wall_ns.len() - third..])?,
    );
    (first > 0.0).then(|| last / first - 1.0)
}

//! Clocks that were set while ranks recorded.
//!
//! Ranks leave a collective together, so of a steady clock the times of leaving, less those of another rank, lie on a
//! line. Where a clock is set, they jump.

use std::collections::BTreeMap;

use trueno_analysis::clock_offsets::Stay;
use trueno_analysis::quantiles::lower_median;

/// Number of collectives compared on each side of a clock jump, and of those of ranks that rarely meet.
const WINDOW: usize = 8;
const MIN_WINDOW: usize = 3;
const MIN_STEP_NS: i64 = 100_000;
/// Fewer collectives show only larger jumps.
const MIN_STEP_OF_FEW_NS: i64 = 1_000_000;
/// A jump must be at least this many times the spread of the differences around it.
const MIN_SPREADS: i64 = 4;
/// Jumps of several ranks within this time are the same one.
const SAME_NS: i64 = 200_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockStep {
    pub rank: u32,
    /// First time after the jump, by the clock that was set.
    pub at_ns: i64,
    /// How far it was set forward; negative if back.
    pub by_ns: i64,
}

#[derive(Clone, Debug, Default)]
pub struct ClockSteps(Vec<ClockStep>);

impl ClockSteps {
    /// Finds at most one jump of each rank. `collectives` are those that synchronise, by time, each with its
    /// ranks' stays.
    pub fn find(collectives: &[Vec<Stay>]) -> Self {
        let ranks = collectives.iter().flatten().map(|stay| stay.rank);
        let Some(reference) = ranks.min() else {
            return Self::default();
        };
        let mut pairs: BTreeMap<u32, Vec<(Stay, Stay)>> = BTreeMap::new();
        for stays in collectives {
            let Some(of_reference) = stays.iter().find(|stay| stay.rank == reference) else {
                continue;
            };
            for stay in stays.iter().filter(|stay| stay.rank != reference) {
                pairs
                    .entry(stay.rank)
                    .or_default()
                    .push((*stay, *of_reference));
            }
        }
        let ranks = pairs.len();
        let found: Vec<(ClockStep, i64)> = pairs
            .iter()
            .filter_map(|(rank, pairs)| step(*rank, pairs))
            .collect();
        // Where all others jump at once, it is the reference that was set.
        if let Some((first, at_ns)) = found.first().copied() {
            let is_same = |of: &(ClockStep, i64)| {
                (of.0.by_ns - first.by_ns).abs() <= SAME_NS && (of.1 - at_ns).abs() <= SAME_NS
            };
            if ranks > 1 && found.len() == ranks && found.iter().all(is_same) {
                return Self(vec![ClockStep {
                    rank: reference,
                    at_ns,
                    by_ns: -first.by_ns,
                }]);
            }
        }
        Self(found.into_iter().map(|(step, _)| step).collect())
    }

    pub fn all(&self) -> &[ClockStep] {
        &self.0
    }

    /// A rank's time with its clock jumps removed.
    pub fn steady_ns(&self, rank: u32, ns: i64) -> i64 {
        let steps = self
            .0
            .iter()
            .filter(|step| step.rank == rank && ns >= step.at_ns);
        steps.fold(ns, |ns, step| ns.saturating_sub(step.by_ns))
    }
}

/// The largest jump of a rank's clock against the reference, and when it happened by the reference's clock.
fn step(rank: u32, pairs: &[(Stay, Stay)]) -> Option<(ClockStep, i64)> {
    let apart: Vec<i64> = pairs
        .iter()
        .map(|(of, reference)| of.leave_ns.saturating_sub(reference.leave_ns))
        .collect();
    let window = (apart.len() / 4).clamp(MIN_WINDOW, WINDOW);
    let jump = |at: usize| {
        let (before, after) = (&apart[at - window..at], &apart[at..at + window]);
        let middle = |values: &[i64]| lower_median(&mut values.to_vec()).unwrap_or(0);
        let (from_ns, to_ns) = (middle(before), middle(after));
        let spread = |values: &[i64], middle_ns: i64| {
            let all = values.iter().map(|ns| ns.saturating_sub(middle_ns).abs());
            all.max().unwrap_or(0)
        };
        let spread_ns = spread(before, from_ns).max(spread(after, to_ns));
        (to_ns.saturating_sub(from_ns), spread_ns)
    };
    let places = window..(apart.len() + 1).saturating_sub(window);
    let (at, (by_ns, spread_ns)) = places
        .map(|at| (at, jump(at)))
        .max_by_key(|(_, (by_ns, spread_ns))| by_ns.saturating_abs().saturating_sub(*spread_ns))?;
    let min_ns = if window < WINDOW {
        MIN_STEP_OF_FEW_NS
    } else {
        MIN_STEP_NS
    };
    let is_step = by_ns.saturating_abs() >= min_ns.max(spread_ns.saturating_mul(MIN_SPREADS));
    let (of, reference) = pairs[at];
    let out = ClockStep {
        rank,
        at_ns: of.arrive_ns,
        by_ns,
    };
    is_step.then_some((out, reference.arrive_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Collectives of three ranks, a millisecond apart. `set` is a rank, and how far its clock is set forward
    /// at the 20th.
    fn collectives(set: Option<(u32, i64)>) -> Vec<Vec<Stay>> {
        let stays = |at: i64| {
            let stay = |rank: u32| {
                let clock_ns = match set {
                    Some((of, by_ns)) if of == rank && at >= 20 => by_ns,
                    _ => 0,
                };
                // They leave up to 3 µs apart, and the clock of rank 1 drifts by 20 ppm.
                let noise_ns = (at * 7 + i64::from(rank) * 3) % 4 * 1_000;
                let drift_ns = if rank == 1 { at * 20 } else { 0 };
                let ns = at * 1_000_000 + clock_ns + drift_ns;
                Stay {
                    rank,
                    arrive_ns: ns,
                    leave_ns: ns + 100_000 + noise_ns,
                }
            };
            (0..3).map(stay).collect()
        };
        (0..40).map(stays).collect()
    }

    #[test]
    fn a_clock_that_was_set_is_found_and_others_are_not() {
        assert_eq!(ClockSteps::find(&collectives(None)).all(), []);
        for rank in 0..3 {
            let steps = ClockSteps::find(&collectives(Some((rank, 1_000_000))));
            let [step] = steps.all() else {
                panic!("{steps:?}");
            };
            assert_eq!(step.rank, rank);
            assert!((step.by_ns - 1_000_000).abs() < 10_000, "{step:?}");
            let local_ns = 25_000_000 + 1_000_000;
            assert!((steps.steady_ns(rank, local_ns) - 25_000_000).abs() < 10_000);
            assert_eq!(steps.steady_ns(rank, 5_000_000), 5_000_000);
        }
    }
}

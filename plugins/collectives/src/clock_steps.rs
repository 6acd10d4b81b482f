//! Clocks that were set while ranks recorded.
//!
//! Ranks leave a collective together, so of a steady clock the times of leaving, less those of another rank, lie on a
//! line. Where a clock is set, they jump, and in all operations alike: a jump in one operation that another does not
//! show is the operation's.

use std::collections::BTreeMap;

use trueno_analysis::clock_offsets::Stay;
use trueno_analysis::collectives::Operation;
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

/// A collective, or a send and its receive.
#[derive(Clone, Debug)]
pub struct Meeting {
    pub operation: Operation,
    /// By rank.
    pub stays: Vec<Stay>,
}

#[derive(Clone, Debug, Default)]
pub struct ClockSteps(Vec<ClockStep>);

impl ClockSteps {
    /// Finds at most one jump of each rank. `meetings` are by time.
    pub fn find(meetings: &[Meeting]) -> Self {
        let mut steps = Self::in_collectives(meetings).0;
        loop {
            let kept: Vec<ClockStep> = steps
                .iter()
                .filter(|step| !is_contradicted(step, &steps, meetings))
                .copied()
                .collect();
            if kept.len() == steps.len() {
                return Self(kept);
            }
            steps = kept;
        }
    }

    fn in_collectives(meetings: &[Meeting]) -> Self {
        let collectives = || {
            let synchronising = meetings.iter().filter(|of| of.operation.synchronises());
            synchronising.map(|of| &of.stays)
        };
        let ranks = collectives().flatten().map(|stay| stay.rank);
        let Some(reference) = ranks.min() else {
            return Self::default();
        };
        let mut pairs: BTreeMap<u32, Vec<(Stay, Stay)>> = BTreeMap::new();
        for stays in collectives() {
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

/// Whether an operation in which the rank meets others shows no such jump.
///
/// Beside the jumps of both ranks, one rank's alone is no contradiction: they may have been placed at different
/// collectives.
fn is_contradicted(step: &ClockStep, steps: &[ClockStep], meetings: &[Meeting]) -> bool {
    type BeforeAndAfter = [Vec<i64>; 2];
    let mut apart: BTreeMap<(u32, Operation), BeforeAndAfter> = BTreeMap::new();
    for meeting in meetings {
        let stays = &meeting.stays;
        let Some(place) = stays.iter().position(|stay| stay.rank == step.rank) else {
            continue;
        };
        let own = stays[place];
        // The nearest ranks are enough: all pairs of a large group would be too many.
        let beside = [place.checked_sub(1), Some(place + 1)];
        for other in beside.into_iter().flatten().filter_map(|at| stays.get(at)) {
            let sides = apart.entry((other.rank, meeting.operation)).or_default();
            let is_after = own.arrive_ns >= step.at_ns;
            sides[usize::from(is_after)].push(own.leave_ns.saturating_sub(other.leave_ns));
        }
    }
    apart.iter().any(|((other, _), [before, after])| {
        let before = &before[before.len().saturating_sub(WINDOW)..];
        let after = &after[..after.len().min(WINDOW)];
        if before.len().min(after.len()) < MIN_WINDOW {
            return false;
        }
        let middle = |values: &[i64]| lower_median(&mut values.to_vec()).unwrap_or(0);
        let usually_off = |values: &[i64], middle_ns: i64| {
            let off: Vec<i64> = values
                .iter()
                .map(|ns| ns.saturating_sub(middle_ns).saturating_abs())
                .collect();
            middle(&off)
        };
        let (from_ns, to_ns) = (middle(before), middle(after));
        let spread_ns = usually_off(before, from_ns).max(usually_off(after, to_ns));
        let seen_ns = to_ns.saturating_sub(from_ns);
        let of_other = steps.iter().find(|of| of.rank == *other);
        let both_ns = step.by_ns.saturating_sub(of_other.map_or(0, |of| of.by_ns));
        let allowed_ns = spread_ns
            .saturating_mul(MIN_SPREADS)
            .max(step.by_ns.saturating_abs() / 2);
        [step.by_ns, both_ns]
            .iter()
            .all(|expected_ns| seen_ns.saturating_sub(*expected_ns).saturating_abs() > allowed_ns)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All-reduces of three ranks, a millisecond apart. `set` is a rank, and how far its clock is set forward
    /// at the 20th.
    fn collectives(set: Option<(u32, i64)>) -> Vec<Meeting> {
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
            Meeting {
                operation: Operation::AllReduce,
                stays: (0..3).map(stay).collect(),
            }
        };
        (0..40).map(stays).collect()
    }

    /// Before each collective, a send from rank 0 to 1, and one from 1 to 2.
    fn with_sends(collectives: Vec<Meeting>, set: Option<(u32, i64)>) -> Vec<Meeting> {
        let with_sends = (0..).zip(collectives).flat_map(|(at, collective)| {
            let sends = [(0, 1), (1, 2)].map(|ranks: (u32, u32)| {
                let stay = |rank: u32| {
                    let clock_ns = match set {
                        Some((of, by_ns)) if of == rank && at >= 20 => by_ns,
                        _ => 0,
                    };
                    let ns = at * 1_000_000 - 300_000 + clock_ns;
                    Stay {
                        rank,
                        arrive_ns: ns,
                        leave_ns: ns + 50_000 + at % 3 * 2_000,
                    }
                };
                Meeting {
                    operation: Operation::Send,
                    stays: vec![stay(ranks.0), stay(ranks.1)],
                }
            });
            sends.into_iter().chain([collective])
        });
        with_sends.collect()
    }

    #[test]
    fn a_jump_in_collectives_alone_is_no_jump_of_a_clock() {
        for rank in 0..3 {
            let set = Some((rank, 1_000_000));
            let both = with_sends(collectives(set), set);
            assert_eq!(ClockSteps::find(&both).all().len(), 1, "rank {rank}");
            let collectives_only = with_sends(collectives(set), None);
            assert_eq!(ClockSteps::find(&collectives_only).all(), [], "rank {rank}");
        }
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

//! Arrivals of the ranks at each collective, on one clock.

use std::collections::{BTreeMap, BTreeSet};

use trueno_analysis::clock_offsets::{ClockOffsets, PairClocks, Stay};
use trueno_analysis::collectives::{Instance, Matched, match_parts};
use trueno_analysis::steps::Step;

use crate::clock_steps::{ClockSteps, Meeting};
use crate::parts::Loaded;

/// How many steps before a collective's own step are searched for the rank that held up the others.
const STEPS_BACK: usize = 1;
/// How many earlier collectives are searched if no steps are recorded.
const LOOK_BACK: usize = 1_000;

/// One rank's time in a collective, on the clock of the reference rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    pub part: usize,
    pub rank: u32,
    pub arrive_ns: i64,
    pub dur_ns: i64,
    /// Uncertainty of its times against the reference's; `None` if nothing compares the clocks.
    pub uncertainty_ns: Option<i64>,
}

/// A collective with at least two recorded ranks.
#[derive(Clone, Debug)]
pub struct JobCollective {
    pub instance: Instance,
    pub arrivals: Vec<Arrival>,
    /// Indices of the arrivals that may have been last, because the clocks do not tell them apart. Empty if
    /// nobody waits for the last, or if some rank is not recorded.
    pub latest: Vec<usize>,
    /// Index of the last arrival, if there is only one candidate.
    pub last: Option<usize>,
    /// From the first arrival to the last.
    pub skew_ns: Option<i64>,
    pub uncertainty_ns: Option<i64>,
    /// Ranks wait in it for the last arrival.
    pub waits: bool,
    /// By arrival: how long before the last one it came, or seems to have come.
    before_last_ns: Vec<i64>,
}

impl JobCollective {
    /// How long a rank waited for the last arrival; `None` if unknown.
    pub fn waited_ns(&self, place: usize) -> Option<i64> {
        if self.latest.contains(&place) {
            return (self.last == Some(place)).then_some(0);
        }
        (!self.latest.is_empty()).then(|| self.before_last_ns[place].max(0))
    }

    /// Sum of all ranks' waits for the last arrival.
    pub fn caused_ns(&self) -> i64 {
        let waits = (0..self.arrivals.len()).filter_map(|place| self.waited_ns(place));
        waits.fold(0, i64::saturating_add)
    }

    fn ranks(&self) -> impl Iterator<Item = u32> {
        self.arrivals.iter().map(|of| of.rank)
    }

    /// The shortest time a rank spent in it: the transfer as the last arrival saw it.
    pub fn transfer_ns(&self) -> i64 {
        let stays = self.arrivals.iter().map(|of| of.dur_ns);
        stays.min().unwrap_or(0)
    }
}

pub struct Job {
    pub matched: Matched,
    /// Collectives with at least two recorded ranks, by time.
    pub instances: Vec<JobCollective>,
    pub clocks: ClockOffsets,
    /// Jumps of clocks that were set during the run. All other times are corrected for them.
    pub clock_steps: ClockSteps,
}

impl Job {
    pub fn compare(loaded: &Loaded) -> Self {
        let matched = match_parts(&loaded.parts, &loaded.groups, &loaded.recorded);
        let meetings: Vec<Meeting> = matched
            .instances
            .iter()
            .filter(|instance| instance.parts.len() > 1)
            .map(|instance| {
                let stay = |at: &usize| {
                    let part = &loaded.parts[*at];
                    Stay {
                        rank: part.rank,
                        arrive_ns: part.start_ns,
                        leave_ns: part.end_ns,
                    }
                };
                Meeting {
                    operation: instance.operation,
                    stays: instance.parts.iter().map(stay).collect(),
                }
            })
            .collect();
        let clock_steps = ClockSteps::find(&meetings);
        // Whoever was not recorded may have come last: then the others left together all the same.
        let mut stays: Vec<Vec<Stay>> = meetings
            .into_iter()
            .filter(|meeting| meeting.operation.synchronises())
            .map(|meeting| meeting.stays)
            .collect();
        for stay in stays.iter_mut().flatten() {
            stay.arrive_ns = clock_steps.steady_ns(stay.rank, stay.arrive_ns);
            stay.leave_ns = clock_steps.steady_ns(stay.rank, stay.leave_ns);
        }
        let clocks = ClockOffsets::estimate(stays.iter().map(Vec::as_slice));
        let mut pairs = PairClocks::new(&stays);
        let mut instances: Vec<JobCollective> = matched
            .instances
            .iter()
            .filter(|instance| instance.parts.len() > 1)
            .map(|instance| collective(loaded, instance, (&clocks, &clock_steps), &mut pairs))
            .collect();
        instances.sort_by_key(|one| {
            (
                one.arrivals.iter().map(|of| of.arrive_ns).min(),
                one.arrivals[0].part,
            )
        });
        let history = History::new(loaded, &instances);
        for at in 0..instances.len() {
            instances[at].last = instances[at]
                .last
                .or_else(|| history.held_up_by_one(loaded, &instances, at));
        }
        Self {
            matched,
            instances,
            clocks,
            clock_steps,
        }
    }
}

impl Job {
    pub fn is_pipeline(&self) -> bool {
        let mut all = self.instances.iter();
        all.any(|one| one.instance.receiver.is_some())
    }
}

/// The collectives before each collective.
struct History<'a> {
    of_ranks: BTreeMap<u32, Vec<usize>>,
    /// By rank and start.
    steps: BTreeMap<u32, Vec<&'a Step>>,
}

impl<'a> History<'a> {
    fn new(loaded: &'a Loaded, instances: &[JobCollective]) -> Self {
        let mut of_ranks: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (at, one) in instances.iter().enumerate() {
            for rank in one.ranks() {
                of_ranks.entry(rank).or_default().push(at);
            }
        }
        let mut steps: BTreeMap<u32, Vec<&Step>> = BTreeMap::new();
        for step in &loaded.steps {
            let rank = u32::try_from(step.rank).unwrap_or(0);
            steps.entry(rank).or_default().push(step);
        }
        Self { of_ranks, steps }
    }

    /// Among ranks that may all have been last, the one that held up all the others in earlier collectives. The
    /// search goes back to the last collective in which all of them met, at most [`STEPS_BACK`] steps.
    fn held_up_by_one(
        &self,
        loaded: &Loaded,
        instances: &[JobCollective],
        at: usize,
    ) -> Option<usize> {
        let one = &instances[at];
        if one.latest.len() < 2 {
            return None;
        }
        let mut left = one.latest.clone();
        let met_all = |before: &JobCollective| {
            one.ranks()
                .all(|rank| before.ranks().any(|other| other == rank))
        };
        // Only collectives of a rank that may be the last say anything of it: these, the newest first.
        let ranks: BTreeSet<u32> = left.iter().map(|place| one.arrivals[*place].rank).collect();
        let mut before: Vec<&[usize]> = ranks
            .iter()
            .map(|rank| self.before(loaded, instances, at, *rank))
            .collect();
        while let Some(newest) = before.iter().filter_map(|own| own.last().copied()).max() {
            for own in &mut before {
                if let Some((last, rest)) = own.split_last()
                    && *last == newest
                {
                    *own = rest;
                }
            }
            let before = &instances[newest];
            if met_all(before) {
                break;
            }
            let Some(last) = before.last.map(|last| before.arrivals[last].rank) else {
                continue;
            };
            if left.iter().any(|place| one.arrivals[*place].rank == last) {
                left.retain(|place| {
                    let rank = one.arrivals[*place].rank;
                    rank == last || before.ranks().all(|other| other != rank)
                });
            }
        }
        (left.len() == 1).then(|| left[0])
    }

    /// A rank's collectives before the one at `at`, within the searched steps.
    fn before(
        &self,
        loaded: &Loaded,
        instances: &[JobCollective],
        at: usize,
        rank: u32,
    ) -> &[usize] {
        let own = &self.of_ranks[&rank];
        let own = &own[..own.partition_point(|other| *other < at)];
        let first = match self.steps.get(&rank) {
            Some(_) => own.partition_point(|other| {
                let mut arrivals = instances[*other].arrivals.iter();
                let of_rank = arrivals.find(|of| of.rank == rank);
                of_rank.is_some_and(|of| !self.is_recent(loaded, &instances[at], rank, of.part))
            }),
            None => own.len().saturating_sub(LOOK_BACK),
        };
        &own[first..]
    }

    /// True if a rank's part lies in the step of a collective, or in one of the searched steps before it.
    fn is_recent(&self, loaded: &Loaded, one: &JobCollective, rank: u32, part: usize) -> bool {
        let Some(steps) = self.steps.get(&rank) else {
            return true;
        };
        let called_ns = |part: usize| {
            let ns = loaded.facts[part].called_ns;
            ns.saturating_add(loaded.around.origin_ns)
        };
        let own = one.arrivals.iter().find(|of| of.rank == rank);
        let Some(own) = own else {
            return false;
        };
        let begun = steps.partition_point(|step| step.start_ns <= called_ns(own.part));
        let first = steps.get(begun.saturating_sub(1 + STEPS_BACK));
        first.is_none_or(|first| called_ns(part) >= first.start_ns)
    }
}

fn collective(
    loaded: &Loaded,
    instance: &Instance,
    (clocks, clock_steps): (&ClockOffsets, &ClockSteps),
    pairs: &mut PairClocks<'_>,
) -> JobCollective {
    let local_ns = |at: usize| {
        let part = &loaded.parts[at];
        clock_steps.steady_ns(part.rank, part.start_ns)
    };
    let arrival = |at: &usize| {
        let part = &loaded.parts[*at];
        let on_reference = clocks.on_reference(part.rank, local_ns(*at));
        Arrival {
            part: *at,
            rank: part.rank,
            arrive_ns: on_reference.map_or(local_ns(*at), |(ns, _)| ns),
            dur_ns: part.end_ns.saturating_sub(part.start_ns),
            uncertainty_ns: on_reference.map(|(_, uncertainty_ns)| uncertainty_ns),
        }
    };
    let arrivals: Vec<Arrival> = instance.parts.iter().map(arrival).collect();
    // From one arrival to a later one, with the uncertainty of the clock that tells it best.
    let mut apart = |early: &Arrival, late: &Arrival| -> Option<(i64, i64)> {
        let apart_ns = late.arrive_ns.saturating_sub(early.arrive_ns);
        let (a, b) = early.uncertainty_ns.zip(late.uncertainty_ns)?;
        let by_reference = (apart_ns, a.saturating_add(b));
        if early.rank == late.rank || by_reference.0.abs() > by_reference.1 {
            return Some(by_reference);
        }
        let (of_early_ns, of_late_ns) = (local_ns(early.part), local_ns(late.part));
        let (low, high) = (early.rank.min(late.rank), early.rank.max(late.rank));
        let at_ns = if low == early.rank {
            of_early_ns
        } else {
            of_late_ns
        };
        // Of the higher rank's clock over the lower's, at a time of the lower's.
        let by_pair = pairs.lead(high, low, at_ns).map(|lead| {
            let lead_ns = if high == late.rank { lead.ns } else { -lead.ns };
            let apart_ns = of_late_ns.saturating_sub(of_early_ns);
            (apart_ns.saturating_sub(lead_ns), lead.uncertainty_ns)
        });
        let by_pair = by_pair.filter(|of| of.1 < by_reference.1);
        Some(by_pair.unwrap_or(by_reference))
    };
    let came = |of: &Arrival| (of.arrive_ns, of.part);
    let first = arrivals.iter().min_by_key(|of| came(of));
    let mut newest = arrivals.iter().max_by_key(|of| came(of));
    for of in &arrivals {
        let is_later = newest
            .and_then(|newest| apart(newest, of))
            .is_some_and(|(apart_ns, uncertainty_ns)| apart_ns > uncertainty_ns);
        if is_later {
            newest = Some(of);
        }
    }
    let skew = first
        .zip(newest)
        .and_then(|(first, newest)| apart(first, newest));
    // Who is not recorded may have come later still; and nobody waits for the last where nobody has to.
    let waits = match instance.receiver {
        Some(receiver) => is_pair_waiting(receiver, &arrivals),
        None => instance.operation.synchronises(),
    };
    // One of two that wait for each other's data is not late: stages of a pipeline wait by design.
    let may_wait = instance.not_recorded == Some(0) && waits && instance.receiver.is_none();
    let is_comparable = arrivals.iter().all(|of| of.uncertainty_ns.is_some());
    let before_last: Vec<Option<(i64, i64)>> = arrivals
        .iter()
        .map(|of| newest.and_then(|newest| apart(of, newest)))
        .collect();
    let latest: Vec<usize> = (0..arrivals.len())
        .filter(|_| may_wait && is_comparable)
        .filter(|place| {
            let is_newest = newest.is_some_and(|newest| newest.part == arrivals[*place].part);
            is_newest
                || before_last[*place]
                    .is_some_and(|(apart_ns, uncertainty_ns)| apart_ns <= uncertainty_ns)
        })
        .collect();
    // Where all may be the last, nobody waited; and what a rank did before its recording began is not known.
    let first_ns = first.map_or(i64::MAX, |first| first.arrive_ns);
    let begun_later = |place: &usize| {
        let of = &arrivals[*place];
        let begun_ns = loaded.begins_ns.get(&of.rank).map(|ns| {
            let local_ns = loaded.parts[of.part].start_ns;
            of.arrive_ns.saturating_sub(local_ns.saturating_sub(*ns))
        });
        begun_ns.is_some_and(|ns| ns.saturating_sub(of.uncertainty_ns.unwrap_or(0)) > first_ns)
    };
    let has_last = latest.len() < arrivals.len() && !latest.iter().any(begun_later);
    let latest = if has_last { latest } else { Vec::new() };
    JobCollective {
        last: (latest.len() == 1).then(|| latest[0]),
        latest,
        skew_ns: skew.map(|(skew_ns, _)| skew_ns),
        uncertainty_ns: skew.map(|(_, uncertainty_ns)| uncertainty_ns),
        instance: instance.clone(),
        before_last_ns: before_last
            .iter()
            .map(|of| of.map_or(0, |(apart_ns, _)| apart_ns))
            .collect(),
        arrivals,
        waits,
    }
}

/// True if either side of a send and receive pair waited: the receiver if the sender came last, or the sender if it
/// stayed until the receiver came. A message that fits into a buffer is sent without waiting.
fn is_pair_waiting(receiver: u32, arrivals: &[Arrival]) -> bool {
    let of = |is_receiver: bool| {
        let mut all = arrivals.iter();
        all.find(|of| (of.rank == receiver) == is_receiver)
    };
    let (Some(from), Some(to)) = (of(false), of(true)) else {
        return false;
    };
    let sum = from.uncertainty_ns.zip(to.uncertainty_ns);
    let uncertainty_ns = sum.map(|(a, b)| a.saturating_add(b));
    let left_ns = from.arrive_ns.saturating_add(from.dur_ns);
    let stayed_ns = left_ns.saturating_sub(to.arrive_ns);
    let later_ns = from.arrive_ns.saturating_sub(to.arrive_ns);
    uncertainty_ns.is_some_and(|ns| later_ns > ns || stayed_ns > ns)
}

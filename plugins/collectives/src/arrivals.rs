//! Arrivals of the ranks at each collective, on one clock.

use trueno_analysis::clock_offsets::{ClockOffsets, Stay};
use trueno_analysis::collectives::{Instance, Matched, match_parts};

use crate::parts::Loaded;

/// Collectives before one that are looked through for who held others up.
const LOOK_BACK: usize = 1_000;

/// Stay of one rank, on the clock of the reference rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Place of its part.
    pub part: usize,
    pub rank: u32,
    pub arrive_ns: i64,
    pub dur_ns: i64,
    /// Uncertainty of its times against the reference's; `None`: nothing compares the clocks.
    pub uncertainty_ns: Option<i64>,
}

/// A collective of several recorded ranks.
#[derive(Clone, Debug)]
pub struct JobCollective {
    /// The matched parts.
    pub instance: Instance,
    pub arrivals: Vec<Arrival>,
    /// Places of those that may have come last: no clock tells them apart. None: nobody waits for the last, or some rank
    /// is not recorded.
    pub latest: Vec<usize>,
    /// Place of the last to come, if that can be told.
    pub last: Option<usize>,
    /// From the first to come to the last.
    pub skew_ns: Option<i64>,
    pub uncertainty_ns: Option<i64>,
    /// Ranks wait in it for the last to come.
    pub waits: bool,
}

impl JobCollective {
    /// Wait for the last to come of the rank at a place; `None`: whether it waited cannot be told.
    pub fn waited_ns(&self, place: usize) -> Option<i64> {
        if self.latest.contains(&place) {
            return (self.last == Some(place)).then_some(0);
        }
        let came = self.latest.iter().map(|at| self.arrivals[*at].arrive_ns);
        let own_ns = self.arrivals[place].arrive_ns;
        came.max()
            .map(|last_ns| last_ns.saturating_sub(own_ns).max(0))
    }

    /// Waits of all for the last, together.
    pub fn caused_ns(&self) -> i64 {
        let waits = (0..self.arrivals.len()).filter_map(|place| self.waited_ns(place));
        waits.fold(0, i64::saturating_add)
    }

    fn ranks(&self) -> impl Iterator<Item = u32> {
        self.arrivals.iter().map(|of| of.rank)
    }

    /// The shortest stay of a rank: the time of the transfer as the last to come saw it.
    pub fn transfer_ns(&self) -> i64 {
        let stays = self.arrivals.iter().map(|of| of.dur_ns);
        stays.min().unwrap_or(0)
    }
}

/// The collectives of a job, and the clocks of its ranks.
pub struct Job {
    /// All that was matched, and what was not.
    pub matched: Matched,
    /// Collectives of at least two recorded ranks, by time.
    pub instances: Vec<JobCollective>,
    pub clocks: ClockOffsets,
}

impl Job {
    /// Matches parts and puts their times on one clock.
    pub fn compare(loaded: &Loaded) -> Self {
        let matched = match_parts(&loaded.parts, &loaded.groups, &loaded.recorded);
        let stays: Vec<Vec<Stay>> = matched
            .instances
            .iter()
            // Whoever was not recorded may have come last: then the others left together all the same.
            .filter(|instance| instance.operation.synchronises() && instance.parts.len() > 1)
            .map(|instance| {
                let stay = |at: &usize| {
                    let part = &loaded.parts[*at];
                    Stay {
                        rank: part.rank,
                        arrive_ns: part.start_ns,
                        leave_ns: part.end_ns,
                    }
                };
                instance.parts.iter().map(stay).collect()
            })
            .collect();
        let clocks = ClockOffsets::estimate(stays.iter().map(Vec::as_slice));
        let mut instances: Vec<JobCollective> = matched
            .instances
            .iter()
            .filter(|instance| instance.parts.len() > 1)
            .map(|instance| collective(loaded, instance, &clocks))
            .collect();
        instances.sort_by_key(|one| {
            (
                one.arrivals.iter().map(|of| of.arrive_ns).min(),
                one.arrivals[0].part,
            )
        });
        for at in 0..instances.len() {
            instances[at].last = instances[at]
                .last
                .or_else(|| held_up_by_one(&instances, at));
        }
        Self {
            matched,
            instances,
            clocks,
        }
    }
}

/// Of ranks that come last together, the one that held up all others of them in collectives since all of this one's ranks
/// met.
fn held_up_by_one(instances: &[JobCollective], at: usize) -> Option<usize> {
    let one = &instances[at];
    if one.latest.len() < 2 {
        return None;
    }
    let mut left = one.latest.clone();
    let met_all = |before: &JobCollective| {
        one.ranks()
            .all(|rank| before.ranks().any(|other| other == rank))
    };
    let since = instances[..at].iter().rev().take(LOOK_BACK);
    for before in since.take_while(|before| !met_all(before)) {
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

fn collective(loaded: &Loaded, instance: &Instance, clocks: &ClockOffsets) -> JobCollective {
    let arrival = |at: &usize| {
        let part = &loaded.parts[*at];
        let on_reference = clocks.on_reference(part.rank, part.start_ns);
        Arrival {
            part: *at,
            rank: part.rank,
            arrive_ns: on_reference.map_or(part.start_ns, |(ns, _)| ns),
            dur_ns: part.end_ns.saturating_sub(part.start_ns),
            uncertainty_ns: on_reference.map(|(_, uncertainty_ns)| uncertainty_ns),
        }
    };
    let arrivals: Vec<Arrival> = instance.parts.iter().map(arrival).collect();
    let came = |of: &Arrival| (of.arrive_ns, of.part);
    let first = arrivals.iter().min_by_key(|of| came(of));
    let newest = arrivals.iter().max_by_key(|of| came(of));
    let apart = |early: &Arrival, late: &Arrival| {
        let apart_ns = late.arrive_ns.saturating_sub(early.arrive_ns);
        let (a, b) = early.uncertainty_ns.zip(late.uncertainty_ns)?;
        Some((apart_ns, a.saturating_add(b)))
    };
    let skew = first
        .zip(newest)
        .and_then(|(first, newest)| apart(first, newest));
    // Who is not recorded may have come later still; and nobody waits for the last where nobody has to.
    let waits = match instance.receiver {
        Some(receiver) => is_pair_waiting(receiver, &arrivals),
        None => instance.operation.synchronises(),
    };
    let may_wait = instance.not_recorded == Some(0) && waits;
    let is_comparable = arrivals.iter().all(|of| of.uncertainty_ns.is_some());
    let latest: Vec<usize> = (0..arrivals.len())
        .filter(|_| may_wait && is_comparable)
        .filter(|place| {
            let apart = newest.and_then(|newest| apart(&arrivals[*place], newest));
            let is_newest = newest.is_some_and(|newest| newest.part == arrivals[*place].part);
            is_newest || apart.is_some_and(|(apart_ns, uncertainty_ns)| apart_ns <= uncertainty_ns)
        })
        .collect();
    // Where all may be the last, nobody waited.
    let latest = if latest.len() < arrivals.len() {
        latest
    } else {
        Vec::new()
    };
    JobCollective {
        last: (latest.len() == 1).then(|| latest[0]),
        latest,
        skew_ns: skew.map(|(skew_ns, _)| skew_ns),
        uncertainty_ns: skew.map(|(_, uncertainty_ns)| uncertainty_ns),
        instance: instance.clone(),
        arrivals,
        waits,
    }
}

/// True if one of a send and its receive waited for the other: the receiver, if the sender came last, and the sender, if it
/// stayed until the receiver came. What fits into a buffer is sent before.
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

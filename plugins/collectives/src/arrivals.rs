//! Arrivals of the ranks at each collective, on one clock.

use trueno_analysis::clock_offsets::{ClockOffsets, Stay};
use trueno_analysis::collectives::{Instance, Matched, match_parts};

use crate::parts::Loaded;

/// Stay of one rank, on the clock of the reference rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Place of its part.
    pub part: usize,
    /// The rank.
    pub rank: u32,
    /// Its arrival.
    pub arrive_ns: i64,
    /// Its part.
    pub dur_ns: i64,
    /// Uncertainty of its times against the reference's; `None`: nothing compares the clocks.
    pub uncertainty_ns: Option<i64>,
}

/// A collective of several recorded ranks.
#[derive(Clone, Debug)]
pub struct JobCollective {
    /// The matched parts.
    pub instance: Instance,
    /// By rank.
    pub arrivals: Vec<Arrival>,
    /// Place of the last to come among them, if that can be told.
    pub last: Option<usize>,
    /// From the first to come to the last.
    pub skew_ns: Option<i64>,
    /// Uncertainty of that.
    pub uncertainty_ns: Option<i64>,
}

impl JobCollective {
    /// Wait of a rank for the last to come; `None`: who was last cannot be told.
    pub fn waited_ns(&self, of: &Arrival) -> Option<i64> {
        let last = &self.arrivals[self.last?];
        Some(last.arrive_ns.saturating_sub(of.arrive_ns).max(0))
    }

    /// Waits of all for the last, together.
    pub fn caused_ns(&self) -> i64 {
        let waits = self.arrivals.iter().filter_map(|of| self.waited_ns(of));
        waits.fold(0, i64::saturating_add)
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
    /// The clocks.
    pub clocks: ClockOffsets,
}

impl Job {
    /// Matches parts and puts their times on one clock.
    pub fn compare(loaded: &Loaded) -> Self {
        let matched = match_parts(&loaded.parts, &loaded.groups, &loaded.ranks);
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
        Self {
            matched,
            instances,
            clocks,
        }
    }
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
    let mut order: Vec<usize> = (0..arrivals.len()).collect();
    order.sort_by_key(|at| (arrivals[*at].arrive_ns, *at));
    let apart = |early: usize, late: usize| {
        let [early, late] = [&arrivals[order[early]], &arrivals[order[late]]];
        let apart_ns = late.arrive_ns.saturating_sub(early.arrive_ns);
        let uncertainty_ns = early.uncertainty_ns.zip(late.uncertainty_ns);
        (apart_ns, uncertainty_ns.map(|(a, b)| a.saturating_add(b)))
    };
    let count = order.len();
    let (skew_ns, skew_uncertainty_ns) = apart(0, count - 1);
    let (ahead_ns, ahead_uncertainty_ns) = apart(count - 2, count - 1);
    // Who is not recorded may have come later still; and nobody waits for the last where nobody has to.
    let is_told = ahead_uncertainty_ns.is_some_and(|uncertainty_ns| ahead_ns > uncertainty_ns)
        && instance.not_recorded == 0
        && instance.operation.synchronises();
    JobCollective {
        last: is_told.then(|| order[count - 1]),
        skew_ns: skew_uncertainty_ns.map(|_| skew_ns),
        uncertainty_ns: skew_uncertainty_ns,
        instance: instance.clone(),
        arrivals,
    }
}

//! Sums over all collectives: by rank, by pair of ranks, by cause.

use std::collections::BTreeMap;

use crate::arrivals::Job;
use crate::cause::{Cause, Kind};
use crate::parts::Loaded;

/// Sums of one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OfRank {
    /// Collectives that it was in.
    pub collectives: u64,
    /// Of those, of which it can be told who was last.
    pub told: u64,
    /// Of those, in which it was the last.
    pub last: u64,
    /// It waited for the last; `None`: in none it can be told whether it did.
    pub waited_ns: Option<i64>,
    /// Others waited for it, together.
    pub caused_ns: i64,
    /// By how much it came after the last but one, over all.
    pub alone_ns: i64,
}

/// Sums of a cause of one rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfCause {
    /// Collectives that came late for it.
    pub collectives: u64,
    /// Others waited in them, together.
    pub caused_ns: i64,
    /// Excess over the median of the others.
    pub excess_ns: i64,
    /// Excess by name.
    pub names: BTreeMap<String, i64>,
}

/// All sums.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// By rank.
    pub ranks: BTreeMap<u32, OfRank>,
    /// Waiting rank and last rank: collectives, and time.
    pub waits: BTreeMap<(u32, u32), (u64, i64)>,
    /// By the rank that was last.
    pub causes: BTreeMap<(u32, Kind), OfCause>,
    /// Collectives of which it cannot be told who was last.
    pub not_told: u64,
}

impl Totals {
    /// Adds all up.
    pub fn new(loaded: &Loaded, job: &Job, causes: &BTreeMap<usize, Cause>) -> Self {
        let mut out = Self::default();
        for (at, one) in job.instances.iter().enumerate() {
            out.not_told += u64::from(one.last.is_none());
            for of in &one.arrivals {
                let sums = out.ranks.entry(of.rank).or_default();
                sums.collectives += 1;
                sums.told += u64::from(one.last.is_some());
            }
            for (place, of) in one.arrivals.iter().enumerate() {
                let sums = out.ranks.entry(of.rank).or_default();
                if let Some(waited_ns) = one.waited_ns(place) {
                    let before_ns = sums.waited_ns.unwrap_or(0);
                    sums.waited_ns = Some(before_ns.saturating_add(waited_ns));
                }
            }
            let Some(last) = one.last.map(|last| one.arrivals[last]) else {
                continue;
            };
            let mut least_ns = i64::MAX;
            for (place, of) in one.arrivals.iter().enumerate() {
                // Held up with the last, by it: it did not wait here.
                let Some(waited_ns) = one.waited_ns(place).filter(|_| of.rank != last.rank) else {
                    continue;
                };
                least_ns = least_ns.min(waited_ns);
                let pair = out.waits.entry((of.rank, last.rank)).or_default();
                *pair = (pair.0 + 1, pair.1.saturating_add(waited_ns));
            }
            let sums = out.ranks.entry(last.rank).or_default();
            sums.last += 1;
            sums.caused_ns = sums.caused_ns.saturating_add(one.caused_ns());
            sums.alone_ns = sums.alone_ns.saturating_add(least_ns);
            if let Some(cause) = causes.get(&at) {
                let of = out.causes.entry((last.rank, cause.kind)).or_default();
                of.collectives += 1;
                of.caused_ns = of.caused_ns.saturating_add(one.caused_ns());
                of.excess_ns = of.excess_ns.saturating_add(cause.excess_ns);
                if let Some(name) = cause.name {
                    let name = loaded.lanes.texts.text(name).to_owned();
                    let sum = of.names.entry(name).or_default();
                    *sum = sum.saturating_add(cause.excess_ns);
                }
            }
        }
        out
    }

    /// The rank that others waited for longest.
    pub fn worst(&self) -> Option<(u32, &OfRank)> {
        let ranks = self.ranks.iter();
        let worst = ranks.max_by_key(|(rank, of)| (of.caused_ns, std::cmp::Reverse(**rank)))?;
        Some((*worst.0, worst.1)).filter(|(_, of)| of.caused_ns > 0)
    }

    /// Waits of all for any rank, together.
    pub fn caused_ns(&self) -> i64 {
        let all = self.ranks.values().map(|of| of.caused_ns);
        all.fold(0, i64::saturating_add)
    }

    /// The causes of a rank, the longest first.
    pub fn causes_of(&self, rank: u32) -> Vec<(Kind, &OfCause)> {
        let own = self.causes.iter().filter(|((of, _), _)| *of == rank);
        let mut own: Vec<(Kind, &OfCause)> = own.map(|((_, kind), of)| (*kind, of)).collect();
        own.sort_by_key(|(kind, of)| (std::cmp::Reverse(of.caused_ns), *kind));
        own
    }
}

impl OfCause {
    /// The name with the largest excess.
    pub fn name(&self) -> Option<&str> {
        let most = self
            .names
            .iter()
            .max_by_key(|(name, ns)| (**ns, std::cmp::Reverse(*name)));
        most.map(|(name, _)| name.as_str())
    }
}

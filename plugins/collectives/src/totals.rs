//! Sums over all collectives: by rank, and by pair of ranks.

use std::collections::BTreeMap;

use crate::arrivals::Job;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OfRank {
    pub collectives: u64,
    /// Collectives whose last rank is known.
    pub with_last: u64,
    pub last: u64,
    /// Its waits for the last rank; `None` if they are unknown in every collective.
    pub waited_ns: Option<i64>,
    /// Sum of the others' waits for it.
    pub caused_ns: i64,
    /// Sum of how much later it came than the last but one.
    pub alone_ns: i64,
}

#[derive(Clone, Debug, Default)]
pub struct Totals {
    pub ranks: BTreeMap<u32, OfRank>,
    /// By waiting rank and last rank: number of collectives, and time.
    pub waits: BTreeMap<(u32, u32), (u64, i64)>,
    pub without_last: u64,
}

impl Totals {
    pub fn new(job: &Job) -> Self {
        let mut out = Self::default();
        for one in &job.instances {
            out.without_last += u64::from(one.last.is_none());
            for of in &one.arrivals {
                let sums = out.ranks.entry(of.rank).or_default();
                sums.collectives += 1;
                sums.with_last += u64::from(one.last.is_some());
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
        }
        out
    }

    /// The rank that others waited for longest.
    pub fn worst(&self) -> Option<(u32, &OfRank)> {
        let ranks = self.ranks.iter();
        let worst = ranks.max_by_key(|(rank, of)| (of.caused_ns, std::cmp::Reverse(**rank)))?;
        Some((*worst.0, worst.1)).filter(|(_, of)| of.caused_ns > 0)
    }

    pub fn caused_ns(&self) -> i64 {
        let all = self.ranks.values().map(|of| of.caused_ns);
        all.fold(0, i64::saturating_add)
    }
}

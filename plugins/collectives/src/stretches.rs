//! Stretches of time in which a rank became late: from leaving the collective before, that all ranks of this one were in,
//! to arriving here, each by the clock of its rank.
//!
//! For the collectives that others waited in longest, of the last rank and of some others to compare it with. Plugin
//! `lateness` looks into what the ranks did meanwhile.

use std::collections::BTreeMap;

use trueno_plugin::{Table, TableBuilder};

use crate::arrivals::{Job, JobCollective};
use crate::parts::Loaded;

const MAX_OTHERS: usize = 8;

/// The time of one rank between two collectives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Index of the collective at its end.
    pub instance: usize,
    pub rank: u32,
    /// Its rank is the last to arrive.
    pub is_last: bool,
    pub from_ns: i64,
    pub to_ns: i64,
    /// Sum of all ranks' waits for the last.
    pub caused_ns: i64,
}

/// The stretches before the `most` collectives with the longest waits. For each collective, the last rank comes
/// first.
pub fn stretches(loaded: &Loaded, job: &Job, most: usize) -> Vec<Stretch> {
    let before = previous_common(job);
    let mut places: Vec<(usize, usize)> = (0..job.instances.len())
        .filter(|at| job.instances[*at].last.is_some())
        .filter_map(|at| Some((at, before[at]?)))
        .collect();
    places.sort_by_cached_key(|(at, _)| (std::cmp::Reverse(job.instances[*at].caused_ns()), *at));
    places.truncate(most);
    places.sort_unstable();
    let each = places.into_iter();
    each.flat_map(|(at, before)| of_collective(loaded, &job.instances[before], at, job))
        .collect()
}

/// For each collective, the previous one with all of its ranks.
fn previous_common(job: &Job) -> Vec<Option<usize>> {
    let mut latest: BTreeMap<Vec<u32>, usize> = BTreeMap::new();
    let mut out = Vec::with_capacity(job.instances.len());
    for (at, one) in job.instances.iter().enumerate() {
        let ranks: Vec<u32> = one.arrivals.iter().map(|of| of.rank).collect();
        let holds_all =
            |known: &&Vec<u32>| ranks.iter().all(|rank| known.binary_search(rank).is_ok());
        let before = latest.iter().filter(|(known, _)| holds_all(known));
        out.push(before.map(|(_, at)| *at).max());
        latest.insert(ranks, at);
    }
    out
}

fn of_collective(loaded: &Loaded, before: &JobCollective, at: usize, job: &Job) -> Vec<Stretch> {
    let one = &job.instances[at];
    let last = one.last.unwrap_or(0);
    let left_ns = |rank: u32| {
        let of = before.arrivals.iter().find(|of| of.rank == rank);
        of.map(|of| loaded.parts[of.part].end_ns)
    };
    let stretch = |place: usize| {
        let of = &one.arrivals[place];
        let to_ns = loaded.parts[of.part].start_ns;
        Stretch {
            instance: at,
            rank: of.rank,
            is_last: place == last,
            from_ns: left_ns(of.rank).unwrap_or(to_ns).min(to_ns),
            to_ns,
            caused_ns: one.caused_ns(),
        }
    };
    let others = (0..one.arrivals.len()).filter(|place| *place != last);
    std::iter::once(last)
        .chain(others.take(MAX_OTHERS))
        .map(stretch)
        .collect()
}

pub fn table(loaded: &Loaded, stretches: &[Stretch]) -> TableBuilder {
    let rows = || stretches.iter();
    let on_run = |ns: i64| ns.saturating_add(loaded.around.origin_ns);
    Table::build("stretches")
        .u64("instance", rows().map(|of| of.instance as u64))
        .u64("rank", rows().map(|of| u64::from(of.rank)))
        .bool("is_last", rows().map(|of| of.is_last))
        .i64("start_ns", rows().map(|of| on_run(of.from_ns)))
        .i64(
            "dur_ns",
            rows().map(|of| of.to_ns.saturating_sub(of.from_ns)),
        )
        .i64("caused_ns", rows().map(|of| of.caused_ns))
}

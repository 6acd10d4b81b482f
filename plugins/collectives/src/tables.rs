//! Output tables; columns and formulas: `docs/analyses/collectives.md`.

use std::collections::BTreeMap;

use trueno_analysis::collectives::{Operation, Unmatched};
use trueno_analysis::quantiles::lower_median;
use trueno_plugin::{Table, TableBuilder};

use crate::arrivals::{Arrival, Job, JobCollective};
use crate::parts::Loaded;
use crate::totals::Totals;

/// Table `by_rank`: waiting, lateness and clock of each rank.
pub fn by_rank(loaded: &Loaded, job: &Job, totals: &Totals) -> TableBuilder {
    let ranks: Vec<u32> = totals.ranks.keys().copied().collect();
    let of = |rank: &u32| &totals.ranks[rank];
    // Null where no collective of the rank has a known last rank.
    let known = |rank: &u32, ns: i64| (of(rank).with_last > 0).then_some(ns);
    let middle_ns = middle(job);
    let clock = |rank: &u32| job.clocks.at(*rank, middle_ns);
    Table::build("by_rank")
        .u64("rank", ranks.iter().map(|rank| u64::from(*rank)))
        .u64("collectives", ranks.iter().map(|rank| of(rank).collectives))
        .u64("with_last", ranks.iter().map(|rank| of(rank).with_last))
        .u64("last", ranks.iter().map(|rank| of(rank).last))
        .i64(
            "caused_ns",
            ranks.iter().map(|rank| known(rank, of(rank).caused_ns)),
        )
        .i64(
            "alone_ns",
            ranks.iter().map(|rank| known(rank, of(rank).alone_ns)),
        )
        .i64("waited_ns", ranks.iter().map(|rank| of(rank).waited_ns))
        .i64(
            "clock_offset_ns",
            ranks.iter().map(|rank| clock(rank).map(|of| of.ns)),
        )
        .i64(
            "clock_uncertainty_ns",
            ranks
                .iter()
                .map(|rank| clock(rank).map(|of| of.uncertainty_ns)),
        )
        .i64(
            "clock_at_ns",
            ranks
                .iter()
                .map(|rank| clock(rank).map(|_| middle_ns.saturating_add(loaded.around.origin_ns))),
        )
        .f64(
            "clock_drift_ppm",
            ranks.iter().map(|rank| job.clocks.drift_ppm(*rank)),
        )
}

fn middle(job: &Job) -> i64 {
    let times = || job.instances.iter().map(|one| one.arrivals[0].arrive_ns);
    let (first, last) = (times().min().unwrap_or(0), times().max().unwrap_or(0));
    first / 2 + last / 2
}

/// Table `waits`: who waited for whom.
pub fn waits(totals: &Totals) -> TableBuilder {
    let rows = || totals.waits.iter();
    Table::build("waits")
        .u64(
            "waiting_rank",
            rows().map(|((rank, _), _)| u64::from(*rank)),
        )
        .u64("last_rank", rows().map(|((_, last), _)| u64::from(*last)))
        .u64("collectives", rows().map(|(_, (count, _))| *count))
        .i64("waited_ns", rows().map(|(_, (_, ns))| *ns))
}

fn communicator(loaded: &Loaded, number: Option<u32>) -> Option<&str> {
    number.map(|number| loaded.texts.text(number))
}

/// Bytes per second of a transfer, by the definition of nccl-tests ("algbw").
fn algorithm_bandwidth(bytes: Option<u64>, ns: i64) -> Option<f64> {
    bytes
        .filter(|_| ns > 0)
        .map(|bytes| bytes as f64 * 1e9 / ns as f64)
}

/// Number of ranks of a collective's communicator; `None` if unknown.
fn group_size(one: &JobCollective) -> Option<u32> {
    let not_recorded = one.instance.not_recorded?;
    Some(one.arrivals.len() as u32 + not_recorded)
}

/// Bytes of a collective. If its ranks state different sizes (split sizes), the largest.
fn bytes(loaded: &Loaded, arrivals: &[Arrival]) -> Option<u64> {
    arrivals
        .iter()
        .filter_map(|of| loaded.facts[of.part].bytes)
        .max()
}

/// Table `by_operation`: bandwidth of collectives of one communicator, operation and size. Only collectives whose ranks
/// were all recorded give a time: a rank that was not may have come last.
pub fn by_operation(loaded: &Loaded, job: &Job, link_bytes_per_s: f64) -> TableBuilder {
    #[derive(Default)]
    struct Of {
        times: Vec<i64>,
        skews: Vec<i64>,
        parts: u64,
        ranks: u32,
    }
    type Key = (Option<u32>, Operation, Option<u64>);
    let mut all: BTreeMap<Key, Of> = BTreeMap::new();
    for (at, part) in loaded.parts.iter().enumerate() {
        let key = (part.communicator, part.operation, loaded.facts[at].bytes);
        let of = all.entry(key).or_default();
        of.parts += 1;
        of.ranks = of.ranks.max(part.group_size.unwrap_or(0));
    }
    for one in &job.instances {
        let key = (
            one.instance.communicator,
            one.instance.operation,
            bytes(loaded, &one.arrivals),
        );
        let Some(of) = all.get_mut(&key) else {
            continue;
        };
        of.ranks = of.ranks.max(group_size(one).unwrap_or(0));
        // Whoever was not recorded may have come last.
        if one.instance.not_recorded == Some(0) {
            of.times.push(one.transfer_ns());
        }
        of.skews.extend(one.skew_ns);
    }
    let mut rows: Vec<(Key, Of)> = all.into_iter().collect();
    rows.sort_by_key(|(key, of)| {
        let time = of
            .times
            .iter()
            .fold(0, |sum: i64, ns| sum.saturating_add(*ns));
        (std::cmp::Reverse(time), std::cmp::Reverse(of.parts), *key)
    });
    let time: Vec<Option<i64>> = rows
        .iter_mut()
        .map(|(_, of)| lower_median(&mut of.times))
        .collect();
    let skew: Vec<Option<i64>> = rows
        .iter_mut()
        .map(|(_, of)| lower_median(&mut of.skews))
        .collect();
    let algorithm: Vec<Option<f64>> = rows
        .iter()
        .zip(&time)
        .map(|((key, _), ns)| algorithm_bandwidth(key.2, (*ns)?))
        .collect();
    let bus: Vec<Option<f64>> = rows
        .iter()
        .zip(&algorithm)
        .map(|((key, of), rate)| Some((*rate)? * key.1.bus_factor(of.ranks)?))
        .collect();
    let share = |rate: &Option<f64>| {
        rate.filter(|_| link_bytes_per_s > 0.0)
            .map(|rate| rate / link_bytes_per_s)
    };
    let known = |ranks: u32| (ranks > 0).then_some(u64::from(ranks));
    Table::build("by_operation")
        .text(
            "communicator",
            rows.iter().map(|(key, _)| communicator(loaded, key.0)),
        )
        .text("operation", rows.iter().map(|(key, _)| key.1.name()))
        .u64("bytes", rows.iter().map(|(key, _)| key.2))
        .u64("ranks", rows.iter().map(|(_, of)| known(of.ranks)))
        .u64("parts", rows.iter().map(|(_, of)| of.parts))
        .u64("matched", rows.iter().map(|(_, of)| of.times.len() as u64))
        .i64("transfer_ns", time)
        .i64("skew_ns", skew)
        .f64("algorithm_bytes_per_s", algorithm)
        .f64("bus_bytes_per_s", bus.clone())
        .f64("bus_share", bus.iter().map(share))
}

/// Table `unmatched`: parts that belong to no collective of several recorded ranks, and why.
pub fn unmatched(loaded: &Loaded, job: &Job) -> TableBuilder {
    type Key = (u32, Unmatched, Option<u32>, Operation);
    let mut rows: BTreeMap<Key, (u64, u64)> = BTreeMap::new();
    for (at, why) in &job.matched.unmatched {
        let part = &loaded.parts[*at];
        let key = (part.rank, *why, part.communicator, part.operation);
        let of = rows.entry(key).or_insert((0, loaded.facts[*at].id));
        of.0 += 1;
    }
    Table::build("unmatched")
        .u64("rank", rows.keys().map(|key| u64::from(key.0)))
        .text(
            "communicator",
            rows.keys().map(|key| communicator(loaded, key.2)),
        )
        .text("operation", rows.keys().map(|key| key.3.name()))
        .u64("parts", rows.values().map(|of| of.0))
        .u64("first_id", rows.values().map(|of| of.1))
        .text("reason", rows.keys().map(|key| key.1.name()))
}

/// Table `instances`: each collective of several recorded ranks.
pub fn instances(loaded: &Loaded, job: &Job) -> TableBuilder {
    let rows = || job.instances.iter();
    let first = |one: &JobCollective| one.arrivals.iter().map(|of| of.arrive_ns).min();
    let last = |one: &JobCollective| one.last.map(|last| u64::from(one.arrivals[last].rank));
    let rate = |one: &JobCollective| {
        let is_whole = one.instance.not_recorded == Some(0);
        algorithm_bandwidth(bytes(loaded, &one.arrivals), one.transfer_ns()).filter(|_| is_whole)
    };
    let factor = |one: &JobCollective| one.instance.operation.bus_factor(group_size(one)?);
    Table::build("instances")
        .u64("instance", (0..job.instances.len()).map(|at| at as u64))
        .text(
            "communicator",
            rows().map(|one| communicator(loaded, one.instance.communicator)),
        )
        .u64("sequence", rows().map(|one| one.instance.sequence))
        .text("operation", rows().map(|one| one.instance.operation.name()))
        .u64("bytes", rows().map(|one| bytes(loaded, &one.arrivals)))
        .u64("ranks", rows().map(|one| one.arrivals.len() as u64))
        .u64(
            "not_recorded",
            rows().map(|one| one.instance.not_recorded.map(u64::from)),
        )
        .i64(
            "start_ns",
            rows().map(|one| first(one).map(|ns| ns.saturating_add(loaded.around.origin_ns))),
        )
        .i64("skew_ns", rows().map(|one| one.skew_ns))
        .i64("uncertainty_ns", rows().map(|one| one.uncertainty_ns))
        .u64("last_rank", rows().map(last))
        .u64(
            "receiver",
            rows().map(|one| one.instance.receiver.map(u64::from)),
        )
        .i64("transfer_ns", rows().map(JobCollective::transfer_ns))
        .f64("algorithm_bytes_per_s", rows().map(rate))
        .f64(
            "bus_bytes_per_s",
            rows().map(|one| Some(rate(one)? * factor(one)?)),
        )
        .bool("waits", rows().map(|one| one.waits))
        .bool(
            "inferred",
            rows().map(|one| one.instance.communicator.is_none()),
        )
}

/// Table `arrivals`: each rank in each collective of `instances`, with times on the clock of the reference rank.
pub fn arrivals(loaded: &Loaded, job: &Job) -> TableBuilder {
    let all: Vec<(usize, Option<i64>, &Arrival)> = job
        .instances
        .iter()
        .enumerate()
        .flat_map(|(at, one)| {
            let arrivals = one.arrivals.iter().enumerate();
            arrivals.map(move |(place, of)| (at, one.waited_ns(place), of))
        })
        .collect();
    let rows = || all.iter();
    Table::build("arrivals")
        .u64("instance", rows().map(|(at, ..)| *at as u64))
        .u64("rank", rows().map(|(_, _, of)| u64::from(of.rank)))
        .u64("id", rows().map(|(_, _, of)| loaded.facts[of.part].id))
        .i64(
            "arrive_ns",
            rows().map(|(_, _, of)| of.arrive_ns.saturating_add(loaded.around.origin_ns)),
        )
        .i64("dur_ns", rows().map(|(_, _, of)| of.dur_ns))
        .i64("waited_ns", rows().map(|(_, waited_ns, _)| *waited_ns))
        .i64("uncertainty_ns", rows().map(|(_, _, of)| of.uncertainty_ns))
}

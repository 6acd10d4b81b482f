//! Jobs of several ranks: which rank others waited for, and the collectives they met in.
//!
//! Communicators have other names in each job, so collectives are one kind by operation, size and number of ranks.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Map;
use trueno_engine::run::Run;
use trueno_host::plugin::Registry;
use trueno_plugin::Table;

use super::plugin_section::{section, table};
use super::side::Member;

/// Operation, bytes as in nccl-tests, and number of recorded ranks of the communicator.
pub type Kind = (String, Option<u64>, u64);

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Job {
    collectives: BTreeMap<Kind, Collectives>,
    ranks: BTreeMap<u64, OfRank>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Collectives {
    count: u64,
    /// Collectives for which all ranks of the communicator were recorded.
    timed: u64,
    transfer_ns: i64,
    /// Bus bytes, and the time of collectives with known bytes.
    bus_bytes: f64,
    bus_ns: i64,
    /// Collectives whose ranks can be ordered, and the time between first and last arrival.
    ordered: u64,
    skew_ns: i64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct OfRank {
    with_last: u64,
    last: u64,
    caused_ns: i64,
    waited_ns: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CollectiveFigures {
    pub collectives: f64,
    /// Mean time of the transfer alone, without waiting. Null unless all ranks were recorded.
    pub transfer_ns: Option<f64>,
    /// Bus bandwidth as defined by nccl-tests.
    pub bus_bytes_per_s: Option<f64>,
    /// Mean time from the first rank's arrival to the last one's. Null if unknown.
    pub skew_ns: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CollectiveRow {
    pub operation: String,
    pub bytes: Option<u64>,
    pub ranks: u64,
    pub base: Option<CollectiveFigures>,
    pub run: Option<CollectiveFigures>,
}

impl CollectiveRow {
    /// Change of the total transfer time; 0 if unknown.
    pub fn change_ns(&self) -> f64 {
        let of = |side: &Option<CollectiveFigures>| {
            side.and_then(|side| Some(side.collectives * side.transfer_ns?))
                .unwrap_or(0.0)
        };
        of(&self.run) - of(&self.base)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RankFigures {
    pub with_last: f64,
    pub last: f64,
    /// Time that others waited for it. Null if unknown.
    pub caused_ns: Option<f64>,
    /// Time that it waited for others. Null if unknown.
    pub waited_ns: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankRow {
    pub rank: u64,
    pub base: Option<RankFigures>,
    pub run: Option<RankFigures>,
}

impl RankRow {
    /// Change of the time that others waited for it. Null if unknown for a side.
    pub fn change_ns(&self) -> Option<f64> {
        Some(self.run?.caused_ns? - self.base?.caused_ns?)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Jobs {
    /// Sorted by rank.
    pub ranks: Vec<RankRow>,
    /// Kinds of collectives, the largest change of transfer time first.
    pub collectives: Vec<CollectiveRow>,
}

/// Reads the collectives of a job; `None` if no collective has several recorded ranks.
///
/// # Errors
/// The reason for there being none, for people.
pub fn job(run: &Run, registry: &Registry) -> Result<Option<Job>, String> {
    if run.facts().ranks.len() < 2 {
        return Ok(None);
    }
    let section = section(run, registry, "collectives", Map::new())?;
    let (Some(instances), Some(by_rank)) =
        (table(&section, "instances"), table(&section, "by_rank"))
    else {
        return Ok(None);
    };
    let mut job = Job::default();
    job.read_instances(instances)
        .and_then(|()| job.read_ranks(by_rank))
        .map_err(|error| error.to_string())?;
    Ok(Some(job))
}

impl Job {
    fn read_instances(&mut self, rows: &Table) -> trueno_plugin::Result<()> {
        let operation = rows.text("operation")?;
        let (bytes, ranks) = (rows.u64("bytes")?, rows.u64("ranks")?);
        let not_recorded = rows.u64("not_recorded")?;
        let (transfer, skew) = (rows.i64("transfer_ns")?, rows.i64("skew_ns")?);
        let bus = rows.f64("bus_bytes_per_s")?;
        for row in 0..rows.rows() {
            let key = (
                operation.get(row).unwrap_or_default().to_owned(),
                bytes.get(row),
                ranks.get(row).unwrap_or(0),
            );
            let sums = self.collectives.entry(key).or_default();
            sums.count += 1;
            // Whoever was not recorded may have come last: then the shortest stay is no transfer.
            let is_whole = not_recorded.get(row) == Some(0);
            if let Some(ns) = transfer.get(row).filter(|_| is_whole) {
                sums.timed += 1;
                sums.transfer_ns = sums.transfer_ns.saturating_add(ns);
                if let Some(rate) = bus.get(row) {
                    sums.bus_bytes += rate * ns as f64 / 1e9;
                    sums.bus_ns = sums.bus_ns.saturating_add(ns);
                }
            }
            if let Some(ns) = skew.get(row) {
                sums.ordered += 1;
                sums.skew_ns = sums.skew_ns.saturating_add(ns);
            }
        }
        Ok(())
    }

    fn read_ranks(&mut self, rows: &Table) -> trueno_plugin::Result<()> {
        let rank = rows.u64("rank")?;
        let (with_last, last) = (rows.u64("with_last")?, rows.u64("last")?);
        let (caused, waited) = (rows.i64("caused_ns")?, rows.i64("waited_ns")?);
        for row in 0..rows.rows() {
            let Some(rank) = rank.get(row) else { continue };
            let of_rank = OfRank {
                with_last: with_last.get(row).unwrap_or(0),
                last: last.get(row).unwrap_or(0),
                caused_ns: caused.get(row).unwrap_or(0),
                waited_ns: waited.get(row).unwrap_or(0),
            };
            self.ranks.insert(rank, of_rank);
        }
        Ok(())
    }
}

/// `None` if a run is not a job.
pub fn compare(base: &[Member], run: &[Member]) -> Option<Jobs> {
    let jobs = |side: &'_ [Member]| -> Option<Vec<Job>> {
        side.iter().map(|member| member.job.clone()).collect()
    };
    Some(of_sides(&jobs(base)?, &jobs(run)?))
}

fn of_sides(base: &[Job], run: &[Job]) -> Jobs {
    let all = || base.iter().chain(run);
    let ranks: BTreeSet<u64> = all().flat_map(|job| job.ranks.keys().copied()).collect();
    let kinds: BTreeSet<&Kind> = all().flat_map(|job| job.collectives.keys()).collect();
    let mut collectives: Vec<CollectiveRow> = kinds
        .into_iter()
        .map(|kind| CollectiveRow {
            operation: kind.0.clone(),
            bytes: kind.1,
            ranks: kind.2,
            base: collective_figures(base, kind),
            run: collective_figures(run, kind),
        })
        .collect();
    // By kind where they are equal: the sort is stable.
    collectives.sort_by(|a, b| b.change_ns().abs().total_cmp(&a.change_ns().abs()));
    Jobs {
        ranks: ranks
            .into_iter()
            .map(|rank| RankRow {
                rank,
                base: rank_figures(base, rank),
                run: rank_figures(run, rank),
            })
            .collect(),
        collectives,
    }
}

fn collective_figures(jobs: &[Job], kind: &Kind) -> Option<CollectiveFigures> {
    let mut sum = Collectives::default();
    for one in jobs.iter().filter_map(|job| job.collectives.get(kind)) {
        sum.count += one.count;
        sum.timed += one.timed;
        sum.transfer_ns = sum.transfer_ns.saturating_add(one.transfer_ns);
        sum.bus_bytes += one.bus_bytes;
        sum.bus_ns = sum.bus_ns.saturating_add(one.bus_ns);
        sum.ordered += one.ordered;
        sum.skew_ns = sum.skew_ns.saturating_add(one.skew_ns);
    }
    let mean = |ns: i64, count: u64| (count > 0).then(|| ns as f64 / count as f64);
    (sum.count > 0).then(|| CollectiveFigures {
        collectives: sum.count as f64 / jobs.len() as f64,
        transfer_ns: mean(sum.transfer_ns, sum.timed),
        bus_bytes_per_s: (sum.bus_ns > 0).then(|| sum.bus_bytes * 1e9 / sum.bus_ns as f64),
        skew_ns: mean(sum.skew_ns, sum.ordered),
    })
}

fn rank_figures(jobs: &[Job], rank: u64) -> Option<RankFigures> {
    let all: Vec<&OfRank> = jobs.iter().filter_map(|job| job.ranks.get(&rank)).collect();
    let count = all.len() as f64;
    let with_last: u64 = all.iter().map(|of| of.with_last).sum();
    let last: u64 = all.iter().map(|of| of.last).sum();
    let mean = |ns: fn(&OfRank) -> i64| {
        let sum = all.iter().map(|of| ns(of)).fold(0, i64::saturating_add);
        (with_last > 0).then(|| sum as f64 / count)
    };
    (!all.is_empty()).then(|| RankFigures {
        with_last: with_last as f64 / count,
        last: last as f64 / count,
        caused_ns: mean(|of| of.caused_ns),
        waited_ns: mean(|of| of.waited_ns),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(bytes: u64) -> Kind {
        ("all_reduce".to_owned(), Some(bytes), 2)
    }

    fn collectives(count: u64, transfer_ns: i64) -> Collectives {
        Collectives {
            count,
            timed: count,
            transfer_ns,
            bus_bytes: 1_000.0 * count as f64,
            bus_ns: transfer_ns,
            ordered: 0,
            skew_ns: 0,
        }
    }

    fn rank(with_last: u64, last: u64, caused_ns: i64) -> OfRank {
        OfRank {
            with_last,
            last,
            caused_ns,
            waited_ns: 7,
        }
    }

    #[test]
    fn sides_are_means_and_what_is_on_one_side_alone_stays() {
        let base = [
            Job {
                collectives: BTreeMap::from([(kind(8), collectives(2, 2_000))]),
                ranks: BTreeMap::from([(0, rank(4, 0, 0)), (1, rank(4, 4, 100))]),
            },
            Job {
                collectives: BTreeMap::from([(kind(8), collectives(4, 8_000))]),
                ranks: BTreeMap::from([(0, rank(4, 2, 20)), (1, rank(4, 2, 40))]),
            },
        ];
        let run = [Job {
            collectives: BTreeMap::from([
                (kind(8), collectives(3, 30_000)),
                (kind(16), collectives(1, 500)),
            ]),
            ranks: BTreeMap::from([(1, rank(0, 0, 0))]),
        }];
        let jobs = of_sides(&base, &run);
        let [eight, sixteen] = &jobs.collectives[..] else {
            panic!("{jobs:?}");
        };
        let figures = eight.base.unwrap();
        assert_eq!(figures.collectives, 3.0);
        assert_eq!(figures.transfer_ns, Some(10_000.0 / 6.0));
        assert_eq!(figures.bus_bytes_per_s, Some(6_000.0 * 1e9 / 10_000.0));
        assert_eq!(figures.skew_ns, None);
        assert_eq!(eight.change_ns(), 30_000.0 - 5_000.0);
        assert_eq!((sixteen.bytes, sixteen.base), (Some(16), None));
        let [zero, one] = &jobs.ranks[..] else {
            panic!("{jobs:?}");
        };
        assert_eq!(zero.run, None);
        assert_eq!(one.base.unwrap().caused_ns, Some(70.0));
        assert_eq!(one.base.unwrap().last, 3.0);
        // Null where no last rank is known.
        assert_eq!(one.run.unwrap().caused_ns, None);
        assert_eq!(one.change_ns(), None);
    }
}

//! Parts of a communicator without recorded numbers, matched iteration by iteration.
//!
//! If the ranks have as many parts in an iteration, their order tells which belong together. If rows were dropped, time
//! does: ranks leave a collective together, by the difference between their clocks in the nearest iteration that is
//! whole. So a dropped row costs no more than itself, and a clock that was set no more than an iteration.

use std::collections::BTreeMap;

use super::inference::{leave_together, nearest};
use super::matching::{OfRanks, Part};
use super::operation::Operation;
use crate::quantiles::lower_median;

/// How much later each rank leaves than the first one of the iteration, each by its own clock.
type Leads = BTreeMap<u32, i64>;

/// Parts that belong together, at most one a rank, by time. `None` if iterations are not recorded, or none is whole.
pub(super) fn by_iteration(parts: &[Part], of_ranks: &OfRanks) -> Option<Vec<Vec<usize>>> {
    let mut rounds: BTreeMap<Option<u64>, OfRanks> = BTreeMap::new();
    for (rank, places) in of_ranks {
        for at in places {
            let round = rounds.entry(parts[*at].iteration).or_default();
            round.entry(*rank).or_default().push(*at);
        }
    }
    let mut whole: BTreeMap<Option<u64>, Leads> = rounds
        .iter()
        .filter(|(iteration, _)| iteration.is_some())
        .filter_map(|(iteration, round)| Some((*iteration, whole(parts, round)?)))
        .collect();
    if whole.is_empty() {
        return None;
    }
    for iteration in odd(parts, &rounds, &whole) {
        whole.remove(&iteration);
    }
    let mut out = Vec::new();
    for (iteration, round) in &rounds {
        if whole.contains_key(iteration) {
            out.extend(by_order(round));
            continue;
        }
        let before = whole.range(..iteration).next_back();
        let after = whole.range(iteration..).next();
        let near: Vec<&Leads> = before.into_iter().chain(after).map(|(_, of)| of).collect();
        let timed: Vec<Vec<usize>> = by_operation(parts, round)
            .iter()
            .flat_map(|of_operation| by_time(parts, of_operation, &near))
            .collect();
        // Ranks that leave apart for another reason are still in order.
        let ordered = has_same_counts(round).then(|| by_order(round));
        let ordered = ordered.filter(|ordered| {
            let together = near.iter().map(|leads| {
                let together = ordered.iter().filter(|of| are_together(parts, of, leads));
                together.count()
            });
            let matched = timed.iter().filter(|of| of.len() == round.len());
            together.max().unwrap_or(0) >= matched.count()
        });
        out.extend(ordered.unwrap_or(timed));
    }
    for places in &mut out {
        places.sort_by_key(|at| parts[*at].rank);
    }
    let first_ns = |places: &[usize]| places.iter().map(|at| parts[*at].start_ns).min();
    out.sort_by_key(|places| (first_ns(places), places[0]));
    Some(out)
}

/// The leads of an iteration in which all ranks have the same operations and leave together.
fn whole(parts: &[Part], round: &OfRanks) -> Option<Leads> {
    let leads = leads(parts, round);
    let mut all = by_order(round).into_iter();
    let is_whole = round.len() > 1
        && has_same_counts(round)
        && all.all(|places| are_together(parts, &places, &leads));
    is_whole.then_some(leads)
}

/// Iterations in which a clock seems to be ahead by something else than in those before and after, which agree: each
/// rank lacks another row.
fn odd(
    parts: &[Part],
    rounds: &BTreeMap<Option<u64>, OfRanks>,
    whole: &BTreeMap<Option<u64>, Leads>,
) -> Vec<Option<u64>> {
    let all: Vec<_> = whole.iter().collect();
    let is_odd = |three: &&[(&Option<u64>, &Leads)]| {
        let [(_, before), (iteration, own), (_, after)] = three else {
            return false;
        };
        let places = rounds[*iteration].values().flatten();
        let stays = places.map(|at| parts[*at].end_ns.saturating_sub(parts[*at].start_ns));
        let shortest_ns = stays.min().unwrap_or(0).max(0);
        let differs = |a: &i64, b: &i64| a.saturating_sub(*b).saturating_abs() > shortest_ns;
        own.iter().any(|(rank, own)| {
            let around = before.get(rank).zip(after.get(rank));
            around.is_some_and(|(before, after)| {
                differs(own, before) && differs(own, after) && !differs(before, after)
            })
        })
    };
    let odd = all.windows(3).filter(is_odd);
    odd.map(|three| *three[1].0).collect()
}

fn has_same_counts(round: &OfRanks) -> bool {
    let mut counts = round.values().map(Vec::len);
    let first = counts.next();
    counts.all(|count| Some(count) == first)
}

/// True if the parts may be of one collective. Whoever sends may leave before the receiver comes.
fn are_together(parts: &[Part], places: &[usize], leads: &Leads) -> bool {
    let first = &parts[places[0]];
    places[1..].iter().map(|at| &parts[*at]).all(|of| {
        let by_ns = leads.get(&of.rank).zip(leads.get(&first.rank));
        let by_ns = by_ns.map(|(of, first)| of.saturating_sub(*first));
        let is_pair = is_between_two(of.operation) && is_between_two(first.operation);
        let leave = || by_ns.is_some_and(|by_ns| leave_together(first, of, by_ns));
        is_pair || of.operation == first.operation && (!of.operation.synchronises() || leave())
    })
}

fn is_between_two(operation: Operation) -> bool {
    matches!(operation, Operation::Send | Operation::Recv)
}

fn leads(parts: &[Part], round: &OfRanks) -> Leads {
    let Some(first) = round.values().next() else {
        return Leads::new();
    };
    let lead_ns = |places: &[usize]| {
        let pairs = first.iter().zip(places);
        let mut apart: Vec<i64> = pairs
            .map(|(a, b)| parts[*b].end_ns.saturating_sub(parts[*a].end_ns))
            .collect();
        lower_median(&mut apart).unwrap_or(0)
    };
    let all = round.iter();
    all.map(|(rank, places)| (*rank, lead_ns(places))).collect()
}

/// The n-th of each rank.
fn by_order(round: &OfRanks) -> Vec<Vec<usize>> {
    let count = round.values().map(Vec::len).max().unwrap_or(0);
    let of = |nth: usize| {
        round
            .values()
            .filter_map(move |places| places.get(nth).copied())
    };
    (0..count).map(|nth| of(nth).collect()).collect()
}

fn by_operation(parts: &[Part], round: &OfRanks) -> Vec<OfRanks> {
    let mut out: BTreeMap<Operation, OfRanks> = BTreeMap::new();
    for (rank, places) in round {
        for at in places {
            let operation = match parts[*at].operation {
                Operation::Recv => Operation::Send,
                other => other,
            };
            let of_ranks = out.entry(operation).or_default();
            of_ranks.entry(*rank).or_default().push(*at);
        }
    }
    out.into_values().collect()
}

/// Parts of one operation that are left together, by the clocks of a near iteration. What is left alone is by itself.
fn by_time(parts: &[Part], round: &OfRanks, near: &[&Leads]) -> Vec<Vec<usize>> {
    let most = round
        .iter()
        .max_by_key(|(rank, places)| (places.len(), u32::MAX - **rank));
    let Some((reference, places)) = most else {
        return Vec::new();
    };
    let of_parts = |places: &[usize]| places.iter().map(|at| &parts[*at]).collect::<Vec<_>>();
    let of_reference = of_parts(places);
    let mut out: Vec<Vec<usize>> = places.iter().map(|at| vec![*at]).collect();
    for (rank, own) in round.iter().filter(|(rank, _)| *rank != reference) {
        let of_rank = of_parts(own);
        let tries = near.iter().filter_map(|leads| {
            let by_ns = leads.get(rank)?.saturating_sub(*leads.get(reference)?);
            Some(nearest(&of_reference, &of_rank, by_ns))
        });
        let best = tries.min_by_key(|found| found.iter().filter(|of| of.is_none()).count());
        let mut is_alone = vec![true; own.len()];
        for (of, found) in out.iter_mut().zip(best.unwrap_or_default()) {
            if let Some(found) = found {
                of.push(own[found]);
                is_alone[found] = false;
            }
        }
        let alone = own.iter().zip(is_alone).filter(|(_, is_alone)| *is_alone);
        out.extend(alone.map(|(at, _)| vec![*at]).collect::<Vec<_>>());
    }
    out
}

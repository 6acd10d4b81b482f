//! Parts that ranks take in collectives, matched: which are of one instance.
//!
//! Ranks of one communicator call its collectives in the same order. So parts belong together that have the same
//! communicator and number in it: the number that the program states, else the place among the parts of that
//! communicator and rank. Where nothing names communicators, parts of one operation are taken for one communicator of all
//! ranks that have them as often; such instances are *inferred*, and hold only if their ranks left them together: as much
//! apart as in the median of all, which is what their clocks differ by, but for the shorter stay of the two.

use std::collections::{BTreeMap, BTreeSet};

use super::operation::Operation;

/// Part of one rank in one collective. Texts are numbers that the caller gave them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The rank.
    pub rank: u32,
    /// Communicator or process group; `None`: not stated.
    pub communicator: Option<u32>,
    /// Ranks of the communicator, as a number of [`match_parts`]' `groups`; `None`: not stated.
    pub group: Option<u32>,
    /// Number of ranks of the communicator; `None`: not stated.
    pub group_size: Option<u32>,
    /// Number in its communicator; `None`: not stated.
    pub sequence: Option<u64>,
    /// The operation.
    pub operation: Operation,
    /// Elements that [`Operation::size`] counts.
    pub size: Option<u64>,
    /// The name by which parts belong together where no communicator is stated.
    pub name: u32,
    /// Begin and end, by the clock of the rank.
    pub start_ns: i64,
    /// End.
    pub end_ns: i64,
}

/// Parts of one collective, at most one a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Its communicator; `None`: inferred.
    pub communicator: Option<u32>,
    /// Number in it.
    pub sequence: u64,
    /// The operation.
    pub operation: Operation,
    /// Places of its parts, by rank.
    pub parts: Vec<usize>,
    /// Ranks of the communicator of which no part is there, because they were not recorded.
    pub not_recorded: Option<u32>,
}

/// Reason why a part belongs to no instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unmatched {
    /// No other rank of its communicator was recorded.
    Alone,
    /// Ranks that were recorded have no part of that number: dropped, or recorded at another time.
    Missing,
    /// Parts of that number are of different operations.
    OtherOperation,
    /// Parts of that number have different sizes.
    OtherSize,
    /// More ranks have that number than the communicator has ranks: several have one name, and none states its ranks.
    SeveralGroups,
    /// A rank has two parts of that number.
    Twice,
    /// No number is stated, and ranks have different counts.
    OtherCount,
    /// Neither communicator nor number is stated, and ranks did not leave it together.
    NotAtOnce,
}

impl Unmatched {
    /// The word of tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Alone => "no other rank of its communicator is recorded",
            Self::Missing => "a recorded rank has no part of that number",
            Self::OtherOperation => "ranks have different operations under that number",
            Self::OtherSize => "ranks have different sizes under that number",
            Self::SeveralGroups => "more ranks have that number than the communicator has ranks",
            Self::Twice => "a rank has that number twice",
            Self::OtherCount => "no number is stated, and ranks have different counts",
            Self::NotAtOnce => "no communicator is stated, and ranks did not leave it together",
        }
    }
}

/// All instances, and what belongs to none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matched {
    /// By first begin.
    pub instances: Vec<Instance>,
    /// Places of parts, in their order, and why.
    pub unmatched: Vec<(usize, Unmatched)>,
}

/// Most that clocks of ranks are believed to differ, where nothing but times tells what belongs together.
const MAX_SHIFT_NS: u64 = 1_000_000_000;

/// Parts of one communicator, by rank and in their order.
type OfRanks = BTreeMap<u32, Vec<usize>>;

/// The ranks of a job that were recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Their numbers.
    pub ranks: BTreeSet<u32>,
    /// False if it is known that there were others.
    pub is_whole: bool,
}

/// Matches parts; `groups`: the ranks of each communicator that states them.
pub fn match_parts(parts: &[Part], groups: &[Vec<u32>], recorded: &Recorded) -> Matched {
    let mut out = Matched::default();
    // Two communicators of one name differ in their ranks: names are given by each rank for itself.
    let mut stated: BTreeMap<(u32, Option<u32>), OfRanks> = BTreeMap::new();
    let mut inferred: BTreeMap<(Operation, u32), OfRanks> = BTreeMap::new();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|at| (parts[*at].rank, parts[*at].start_ns, *at));
    for at in order {
        let part = &parts[at];
        let of_ranks = match part.communicator {
            Some(communicator) => stated.entry((communicator, part.group)).or_default(),
            None => inferred.entry((part.operation, part.name)).or_default(),
        };
        of_ranks.entry(part.rank).or_default().push(at);
    }
    for ((communicator, group), of_ranks) in stated {
        let members = group.map(|group| groups[group as usize].as_slice());
        let expected: BTreeSet<u32> = match members {
            Some(members) => members
                .iter()
                .copied()
                .filter(|rank| recorded.ranks.contains(rank))
                .collect(),
            None => of_ranks.keys().copied().collect(),
        };
        let sizes = of_ranks.values().flatten();
        let sizes = sizes.filter_map(|at| parts[*at].group_size);
        let size = members.map(|members| members.len() as u32).or(sizes.max());
        let not_recorded = match size {
            Some(size) => Some(size.saturating_sub(expected.len() as u32)),
            None => recorded.is_whole.then_some(0),
        };
        let numbered = numbered(parts, &of_ranks);
        for (sequence, places) in numbered {
            let is_one = size.is_none_or(|size| places.len() <= size as usize);
            let judged = match is_one {
                true => judge(parts, &places, &expected),
                false => Some(Unmatched::SeveralGroups),
            };
            match judged {
                None => out.instances.push(Instance {
                    communicator: Some(communicator),
                    sequence,
                    operation: parts[places[0]].operation,
                    parts: places,
                    not_recorded,
                }),
                Some(why) => out.unmatched.extend(places.iter().map(|at| (*at, why))),
            }
        }
    }
    for ((operation, _), of_ranks) in inferred {
        infer(parts, operation, &of_ranks, recorded, &mut out);
    }
    out.instances.sort_by_key(|instance| {
        (
            instance.parts.iter().map(|at| parts[*at].start_ns).min(),
            instance.parts.clone(),
        )
    });
    out.unmatched.sort_unstable();
    out
}

/// Parts by number: the stated one, or, where a rank states none for some, the place in its order.
fn numbered(parts: &[Part], of_ranks: &OfRanks) -> BTreeMap<u64, Vec<usize>> {
    let all = || of_ranks.values().flatten();
    let is_stated = all().all(|at| parts[*at].sequence.is_some());
    let mut out: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for places in of_ranks.values() {
        for (nth, at) in places.iter().enumerate() {
            let sequence = parts[*at].sequence.filter(|_| is_stated);
            out.entry(sequence.unwrap_or(nth as u64))
                .or_default()
                .push(*at);
        }
    }
    if !is_stated {
        // Without numbers, a rank that has fewer may lack any of them.
        let most = of_ranks.values().map(Vec::len).max().unwrap_or(0);
        if of_ranks.values().any(|places| places.len() != most) {
            return BTreeMap::from([(0, all().copied().collect())]);
        }
    }
    out
}

/// Says why parts of one number are no instance; `None`: they are one.
fn judge(parts: &[Part], places: &[usize], expected: &BTreeSet<u32>) -> Option<Unmatched> {
    let ranks: BTreeSet<u32> = places.iter().map(|at| parts[*at].rank).collect();
    let first = &parts[places[0]];
    let differs = |of: &dyn Fn(&Part) -> Option<u64>| {
        let values = places.iter().filter_map(|at| of(&parts[*at]));
        let values: BTreeSet<u64> = values.collect();
        values.len() > 1
    };
    // A sender and its receiver have one number.
    let is_pair = |operation| matches!(operation, Operation::Send | Operation::Recv);
    let same = |at: &usize| {
        let operation = parts[*at].operation;
        operation == first.operation || is_pair(operation) && is_pair(first.operation)
    };
    let is_counted = places.iter().all(|at| parts[*at].sequence.is_some());
    match () {
        () if expected.len() < 2 => Some(Unmatched::Alone),
        () if ranks.len() < places.len() && !is_counted => Some(Unmatched::OtherCount),
        () if ranks.len() < places.len() => Some(Unmatched::Twice),
        () if !places.iter().all(same) => Some(Unmatched::OtherOperation),
        () if !is_pair(first.operation) && ranks != *expected => Some(Unmatched::Missing),
        () if is_pair(first.operation) && ranks.len() < 2 => Some(Unmatched::Missing),
        // All-to-all of split sizes gives each rank its own.
        () if first.operation != Operation::AllToAll && differs(&|part| part.size) => {
            Some(Unmatched::OtherSize)
        }
        () => None,
    }
}

/// Instances of an operation whose communicator is not stated: the n-th of each rank.
fn infer(
    parts: &[Part],
    operation: Operation,
    of_ranks: &OfRanks,
    recorded: &Recorded,
    out: &mut Matched,
) {
    // Ranks that have it as often may be of one communicator.
    let mut by_count: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for (rank, places) in of_ranks {
        by_count.entry(places.len()).or_default().push(*rank);
    }
    for (count, ranks) in by_count {
        let why = if of_ranks.len() < 2 {
            Some(Unmatched::Alone)
        } else if ranks.len() < 2 {
            Some(Unmatched::OtherCount)
        } else {
            None
        };
        if let Some(why) = why {
            let places = ranks.iter().flat_map(|rank| &of_ranks[rank]);
            out.unmatched.extend(places.map(|at| (*at, why)));
            continue;
        }
        for group in together(parts, of_ranks, &ranks) {
            for nth in 0..count {
                let places: Vec<usize> =
                    group.iter().map(|rank| of_ranks[&rank.rank][nth]).collect();
                let leave = |pair: &Shifted| {
                    leave_together(
                        &parts[places[0]],
                        &parts[of_ranks[&pair.rank][nth]],
                        pair.by_ns,
                    )
                };
                if group.len() > 1 && group[1..].iter().all(leave) {
                    out.instances.push(Instance {
                        communicator: None,
                        sequence: nth as u64,
                        operation,
                        parts: places,
                        not_recorded: recorded.is_whole.then_some(0),
                    });
                } else {
                    let why = Unmatched::NotAtOnce;
                    out.unmatched.extend(places.into_iter().map(|at| (at, why)));
                }
            }
        }
    }
}

/// A rank, and by how much its clock is later than that of the first of its group, if they leave together.
#[derive(Clone, Copy, Debug)]
struct Shifted {
    rank: u32,
    by_ns: i64,
}

/// True if the second leaves so much later than the first as its clock is later, but for the shorter stay of the two.
fn leave_together(a: &Part, b: &Part, by_ns: i64) -> bool {
    let length = |part: &Part| part.end_ns.saturating_sub(part.start_ns);
    let apart_ns = b.end_ns.saturating_sub(a.end_ns).saturating_sub(by_ns);
    apart_ns.unsigned_abs() <= length(a).min(length(b)).max(0).unsigned_abs()
}

/// Ranks in groups that leave nine of ten instances together with the first of their group; others stand alone.
fn together(parts: &[Part], of_ranks: &OfRanks, ranks: &[u32]) -> Vec<Vec<Shifted>> {
    let mut groups: Vec<Vec<Shifted>> = Vec::new();
    let shift = |a: u32, b: u32| -> Option<i64> {
        let pairs = || {
            let of = |rank: u32| of_ranks[&rank].iter().map(|at| &parts[*at]);
            of(a).zip(of(b))
        };
        let mut apart: Vec<i64> = pairs()
            .map(|(a, b)| b.end_ns.saturating_sub(a.end_ns))
            .collect();
        let middle = apart.len() / 2;
        let by_ns = *apart.select_nth_unstable(middle).1;
        let are = pairs().filter(|(a, b)| leave_together(a, b, by_ns)).count();
        // Two that leave one collective together always do, with some shift.
        let is_seen = by_ns.unsigned_abs() <= MAX_SHIFT_NS && (apart.len() > 2 || by_ns == 0)
            || pairs().all(|(a, b)| a.start_ns <= b.end_ns && b.start_ns <= a.end_ns);
        (is_seen && are * 10 >= apart.len() * 9).then_some(by_ns)
    };
    for rank in ranks {
        let found = groups.iter_mut().find_map(|group| {
            let by_ns = shift(group[0].rank, *rank)?;
            Some((group, by_ns))
        });
        match found {
            Some((group, by_ns)) => group.push(Shifted { rank: *rank, by_ns }),
            None => groups.push(vec![Shifted {
                rank: *rank,
                by_ns: 0,
            }]),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(
        rank: u32,
        communicator: Option<u32>,
        group: Option<u32>,
        sequence: Option<u64>,
        start_ns: i64,
    ) -> Part {
        Part {
            rank,
            communicator,
            group,
            group_size: None,
            sequence,
            operation: Operation::AllReduce,
            size: Some(8),
            name: 0,
            start_ns,
            end_ns: start_ns + 100,
        }
    }

    fn ranks_of(ranks: std::ops::Range<u32>) -> Recorded {
        Recorded {
            ranks: ranks.collect(),
            is_whole: true,
        }
    }

    fn ranks(parts: &[Part], instance: &Instance) -> Vec<u32> {
        instance.parts.iter().map(|at| parts[*at].rank).collect()
    }

    #[test]
    fn sub_groups_of_one_name_are_apart_by_their_ranks() {
        let groups = vec![vec![0, 1], vec![2, 3]];
        let parts: Vec<Part> = (0..4)
            .flat_map(|rank| {
                (0..3).map(move |n| part(rank, Some(7), Some(rank / 2), Some(n), n as i64 * 1_000))
            })
            .collect();
        let found = match_parts(&parts, &groups, &ranks_of(0..4));
        assert!(found.unmatched.is_empty());
        let of: Vec<Vec<u32>> = found
            .instances
            .iter()
            .map(|instance| ranks(&parts, instance))
            .collect();
        assert_eq!(of.iter().filter(|ranks| **ranks == [0, 1]).count(), 3);
        assert_eq!(of.iter().filter(|ranks| **ranks == [2, 3]).count(), 3);
    }

    #[test]
    fn stated_numbers_outlive_what_was_dropped() {
        let mut parts: Vec<Part> = (0..2)
            .flat_map(|rank| {
                (10..14).map(move |n| part(rank, Some(7), None, Some(n), n as i64 * 1_000))
            })
            .collect();
        parts.remove(1);
        let found = match_parts(&parts, &[], &ranks_of(0..2));
        let numbers: Vec<u64> = found
            .instances
            .iter()
            .map(|instance| instance.sequence)
            .collect();
        assert_eq!(numbers, [10, 12, 13]);
        assert_eq!(found.unmatched, [(4, Unmatched::Missing)]);
    }

    #[test]
    fn without_numbers_different_counts_cannot_be_matched() {
        let parts = [
            part(0, Some(7), None, None, 0),
            part(0, Some(7), None, None, 1_000),
            part(1, Some(7), None, None, 1_000),
        ];
        let found = match_parts(&parts, &[], &ranks_of(0..2));
        assert!(found.instances.is_empty());
        assert_eq!(found.unmatched.len(), 3);
        assert!(
            found
                .unmatched
                .iter()
                .all(|(_, why)| *why == Unmatched::OtherCount)
        );
    }

    #[test]
    fn a_number_with_another_operation_or_size_is_none() {
        let mut parts = vec![
            part(0, Some(7), None, Some(1), 0),
            part(1, Some(7), None, Some(1), 0),
        ];
        parts[1].size = Some(9);
        let why = |parts: &[Part]| match_parts(parts, &[], &ranks_of(0..2)).unmatched[0].1;
        assert_eq!(why(&parts), Unmatched::OtherSize);
        parts[1].operation = Operation::Barrier;
        assert_eq!(why(&parts), Unmatched::OtherOperation);
    }

    #[test]
    fn a_communicator_of_ranks_that_were_not_recorded() {
        let groups = vec![(0..8).collect::<Vec<u32>>()];
        let of = |ranks: &[u32]| {
            ranks
                .iter()
                .map(|rank| part(*rank, Some(7), Some(0), Some(0), 0))
                .collect::<Vec<_>>()
        };
        let found = match_parts(&of(&[0, 1]), &groups, &ranks_of(0..2));
        assert_eq!(found.instances[0].not_recorded, Some(6));
        let found = match_parts(&of(&[0]), &groups, &ranks_of(0..1));
        assert_eq!(found.unmatched, [(0, Unmatched::Alone)]);
    }

    #[test]
    fn nothing_stated_is_inferred_where_ranks_leave_together() {
        // Two pairs of ranks, each with three of its own, at times of their own; one clock is off by 5 ms.
        let at = |rank: u32, n: i64| {
            n * (1_000 + i64::from(rank / 2) * 500) + if rank == 3 { 5_000_000 } else { 0 }
        };
        let parts: Vec<Part> = (0..4)
            .flat_map(|rank| (0..3).map(move |n| part(rank, None, None, None, at(rank, n))))
            .collect();
        let found = match_parts(&parts, &[], &ranks_of(0..4));
        assert_eq!(found.instances.len(), 6);
        assert!(
            found
                .instances
                .iter()
                .all(|instance| instance.communicator.is_none() && instance.parts.len() == 2)
        );
        let lone = [
            part(0, None, None, None, 0),
            part(1, None, None, None, 5_000),
        ];
        let found = match_parts(&lone, &[], &ranks_of(0..2));
        assert!(
            found
                .unmatched
                .iter()
                .all(|(_, why)| *why == Unmatched::NotAtOnce)
        );
    }

    /// Two of eight ranks, whose communicator names no ranks: who else is in it may have come last.
    #[test]
    fn ranks_that_were_not_recorded_may_be_in_it() {
        let mut parts = vec![
            part(0, Some(7), None, Some(1), 0),
            part(1, Some(7), None, Some(1), 0),
        ];
        let job = Recorded {
            ranks: [0, 1].into(),
            is_whole: false,
        };
        let not_recorded = |parts: &[Part]| match_parts(parts, &[], &job).instances[0].not_recorded;
        assert_eq!(not_recorded(&parts), None);
        parts[0].group_size = Some(8);
        assert_eq!(not_recorded(&parts), Some(6));
        parts[0].communicator = None;
        parts[1].communicator = None;
        assert_eq!(not_recorded(&parts), None);
    }

    #[test]
    fn more_ranks_than_the_communicator_has_are_of_several() {
        let mut parts: Vec<Part> = (0..4)
            .map(|rank| part(rank, Some(7), None, Some(1), 0))
            .collect();
        parts.iter_mut().for_each(|part| part.group_size = Some(2));
        let found = match_parts(&parts, &[], &ranks_of(0..4));
        assert!(found.instances.is_empty());
        assert!(
            found
                .unmatched
                .iter()
                .all(|(_, why)| *why == Unmatched::SeveralGroups)
        );
    }
}

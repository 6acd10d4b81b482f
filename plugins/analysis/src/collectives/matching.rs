//! Parts that ranks take in collectives, matched: which are of one instance.
//!
//! Ranks of one communicator call its collectives in the same order. So parts belong together that have the same
//! communicator and number in it: the number that the program states, else the place among the parts of that
//! communicator and rank. A send belongs to the receive of its peer: the n-th from one rank to another. Where nothing names communicators, parts of one operation are taken for one communicator of the
//! ranks that have them as often; such instances are *inferred*, and hold only if their ranks left them together: as much
//! apart as in the median of all, which is what their clocks differ by, but for the shorter stay of the two.

use std::collections::{BTreeMap, BTreeSet};

use super::inference::{Class, Group, infer};
use super::operation::Operation;
use super::rounds::by_iteration;

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
    /// The iteration that called it; `None`: not recorded.
    pub iteration: Option<u64>,
    /// The operation.
    pub operation: Operation,
    /// Of a send or receive: the other rank; `None`: not stated.
    pub peer: Option<u32>,
    /// Elements that [`Operation::size`] counts.
    pub size: Option<u64>,
    /// Its stream, or thread.
    pub lane: u32,
    /// The name by which parts belong together where no communicator is stated; `None`: there is none.
    pub name: Option<u32>,
    /// Begin and end, by the clock of the rank.
    pub start_ns: i64,
    /// End.
    pub end_ns: i64,
}

impl Part {
    /// Sending and receiving rank; `None` if this is neither a send nor a receive, or its peer was not
    /// recorded.
    fn pair(&self) -> Option<(u32, u32)> {
        match self.operation {
            Operation::Send => Some((self.rank, self.peer?)),
            Operation::Recv => Some((self.peer?, self.rank)),
            _ => None,
        }
    }
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
    /// Ranks of the communicator of which no part is there: they were not recorded, or the row was dropped.
    pub not_recorded: Option<u32>,
    /// A send and its receive: the rank that receives.
    pub receiver: Option<u32>,
}

/// Reason why a part belongs to no instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unmatched {
    /// No other rank of its communicator was recorded.
    Alone,
    /// Some recorded ranks have no part with that number: it was dropped, or recorded at another time.
    Missing,
    /// Parts with that number have different operations.
    OtherOperation,
    /// Parts with that number have different sizes.
    OtherSize,
    /// More ranks have that number than the communicator has ranks: several communicators share a name, and
    /// none lists its ranks.
    SeveralGroups,
    /// A rank has two parts with that number.
    Twice,
    /// No number was recorded, and ranks have different numbers of parts.
    OtherCount,
    /// Neither communicator nor number was recorded, and the ranks did not leave it together.
    NotAtOnce,
}

impl Unmatched {
    /// The word of tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Alone => "no other rank of its communicator is recorded",
            Self::Missing => "a recorded rank has no part with that number",
            Self::OtherOperation => "ranks have different operations under that number",
            Self::OtherSize => "ranks have different sizes under that number",
            Self::SeveralGroups => "more ranks have that number than the communicator has ranks",
            Self::Twice => "a rank has that number twice",
            Self::OtherCount => "no number is recorded, and ranks have different counts",
            Self::NotAtOnce => {
                "no communicator is recorded, and the ranks did not leave it together"
            }
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

/// Parts of one communicator by rank, in their order.
pub(super) type OfRanks = BTreeMap<u32, Vec<usize>>;

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
    let mut inferred: BTreeMap<(Operation, Option<u32>), OfRanks> = BTreeMap::new();
    let mut pairs: BTreeMap<(u32, (u32, u32)), OfRanks> = BTreeMap::new();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|at| (parts[*at].rank, parts[*at].start_ns, *at));
    for at in order {
        let part = &parts[at];
        let of_ranks = match (part.communicator, part.pair()) {
            (Some(communicator), Some(pair)) => pairs.entry((communicator, pair)).or_default(),
            (Some(communicator), None) => stated.entry((communicator, part.group)).or_default(),
            (None, _) => inferred.entry((part.operation, part.name)).or_default(),
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
        let rounds = (!is_stated(parts, &of_ranks))
            .then(|| by_iteration(parts, &of_ranks))
            .flatten();
        if rounds.is_none() && !are_comparable(parts, &of_ranks) {
            let group = Group {
                expected: Some(&expected),
                not_recorded,
            };
            infer(parts, &by_operation(parts, &of_ranks), &group, &mut out);
            continue;
        }
        let numbered = match rounds {
            Some(rounds) => (0..).zip(rounds).collect(),
            None => numbered(parts, &of_ranks),
        };
        for (sequence, places) in numbered {
            let is_one = size.is_none_or(|size| places.len() <= size as usize);
            let judged = if is_one {
                judge(parts, &places, &expected)
            } else {
                Some(Unmatched::SeveralGroups)
            };
            // Of a rank whose row was dropped, no more is known than of one that did not record.
            let dropped = expected.len().saturating_sub(places.len()) as u32;
            let is_of_one_group = size.is_some_and(|size| expected.len() <= size as usize);
            match judged {
                Some(Unmatched::Missing) if places.len() > 1 && is_of_one_group => {
                    out.instances.push(Instance {
                        communicator: Some(communicator),
                        sequence,
                        operation: parts[places[0]].operation,
                        parts: places,
                        not_recorded: not_recorded.map(|others| others + dropped),
                        receiver: None,
                    });
                }
                None => out.instances.push(Instance {
                    communicator: Some(communicator),
                    sequence,
                    operation: parts[places[0]].operation,
                    parts: places,
                    not_recorded,
                    receiver: None,
                }),
                Some(why) => out.unmatched.extend(places.iter().map(|at| (*at, why))),
            }
        }
    }
    for ((communicator, pair), of_ranks) in pairs {
        match_pair(parts, communicator, pair, &of_ranks, recorded, &mut out);
    }
    let classes: Vec<Class> = inferred
        .into_iter()
        .map(|((operation, _), of_ranks)| (operation, of_ranks))
        .collect();
    let group = Group {
        expected: None,
        not_recorded: recorded.is_whole.then_some(0),
    };
    infer(parts, &classes, &group, &mut out);
    out.instances.sort_by_key(|instance| {
        (
            instance.parts.iter().map(|at| parts[*at].start_ns).min(),
            instance.parts.clone(),
        )
    });
    out.unmatched.sort_unstable();
    out
}

/// Matches the sends from one rank to another with their receives by order: each rank numbers its own, so the
/// numbers do not help.
fn match_pair(
    parts: &[Part],
    communicator: u32,
    (from, to): (u32, u32),
    of_ranks: &OfRanks,
    recorded: &Recorded,
    out: &mut Matched,
) {
    let of = |rank: u32| of_ranks.get(&rank).map_or(&[][..], Vec::as_slice);
    let (sends, receives) = (of(from), of(to));
    let are_recorded = recorded.ranks.contains(&from) && recorded.ranks.contains(&to);
    let rounds = by_iteration(parts, of_ranks);
    let why = match () {
        () if from == to || !are_recorded => Some(Unmatched::Alone),
        () if sends.is_empty() || receives.is_empty() => Some(Unmatched::Missing),
        () if rounds.is_none() && sends.len() != receives.len() => Some(Unmatched::OtherCount),
        () => None,
    };
    if let Some(why) = why {
        let all = of_ranks.values().flatten();
        out.unmatched.extend(all.map(|at| (*at, why)));
        return;
    }
    let by_order = || {
        let both = sends.iter().zip(receives).map(|(a, b)| vec![*a, *b]);
        both.collect::<Vec<_>>()
    };
    for (nth, mut places) in rounds.unwrap_or_else(by_order).into_iter().enumerate() {
        places.sort_by_key(|at| parts[*at].rank);
        let [one, other] = places[..] else {
            let why = Unmatched::Missing;
            out.unmatched.extend(places.iter().map(|at| (*at, why)));
            continue;
        };
        let sizes = [one, other].map(|at| parts[at].size);
        if matches!(sizes, [Some(given), Some(got)] if given != got) {
            let why = Unmatched::OtherSize;
            out.unmatched.extend(places.iter().map(|at| (*at, why)));
            continue;
        }
        out.instances.push(Instance {
            communicator: Some(communicator),
            sequence: nth as u64,
            operation: Operation::Send,
            parts: places,
            not_recorded: Some(0),
            receiver: Some(to),
        });
    }
}

/// Returns whether numbers were recorded or all ranks have the same count. Without numbers it is unknown which
/// parts a rank with fewer of them lacks.
fn are_comparable(parts: &[Part], of_ranks: &OfRanks) -> bool {
    let mut counts = of_ranks.values().map(Vec::len);
    let first = counts.next();
    counts.all(|count| Some(count) == first) || is_stated(parts, of_ranks)
}

fn is_stated(parts: &[Part], of_ranks: &OfRanks) -> bool {
    let mut all = of_ranks.values().flatten();
    all.all(|at| parts[*at].sequence.is_some())
}

fn by_operation(parts: &[Part], of_ranks: &OfRanks) -> Vec<Class> {
    let mut out: BTreeMap<Operation, OfRanks> = BTreeMap::new();
    for (rank, places) in of_ranks {
        for at in places {
            let of = out.entry(parts[*at].operation).or_default();
            of.entry(*rank).or_default().push(*at);
        }
    }
    out.into_iter().collect()
}

/// Parts by number: the recorded one, or the index in each rank if some were not recorded.
fn numbered(parts: &[Part], of_ranks: &OfRanks) -> BTreeMap<u64, Vec<usize>> {
    let is_stated = is_stated(parts, of_ranks);
    let mut out: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for places in of_ranks.values() {
        for (nth, at) in places.iter().enumerate() {
            let sequence = parts[*at].sequence.filter(|_| is_stated);
            out.entry(sequence.unwrap_or(nth as u64))
                .or_default()
                .push(*at);
        }
    }
    out
}

/// Why the parts with one number are not an instance; `None`: they are one.
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
    match () {
        () if expected.len() < 2 => Some(Unmatched::Alone),
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

#[cfg(test)]
#[path = "matching_tests.rs"]
mod tests;

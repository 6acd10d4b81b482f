//! Collectives whose communicator nobody states: ranks that leave one operation together, time after time.
//!
//! Clocks of ranks differ by a shift, recordings begin and end at different collectives, and rows were dropped. Two ranks
//! are of one communicator if there is a shift by which they leave nine of ten together, of those that both recorded: no
//! further apart than the shorter stay of the two. In programs that do the same again and again, a shift by a whole round
//! fits nearly as well; the smallest is taken, and where another is hardly larger, none.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::matching::{Instance, Matched, OfRanks, Part, Unmatched};
use super::operation::Operation;

/// Largest plausible difference between the clocks of two ranks.
const MAX_SHIFT_NS: u64 = 1_000_000_000;
/// Largest number of parts that one rank may have before the first of another, beyond the difference of their
/// counts.
const MAX_AHEAD: usize = 8;
const MAX_LAGS: usize = 64;

pub(super) struct Group<'a> {
    /// Its recorded ranks, which must all take part; `None`: unknown.
    pub(super) expected: Option<&'a BTreeSet<u32>>,
    /// Number of its ranks that were not recorded; `None`: unknown.
    pub(super) not_recorded: Option<u32>,
}

/// Parts on one stream of a rank: NCCL uses a separate stream for each communicator.
struct Sequence<'a> {
    class: usize,
    rank: u32,
    places: Vec<usize>,
    parts: Vec<&'a Part>,
}

/// A sequence of a group, aligned with the group's first.
#[derive(Clone, Debug)]
struct Member {
    sequence: usize,
    /// How much later it leaves than the first, by its own clock.
    by_ns: i64,
    /// For each part of the first: the index of the matching part here; `None`: they did not leave together.
    of_first: Vec<Option<usize>>,
}

#[derive(Debug)]
struct Aligned {
    /// How much later the second leaves, by its own clock.
    by_ns: i64,
    together: usize,
    of_first: Vec<Option<usize>>,
}

/// Parts that may belong to one communicator: those of one operation and name.
pub(super) type Class = (Operation, OfRanks);

/// Adds instances of operations without a recorded communicator, and the parts that match nothing.
pub(super) fn infer(parts: &[Part], classes: &[Class], group: &Group<'_>, out: &mut Matched) {
    let of_several = |(_, of_ranks): &&Class| of_ranks.len() > 1;
    for (_, of_ranks) in classes.iter().filter(|class| !of_several(class)) {
        let places = of_ranks.values().flatten();
        out.unmatched
            .extend(places.map(|at| (*at, Unmatched::Alone)));
    }
    let numbered = (0..).zip(classes).filter(|(_, class)| of_several(class));
    let sequences: Vec<Sequence<'_>> = numbered
        .flat_map(|(class, (_, of_ranks))| sequences(parts, class, of_ranks))
        .collect();
    // A rank that is as late each time looks like one whose clock is: but it has one clock for all that it does.
    let alone = groups(&sequences, &Shifts::default());
    let shifts = Shifts::new(&alone, &sequences);
    for members in groups(&sequences, &shifts) {
        let operation = classes[sequences[members[0].sequence].class].0;
        let of = |member: &Member| &sequences[member.sequence];
        let ranks = || members.iter().map(|member| of(member).rank);
        let are_all = group
            .expected
            .is_none_or(|all| ranks().eq(all.iter().copied()));
        let not_recorded = group
            .not_recorded
            .filter(|_| is_alone(&members, &sequences, &shifts));
        let mut is_of_instance: Vec<Vec<bool>> = members
            .iter()
            .map(|member| vec![false; of(member).places.len()])
            .collect();
        for nth in 0..members[0].of_first.len() {
            let found: Option<Vec<usize>> =
                members.iter().map(|member| member.of_first[nth]).collect();
            let Some(found) = found.filter(|_| members.len() > 1 && are_all) else {
                continue;
            };
            let places = members.iter().zip(&found);
            let places = places.map(|(member, at)| of(member).places[*at]);
            out.instances.push(Instance {
                communicator: None,
                sequence: nth as u64,
                operation,
                parts: places.collect(),
                not_recorded,
                receiver: None,
            });
            for (is_of, at) in is_of_instance.iter_mut().zip(found) {
                is_of[at] = true;
            }
        }
        for (member, is_of) in members.iter().zip(is_of_instance) {
            let left = of(member).places.iter().zip(is_of);
            let left = left.filter(|(_, is_of)| !is_of);
            out.unmatched
                .extend(left.map(|(at, _)| (*at, Unmatched::NotAtOnce)));
        }
    }
}

/// Sequences of a class, one per rank and stream.
fn sequences<'a>(parts: &'a [Part], class: usize, of_ranks: &OfRanks) -> Vec<Sequence<'a>> {
    let mut out = Vec::new();
    for (rank, places) in of_ranks {
        let mut of_lanes: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for at in places {
            of_lanes.entry(parts[*at].lane).or_default().push(*at);
        }
        out.extend(of_lanes.into_values().map(|places| Sequence {
            class,
            rank: *rank,
            parts: places.iter().map(|at| &parts[*at]).collect(),
            places,
        }));
    }
    out
}

/// Clock differences by pair of ranks: the smallest that any of their streams shows.
#[derive(Default)]
struct Shifts(BTreeMap<(u32, u32), i64>);

impl Shifts {
    fn new(groups: &[Vec<Member>], sequences: &[Sequence<'_>]) -> Self {
        let mut out = Self::default();
        for group in groups {
            let first = &sequences[group[0].sequence];
            for member in &group[1..] {
                let pair = (first.rank, sequences[member.sequence].rank);
                let known = out.0.entry(pair).or_insert(member.by_ns);
                if member.by_ns.unsigned_abs() < known.unsigned_abs() {
                    *known = member.by_ns;
                }
            }
        }
        out
    }

    /// Returns false if the shift contradicts another stream by more than the time between which ranks leave
    /// one collective.
    fn allow(&self, a: &Sequence<'_>, b: &Sequence<'_>, by_ns: i64) -> bool {
        let Some(known) = self.0.get(&(a.rank, b.rank)) else {
            return by_ns.unsigned_abs() <= MAX_SHIFT_NS;
        };
        let shortest = |of: &Sequence<'_>| {
            let stays = of.parts.iter();
            let stays = stays.map(|part| part.end_ns.saturating_sub(part.start_ns).max(0));
            stays.min().unwrap_or(0).unsigned_abs()
        };
        let apart_ns = by_ns.saturating_sub(*known).unsigned_abs();
        apart_ns <= shortest(a).saturating_add(shortest(b))
    }
}

/// Groups sequences that leave together with the first of their group, at most one per rank and only by allowed
/// shifts. Others form groups of their own.
fn groups(sequences: &[Sequence<'_>], shifts: &Shifts) -> Vec<Vec<Member>> {
    let mut groups: Vec<Vec<Member>> = Vec::new();
    for (at, own) in sequences.iter().enumerate() {
        let fits = groups.iter().enumerate().filter_map(|(place, group)| {
            let has_rank = |member: &Member| sequences[member.sequence].rank == own.rank;
            let first = &sequences[group[0].sequence];
            let may_be_of_it = first.class == own.class && !group.iter().any(has_rank);
            Some((place, may_be_of_it.then(|| align(first, own, shifts))??))
        });
        let best = fits.max_by_key(|(place, aligned)| {
            (
                aligned.together,
                Reverse(aligned.by_ns.unsigned_abs()),
                Reverse(*place),
            )
        });
        match best {
            Some((place, aligned)) => groups[place].push(Member {
                sequence: at,
                by_ns: aligned.by_ns,
                of_first: aligned.of_first,
            }),
            None => groups.push(vec![Member {
                sequence: at,
                by_ns: 0,
                of_first: (0..own.parts.len()).map(Some).collect(),
            }]),
        }
    }
    groups
}

/// Returns false if a rank outside of the group leaves some parts together with it. Then several communicators
/// share the stream, and the group may be a part of one of them.
fn is_alone(members: &[Member], sequences: &[Sequence<'_>], shifts: &Shifts) -> bool {
    let first = &sequences[members[0].sequence];
    let is_in = |rank: u32| {
        let mut of = members.iter();
        of.any(|member| sequences[member.sequence].rank == rank)
    };
    let mut others = sequences
        .iter()
        .filter(|other| other.class == first.class && !is_in(other.rank));
    others.all(|other| {
        let most = most_lag(&first.parts, &other.parts);
        (-most..=most).all(|lag| {
            let aligned = with_lag(&first.parts, &other.parts, lag);
            aligned.is_none_or(|aligned| {
                !shifts.allow(first, other, aligned.by_ns)
                    || aligned.together < 3
                    || aligned.together * 4 < first.parts.len()
            })
        })
    })
}

/// Finds what two ranks left together; `None`: they belong to different communicators, or the result is ambiguous.
fn align(first: &Sequence<'_>, own: &Sequence<'_>, shifts: &Shifts) -> Option<Aligned> {
    let (a, b) = (first.parts.as_slice(), own.parts.as_slice());
    let fits =
        |aligned: &Aligned| shifts.allow(first, own, aligned.by_ns) && is_of_one(a, b, aligned);
    if a.len() == b.len()
        && let Some(aligned) = with_lag(a, b, 0).filter(fits)
    {
        return Some(aligned);
    }
    let most = most_lag(a, b);
    let all = (-most..=most).filter_map(|lag| with_lag(a, b, lag));
    let mut all: Vec<Aligned> = all.filter(fits).collect();
    all.sort_by_key(|aligned| (Reverse(aligned.together), aligned.by_ns.unsigned_abs()));
    let most = all.first()?.together;
    // Of those that fit about as well, the smallest shift, if it is clearly the smallest.
    all.retain(|aligned| aligned.together * 10 >= most * 9);
    all.sort_by_key(|aligned| aligned.by_ns.unsigned_abs());
    let best = &all[0];
    let is_other = |other: &&Aligned| other.of_first != best.of_first;
    let other = all.iter().find(is_other);
    let is_clear =
        other.is_none_or(|other| other.by_ns.unsigned_abs() / 2 > best.by_ns.unsigned_abs());
    is_clear.then(|| all.swap_remove(0))
}

fn most_lag(a: &[&Part], b: &[&Part]) -> isize {
    (a.len().abs_diff(b.len()) + MAX_AHEAD).min(MAX_LAGS) as isize
}

/// Aligns two ranks so that each part of the first matches the part of the second `lag` places later; `None`: no
/// pair overlaps.
fn with_lag(a: &[&Part], b: &[&Part], lag: isize) -> Option<Aligned> {
    let pairs = (0..a.len()).filter_map(|at| Some((a[at], *b.get(at.checked_add_signed(lag)?)?)));
    let mut apart: Vec<i64> = pairs
        .map(|(a, b)| b.end_ns.saturating_sub(a.end_ns))
        .collect();
    if apart.is_empty() {
        return None;
    }
    let middle = apart.len() / 2;
    let by_ns = *apart.select_nth_unstable(middle).1;
    let of_first = nearest(a, b, by_ns);
    Some(Aligned {
        by_ns,
        together: of_first.iter().flatten().count(),
        of_first,
    })
}

/// For each part of the first rank: the index of the part that the second leaves together with it, with its clock ahead by
/// `by_ns`. The order stays.
pub(super) fn nearest(a: &[&Part], b: &[&Part], by_ns: i64) -> Vec<Option<usize>> {
    let mut next = 0;
    let mut of_first = vec![None; a.len()];
    for (at, of) in a.iter().enumerate() {
        let apart = |of: &Part, other: usize| apart_ns(of, b[other], by_ns);
        // The nearest of those that are left, unless the next of the first is nearer to it.
        while next + 1 < b.len() && apart(of, next + 1) < apart(of, next) {
            next += 1;
        }
        let is_nearest = next < b.len()
            && leave_together(of, b[next], by_ns)
            && a.get(at + 1)
                .is_none_or(|later| apart(later, next) >= apart(of, next));
        if is_nearest {
            of_first[at] = Some(next);
            next += 1;
        }
    }
    of_first
}

/// Returns whether both leave together after correcting the clock difference `by_ns`, within the shorter of the two
/// stays.
pub(super) fn leave_together(a: &Part, b: &Part, by_ns: i64) -> bool {
    let length = |part: &Part| part.end_ns.saturating_sub(part.start_ns);
    apart_ns(a, b, by_ns) <= length(a).min(length(b)).max(0).unsigned_abs()
}

/// Time between their leaving after correcting the clock difference `by_ns`.
fn apart_ns(a: &Part, b: &Part, by_ns: i64) -> u64 {
    let apart_ns = b.end_ns.saturating_sub(a.end_ns).saturating_sub(by_ns);
    apart_ns.unsigned_abs()
}

/// Returns whether both left nine of ten parts together, of those in the time of both recordings, and this is
/// unlikely to be chance.
fn is_of_one(a: &[&Part], b: &[&Part], aligned: &Aligned) -> bool {
    let by_ns = aligned.by_ns;
    let span = |parts: &[&Part], by_ns: i64| {
        let starts = parts.iter().map(|part| part.start_ns).min().unwrap_or(0);
        let ends = parts.iter().map(|part| part.end_ns).max().unwrap_or(0);
        (starts.saturating_sub(by_ns), ends.saturating_sub(by_ns))
    };
    let inside = |parts: &[&Part], by_ns: i64, (from, to): (i64, i64)| {
        let ends = parts.iter().map(|part| part.end_ns.saturating_sub(by_ns));
        ends.filter(|end| from <= *end && *end <= to).count()
    };
    let in_both = inside(a, 0, span(b, by_ns)).max(inside(b, by_ns, span(a, 0)));
    let pairs = || {
        let all = aligned.of_first.iter().enumerate();
        all.filter_map(|(at, of)| Some((a[at], b[(*of)?])))
    };
    // Two that leave one collective together always do, with some shift.
    let is_often = by_ns.unsigned_abs() <= MAX_SHIFT_NS && (aligned.together > 2 || by_ns == 0);
    let is_seen =
        is_often || pairs().all(|(a, b)| a.start_ns <= b.end_ns && b.start_ns <= a.end_ns);
    let is_half = aligned.together * 2 >= a.len().min(b.len());
    aligned.together > 0 && is_seen && is_half && aligned.together * 10 >= in_both * 9
}

#[cfg(test)]
#[path = "inference_tests.rs"]
mod tests;

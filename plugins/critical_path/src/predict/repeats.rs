//! Sequences of symbols that repeat most.
//!
//! A sequence has 2 to 8 symbols, and repeats at least [`MIN_REPEATS`] times. It does not end as it begins, so that its
//! occurrences cannot overlap, unless all its symbols are the same. Sequences are chosen one after another. Each time
//! it is the one that would save the most launches, `(length - 1) * repeats`, among the symbols that no earlier choice
//! covers. So each symbol belongs to at most one sequence. Ties go to the shorter one, then to the one that comes first.
//!
//! A sequence is counted only if both of its parts that are one symbol shorter repeat. So each length takes one pass,
//! and each choice looks at an occurrence at most once.

use std::collections::BinaryHeap;

use trueno_analysis::hash::FastMap;

/// No sequence contains it.
pub const BREAK: u32 = u32::MAX;
pub const MIN_REPEATS: usize = 4;
pub const MAX_LENGTH: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeat {
    pub length: usize,
    /// Index of the first symbol of each occurrence, in order.
    pub starts: Vec<u32>,
}

/// The first `limit` sequences in the order of choice.
pub fn repeats(symbols: &[u32], limit: usize) -> Vec<Repeat> {
    let mut candidates = Candidates::default();
    let mut shorter = symbols.to_vec();
    for length in 2..=MAX_LENGTH {
        let longer = joined(&shorter);
        candidates.add(symbols, &longer, length);
        shorter = longer;
    }
    let mut covered = vec![false; symbols.len()];
    let mut out = Vec::new();
    while out.len() < limit
        && let Some(best) = candidates.best(&covered)
    {
        for start in &best.starts {
            let start = *start as usize;
            covered[start..start + best.length].fill(true);
        }
        out.push(best);
    }
    out
}

/// A number for each pair of neighbours, the same for equal pairs; [`BREAK`] for pairs that do not repeat.
fn joined(numbers: &[u32]) -> Vec<u32> {
    let mut known: FastMap<(u32, u32), u32> = FastMap::default();
    let mut counts: Vec<u32> = Vec::new();
    let pair_number = |pair: &[u32]| {
        if pair.contains(&BREAK) {
            return BREAK;
        }
        let number = *known.entry((pair[0], pair[1])).or_insert_with(|| {
            counts.push(0);
            (counts.len() - 1) as u32
        });
        counts[number as usize] += 1;
        number
    };
    let mut out: Vec<u32> = numbers.windows(2).map(pair_number).collect();
    for number in out.iter_mut().filter(|number| **number != BREAK) {
        if (counts[*number as usize] as usize) < MIN_REPEATS {
            *number = BREAK;
        }
    }
    out
}

/// Returns whether a sequence begins as it ends. Runs of one symbol do not count.
fn overlaps_itself(sequence: &[u32]) -> bool {
    let is_run = sequence.iter().all(|symbol| *symbol == sequence[0]);
    let has_border = |length| sequence[..length] == sequence[sequence.len() - length..];
    !is_run && (1..sequence.len()).any(has_border)
}

/// Sorted by what is chosen first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    saved: usize,
    length: std::cmp::Reverse<usize>,
    first_start: std::cmp::Reverse<u32>,
    /// Its part of [`Candidates::starts`].
    from: usize,
    to: usize,
}

#[derive(Default)]
struct Candidates {
    starts: Vec<u32>,
    /// What each saved when it was last counted, which is at least what it saves now.
    heap: BinaryHeap<Candidate>,
}

impl Candidates {
    fn add(&mut self, symbols: &[u32], numbers: &[u32], length: usize) {
        let mut ends: Vec<usize> = Vec::new();
        for number in numbers.iter().filter(|number| **number != BREAK) {
            let number = *number as usize;
            ends.resize(ends.len().max(number + 1), 0);
            ends[number] += 1;
        }
        let mut next = self.starts.len();
        for count in &mut ends {
            next += std::mem::replace(count, next);
        }
        self.starts.resize(next, 0);
        let mut from = ends.first().copied().unwrap_or(next);
        for (start, number) in (0..).zip(numbers) {
            if *number != BREAK {
                let end = &mut ends[*number as usize];
                self.starts[*end] = start;
                *end += 1;
            }
        }
        for to in ends {
            let first_start = self.starts.get(from).copied().filter(|_| from < to);
            if let Some(start) = first_start
                && !overlaps_itself(&symbols[start as usize..][..length])
            {
                self.heap.push(Candidate {
                    saved: (length - 1) * (to - from),
                    length: std::cmp::Reverse(length),
                    first_start: std::cmp::Reverse(start),
                    from,
                    to,
                });
            }
            from = to;
        }
    }

    fn best(&mut self, covered: &[bool]) -> Option<Repeat> {
        while let Some(mut candidate) = self.heap.pop() {
            let length = candidate.length.0;
            let mut starts: Vec<u32> = Vec::new();
            let mut to = candidate.from;
            for at in candidate.from..candidate.to {
                let start = self.starts[at];
                if covered[start as usize..start as usize + length].contains(&true) {
                    continue;
                }
                self.starts[to] = start;
                to += 1;
                if starts
                    .last()
                    .is_none_or(|last| last + length as u32 <= start)
                {
                    starts.push(start);
                }
            }
            let saved = (length - 1) * starts.len();
            if saved == candidate.saved {
                return Some(Repeat { length, starts });
            }
            if starts.len() >= MIN_REPEATS {
                (candidate.saved, candidate.to) = (saved, to);
                self.heap.push(candidate);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// The definition, word by word: each round counts every sequence anew.
    fn slow(symbols: &[u32], limit: usize) -> Vec<Repeat> {
        let mut covered = vec![false; symbols.len()];
        let mut out = Vec::new();
        while out.len() < limit {
            let mut found: BTreeMap<&[u32], Repeat> = BTreeMap::new();
            for length in 2..=MAX_LENGTH.min(symbols.len()) {
                for (start, own) in symbols.windows(length).enumerate() {
                    let same = own.iter().all(|symbol| *symbol == own[0]);
                    let ends_as_it_begins =
                        (1..length).any(|n| own.starts_with(&own[length - n..]));
                    if own.contains(&BREAK) || ends_as_it_begins && !same {
                        continue;
                    }
                    if covered[start..start + length].contains(&true) {
                        continue;
                    }
                    let starts = Vec::new();
                    let of = found.entry(own).or_insert(Repeat { length, starts });
                    if of
                        .starts
                        .iter()
                        .all(|other| *other as usize + length <= start)
                    {
                        of.starts.push(start as u32);
                    }
                }
            }
            let first = |own: &[u32]| symbols.windows(own.len()).position(|other| other == own);
            let repeated = found
                .into_iter()
                .filter(|of| of.1.starts.len() >= MIN_REPEATS);
            let best = repeated.min_by_key(|(own, of)| {
                let saved = (of.length - 1) * of.starts.len();
                (std::cmp::Reverse(saved), of.length, first(own))
            });
            let Some((_, best)) = best else { break };
            for start in &best.starts {
                covered[*start as usize..*start as usize + best.length].fill(true);
            }
            out.push(best);
        }
        out
    }

    /// Streams of a few names, in loops that are disturbed here and there.
    fn streams() -> impl Strategy<Value = Vec<u32>> {
        let symbol = || prop_oneof![20 => 0..4_u32, 1 => Just(BREAK)];
        let looped = (prop::collection::vec(symbol(), 1..12), 1..12_usize);
        let part = prop_oneof![
            looped.prop_map(|(part, times)| part.repeat(times)),
            prop::collection::vec(symbol(), 0..20),
        ];
        prop::collection::vec(part, 0..5).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn the_same_sequences_as_counting_all_of_them(symbols in streams(), limit in 1..6_usize) {
            prop_assert_eq!(repeats(&symbols, limit), slow(&symbols, limit));
        }
    }

    fn found(symbols: &[u32]) -> Vec<(&[u32], usize)> {
        let found = repeats(symbols, 8).into_iter();
        let named = found.map(|of| {
            (
                &symbols[of.starts[0] as usize..][..of.length],
                of.starts.len(),
            )
        });
        named.collect()
    }

    #[test]
    fn a_loop_is_found_once_and_not_in_its_rotations() {
        let symbols = [1, 2, 3].repeat(100);
        assert_eq!(found(&symbols), [(&[1, 2, 3][..], 100)]);
        let long: Vec<u32> = (0..12).collect();
        let (first, rest) = ((0..8).collect::<Vec<u32>>(), [8, 9, 10, 11]);
        let symbols = long.repeat(50);
        assert_eq!(found(&symbols), [(&first[..], 50), (&rest[..], 50)]);
    }

    #[test]
    fn one_kernel_again_and_again_is_a_sequence() {
        assert_eq!(found(&[7; 64]), [(&[7; 8][..], 8)]);
        assert_eq!(found(&[7; 3]), []);
    }

    #[test]
    fn breaks_and_rare_sequences_are_left_out() {
        assert_eq!(found(&[1, BREAK, 2].repeat(50)), [(&[2, 1][..], 49)]);
        assert_eq!(found(&[1, BREAK].repeat(50)), []);
        assert_eq!(found(&[1, 2, 3, 1, 2, 4, 1, 2, 5]), []);
    }
}

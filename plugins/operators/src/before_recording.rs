//! Device work that was begun before the recording: told by what the same sequence of kernels belongs to later.
//!
//! A recording that starts in the middle of a step holds kernels whose launches it has not. Where the first kernels of
//! a stream, up to the first with a launch, come again later in the same order, name by name and with launches, they
//! are taken for the same operators with the same shapes: inferred, not recorded. On one stream of a device at least
//! sixteen of at least four names must do so; on its other streams, where fewer may, what comes again as much later
//! does.

use std::collections::{BTreeMap, BTreeSet};

use crate::calls::NONE;
use crate::operations::{Operation, Operations};

/// Shorter sequences may repeat by chance.
const MIN_OPERATIONS: usize = 16;
/// Sequences with fewer distinct names may repeat by chance.
const MIN_NAMES: usize = 4;
/// Two streams have the same period if these differ by at most 1 / `SAME_PERIOD`.
const SAME_PERIOD: i64 = 10;

/// Maps operations without a launch, by index, to the later operation that they are taken for.
pub fn counterparts(operations: &Operations) -> BTreeMap<usize, usize> {
    let mut streams: BTreeMap<(u32, u32), Vec<usize>> = BTreeMap::new();
    for (place, row) in operations.rows.iter().enumerate() {
        let stream = streams.entry((row.device, row.stream)).or_default();
        stream.push(place);
    }
    let mut devices: BTreeMap<u32, Vec<Stream<'_>>> = BTreeMap::new();
    for ((device, _), places) in streams {
        let stream = Stream::new(&operations.rows, places);
        if stream.first_linked > 0 {
            devices.entry(device).or_default().push(stream);
        }
    }
    let mut out = BTreeMap::new();
    for mut streams in devices.into_values() {
        // The first of those that are equal: the sort is stable.
        streams.sort_by_key(|stream| std::cmp::Reverse(stream.first_linked));
        let (longest, others) = (&streams[0], &streams[1..]);
        if !longest.is_telling() {
            continue;
        }
        let Some(by) = longest.repeats().next() else {
            continue;
        };
        let period_ns = longest.shift_ns(by);
        out.extend(longest.pairs(by));
        for stream in others {
            let off_ns = |by: &usize| stream.shift_ns(*by).abs_diff(period_ns);
            let by = stream.repeats().min_by_key(off_ns);
            let allowed_ns = period_ns.unsigned_abs() / SAME_PERIOD.unsigned_abs();
            if let Some(by) = by.filter(|by| off_ns(by) <= allowed_ns) {
                out.extend(stream.pairs(by));
            }
        }
    }
    out
}

struct Stream<'r> {
    rows: &'r [Operation],
    /// Indexes of its operations, sorted by time.
    places: Vec<usize>,
    /// Number of operations before the first with a launch; 0 if none has one.
    first_linked: usize,
}

impl<'r> Stream<'r> {
    fn new(rows: &'r [Operation], places: Vec<usize>) -> Self {
        let is_linked = |place: &usize| rows[*place].begun_in != NONE;
        let first_linked = places.iter().position(is_linked).unwrap_or(0);
        Self {
            rows,
            places,
            first_linked,
        }
    }

    fn name(&self, at: usize) -> u32 {
        self.rows[self.places[at]].kernel
    }

    fn is_telling(&self) -> bool {
        let names: BTreeSet<u32> = (0..self.first_linked).map(|at| self.name(at)).collect();
        self.first_linked >= MIN_OPERATIONS && names.len() >= MIN_NAMES
    }

    /// Distances, in operations, at which all operations without a launch repeat with one.
    fn repeats(&self) -> impl Iterator<Item = usize> {
        let (first, count) = (self.first_linked, self.places.len());
        // The search of Knuth, Morris and Pratt: the first operations are the pattern.
        let mut borders = vec![0; first];
        let mut matched = 0;
        for at in 1..first {
            while matched > 0 && self.name(at) != self.name(matched) {
                matched = borders[matched - 1];
            }
            matched += usize::from(self.name(at) == self.name(matched));
            borders[at] = matched;
        }
        let (mut at, mut matched, mut linked) = (first, 0, 0);
        std::iter::from_fn(move || {
            while at < count {
                if matched == first {
                    matched = borders[first - 1];
                }
                while matched > 0 && self.name(at) != self.name(matched) {
                    matched = borders[matched - 1];
                }
                matched += usize::from(self.name(at) == self.name(matched));
                let is_linked = self.rows[self.places[at]].begun_in != NONE;
                linked = if is_linked { linked + 1 } else { 0 };
                at += 1;
                if matched == first && linked >= first {
                    return Some(at - first);
                }
            }
            None
        })
    }

    /// Time from the last operation without a launch to its counterpart.
    fn shift_ns(&self, by: usize) -> i64 {
        let last = self.first_linked - 1;
        let start = |at: usize| self.rows[self.places[at]].start_ns;
        start(last + by).saturating_sub(start(last))
    }

    fn pairs(&self, by: usize) -> impl Iterator<Item = (usize, usize)> {
        (0..self.first_linked).map(move |at| (self.places[at], self.places[at + by]))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Operations of one stream, a microsecond apart, from pairs of name and whether there is a launch.
    fn stream(stream: u32, of: &[(u32, bool)]) -> Vec<Operation> {
        let rows = of
            .iter()
            .zip(0..)
            .map(|(&(kernel, is_linked), at)| Operation {
                start_ns: at * 1_000 + i64::from(stream),
                end_ns: at * 1_000 + 500,
                begun_in: if is_linked { 7 } else { NONE },
                device: 0,
                rank: 0,
                stream,
                kernel,
            });
        rows.collect()
    }

    fn all(streams: &[Vec<Operation>]) -> Operations {
        let mut rows = streams.concat();
        rows.sort_unstable();
        Operations {
            rows,
            ..Operations::default()
        }
    }

    /// Steps of 20 kernels. The first `without` kernels have no launch.
    fn steps(count: u32, without: usize) -> Vec<(u32, bool)> {
        let names = (0..count).flat_map(|_| 0..20);
        names
            .zip(0..)
            .map(|(name, at)| (name, at >= without))
            .collect()
    }

    #[test]
    fn the_first_kernels_are_those_of_a_later_step() {
        let operations = all(&[stream(1, &steps(3, 18))]);
        let found = counterparts(&operations);
        assert_eq!(found.len(), 18);
        assert!(found.iter().all(|(from, to)| to - from == 20));
        // Where the launches begin in the second step, the third is the first that has all.
        let found = counterparts(&all(&[stream(1, &steps(3, 20))]));
        assert!(found.iter().all(|(from, to)| to - from == 20));
        let found = counterparts(&all(&[stream(1, &steps(3, 22))]));
        assert!(
            found.is_empty(),
            "the first two of the second step come again without the rest"
        );
    }

    #[test]
    fn few_kernels_or_others_tell_nothing() {
        assert!(counterparts(&all(&[stream(1, &steps(3, 15))])).is_empty());
        let mut other = steps(3, 18);
        other[3].0 = 99;
        assert!(counterparts(&all(&[stream(1, &other)])).is_empty());
        let one_name: Vec<(u32, bool)> = (0..60).map(|at| (5, at >= 18)).collect();
        assert!(counterparts(&all(&[stream(1, &one_name)])).is_empty());
    }

    #[test]
    fn other_streams_repeat_after_the_same_time() {
        // One name on the second stream, which repeats after any number; its work is every fifth microsecond.
        let main = stream(1, &steps(4, 18));
        let mut beside = stream(2, &(0..16).map(|at| (50, at >= 3)).collect::<Vec<_>>());
        for (at, row) in beside.iter_mut().enumerate() {
            row.start_ns = at as i64 * 5_000 + 2;
        }
        let operations = all(&[main, beside]);
        let found = counterparts(&operations);
        assert_eq!(found.len(), 18 + 3);
        for (from, to) in found {
            let shift_ns = operations.rows[to].start_ns - operations.rows[from].start_ns;
            assert_eq!(shift_ns, 20_000);
        }
    }

    proptest! {
        #[test]
        fn pairs_are_those_of_a_search_place_by_place(
            names in prop::collection::vec(0_u32..3, 1..40),
            without in 0_usize..20,
        ) {
            let of: Vec<(u32, bool)> = names.iter().zip(0..).map(|(name, at)| (*name, at >= without)).collect();
            let operations = all(&[stream(1, &of)]);
            let stream = Stream::new(&operations.rows, (0..of.len()).collect());
            let first = stream.first_linked;
            let found: Vec<usize> = if first == 0 { Vec::new() } else { stream.repeats().collect() };
            let expected = (1..of.len()).filter(|by| {
                first > 0 && first + by <= of.len()
                    && (0..first).all(|at| of[at].0 == of[at + by].0 && of[at + by].1)
            });
            prop_assert_eq!(found, expected.collect::<Vec<_>>());
        }
    }
}

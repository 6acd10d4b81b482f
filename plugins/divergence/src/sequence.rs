//! Pairs that the two runs recorded in another order.
//!
//! Of the pairs that lie on one thread of each run, the longest run of those in the same order stays
//! as it is (a longest non-decreasing subsequence); the fewest possible others count as moved.

use std::collections::BTreeMap;
use std::convert::Infallible;

use trueno_analysis::hash::{FastMap, FastSet};

use crate::align::Item;
use crate::narrow::Bits;
use crate::order::Flow;
use crate::rows::Side;

/// A thread of each run.
type Lane = [u32; 2];

/// Time on each side, and index of the item.
type Times = (i64, i64, u32);

/// Looks for threads whose pairs do not all come in the order of both runs.
pub struct Sequences {
    /// The lane of the item before, and the times of that item.
    current: (Lane, [i64; 2]),
    /// Times of the last item of each lane but the current one.
    last_ns: FastMap<Lane, [i64; 2]>,
    disordered: FastSet<Lane>,
}

impl Default for Sequences {
    fn default() -> Self {
        Self {
            current: (Lane::default(), [i64::MIN; 2]),
            last_ns: FastMap::default(),
            disordered: FastSet::default(),
        }
    }
}

impl Sequences {
    /// The next item in data-flow order.
    pub fn next(&mut self, sides: [&Side; 2], item: &Item) {
        let Some((lane, [a_ns, b_ns])) = pair(sides, item) else {
            return;
        };
        let (current, last_ns) = &mut self.current;
        if *current != lane {
            self.last_ns.insert(*current, *last_ns);
            (*current, *last_ns) = (lane, [i64::MIN; 2]);
            if let Some(known_ns) = self.last_ns.get(&lane) {
                *last_ns = *known_ns;
            }
        }
        if a_ns < last_ns[0] || b_ns < last_ns[1] {
            self.disordered.insert(lane);
        }
        *last_ns = [a_ns, b_ns];
    }

    /// The indices of the pairs whose order changed between the runs; `None` if there is none.
    pub fn moved(self, sides: [&Side; 2], flow: &Flow<'_>, items: usize) -> Option<Bits> {
        if self.disordered.is_empty() {
            return None;
        }
        let mut lanes: BTreeMap<Lane, Vec<Times>> = BTreeMap::new();
        let mut at = 0;
        let Ok(()) = flow.each(|_, item| {
            if let Some((lane, [a_ns, b_ns])) = pair(sides, &item)
                && self.disordered.contains(&lane)
            {
                lanes.entry(lane).or_default().push((a_ns, b_ns, at));
            }
            at += 1;
            Ok::<(), Infallible>(())
        });
        let mut moved = Bits::new(items);
        for lane in lanes.values_mut() {
            if !lane.is_sorted() {
                lane.sort_unstable();
            }
            if lane.is_sorted_by_key(|pair| pair.1) {
                continue;
            }
            let stays = longest_in_order(&lane.iter().map(|pair| pair.1).collect::<Vec<_>>());
            let gone = lane.iter().zip(stays).filter(|(_, stays)| !stays);
            gone.for_each(|(pair, _)| moved.set(pair.2 as usize));
        }
        moved.any().then_some(moved)
    }
}

fn pair(sides: [&Side; 2], item: &Item) -> Option<(Lane, [i64; 2])> {
    let (a, b) = (item.on(0)?, item.on(1)?);
    let lane = [sides[0].tensor(a).lane, sides[1].tensor(b).lane];
    Some((lane, [sides[0].time_ns(a), sides[1].time_ns(b)]))
}

/// Marks the values of a longest non-decreasing subsequence, by patience sorting in O(n log n).
pub fn longest_in_order(values: &[i64]) -> Vec<bool> {
    let mut ends: Vec<usize> = Vec::new();
    let mut before = vec![usize::MAX; values.len()];
    for (at, value) in values.iter().enumerate() {
        let pile = ends.partition_point(|end| values[*end] <= *value);
        if pile > 0 {
            before[at] = ends[pile - 1];
        }
        if pile == ends.len() {
            ends.push(at);
        } else {
            ends[pile] = at;
        }
    }
    let mut stays = vec![false; values.len()];
    let mut at = ends.last().copied().unwrap_or(usize::MAX);
    while at != usize::MAX {
        stays[at] = true;
        at = before[at];
    }
    stays
}
